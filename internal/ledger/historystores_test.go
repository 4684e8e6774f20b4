package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// StoreOpener opens the store of one history, as each of its runs does.
type StoreOpener func() (Store, error)

// HistoryStores are the stores that last, by name: each makes the n-th store of
// its kind. The bucket is on the server of TRUEUP_TEST_S3_URL if that names one.
func HistoryStores() map[string]func(t *testing.T) func(n int) StoreOpener {
	return map[string]func(t *testing.T) func(n int) StoreOpener{
		"file": filesForHistories, "git": refsForHistories, "bucket": prefixesForHistories,
	}
}

func filesForHistories(t *testing.T) func(n int) StoreOpener {
	dir := t.TempDir()
	return func(n int) StoreOpener {
		return func() (Store, error) { return fileStore{dir: filepath.Join(dir, fmt.Sprint(n))}, nil }
	}
}

func refsForHistories(t *testing.T) func(n int) StoreOpener {
	dir := clone(t, "file://"+filepath.ToSlash(bareRemote(t)), "--depth", "1")
	return func(n int) StoreOpener {
		return func() (Store, error) { return newGitStore(fmt.Sprintf("refs/trueup/history-%d", n), dir) }
	}
}

func prefixesForHistories(t *testing.T) func(n int) StoreOpener {
	where := os.Getenv("TRUEUP_TEST_S3_URL")
	if where == "" {
		f := newFakeBucket(t)
		return func(n int) StoreOpener {
			return func() (Store, error) { return f.store(t, fmt.Sprintf("history-%d", n)), nil }
		}
	}
	address, query, _ := strings.Cut(where, "?")
	return func(int) StoreOpener {
		prefix := uuid.NewString()
		return func() (Store, error) { return openBucket(t.Context(), address+"/"+prefix+"?"+query, true) }
	}
}

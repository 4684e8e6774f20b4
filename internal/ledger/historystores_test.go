package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/e2e/gitremote"
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
		return func() (Store, error) { return inFolder(filepath.Join(dir, fmt.Sprint(n))), nil }
	}
}

func refsForHistories(t *testing.T) func(n int) StoreOpener {
	dir := gitremote.Clone(t, "file://"+filepath.ToSlash(gitremote.Bare(t)), "--depth", "1")
	return func(n int) StoreOpener {
		return func() (Store, error) { return refStore(dir, fmt.Sprintf("refs/trueup/history-%d", n)) }
	}
}

func refStore(dir, ref string) (Store, error) {
	r, err := blob.OpenRef(ref, dir, true)
	return newLogStore(r, nil, remoteDelay), err
}

func prefixesForHistories(t *testing.T) func(n int) StoreOpener {
	where := os.Getenv("TRUEUP_TEST_S3_URL")
	if where == "" {
		return func(int) StoreOpener {
			blobs := newMemoryBlobs()
			return func() (Store, error) { return newLogStore(blobs, nil, 0), nil }
		}
	}
	address, query, _ := strings.Cut(where, "?")
	return func(int) StoreOpener {
		prefix := uuid.NewString()
		return func() (Store, error) { return onServer(t, address+"/"+prefix+"?"+query), nil }
	}
}

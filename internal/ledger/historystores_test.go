package ledger

import (
	"fmt"
	"path/filepath"
	"testing"

	"trueup/internal/blob"
	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/servers"
)

// StoreOpener opens the store of one history, as each of its runs does.
type StoreOpener func() (RecordStore, error)

// HistoryStores are the stores that last, by name: each makes the n-th store of its kind.
func HistoryStores() map[string]func(t *testing.T) func(n int) StoreOpener {
	stores := map[string]func(t *testing.T) func(n int) StoreOpener{
		"file": filesForHistories, "git": refsForHistories, "memory": memoryForHistories,
	}
	for _, scheme := range servers.Schemes() {
		stores[scheme] = func(t *testing.T) func(n int) StoreOpener { return serversForHistories(t, scheme) }
	}
	return stores
}

func filesForHistories(t *testing.T) func(n int) StoreOpener {
	dir := t.TempDir()
	return func(n int) StoreOpener {
		return func() (RecordStore, error) { return inFolder(filepath.Join(dir, fmt.Sprint(n))), nil }
	}
}

func refsForHistories(t *testing.T) func(n int) StoreOpener {
	dir := gitremote.Clone(t, "file://"+filepath.ToSlash(gitremote.Bare(t)), "--depth", "1")
	return func(n int) StoreOpener {
		return func() (RecordStore, error) { return refStore(dir, fmt.Sprintf("refs/trueup/history-%d", n)) }
	}
}

func refStore(dir, ref string) (RecordStore, error) {
	r, err := blob.OpenRef(ref, dir, true)
	return newLogStore(r, nil, remoteDelay), err
}

func memoryForHistories(*testing.T) func(n int) StoreOpener {
	return func(int) StoreOpener {
		blobs := newMemoryBlobs()
		return func() (RecordStore, error) { return newLogStore(blobs, nil, 0), nil }
	}
}

func serversForHistories(t *testing.T, scheme string) func(n int) StoreOpener {
	servers.Store(t, scheme)
	return func(int) StoreOpener {
		store := servers.Store(t, scheme)
		return func() (RecordStore, error) { return onServer(t, store), nil }
	}
}

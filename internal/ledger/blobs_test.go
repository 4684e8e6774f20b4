package ledger

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/blob"
)

// memoryBlobs is a store of blobs that lasts as long as the process.
type memoryBlobs struct {
	*memoryRoom
	prefix string
}

type memoryRoom struct {
	mu    sync.Mutex
	blobs map[string][]byte
	// calls are those that were made, as WHAT NAME.
	calls []string
	// fault may spoil a call: where it gives an error, the call is not made, or with
	// done it is made first.
	fault func(call, name string) (done bool, err error)
	// ignores makes it take every creation, drops remove what copies are of.
	ignores, drops bool
}

func newMemoryBlobs() memoryBlobs {
	return memoryBlobs{memoryRoom: &memoryRoom{blobs: map[string][]byte{}}}
}

func (m memoryBlobs) call(ctx context.Context, what, name string, do func(at string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := path.Join(m.prefix, name)
	m.calls = append(m.calls, what+" "+at)
	if m.fault != nil {
		if done, err := m.fault(what, at); err != nil {
			if done {
				_ = do(at)
			}
			return err
		}
	}
	return do(at)
}

func (m memoryBlobs) Prepare(context.Context) error { return nil }

func (m memoryBlobs) Create(ctx context.Context, b blob.Blob, copies ...blob.CombinedBlob) error {
	err := m.create(ctx, b)
	for _, one := range copies {
		if err == nil && m.create(ctx, one.Blob) == nil && m.drops {
			for _, name := range one.Of {
				delete(m.blobs, path.Join(m.prefix, name))
			}
		}
	}
	return err
}

func (m memoryBlobs) create(ctx context.Context, b blob.Blob) error {
	return m.call(ctx, "create", b.Name, func(at string) error {
		if _, there := m.blobs[at]; there && !m.ignores {
			return blob.ErrExists
		}
		m.blobs[at] = slices.Clone(b.Content)
		return nil
	})
}

func (m memoryBlobs) CheckRefusesCreation(ctx context.Context, name string) error {
	return m.call(ctx, "prove", name, func(at string) error {
		switch _, there := m.blobs[at]; {
		case !there && !m.drops: // git, which removes entries, has nothing to prove
			return blob.ErrAbsent
		case m.ignores:
			return errUnsafe
		}
		return nil
	})
}

func (m memoryBlobs) Get(ctx context.Context, name string) (content []byte, err error) {
	err = m.call(ctx, "get", name, func(at string) error {
		var there bool
		if content, there = m.blobs[at]; !there {
			return blob.ErrAbsent
		}
		return nil
	})
	return content, err
}

func (m memoryBlobs) List(ctx context.Context, under string, most int) (names []string, err error) {
	err = m.call(ctx, "list", under, func(at string) error {
		for _, name := range slices.Sorted(maps.Keys(m.blobs)) {
			if strings.HasPrefix(name, at+"/") && (most == 0 || len(names) < most) {
				names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, m.prefix), "/"))
			}
		}
		return nil
	})
	return names, err
}

func (m memoryBlobs) SubStore(folder string) blob.Store {
	m.prefix = path.Join(m.prefix, folder)
	return m
}

func (m memoryBlobs) Clear(ctx context.Context) error {
	return m.call(ctx, "clear", "", func(at string) error {
		maps.DeleteFunc(m.blobs, func(name string, _ []byte) bool { return strings.HasPrefix(name, at) })
		return nil
	})
}

func (m memoryBlobs) Location(name string) string { return path.Join("memory", m.prefix, name) }

// inFolder is a ledger in a folder.
func inFolder(dir string) *logStore { return newLogStore(blob.FolderStore(dir), nil, 0) }

// onServer is one in a store on a server.
func onServer(t testing.TB, store string) *logStore {
	t.Helper()
	s, err := OpenStore(t.Context(), Config{Store: store, StoreFromEnv: true, Now: time.Now, Getenv: os.Getenv})
	must(t, err)
	return s.(*logStore)
}

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
	// seen, if set, is what created was at the last listing: a creation requires that none came since, as in git.
	seen *int
}

type memoryRoom struct {
	mu    sync.Mutex
	blobs map[string][]byte
	// old has what drops removed.
	old map[string][]byte
	// calls are those that were made, as WHAT NAME.
	calls []string
	// fault may spoil a call: where it gives an error, the call is not made, or with
	// done it is made first.
	fault func(call, name string) (done bool, err error)
	// created counts the creations, by prefix.
	created map[string]int
	// before is called before each call.
	before func()
	// ignores makes it take every creation, drops remove what blobs replace.
	ignores, drops bool
}

func newMemoryBlobs() memoryBlobs {
	return memoryBlobs{memoryRoom: &memoryRoom{blobs: map[string][]byte{}, old: map[string][]byte{}, created: map[string]int{}}}
}

func (m memoryBlobs) call(ctx context.Context, what, name string, do func(at string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.before != nil {
		m.before()
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

func (m memoryBlobs) Close() error { return nil }

func (m memoryBlobs) Prepare(context.Context) error { return nil }

func (m memoryBlobs) Create(ctx context.Context, blobs ...blob.Blob) error {
	for _, b := range blobs {
		if err := m.create(ctx, b); err != nil {
			return err
		}
		m.mu.Lock()
		for _, name := range b.Replaces {
			if at := path.Join(m.prefix, name); m.drops {
				m.old[at] = m.blobs[at]
				delete(m.blobs, at)
			}
		}
		m.mu.Unlock()
	}
	return nil
}

func (m memoryBlobs) Remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := m.call(ctx, "remove", name, func(at string) error { delete(m.blobs, at); return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (m memoryBlobs) GetOld(ctx context.Context, name string, _ int) ([]byte, error) {
	content, err := m.Get(ctx, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.old[path.Join(m.prefix, name)]; err != nil && old != nil {
		return old, nil
	}
	return content, err
}

func (m memoryBlobs) create(ctx context.Context, b blob.Blob) error {
	return m.call(ctx, "create", b.Name, func(at string) error {
		if _, there := m.blobs[at]; there && !m.ignores {
			return blob.ErrExists
		}
		if m.seen != nil && *m.seen != m.created[m.prefix] {
			return blob.ErrExists
		}
		m.blobs[at] = slices.Clone(b.Content)
		m.created[m.prefix]++
		if m.seen != nil {
			*m.seen = m.created[m.prefix]
		}
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
		if m.seen != nil {
			*m.seen = m.created[m.prefix]
		}
		return nil
	})
	return names, err
}

func (m memoryBlobs) SubStore(folder string) blob.Store {
	if m.prefix = path.Join(m.prefix, folder); m.seen != nil {
		m.seen = new(int)
	}
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

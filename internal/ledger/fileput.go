package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// fileBatch is how many records are written under one lock, and so how many
// files are open at once: others wait no longer than that takes.
const fileBatch = 100

// swap is one file to be put in place; err ends it.
type swap struct {
	path    string
	nonce   string
	content []byte
	// create says that nothing may be there yet.
	create bool
	// change is the record that the file has, old the one that was there; of a
	// genesis there is neither.
	change change
	old    Record
	temp   *os.File
	err    error
}

func (s fileStore) Put(ctx context.Context, expectSeq int, rec Record) error {
	return s.putAll(ctx, []change{{expectSeq: expectSeq, rec: rec}})[0]
}

// putAll writes those of one folder after each other, so that its names are made
// durable together.
func (s fileStore) putAll(ctx context.Context, changes []change) []error {
	swaps := make([]*swap, len(changes))
	for i, c := range changes {
		swaps[i] = &swap{path: recordPath(c.rec.key()), nonce: c.rec.Nonce, create: c.expectSeq == 0, change: c}
		swaps[i].content, swaps[i].err = c.encode()
	}
	ordered := slices.Clone(swaps)
	slices.SortStableFunc(ordered, func(a, b *swap) int { return strings.Compare(a.path, b.path) })
	for some := range slices.Chunk(ordered, fileBatch) {
		err := s.putSome(ctx, some)
		each(some, func(*swap) error { return err })
	}
	errs := make([]error, len(swaps))
	for i, w := range swaps {
		errs[i] = w.err
	}
	return errs
}

// putSome writes records under one lock.
func (s fileStore) putSome(ctx context.Context, swaps []*swap) error {
	root, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return s.locked(ctx, root, func() error {
		last := ""
		each(swaps, func(w *swap) error {
			if w.path == last {
				return fmt.Errorf("write record of %s: %w", w.change.rec.Key, ErrConflict)
			}
			last = w.path
			return s.follows(root, w)
		})
		s.replace(root, swaps)
		each(swaps, func(w *swap) error {
			if w.old.Open() && !w.change.rec.Open() {
				leave(root, w.change.rec)
			}
			return nil
		})
		return nil
	})
}

// follows makes sure that a record is the next one, and enters it in the index.
// The lock is held.
func (s fileStore) follows(root *os.Root, w *swap) (err error) {
	rec := w.change.rec
	if w.old, err = s.record(root, rec.key()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if w.old.Seq != w.change.expectSeq {
		return fmt.Errorf("write record of %s: %w", rec.Key, ErrConflict)
	}
	return s.enter(root, rec)
}

// each goes on with those that have not ended.
func each(swaps []*swap, do func(*swap) error) {
	for _, w := range swaps {
		if w.err == nil {
			w.err = do(w)
		}
	}
}

// replace puts files in place so that after a crash at any point the old or the
// new one of each is there, whole. The lock is held.
func (s fileStore) replace(root *os.Root, swaps []*swap) {
	swaps = slices.DeleteFunc(slices.Clone(swaps), func(w *swap) bool { return w.err != nil })
	if len(swaps) == 0 {
		return
	}
	put(root, swaps)
	for _, w := range swaps {
		if w.err != nil {
			w.err = fmt.Errorf("write ledger file %s: %w", filepath.Join(s.dir, filepath.FromSlash(w.path)), advised(w.err))
		}
	}
}

func put(root *os.Root, swaps []*swap) {
	err := clearTemp(root)
	each(swaps, func(*swap) error { return err })
	defer func() {
		for _, w := range swaps {
			if w.temp != nil {
				_ = root.Remove(w.tempPath())
			}
		}
	}()
	// All are written before the first is waited for.
	each(swaps, func(w *swap) error { return w.write(root) })
	for _, w := range swaps {
		w.sync()
	}
	makeFolders(root, swaps)
	each(swaps, func(w *swap) error { return w.place(root) })
	synced := map[string]error{}
	each(swaps, func(w *swap) error {
		dir := path.Dir(w.path)
		err, done := synced[dir]
		if !done {
			err = syncDir(root, dir)
			synced[dir] = err
		}
		return err
	})
}

// makeFolders makes the folders of what is created, durably. What is there is
// reached after a crash, so later versions need not see to it.
func makeFolders(root *os.Root, swaps []*swap) {
	var dirs []string
	each(swaps, func(w *swap) error {
		dir := path.Dir(w.path)
		if !w.create || slices.Contains(dirs, dir) {
			return nil
		}
		dirs = append(dirs, dir)
		return root.MkdirAll(dir, 0o777)
	})
	err := syncUp(root, dirs...)
	each(swaps, func(w *swap) error {
		if w.create {
			return err
		}
		return nil
	})
}

func (w *swap) tempPath() string { return path.Join(tempDir, strings.Map(plainRune, w.nonce)) }

func (w *swap) write(root *os.Root) (err error) {
	if w.temp, err = root.OpenFile(w.tempPath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		w.temp = nil
		return err
	}
	_, err = w.temp.Write(w.content)
	return err
}

// sync makes what was written durable, and closes it in any case.
func (w *swap) sync() {
	if w.temp == nil {
		return
	}
	if w.err == nil {
		w.err = w.temp.Sync()
	}
	w.err = errors.Join(w.err, w.temp.Close())
}

// place gives what was written its name.
func (w *swap) place(root *os.Root) error {
	if !w.create {
		return root.Rename(w.tempPath(), w.path)
	}
	// A link never replaces, whatever became of the lock.
	err := root.Link(w.tempPath(), w.path)
	if errors.Is(err, fs.ErrExist) {
		return ErrConflict
	}
	return err
}

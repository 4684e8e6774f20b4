package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Recent reads the folders of the hours since then, and that of what is open.
func (s fileStore) Recent(ctx context.Context, workspace string, since time.Time) ([]Key, error) {
	if err := checkWorkspace(workspace); err != nil {
		return nil, err
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(indexDir); errors.Is(err, fs.ErrNotExist) {
		return s.recentOfAll(ctx, workspace, since)
	}
	paths, err := entriesSince(ctx, root, path.Join(indexDir, workspace), hourOf(since))
	if err != nil {
		return nil, s.indexFault("read", err)
	}
	return indexedKeys(workspace, paths), nil
}

// taken reports whether there was a record of a key that has none: its request has no
// marker any more.
func (s fileStore) taken(ctx context.Context, key Key) (bool, error) {
	root, err := s.open()
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	dir, base := path.Split(markersOf(key))
	markers, err := fs.ReadDir(root.FS(), path.Clean(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, s.indexFault("read", err)
	}
	if slices.ContainsFunc(markers, func(m fs.DirEntry) bool { return strings.HasPrefix(m.Name(), base) }) {
		return false, nil
	}
	// It may have been written and closed since it was looked for.
	found, err := s.Read(ctx, []Key{key})
	return len(found) == 0, err
}

// entriesSince are the entries of a workspace's index but for those of earlier
// hours.
func entriesSince(ctx context.Context, root *os.Root, dir, hour string) ([]string, error) {
	info, err := root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: %w", dir, syscall.ENOTDIR)
	}
	if err != nil {
		return nil, err
	}
	var paths []string
	err = fs.WalkDir(root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		below := strings.TrimPrefix(p[len(dir):], "/")
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			paths = append(paths, p)
		case below != "" && below < hour[:min(len(below), len(hour))]:
			return fs.SkipDir
		}
		return nil
	})
	return paths, err
}

// recentOfAll is Recent for a ledger without an index. The next write makes one.
func (s fileStore) recentOfAll(ctx context.Context, workspace string, since time.Time) ([]Key, error) {
	var paths []string
	err := s.All(ctx, func(rec Record) error {
		if rec.Workspace == workspace {
			paths = append(paths, rec.entries()...)
		}
		return nil
	})
	first := path.Join(indexDir, workspace, hourOf(since))
	return indexedKeys(workspace, slices.DeleteFunc(paths, func(p string) bool { return p < first })), err
}

// enter makes the entries of a record, durably. The lock is held.
func (s fileStore) enter(root *os.Root, rec Record) error {
	entries := rec.entries()
	if len(entries) == 0 {
		return nil
	}
	if _, err := root.Lstat(indexDir); errors.Is(err, fs.ErrNotExist) {
		if err := s.makeIndex(root); err != nil {
			return err
		}
	}
	if err := makeEntries(root, indexDir, entries); err != nil {
		return s.indexFault("write", err)
	}
	return nil
}

func (s fileStore) indexFault(doing string, err error) error {
	err = fmt.Errorf("%s index of ledger %s: %w", doing, s.dir, advised(err))
	if errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: remove the folder %s there, and the next write makes it again of the records", err, indexDir)
	}
	return err
}

// makeIndex makes the index of all records that are there. Until it is whole it
// is not in its place.
func (s fileStore) makeIndex(root *os.Root) error {
	var entries []string
	err := s.All(context.Background(), func(rec Record) error {
		entries = append(entries, rec.entries()...)
		return nil
	})
	if err != nil {
		return err
	}
	temp := path.Join(tempDir, indexDir)
	err = root.RemoveAll(temp)
	if err == nil {
		err = root.MkdirAll(temp, 0o777)
	}
	if err == nil {
		err = makeEntries(root, temp, entries)
	}
	if err == nil {
		err = root.Rename(temp, indexDir)
	}
	if err == nil {
		err = syncDir(root, ".")
	}
	if err != nil {
		return s.indexFault("make", err)
	}
	return nil
}

// makeEntries makes entries of the index, which may be there, below a folder
// that stands for it.
func makeEntries(root *os.Root, index string, entries []string) error {
	files := make([]string, len(entries))
	for i, entry := range entries {
		files[i] = index + strings.TrimPrefix(entry, indexDir)
		if err := root.MkdirAll(path.Dir(files[i]), 0o777); err != nil {
			return err
		}
	}
	for _, file := range files {
		err := writeSynced(root, file, nil)
		if errors.Is(err, fs.ErrExist) {
			err = checkIsRegular(root, file)
		}
		if err != nil {
			return err
		}
	}
	return syncUp(root, files...)
}

// leave removes the markers of a record that is open no longer. One that stays
// costs a look at the record.
func leave(root *os.Root, rec Record) {
	dir, base := path.Split(markersOf(rec.key()))
	markers, _ := fs.ReadDir(root.FS(), path.Clean(dir))
	for _, m := range markers {
		rest, ok := strings.CutPrefix(m.Name(), base)
		if seq, err := strconv.Atoi(rest); ok && err == nil && seq <= rec.Seq {
			_ = root.Remove(path.Join(dir, m.Name()))
		}
	}
}

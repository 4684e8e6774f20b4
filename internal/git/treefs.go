package git

import (
	"cmp"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// treeInfo describes a file or a folder of a tree, which has no time.
type treeInfo struct {
	name   string
	size   int64
	folder bool
}

func (i treeInfo) Name() string     { return i.name }
func (i treeInfo) Size() int64      { return i.size }
func (treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool      { return i.folder }
func (treeInfo) Sys() any           { return nil }

func (i treeInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}

// openTreeFile is a file of a tree that was opened.
type openTreeFile struct {
	*strings.Reader
	info treeInfo
}

func (f *openTreeFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (*openTreeFile) Close() error                 { return nil }

// openTreeFolder is a folder of a tree that was opened, with the entries that
// were not read yet.
type openTreeFolder struct {
	info treeInfo
	rest []fs.DirEntry
}

func (f *openTreeFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (*openTreeFolder) Close() error                 { return nil }

func (f *openTreeFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

// ReadDir reads the next entries, or all that are left.
func (f *openTreeFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.rest) {
		n = len(f.rest)
	}
	entries := slices.Clone(f.rest[:n])
	f.rest = f.rest[n:]
	return entries, nil
}

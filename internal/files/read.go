// Package files reads and writes files that may have come with a repository. It never waits for a pipe,
// follows no link out of a directory, and never treats a part of a file as the whole.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NoWait opens a pipe without waiting for its other end.
const NoWait = syscall.O_NONBLOCK

// tree is a directory that no link leads out of. Open never waits: what was listed as a file may have become a pipe.
type tree struct {
	rootFS
	root *os.Root
}

type rootFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// FS returns the file system of a directory.
func FS(root *os.Root) fs.FS {
	inside, _ := root.FS().(rootFS) // os.Root promises all of it
	return tree{inside, root}
}

// Root returns the directory of a file system that FS returned, else nil.
func Root(fsys fs.FS) *os.Root {
	t, _ := fsys.(tree)
	return t.root
}

// Open opens a file for reading.
func (t tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return t.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|NoWait, 0)
}

type limited struct {
	io.Reader
	left, limit int64
}

// AtMost returns a reader that fails, instead of ending early, if the input is longer.
func AtMost(r io.Reader, limit int64) io.Reader { return &limited{r, limit, limit} }

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("it is longer than %d MiB", l.limit>>20)
	}
	return n, err
}

// Open opens a file for reading. Its errors do not name the file.
func Open(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|NoWait, 0)
	if err != nil {
		return nil, nil, WithoutPath(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(WithoutPath(err), f.Close())
	}
	return f, info, nil
}

// Read reads a regular file of at most limit bytes. Its errors do not name the file.
func Read(name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, WithoutPath(err)
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return data, info, nil
}

// ReadFS reads a file of at most limit bytes.
func ReadFS(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(AtMost(f, limit))
}

// Above finds the nearest entry of that name in dir or a directory above it.
func Above(dir, name string) (string, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		entry := filepath.Join(at, name)
		if _, err := os.Lstat(entry); err == nil {
			return entry, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// WithoutPath removes the path from an error of package os, for a message that has it already.
func WithoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// Absolute returns the whole path of a name that starts from dir.
func Absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// Shown returns a path relative to cwd if possible.
func Shown(cwd, full string) string {
	if rel, err := filepath.Rel(cwd, full); err == nil {
		return rel
	}
	return full
}

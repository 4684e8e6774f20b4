// Package files reads and writes files that may have come with a repository. It never waits for a pipe,
// follows no link out of a directory, and never treats a part of a file as the whole.
package files

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// NoWait opens a pipe without waiting for its other end.
const NoWait = syscall.O_NONBLOCK

// confinedFS is a directory that no link leads out of. Open never waits: what was listed as a file may have become a pipe.
type confinedFS struct {
	rootFS
	root *os.Root
}

type rootFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// OpenFS returns the file system of a directory.
func OpenFS(root *os.Root) fs.FS {
	inside, _ := root.FS().(rootFS) // os.Root promises all of it
	return confinedFS{inside, root}
}

// RootOf returns the directory of a file system that OpenFS returned, else nil.
func RootOf(fsys fs.FS) *os.Root {
	t, _ := fsys.(confinedFS)
	return t.root
}

// Open opens a file for reading.
func (t confinedFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return t.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|NoWait, 0)
}

// ReadDir lists a directory. The system says what each entry is, while os.Root looks at each by itself, which takes most
// of the time for a large directory. So it lists the directory by its path, if that leads to the same one.
func (t confinedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	path := filepath.Join(t.root.Name(), filepath.FromSlash(name))
	dir, err := os.OpenFile(path, os.O_RDONLY|NoWait, 0)
	if err != nil {
		return t.rootFS.ReadDir(name)
	}
	defer func() { _ = dir.Close() }()
	is, err := dir.Stat()
	if inside, insideErr := t.Stat(name); err != nil || insideErr != nil || !os.SameFile(is, inside) {
		return t.rootFS.ReadDir(name)
	}
	list, err := dir.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for i, e := range list {
		list[i] = confinedEntry{e, t.root, filepath.Join(filepath.FromSlash(name), e.Name())}
	}
	return list, err
}

// confinedEntry looks only inside of the directory.
type confinedEntry struct {
	fs.DirEntry
	root *os.Root
	name string
}

func (e confinedEntry) Info() (fs.FileInfo, error) { return e.root.Lstat(e.name) }

type limitedReader struct {
	io.Reader
	left, limit int64
}

// LimitReader returns a reader that fails, instead of ending early, if the input is longer.
func LimitReader(r io.Reader, limit int64) io.Reader { return &limitedReader{r, limit, limit} }

func (l *limitedReader) Read(p []byte) (int, error) {
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

// ReadFS reads a regular file of at most limit bytes.
func ReadFS(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(LimitReader(f, limit))
}

// FindAbove finds the nearest entry of that name in dir or a directory above it.
func FindAbove(dir, name string) (string, bool) {
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

// AbsolutePath returns the whole path of a name that starts from dir.
func AbsolutePath(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// ShownPath returns a path relative to cwd if possible.
func ShownPath(cwd, full string) string {
	if rel, err := filepath.Rel(cwd, full); err == nil {
		return rel
	}
	return full
}

// File is a file to write. Its name is relative to the directory that is written to, with slashes.
type File struct {
	Name    string
	Content []byte
}

// The results of WriteNew.
const (
	Written   = "written"
	Unchanged = "there already"
	Kept      = "left as it is"
)

// WriteNew creates a file and the directories above it. It leaves an existing file: Unchanged if the
// content is the same, else Kept.
func WriteNew(root *os.Root, f File) (string, error) {
	name := filepath.FromSlash(f.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if HasContent(root, f) {
			return Unchanged, nil
		}
		return Kept, nil
	}
	if err != nil {
		return "", err
	}
	_, err = file.Write(f.Content)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = root.Remove(name) // it is incomplete
	}
	return Written, err
}

// HasContent reports whether the file exists with this content.
func HasContent(root *os.Root, f File) bool {
	name := filepath.FromSlash(f.Name)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(f.Content)) {
		return false
	}
	is, err := root.ReadFile(name)
	return err == nil && bytes.Equal(is, f.Content)
}

// ReplaceFile replaces the content of a file atomically, and keeps its permissions and group. It rejects a link, a device
// and a read-only file.
func ReplaceFile(root *os.Root, f File) error {
	name := filepath.FromSlash(f.Name)
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file, so trueup does not write to it")
	}
	const ownerWrites = 0o200
	if err == nil && info.Mode().Perm()&ownerWrites == 0 {
		err = errors.New("it is read-only")
	}
	if err == nil {
		err = replaceContent(root, name, f.Content, info)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, WithoutPath(err))
	}
	return nil
}

// replaceContent writes a file atomically, in place of was.
func replaceContent(root *os.Root, name string, content []byte, was fs.FileInfo) error {
	mode := was.Mode().Perm()
	temp := filepath.Join(filepath.Dir(name), ".trueup-"+rand.Text())
	file, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, keepGroup(file, was), file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// Folder is a directory to write to: Inside is relative to Base, which no link leads out of.
type Folder struct{ Base, Inside, Display string }

// FolderAt returns the directory that the user named, relative to cwd. Links outside cwd are the user's choice.
func FolderAt(cwd, name string) Folder {
	display := filepath.ToSlash(filepath.Clean(name))
	if filepath.IsLocal(name) {
		return Folder{cwd, filepath.Clean(name), display}
	}
	return Folder{AbsolutePath(cwd, name), ".", display}
}

// ShownPath returns the path of a file in the directory as the user knows it.
func (f Folder) ShownPath(file string) string { return path.Join(f.Display, file) }

// NameInBase returns the path of a file in the directory from Base, with slashes.
func (f Folder) NameInBase(file string) string { return path.Join(filepath.ToSlash(f.Inside), file) }

// FullPath returns the absolute path of a file in the directory.
func (f Folder) FullPath(file string) string {
	return filepath.Join(f.Base, filepath.FromSlash(f.NameInBase(file)))
}

// OpenOrCreate opens the directory, and creates it if needed.
func (f Folder) OpenOrCreate() (*os.Root, error) {
	if f.Inside == "." {
		if err := os.MkdirAll(f.Base, 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(f.Base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(f.Inside, 0o755); err != nil {
		return nil, err
	}
	return root.OpenRoot(f.Inside)
}

// WriteManifest creates a file like WriteNew, unless its directory is behind a link.
func WriteManifest(root *os.Root, f File) (string, error) {
	if err := rejectLink(root, path.Dir(f.Name)); err != nil {
		return "", err
	}
	return WriteNew(root, f)
}

// rejectLink rejects a directory behind a link, because trueup would not read files there, and a path through a file.
func rejectLink(root *os.Root, folder string) error {
	at := ""
	for part := range strings.SplitSeq(folder, "/") {
		at = path.Join(at, part)
		switch info, err := root.Lstat(filepath.FromSlash(at)); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, and trueup reads no manifests through links: replace it with a folder", at)
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder: move it away, or choose another place with --dir", at)
		}
	}
	return nil
}

// OpenOutput opens a file to write a result to; how is os.O_TRUNC or os.O_APPEND. It rejects a link to a
// file, which may have come with a pull request, but follows one to a pipe or a device such as
// /dev/stdout. No link leads out of dir for a name inside dir.
func OpenOutput(dir, name string, how int) (*os.File, error) {
	full := AbsolutePath(dir, name)
	if info, err := os.Lstat(full); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if aim, err := os.Stat(full); err != nil || aim.Mode().IsRegular() || aim.IsDir() {
			return nil, fmt.Errorf("%s: it is a symbolic link, which could overwrite any file: remove it, or name the file itself", name)
		}
	}
	f, err := OpenInside(dir, name, full, os.O_CREATE|os.O_WRONLY|NoWait|how)
	if errors.Is(err, syscall.ENXIO) {
		err = errors.New("nothing reads from the pipe")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, WithoutPath(err))
	}
	return f, nil
}

// OpenInside opens a file; full is its absolute path. No link leads out of dir for a name inside dir.
func OpenInside(dir, name, full string, flags int) (*os.File, error) {
	if !filepath.IsLocal(name) {
		return os.OpenFile(full, flags, 0o600)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.OpenFile(name, flags, 0o600)
}

// OwnFolder returns the path of trueup's own directory name in dir. It rejects a link in its place, which
// could make trueup write or delete files elsewhere.
func OwnFolder(dir, name string) (string, error) {
	at := dir
	for part := range strings.SplitSeq(name, "/") {
		at = filepath.Join(at, part)
		switch info, err := os.Lstat(at); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case !info.IsDir():
			return "", fmt.Errorf("%s is not a folder, and trueup needs one there: remove it", at)
		}
	}
	return at, nil
}

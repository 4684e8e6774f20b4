package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// noWait opens a pipe without waiting for its other end: nobody may ever come.
const noWait = syscall.O_NONBLOCK

// The bounds of what is read beside manifests, in bytes.
const (
	maxProject = 1 << 20
	maxBackup  = 1 << 30
)

// rootFS is what manifest.Load needs of a folder.
type rootFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// tree is a folder that no link leads out of, and in which opening a file never
// waits: one that was listed as a file may be a pipe by now.
type tree struct {
	rootFS
	root *os.Root
}

func treeOf(root *os.Root) fs.FS {
	inside, ok := root.FS().(rootFS)
	if !ok {
		return root.FS()
	}
	return tree{inside, root}
}

// Open opens a file of the folder for reading.
func (t tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return t.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|noWait, 0)
}

// bounded is an input that ends with an error where it is longer than it may
// be: a part of it could pass for the whole.
type bounded struct {
	io.Reader
	left, limit int64
}

func atMost(r io.Reader, limit int64) io.Reader { return &bounded{r, limit, limit} }

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("it is longer than %d MiB", b.limit>>20)
	}
	return n, err
}

// stdin is standard input. Who sits at a terminal is told that it is waited for.
func (a *app) stdin(what string) io.Reader {
	if a.env.StdinIsTTY {
		a.log(slog.LevelInfo, "reading "+what+" from the terminal: end with Ctrl-D on its own line")
	}
	return a.env.Stdin
}

// full is the path of a file that the user named, from where -C leads.
func (a *app) full(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(a.dir(), name)
}

// errLink says why a report is not written through a symbolic link.
var errLink = errors.New("it is a symbolic link, which could overwrite any file: remove it, or name the file itself")

// errSource says why a file is not emptied for a result.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")

// mayBeSource tells by its name whether a file may be one that a person wrote.
func mayBeSource(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending == ".yaml" || ending == ".yml"
}

// createReport opens a file to write a result to, and empties it.
func createReport(dir, name string) (*os.File, error) { return openReport(dir, name, os.O_TRUNC) }

// openReport opens a file to write a result to; how says what becomes of what is
// in it. A link in its place may come with a pull request and lead to any file of
// the machine, so it is not followed, but to a pipe or a device such as
// /dev/stdout; and no link on the way to a name inside dir may lead out of dir.
func openReport(dir, name string, how int) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | noWait | how
	full := name
	if !filepath.IsAbs(name) {
		full = filepath.Join(dir, name)
	}
	if info, err := os.Lstat(full); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if aim, err := os.Stat(full); err != nil || aim.Mode().IsRegular() || aim.IsDir() {
			return nil, fmt.Errorf("%s: %w", name, errLink)
		}
	}
	f, err := openInside(dir, name, full, flags)
	if errors.Is(err, syscall.ENXIO) {
		err = errors.New("nothing reads from the pipe")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	return f, nil
}

func openInside(dir, name, full string, flags int) (*os.File, error) {
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

// ownFolder is a folder that this program keeps beside a project. What may have
// come with the project is refused in its place: a link, which could make it
// write, or remove, what lies elsewhere.
func ownFolder(dir, name string) (string, error) {
	at := dir
	for part := range strings.SplitSeq(name, "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case !info.IsDir():
			return "", fmt.Errorf("%s is not a folder, and trueup needs one there: remove it", at)
		}
	}
	return at, nil
}

// plain leaves out the path that an error repeats.
func plain(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

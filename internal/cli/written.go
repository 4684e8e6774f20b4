package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// newFile is a file of a repository that a command writes; its name starts from
// the folder that is written to, with slashes.
type newFile struct {
	name    string
	content []byte
}

// What became of a file.
const (
	fileWritten = "written"
	fileThere   = "there already"
	fileKept    = "left as it is"
)

// writeNew writes a file that does not exist, in folders that it makes; one that
// does is left as it is.
func writeNew(root *os.Root, f newFile) (string, error) {
	name := filepath.FromSlash(f.name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if sameFile(root, name, f.content) {
			return fileThere, nil
		}
		return fileKept, nil
	}
	if err != nil {
		return "", err
	}
	_, err = file.Write(f.content)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = root.Remove(name) // half of it would be taken for all
	}
	return fileWritten, err
}

// sameFile reports whether a file says just that.
func sameFile(root *os.Root, name string, content []byte) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(content)) {
		return false
	}
	is, err := root.ReadFile(name)
	return err == nil && bytes.Equal(is, content)
}

// replaceFile gives a file another content at once or not at all, and leaves its
// permissions as they are. A link or a device is refused.
func replaceFile(root *os.Root, f newFile) error {
	name := filepath.FromSlash(f.name)
	info, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, plain(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", f.name, errors.New("it is not a regular file, so trueup does not write to it"))
	}
	temp := filepath.Join(filepath.Dir(name), ".trueup-"+rand.Text()) // no other run has it
	if err := writeTemp(root, temp, f.content, info.Mode().Perm()); err != nil {
		_ = root.Remove(temp)
		return fmt.Errorf("%s: %w", f.name, plain(err))
	}
	if err := root.Rename(temp, name); err != nil {
		_ = root.Remove(temp)
		return fmt.Errorf("%s: %w", f.name, plain(err))
	}
	return nil
}

// writeTemp writes what is to take a file's place, durably.
func writeTemp(root *os.Root, temp string, content []byte, mode os.FileMode) error {
	file, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// target is the folder that new files are written to: inside base, which no link
// leads out of.
type target struct{ base, inside, display string }

// shown is a file of the folder as the user knows it.
func (t target) shown(file string) string { return path.Join(t.display, file) }

// name is a file of the folder from base, with slashes.
func (t target) name(file string) string { return path.Join(filepath.ToSlash(t.inside), file) }

// full is a file of the folder wherever that is.
func (t target) full(file string) string {
	return filepath.Join(t.base, filepath.FromSlash(t.name(file)))
}

// targetAt is a folder that the user named. Any place outside the current folder
// is the user's own choice.
func (a *app) targetAt(dir string) target {
	if filepath.IsLocal(dir) {
		return target{a.dir(), filepath.Clean(dir), filepath.ToSlash(filepath.Clean(dir))}
	}
	return target{a.full(dir), ".", filepath.ToSlash(filepath.Clean(dir))}
}

// folderFor opens a folder to write to, and makes it where there is none. No link
// leads out of the current folder to one that is named below it.
func (a *app) folderFor(dir string) (*os.Root, error) {
	t := a.targetAt(dir)
	if !filepath.IsLocal(dir) {
		if err := os.MkdirAll(t.base, 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(t.base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(t.inside, 0o755); err != nil {
		return nil, err
	}
	return root.OpenRoot(t.inside)
}

// writeNewIn writes new files into a folder that is made where there is none. It
// is an error, said for all of them, where a file is there that says something
// else.
func (a *app) writeNewIn(dir string, files []newFile) error {
	root, err := a.folderFor(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, plain(err))
	}
	defer func() { _ = root.Close() }()
	var kept []string
	for _, f := range files {
		shown := path.Join(filepath.ToSlash(dir), f.name)
		done, err := writeNew(root, f)
		if err != nil {
			return fmt.Errorf("%s: %w", shown, plain(err))
		}
		if done == fileKept {
			kept = append(kept, shown)
		}
		if err := a.out.Printf("%s %s\n", done, shown); err != nil {
			return err
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("unchanged, because it exists with other content: %s; name another folder", strings.Join(kept, ", "))
	}
	return nil
}

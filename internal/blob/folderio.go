package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
)

// readRegular reads a file inside root that is neither a link, a pipe nor a device; fs.ErrNotExist means that
// there is none.
func readRegular(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(info, name); err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		// It existed a moment ago, so this does not prove that it is absent.
		return nil, fmt.Errorf("%s was deleted while trueup read it", name)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	// Another file may have replaced it since.
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := checkRegular(info, name); err != nil {
		return nil, err
	}
	// MinRead is room to see the end of the file.
	content := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = content.ReadFrom(io.LimitReader(f, maxSize+1))
	return content.Bytes(), err
}

func checkRegular(info fs.FileInfo, name string) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s", ErrIrregular, name)
	case info.Size() > maxSize:
		return fmt.Errorf("%w: %s is longer than %d bytes", ErrIrregular, name, maxSize)
	}
	return nil
}

func writeSynced(root *os.Root, name string, content []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes a directory and those above it, durably.
func makeDir(dir string) error {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, d := range made {
		parent, err := os.OpenRoot(filepath.Dir(d))
		if err != nil {
			return err
		}
		if err := errors.Join(syncDir(parent, "."), parent.Close()); err != nil {
			return err
		}
	}
	return nil
}

// syncUp makes the name of a file durable, and those of the folders that lead to it.
func syncUp(root *os.Root, name string) error {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if err := syncDir(root, dir); err != nil || dir == "." {
			return err
		}
	}
}

// syncDir makes the names in a directory durable.
func syncDir(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call; its file systems keep the order of names
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// advised adds to an error what to do about it.
func advised(err error) error {
	var advice string
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		// A file is where a folder was.
		return fmt.Errorf("%w: %w", ErrIrregular, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		advice = "free space on that disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		advice = "the user that runs trueup needs permission to read and write the ledger"
	case errors.Is(err, syscall.EIO):
		advice = "the disk is failing: restore what can't be read from a backup"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, advice)
}

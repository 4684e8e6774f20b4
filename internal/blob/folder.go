package blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"
)

const (
	// tempDir has incomplete files, and folders of proofs. sweep removes those of dead processes after tempAge.
	tempDir = "tmp"
	tempAge = 24 * time.Hour
	// ignoreFile keeps the folder out of git, because the checkout of an older commit would roll it back.
	ignoreFile = ".gitignore"
)

// FolderStore is a directory. Create links a temporary file to its name, which fails if the name exists, so no lock is
// needed. Each call opens the directory anew, to detect that it was moved.
type FolderStore string

// Prepare creates the directory and its parents.
func (d FolderStore) Prepare(ctx context.Context) error {
	if err := makeDir(string(d)); err != nil {
		return fmt.Errorf("make %s: %w", d, withAdvice(err))
	}
	return d.withRoot(ctx, "make", "", func(root *os.Root) error {
		err := writeSynced(root, ignoreFile, []byte("*\n"))
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}

// SubStore returns a directory within this one.
func (d FolderStore) SubStore(folder string) Store {
	return FolderStore(filepath.Join(string(d), folder))
}

// Location returns the path of a file.
func (d FolderStore) Location(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// Close does nothing.
func (d FolderStore) Close() error { return nil }

// Clear removes the directory.
func (d FolderStore) Clear(context.Context) error { return os.RemoveAll(string(d)) }

// withRoot calls do with the open directory.
func (d FolderStore) withRoot(ctx context.Context, doing, name string, do func(root *os.Root) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := os.OpenRoot(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if err == nil {
		err = do(root)
		_ = root.Close()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", doing, d.Location(name), withAdvice(err))
	}
	return nil
}

// Create does not create the directory again after somebody removed it.
func (d FolderStore) Create(ctx context.Context, blobs ...Blob) error {
	for _, b := range blobs {
		if err := d.createFile(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes files.
func (d FolderStore) Remove(ctx context.Context, names ...string) error {
	return ignoreAbsent(d.withRoot(ctx, "remove files of", "", func(root *os.Root) error {
		for _, name := range names {
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}))
}

func (d FolderStore) createFile(ctx context.Context, b Blob) error {
	return d.withRoot(ctx, "write", b.Name, func(root *os.Root) error {
		temp := path.Join(tempDir, uuid.NewString())
		for _, dir := range []string{tempDir, path.Dir(b.Name)} {
			if err := root.MkdirAll(dir, 0o777); err != nil {
				return err
			}
		}
		defer func() { _ = root.Remove(temp) }()
		if err := writeSynced(root, temp, b.Content); err != nil {
			return err
		}
		removeOldTemporaries(root, temp)
		err := root.Link(temp, b.Name)
		if errors.Is(err, fs.ErrExist) {
			if _, err := readRegular(root, b.Name); err != nil {
				return err
			}
			return ErrExists
		}
		if err != nil {
			return err
		}
		for dir := path.Dir(b.Name); ; dir = path.Dir(dir) {
			if err := syncDir(root, dir); err != nil || dir == "." {
				return err
			}
		}
	})
}

// removeOldTemporaries removes temporary files that are much older than the one just written.
func removeOldTemporaries(root *os.Root, written string) {
	now, err := root.Lstat(written)
	left, lerr := fs.ReadDir(root.FS(), tempDir)
	for _, entry := range left {
		have, herr := entry.Info()
		if errors.Join(err, lerr, herr) == nil && now.ModTime().Sub(have.ModTime()) > tempAge {
			_ = root.RemoveAll(path.Join(tempDir, entry.Name()))
		}
	}
}

// CheckRefusesCreation does not test anything: a file system never has two files of one name.
func (d FolderStore) CheckRefusesCreation(ctx context.Context, _ string) error { return ctx.Err() }

// Get reads a file.
func (d FolderStore) Get(ctx context.Context, name string) (content []byte, err error) {
	err = d.withRoot(ctx, "read", name, func(root *os.Root) (err error) {
		content, err = readRegular(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrAbsent
		}
		return err
	})
	return content, err
}

// GetOld reads a file.
func (d FolderStore) GetOld(ctx context.Context, name string, _ int) ([]byte, error) {
	return d.Get(ctx, name)
}

// List skips hidden files. It lists a folder with the name of a file, which Get rejects.
func (d FolderStore) List(ctx context.Context, under string, most int) (names []string, err error) {
	err = d.withRoot(ctx, "list", under, func(root *os.Root) error { return addNames(ctx, root, under, most, &names) })
	return names, ignoreAbsent(err)
}

// addNames adds names below a folder until there are most. It looks at no file: each would cost a call. A folder that does
// not exist is empty.
func addNames(ctx context.Context, root *os.Root, under string, most int, names *[]string) error {
	folder, err := root.Open(under)
	if errors.Is(err, fs.ErrNotExist) {
		return ctx.Err()
	} else if err != nil {
		return err
	}
	entries, err := folder.Readdirnames(-1)
	_ = folder.Close()
	slices.Sort(entries)
	for i := 0; i < len(entries) && err == nil && (most == 0 || len(*names) < most); i++ {
		name, isFolder := path.Join(under, entries[i]), false
		if path.Ext(name) == "" {
			var info fs.FileInfo
			info, err = root.Lstat(name)
			isFolder = err == nil && info.IsDir()
		}
		switch {
		case isFolder:
			err = addNames(ctx, root, name, most, names)
		case err == nil && entries[i][0] != '.':
			*names = append(*names, name)
		}
	}
	return cmp.Or(err, ctx.Err())
}

// readRegular reads a file. It rejects links, pipes and devices. It returns fs.ErrNotExist if there is no file.
func readRegular(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err == nil {
		err = checkRegular(info, name)
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		// It existed a moment ago, so this is no proof of absence.
		return nil, fmt.Errorf("%s was deleted while trueup read it", name)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	// Another file may have replaced it since.
	if info, err = f.Stat(); err == nil {
		err = checkRegular(info, name)
	}
	if err != nil {
		return nil, err
	}
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

// makeDir durably creates a directory and its parents.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == parent {
		return os.MkdirAll(dir, 0o777)
	}
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(root, "."), root.Close())
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

// withAdvice adds to an error what the user can do.
func withAdvice(err error) error {
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

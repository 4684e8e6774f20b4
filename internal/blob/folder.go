package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

const (
	// tempDir has files until they are whole. What dead processes left there is removed after tempAge.
	tempDir = "tmp"
	tempAge = time.Hour
	// ignoreFile keeps the folder out of the project's git: a checkout of an older commit would roll it back.
	ignoreFile = ".gitignore"
)

// Folder is a directory on a disk that lasts. Create writes a temporary file and links it to its name, which
// fails if the name exists: that needs no lock. Each call opens the directory anew, so that it detects one that
// was moved away.
type Folder string

// Make makes the directory, and those above it.
func (d Folder) Make(ctx context.Context) error {
	if err := makeDir(string(d)); err != nil {
		return fmt.Errorf("make %s: %w", d, advised(err))
	}
	return d.within(ctx, "make", "", func(root *os.Root) error {
		if err := writeSynced(root, ignoreFile, []byte("*\n")); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// Below returns a directory within this one.
func (d Folder) Below(folder string) Store { return Folder(filepath.Join(string(d), folder)) }

// Place returns the path of a file.
func (d Folder) Place(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Clear removes the directory.
func (d Folder) Clear(context.Context) error { return os.RemoveAll(string(d)) }

// within opens the directory for do.
func (d Folder) within(ctx context.Context, doing, name string, do func(root *os.Root) error) error {
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
		return fmt.Errorf("%s %s: %w", doing, d.Place(name), advised(err))
	}
	return nil
}

// Create creates files. It does not make the directory again after somebody removed it.
func (d Folder) Create(ctx context.Context, b Blob, copies ...Copy) error {
	return createAll(ctx, b, copies, d.create)
}

func (d Folder) create(ctx context.Context, b Blob) error {
	return d.within(ctx, "write", b.Name, func(root *os.Root) error {
		temp := path.Join(tempDir, uuid.NewString())
		_, absent := root.Lstat(path.Dir(b.Name))
		for _, dir := range []string{tempDir, path.Dir(b.Name)} {
			if err := root.MkdirAll(dir, 0o777); err != nil {
				return err
			}
		}
		defer func() { _ = root.Remove(temp) }()
		if err := writeSynced(root, temp, b.Content); err != nil {
			return err
		}
		if absent != nil {
			sweep(root, temp)
		}
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
		return syncUp(root, b.Name)
	})
}

// sweep removes files of tempDir that are much older than one that was just written. One that stays does no
// harm.
func sweep(root *os.Root, written string) {
	now, err := root.Lstat(written)
	left, lerr := fs.ReadDir(root.FS(), tempDir)
	for _, entry := range left {
		have, herr := entry.Info()
		// A folder is a proof in progress.
		if errors.Join(err, lerr, herr) == nil && !entry.IsDir() && now.ModTime().Sub(have.ModTime()) > tempAge {
			_ = root.Remove(path.Join(tempDir, entry.Name()))
		}
	}
}

// RefusesCreation needs no test: a file system never has two files of one name.
func (d Folder) RefusesCreation(ctx context.Context, _ string) error { return ctx.Err() }

// Get reads a file.
func (d Folder) Get(ctx context.Context, name string) (content []byte, err error) {
	err = d.within(ctx, "read", name, func(root *os.Root) (err error) {
		content, err = readRegular(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrAbsent
		}
		return err
	})
	return content, err
}

// List lists the files that are not hidden.
func (d Folder) List(ctx context.Context, under string, most int) (names []string, err error) {
	err = d.within(ctx, "list", under, func(root *os.Root) error {
		return fs.WalkDir(root.FS(), under, func(p string, entry fs.DirEntry, err error) error {
			switch {
			case err == nil && ctx.Err() != nil:
				return ctx.Err()
			case p == under && errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || entry.IsDir() || entry.Name()[0] == '.':
				return err
			}
			if names = append(names, p); len(names) == most {
				return fs.SkipAll
			}
			return nil
		})
	})
	if errors.Is(err, ErrAbsent) {
		return nil, nil
	}
	return names, err
}

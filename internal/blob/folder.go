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
	// tempDir is where files are until they are whole; what dead processes left there
	// is removed when it is tempAge old.
	tempDir = "tmp"
	tempAge = time.Hour
	// ignoreFile keeps the folder out of the project's git: a checkout of an
	// older commit would turn it back.
	ignoreFile = ".gitignore"
)

// Folder is a directory on a disk that lasts. A file is written elsewhere and then given
// its name, which fails where another has it: that needs no lock. The directory is
// opened anew for each call, so that one that was moved away is noticed.
type Folder string

// Make makes the directory, and those above it.
func (d Folder) Make(context.Context) error {
	if err := makeDir(string(d)); err != nil {
		return fmt.Errorf("make %s: %w", d, advised(err))
	}
	return d.within("make", "", func(root *os.Root) error {
		if err := writeSynced(root, ignoreFile, []byte("*\n")); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// Below is a directory within this one.
func (d Folder) Below(folder string) Store { return Folder(filepath.Join(string(d), folder)) }

// Place is the file's path.
func (d Folder) Place(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Clear removes the directory.
func (d Folder) Clear(context.Context) error { return os.RemoveAll(string(d)) }

// within opens the directory for do.
func (d Folder) within(doing, name string, do func(root *os.Root) error) error {
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

// Create makes a file. The directory must exist: it is not made again after somebody
// removed it.
func (d Folder) Create(ctx context.Context, b Blob, copies ...Copy) error {
	err := d.create(ctx, b.Name, b.Content)
	for i := 0; i < len(copies) && err == nil && d.create(ctx, copies[i].Name, copies[i].Content) == nil; {
		i++
	}
	return err
}

func (d Folder) create(ctx context.Context, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.within("write", name, func(root *os.Root) error {
		temp := path.Join(tempDir, uuid.NewString())
		_, absent := root.Lstat(path.Dir(name))
		for _, dir := range []string{tempDir, path.Dir(name)} {
			if err := root.MkdirAll(dir, 0o777); err != nil {
				return err
			}
		}
		defer func() { _ = root.Remove(temp) }()
		if err := writeSynced(root, temp, content); err != nil {
			return err
		}
		if absent != nil {
			sweep(root, temp)
		}
		err := root.Link(temp, name)
		if errors.Is(err, fs.ErrExist) {
			if _, err := readRegular(root, name); err != nil {
				return err
			}
			return ErrExists
		}
		if err != nil {
			return err
		}
		return syncUp(root, name)
	})
}

// sweep removes files of tempDir that are much older than one that was just written. One
// that stays does no harm.
func sweep(root *os.Root, written string) {
	now, err := root.Lstat(written)
	left, lerr := fs.ReadDir(root.FS(), tempDir)
	for _, entry := range left {
		have, herr := entry.Info()
		// A folder is a proof that is being made.
		if err == nil && lerr == nil && herr == nil && !entry.IsDir() && now.ModTime().Sub(have.ModTime()) > tempAge {
			_ = root.Remove(path.Join(tempDir, entry.Name()))
		}
	}
}

// RefusesCreation has nothing to show: two files never have one name.
func (d Folder) RefusesCreation(ctx context.Context, _ string) error { return ctx.Err() }

// Get reads a file.
func (d Folder) Get(ctx context.Context, name string) (content []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = d.within("read", name, func(root *os.Root) (err error) {
		content, err = readRegular(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrAbsent
		}
		return err
	})
	return content, err
}

// List lists the files, but for hidden ones.
func (d Folder) List(ctx context.Context, under string, most int) ([]string, error) {
	var names []string
	root, err := os.OpenRoot(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ctx.Err()
	}
	if err == nil {
		defer func() { _ = root.Close() }()
		err = fs.WalkDir(root.FS(), under, func(p string, entry fs.DirEntry, err error) error {
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
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.Place(under), advised(err))
	}
	return names, nil
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/manifest"
)

// sources turns the PATHs of the command line, or the project's manifests, into
// what manifest.Load reads: each inside an os.Root, so that no link leads out of
// it. closeAll releases them.
func (a *app) sources(p project, paths []string) (list []manifest.Source, closeAll func(), err error) {
	if slices.Contains(paths, "-") {
		if err := a.inputIsManifests(); err != nil {
			return nil, nil, err
		}
	}
	o := &opener{dir: a.dir(), stdin: func() io.Reader { return a.stdin("manifests") }}
	switch {
	case len(paths) > 0:
		err = o.named(paths)
	case len(p.Manifests) > 0:
		err = o.configured(p)
	default:
		err = o.named([]string{"."})
	}
	if err != nil {
		o.close()
		return nil, nil, err
	}
	return o.sources, o.close, nil
}

// opener collects sources and the folders that they hold open.
type opener struct {
	// dir is what relative PATHs start from.
	dir     string
	stdin   func() io.Reader
	sources []manifest.Source
	roots   []*os.Root
}

func (o *opener) close() {
	for _, r := range o.roots {
		_ = r.Close() // opened for reading only
	}
}

// named opens PATHs as the user wrote them. One below dir is not left by a
// link, whoever put it there; any other place is the user's own choice.
func (o *opener) named(paths []string) error {
	for i, path := range paths {
		if path == "-" {
			if slices.Contains(paths[:i], path) {
				return errors.New("- is given twice, and there is only one standard input: name it once")
			}
			// One byte more than is allowed, so that it is noticed.
			data, err := io.ReadAll(io.LimitReader(o.stdin(), manifest.MaxFile+1))
			if err != nil {
				return fmt.Errorf("standard input: %w", err)
			}
			o.sources = append(o.sources, manifest.Source{Data: data, Display: "-"})
			continue
		}
		base, inside := o.dir, path
		if !filepath.IsLocal(path) {
			base, inside = filepath.Clean(path), "."
			if !filepath.IsAbs(path) {
				base = filepath.Join(o.dir, path)
			}
			if info, err := os.Stat(base); err == nil && !info.IsDir() {
				base, inside = filepath.Dir(base), filepath.Base(base)
			}
		}
		if err := o.open(base, inside, path); err != nil {
			return err
		}
	}
	return nil
}

// configured opens what trueup.yaml names, which must lie below its folder: a
// pull request can't make the program read, and show, a file of the machine.
func (o *opener) configured(p project) error {
	for _, path := range p.Manifests {
		if !filepath.IsLocal(path) {
			return exit.With(exit.Invalid, fmt.Errorf("%s: manifests: %q is outside the folder of the file", projectFile, path))
		}
		err := o.open(p.dir, path, configuredAs(o.dir, p, path))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: manifests: in %s names it: create it, or name another", err, projectFile)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// configuredAs is how the user, who is in dir, knows a name of trueup.yaml.
func configuredAs(dir string, p project, name string) string {
	return files.Shown(dir, filepath.Join(p.dir, name))
}

// open adds the file or folder inside base; shown is how the user knows it.
func (o *opener) open(base, inside, shown string) error {
	if err := notInGit(filepath.Join(base, inside), shown); err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, files.WithoutPath(err))
	}
	o.roots = append(o.roots, root)
	info, err := root.Stat(inside)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, files.WithoutPath(err))
	}
	src := manifest.Source{Path: ".", Display: filepath.ToSlash(shown)}
	folder := inside
	if !info.IsDir() {
		folder = filepath.Dir(inside)
		src.Path, src.Display = filepath.Base(inside), filepath.ToSlash(filepath.Dir(shown))
	}
	within, err := root.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, files.WithoutPath(err))
	}
	o.roots = append(o.roots, within)
	src.FS = files.FS(within)
	o.sources = append(o.sources, src)
	return nil
}

// isRead reports whether commands without PATH read a file or folder.
func (a *app) isRead(p project, full string) bool {
	folders := []string{a.dir()}
	if len(p.Manifests) > 0 {
		folders = nil
		for _, configured := range p.Manifests {
			folders = append(folders, filepath.Join(p.dir, configured))
		}
	}
	for _, folder := range folders {
		rel, err := filepath.Rel(folder, full)
		if err == nil && filepath.IsLocal(rel) && !hidden(rel) {
			return true
		}
	}
	return false
}

// hidden reports whether a part of a path is passed over where manifests are read.
func hidden(path string) bool {
	return path != "." && (strings.HasPrefix(path, ".") || strings.Contains(filepath.ToSlash(path), "/."))
}

package project

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

// Sources are manifests to read, each inside an os.Root that no link leads out of. The folders stay
// open as long as the sources are used.
type Sources struct {
	List []manifest.Source
	// cwd is the directory of the run, and stdin opens standard input.
	cwd   string
	stdin func() (io.Reader, error)
}

// NewSources returns no sources yet. Paths that users name start from cwd.
func NewSources(cwd string, stdin func() (io.Reader, error)) *Sources {
	return &Sources{cwd: cwd, stdin: stdin}
}

// Open opens PATHs, or else the manifests of the project, or else the current folder.
func (s *Sources) Open(p Project, paths []string) error {
	switch {
	case len(paths) > 0:
		return s.AddPaths(paths)
	case len(p.Manifests) > 0:
		return s.AddConfigured(p)
	}
	return s.AddPaths([]string{"."})
}

// AddPaths opens PATHs as the user wrote them. No link leads out of cwd for a path inside it; any
// other is the user's own choice.
func (s *Sources) AddPaths(paths []string) error {
	for i, path := range paths {
		if path == "-" {
			if slices.Contains(paths[:i], path) {
				return errors.New("- is given twice, and there is only one standard input: name it once")
			}
			input, err := s.stdin()
			if err != nil {
				return err
			}
			data, err := io.ReadAll(io.LimitReader(input, manifest.MaxFile+1)) // manifest.Load refuses the byte too many
			if err != nil {
				return fmt.Errorf("standard input: %w", err)
			}
			s.List = append(s.List, manifest.Source{Data: data, Display: "-"})
			continue
		}
		at := files.FolderAt(s.cwd, path)
		if info, err := os.Stat(at.Base); err == nil && !info.IsDir() {
			at.Base, at.Inside = filepath.Dir(at.Base), filepath.Base(at.Base)
		}
		if err := s.add(at.Base, at.Inside, path); err != nil {
			return err
		}
	}
	return nil
}

// AddConfigured opens the manifests of the project, which must be below its folder: a pull request must
// not make trueup show other files of the machine.
func (s *Sources) AddConfigured(p Project) error {
	for _, path := range p.Manifests {
		if !filepath.IsLocal(path) {
			return exit.With(exit.Invalid, fmt.Errorf("%s: manifests: %q is outside the folder of the file", File, path))
		}
		err := s.add(p.Dir, path, p.Shown(s.cwd, path))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: manifests: in %s names it: create it, or name another", err, File)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add opens a file or folder inside base; shown is the path as the user knows it.
func (s *Sources) add(base, inside, shown string) error {
	if err := notInGit(filepath.Join(base, inside), shown); err != nil {
		return err
	}
	src, err := s.open(base, inside, shown)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, files.WithoutPath(err))
	}
	s.List = append(s.List, src)
	return nil
}

func (s *Sources) open(base, inside, shown string) (manifest.Source, error) {
	src := manifest.Source{Path: ".", Display: filepath.ToSlash(shown)}
	root, err := os.OpenRoot(base)
	if err != nil {
		return src, err
	}
	defer func() { _ = root.Close() }() // opened for reading only
	info, err := root.Stat(inside)
	if err != nil {
		return src, err
	}
	if !info.IsDir() {
		src.Path, src.Display = filepath.Base(inside), filepath.ToSlash(filepath.Dir(shown))
		inside = filepath.Dir(inside)
	}
	within, err := root.OpenRoot(inside)
	if err != nil {
		return src, err
	}
	src.FS = files.FS(within)
	return src, nil
}

// Reads reports whether commands without PATH in cwd read a file or folder.
func (p Project) Reads(cwd, full string) bool {
	folders := []string{cwd}
	if len(p.Manifests) > 0 {
		folders = nil
		for _, name := range p.Manifests {
			folders = append(folders, filepath.Join(p.Dir, name))
		}
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		rel, err := filepath.Rel(folder, full)
		// Manifests with a part that starts with a dot are not read.
		hidden := rel != "." && strings.Contains("/"+filepath.ToSlash(rel), "/.")
		return err == nil && filepath.IsLocal(rel) && !hidden
	})
}

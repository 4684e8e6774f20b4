package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"trueup/internal/manifest"
)

// maxStdin bounds what is read from standard input, in bytes.
const maxStdin = 512 << 20

// sources turns the PATHs of the command line into what manifest.Load reads:
// each inside an os.Root, so that no link leads out of it. Close releases them.
func sources(env Env, dir string, p project, paths []string) (list []manifest.Source, closeAll func(), err error) {
	var roots []*os.Root
	closeAll = func() {
		for _, r := range roots {
			_ = r.Close() // opened for reading only
		}
	}
	if len(paths) == 0 {
		paths = defaultPaths(dir, p)
	}
	for _, path := range paths {
		if path == "-" {
			data, err := io.ReadAll(io.LimitReader(env.Stdin, maxStdin))
			if err != nil {
				closeAll()
				return nil, nil, fmt.Errorf("standard input: %w", err)
			}
			list = append(list, manifest.Source{Data: data, Display: "-"})
			continue
		}
		src, root, err := openSource(dir, path)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		roots = append(roots, root)
		list = append(list, src)
	}
	return list, closeAll, nil
}

// defaultPaths are the project's manifests, as seen from dir, else dir itself.
func defaultPaths(dir string, p project) []string {
	if !p.exists() || len(p.Manifests) == 0 {
		return []string{"."}
	}
	paths := make([]string, len(p.Manifests))
	for i, m := range p.Manifests {
		paths[i] = filepath.Join(p.dir, m)
		if rel, err := filepath.Rel(dir, paths[i]); err == nil {
			paths[i] = rel
		}
	}
	return paths
}

func openSource(dir, path string) (manifest.Source, *os.Root, error) {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, path)
	}
	info, err := os.Stat(full)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return manifest.Source{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	src := manifest.Source{Path: ".", Display: filepath.ToSlash(path)}
	if !info.IsDir() {
		src.Path, src.Display = filepath.Base(full), filepath.ToSlash(filepath.Dir(path))
		full = filepath.Dir(full)
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return manifest.Source{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	src.FS = root.FS()
	return src, root, nil
}

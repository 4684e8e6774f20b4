package cli

import (
	"os"
	"path/filepath"

	"trueup/internal/report"
)

// place is where in its repository the run is: below the nearest folder with an
// entry .git, which no commit can hold.
func (a *app) place() report.Place {
	dir, err := filepath.EvalSymlinks(a.dir())
	if err != nil {
		dir = a.dir()
	}
	var place report.Place
	if file, ok := above(dir, projectFile); ok && (a.global.dir == "" || filepath.Dir(file) == dir) {
		place.Project = relativeTo(dir, file)
	}
	if entry, ok := above(dir, ".git"); ok {
		place.Top = filepath.ToSlash(filepath.Dir(entry))
		place.Folder = relativeTo(filepath.Dir(entry), dir)
	}
	return place
}

// above finds the nearest entry of that name in dir or in a folder above it.
func above(dir, name string) (string, bool) {
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

// relativeTo is the path from a folder to a file; both are absolute.
func relativeTo(dir, file string) string {
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(rel)
}

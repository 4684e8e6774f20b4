package cli

import (
	"path/filepath"

	"trueup/internal/files"
	"trueup/internal/project"
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
	if file, ok := files.Above(dir, project.File); ok && (a.global.dir == "" || filepath.Dir(file) == dir) {
		place.Project = relativeTo(dir, file)
	}
	if entry, ok := files.Above(dir, ".git"); ok {
		place.Top = filepath.ToSlash(filepath.Dir(entry))
		place.Folder = relativeTo(filepath.Dir(entry), dir)
	}
	return place
}

// relativeTo is the path from a folder to a file; both are absolute.
func relativeTo(dir, file string) string {
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(rel)
}

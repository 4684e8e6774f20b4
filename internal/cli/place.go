package cli

import (
	"path/filepath"

	"trueup/internal/files"
	"trueup/internal/project"
	"trueup/internal/report"
)

// place returns where in its repository the run is. The repository is the nearest folder with an
// entry .git, which no commit can have.
func (a *app) place() report.Place {
	dir, err := filepath.EvalSymlinks(a.dir())
	if err != nil {
		dir = a.dir()
	}
	var place report.Place
	if file, ok := files.Above(dir, project.File); ok && (a.global.dir == "" || filepath.Dir(file) == dir) {
		place.Project = filepath.ToSlash(files.Shown(dir, file))
	}
	if entry, ok := files.Above(dir, ".git"); ok {
		place.Top = filepath.ToSlash(filepath.Dir(entry))
		place.Folder = filepath.ToSlash(files.Shown(filepath.Dir(entry), dir))
	}
	return place
}

package report

import (
	"path"
	"strings"
)

// Place is the working directory of a run in its repository. It turns file names of a Document
// into paths from the top of the repository, which code hosts need. The zero value is for a run
// outside a repository.
type Place struct {
	// Top is the absolute path of the repository. Folder is the working directory in it,
	// "." for Top.
	Top, Folder string
	// Project is the path of trueup.yaml as in a Document, if there is one.
	Project string
}

// inRepository returns the path of a file from the top of the repository; ok is false outside.
func (p Place) inRepository(name string) (file string, ok bool) {
	switch {
	case name == "" || name == "-":
		return "", false
	case !strings.HasPrefix(name, "/"):
		file = path.Join(p.Folder, name)
	case p.Top != "":
		file, _ = strings.CutPrefix(path.Clean(name), p.Top+"/")
	}
	outside := file == "" || file == "." || file == ".." || strings.HasPrefix(file, "../") || strings.HasPrefix(file, "/")
	return file, !outside
}

// defaultProject is the file for findings that belong to no file, if the run has no project file.
const defaultProject = "trueup.yaml"

// project returns the file for findings that belong to no file.
func (p Place) project() string {
	for _, name := range []string{p.Project, defaultProject} {
		if file, ok := p.inRepository(name); ok {
			return file
		}
	}
	return defaultProject
}

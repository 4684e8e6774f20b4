package report

import (
	"path"
	"strings"
)

// Place says where in its repository a run was: a code host knows a file by its
// path from the top of the repository, and a Document by the name that the user
// gave it. The zero value is a run outside of a repository.
type Place struct {
	// Top is the absolute path of the repository's topmost folder, and Folder the
	// name in it of the folder that relative paths start from, "." for itself.
	Top, Folder string
	// Project is the project's file as a Document names it, if there is one.
	Project string
}

// inRepository is the path of a file from the top of the repository, if it is there.
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

// defaultProject is where a code host shows what has no place in any file.
const defaultProject = "trueup.yaml"

// project is the file that shows what is in no file.
func (p Place) project() string {
	for _, name := range []string{p.Project, defaultProject} {
		if file, ok := p.inRepository(name); ok {
			return file
		}
	}
	return defaultProject
}

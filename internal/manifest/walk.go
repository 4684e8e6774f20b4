package manifest

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"trueup/internal/diag"
)

// input is one file to read.
type input struct {
	fsys    fs.FS
	name    string
	display string
	data    []byte
}

// lister collects the files of the sources, each once.
type lister struct {
	inputs   []input
	findings diag.List
	seen     map[string]bool
}

// add lists a source: standard input, a file, or a folder and all below it.
func (l *lister) add(s Source) error {
	if s.FS == nil {
		l.inputs = append(l.inputs, input{display: cmp.Or(s.Display, "-"), data: s.Data})
		return nil
	}
	name := path.Clean(s.Path)
	info, err := fs.Lstat(s.FS, name)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	if info.IsDir() {
		return l.folder(s, name)
	}
	l.file(s, name, info.Mode())
	return nil
}

// folder walks a folder in the order of names. Hidden ones are skipped, and
// symbolic links are never followed: a link can lead out of the repository.
func (l *lister) folder(s Source, dir string) error {
	entries, err := fs.ReadDir(s.FS, dir)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if err := l.folder(s, name); err != nil {
				return err
			}
		case isManifest(e.Name()):
			l.file(s, name, e.Type())
		case e.Type()&fs.ModeSymlink != 0 && l.leadsToFolder(s, name):
			l.findings = append(l.findings, diag.Finding{
				Path: path.Join(s.Display, name), Rule: ruleNotRegular, Severity: diag.Warning,
				Message: "a symbolic link to a folder is not followed",
				Fix:     "put the manifests in a real folder, or name the folder on the command line",
			})
		}
	}
	return nil
}

// leadsToFolder tells whether a link means a folder; one that leads out of the
// root or nowhere is taken for one, because nobody can tell.
func (*lister) leadsToFolder(s Source, name string) bool {
	info, err := fs.Stat(s.FS, name)
	return err != nil || info.IsDir()
}

func isManifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// file lists a regular file and reports any other. A pipe is never opened:
// that would wait for a writer.
func (l *lister) file(s Source, name string, mode fs.FileMode) {
	display := path.Join(s.Display, name)
	if l.seen[display] {
		return
	}
	l.seen[display] = true
	if mode.IsRegular() {
		l.inputs = append(l.inputs, input{fsys: s.FS, name: name, display: display})
		return
	}
	what := "a device, a pipe or a socket"
	if mode&fs.ModeSymlink != 0 {
		what = "a symbolic link"
	}
	l.findings = append(l.findings, diag.Finding{
		Path: display, Rule: ruleNotRegular, Severity: diag.Error,
		Message: "the manifest is " + what + " and is not read", Fix: "put a regular file in its place",
	})
}

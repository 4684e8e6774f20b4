package manifest

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

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
	limits   Limits
	// tooMany says which bound the files pass; then no more are listed.
	tooMany *diag.Finding
}

// listed lists the sources, unless one can't be read.
func listed(sources []Source, limits Limits) (*lister, error) {
	l := &lister{seen: map[string]bool{}, limits: limits}
	for _, s := range sources {
		if err := l.add(s); err != nil {
			return nil, err
		}
	}
	return l, nil
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
		return fmt.Errorf("read %s: %w", path.Join(s.Display, name), bare(err))
	}
	if info.IsDir() {
		return l.folder(s, name, 0)
	}
	l.file(s, name, info.Mode())
	return nil
}

// folder walks a folder in the order of names. Hidden ones are skipped, and
// symbolic links are never followed: a link can lead out of the repository.
// What can't be listed is an error: it must not look as if it were empty.
func (l *lister) folder(s Source, dir string, depth int) error {
	shown := path.Join(s.Display, dir)
	if depth > l.limits.Folders {
		l.stop(excessive(shown, fmt.Sprintf("folders are nested more than %d deep", l.limits.Folders), "move the manifests up, or name their folder"))
		return nil
	}
	entries, err := fs.ReadDir(s.FS, dir)
	if err != nil {
		return fmt.Errorf("read folder %s: %w: the user that runs trueup needs permission to read all of it", shown, bare(err))
	}
	l.sameButForCase(shown, entries)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := l.entry(s, path.Join(dir, e.Name()), e, depth); err != nil || l.tooMany != nil {
			return err
		}
	}
	return nil
}

// entry lists what a folder has under a name.
func (l *lister) entry(s Source, name string, e fs.DirEntry, depth int) error {
	shown := path.Join(s.Display, name)
	switch {
	case !utf8.ValidString(name) && (e.IsDir() || isManifest(name)):
		l.findings = append(l.findings, diag.Finding{
			Path: shown, Rule: ruleEncoding, Severity: diag.Error, Message: "the name is not UTF-8", Fix: "rename it",
		})
	case e.IsDir():
		return l.folder(s, name, depth+1)
	case isManifest(name):
		l.file(s, name, e.Type())
	case e.Type()&fs.ModeSymlink != 0 && l.leadsToFolder(s, name):
		l.findings = append(l.findings, diag.Finding{
			Path: shown, Rule: ruleNotRegular, Severity: diag.Warning,
			Message: "trueup does not follow symbolic links to folders",
			Fix:     "move the manifests into a real folder, or name the folder on the command line",
		})
	}
	return nil
}

// stop ends the listing at the first bound that is passed.
func (l *lister) stop(why diag.Finding) {
	if l.tooMany == nil {
		l.tooMany = &why
	}
}

// sameButForCase warns of names of which a file system that does not tell
// letters by their case keeps one: on such a machine the other seems removed.
func (l *lister) sameButForCase(dir string, entries []fs.DirEntry) {
	first := make(map[string]string, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && !isManifest(e.Name()) {
			continue
		}
		folded := strings.ToLower(e.Name())
		if other, taken := first[folded]; taken {
			l.findings = append(l.findings, diag.Finding{
				Path: path.Join(dir, e.Name()), Rule: ruleFileCase, Severity: diag.Warning,
				Message: fmt.Sprintf("the name differs from %s only in case", quoteName(other)), Fix: "rename one of them",
			})
		}
		first[folded] = e.Name()
	}
}

// leadsToFolder reports whether a link means a folder; one that leads out of the
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
	if len(l.seen) > l.limits.Files {
		l.stop(excessive(display, fmt.Sprintf("there are more than %d files", l.limits.Files), "name fewer folders at once"))
		return
	}
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
		Message: "the manifest is " + what + " and is not read", Fix: "replace it with a regular file",
	})
}

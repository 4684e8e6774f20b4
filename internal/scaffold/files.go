// Package scaffold makes the files that a repository needs to use trueup: the project file, first
// manifests, what editors and a CI service need. It changes no file that it does not understand.
package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

// What is to be done with a file, and was done, beside what package files says.
const (
	ToWrite = "write"
	ToAdd   = "add to"
	Added   = "added to"
)

// maxFile bounds the files that are edited, in bytes.
const maxFile = 1 << 20

// Layout says which files a project gets.
type Layout struct {
	ProjectFile
	// Root is the folder of the project, and Top that of the repository, in which Folder is Root.
	Root, Top *os.Root
	Folder    string
	// Manifests and LedgerStore are those of the project.
	Manifests   []string
	LedgerStore string
	// Examples asks for manifests to begin with, VSCode for settings of that editor.
	Examples, VSCode bool
	CI               *CI
}

// Edit is what is done to a file.
type Edit struct {
	// Name starts from Root, and Shown from the top of the repository.
	Name, Shown string
	root        *os.Root
	// State is ToWrite, ToAdd or Added, or files.Written, files.Unchanged or files.Kept.
	State string
	// Why says why the file is kept.
	Why error
	// change makes the content of what is there, nil if nothing is.
	change   func(was []byte) ([]byte, error)
	was, now []byte
}

// Plan looks at every file.
func (l Layout) Plan() ([]*Edit, error) {
	var edits []*Edit
	in := func(root *os.Root, name string, change func([]byte) ([]byte, error)) {
		e := &Edit{Name: name, Shown: name, root: root, change: change}
		if root == l.Root {
			e.Shown = path.Join(l.Folder, name)
		}
		edits = append(edits, e)
	}
	in(l.Root, project.File, l.Edit(""))
	in(l.Root, kind.EditorSchemaFile, editSchema)
	in(l.Root, ".gitignore", editIgnored(l.LedgerStore))
	first, err := l.firstManifests()
	if err != nil {
		return nil, err
	}
	for _, f := range first {
		in(l.Root, f.Name, whole(f.Content))
	}
	if l.VSCode {
		in(l.Top, settingsFile, editSettings(l.Folder, l.patterns()))
		in(l.Top, extensionsFile, editExtensions)
	}
	callers, err := l.CI.files()
	if err != nil {
		return nil, err
	}
	for _, f := range callers {
		in(l.Top, f.Name, whole(f.Content))
	}
	for _, e := range edits {
		if err := e.look(); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Shown, files.WithoutPath(err))
		}
	}
	return edits, nil
}

// SetLedger puts the id of the ledger that was made into the edit of the project file.
func (l Layout) SetLedger(edits []*Edit, id string) {
	for _, e := range edits {
		if l.Store == "" || e.root != l.Root || e.Name != project.File {
			continue
		}
		e.change = l.Edit(id)
		if e.State != files.Kept {
			e.now, e.Why = e.change(e.was)
		}
		if e.Why != nil {
			e.State = files.Kept
		}
	}
}

// firstManifests are those that a project begins with.
func (l Layout) firstManifests() ([]files.File, error) {
	if l.Examples {
		return l.examples()
	}
	if _, err := l.Root.Lstat(project.Manifests); l.IsNew && errors.Is(err, fs.ErrNotExist) {
		// A folder without a file would not be in a clone.
		return []files.File{{Name: project.Manifests + "/.gitkeep", Content: []byte{}}}, nil
	}
	return nil, nil
}

// whole is the edit of a file that has this content or is kept.
func whole(content []byte) func([]byte) ([]byte, error) {
	return func(was []byte) ([]byte, error) {
		if was != nil && !bytes.Equal(was, content) {
			return nil, errors.New("it has other content")
		}
		return content, nil
	}
}

// look decides what to do with the file.
func (e *Edit) look() (err error) {
	if e.was, e.Why, err = e.read(); err == nil && e.Why == nil {
		e.now, e.Why = e.change(e.was)
	}
	switch {
	case e.Why != nil:
		e.State = files.Kept
	case e.was == nil:
		e.State = ToWrite
	case bytes.Equal(e.was, e.now):
		e.State = files.Unchanged
	default:
		e.State = ToAdd
	}
	return err
}

// read returns what is there, nil for nothing, or why that is not read. It follows no link of the
// repository, because nobody asked to write where it leads.
func (e *Edit) read() (was []byte, why, err error) {
	parts := strings.Split(e.Name, "/")
	for i := range parts {
		info, err := e.root.Lstat(path.Join(parts[:i+1]...))
		switch above := i < len(parts)-1; {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		case above && !info.IsDir():
			return nil, errors.New("a folder above it is a link, or is not a folder"), nil
		case above:
		case !info.Mode().IsRegular():
			return nil, errors.New("it is not a regular file"), nil
		case info.Size() > maxFile:
			return nil, errors.New("it is too large"), nil
		}
	}
	f, err := e.root.OpenFile(e.Name, os.O_RDONLY|files.NoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if was, err = io.ReadAll(files.AtMost(f, maxFile)); was == nil {
		was = []byte{}
	}
	return was, nil, err
}

// Write does it. A file that changed since Plan looked at it stays.
func (e *Edit) Write() error {
	var err error
	switch e.State {
	case ToWrite:
		e.State, err = files.WriteNew(e.root, files.File{Name: e.Name, Content: e.now})
		if e.State == files.Kept {
			e.Why = errors.New("another process has just created it")
		}
	case ToAdd:
		was, why, readErr := e.read()
		if readErr != nil || why != nil || !bytes.Equal(was, e.was) {
			return cmp.Or(readErr, errors.New("another process has just changed it: run trueup again"))
		}
		e.State, err = Added, files.Replace(e.root, files.File{Name: e.Name, Content: e.now})
	}
	return err
}

// Wanted is what would be in the file if it were not there, nil for the schema, which is long.
func (e *Edit) Wanted() []byte {
	text, err := e.change(nil)
	if err != nil || e.Name == kind.EditorSchemaFile {
		return nil
	}
	return text
}

// patterns are the files of a project as an editor matches them, from the top of the repository. It
// leaves out a name with special characters: the first line of a manifest names the schema as well.
func (l Layout) patterns() []string {
	all := []string{path.Join(l.Folder, project.File)}
	for _, name := range l.Manifests {
		name = path.Join(l.Folder, filepath.ToSlash(name))
		switch ending := path.Ext(name); {
		case !isPlain(name) || name == "." || name == l.Folder:
		case ending == ".yaml" || ending == ".yml":
			all = append(all, name)
		default:
			all = append(all, name+"/**/*.yaml", name+"/**/*.yml")
		}
	}
	return all
}

// exampleHost belongs to nobody.
const exampleHost = "first.example.com"

// examples are a manifest of each kind, with its required fields and its lists, as the schema shows
// them.
func (l Layout) examples() ([]files.File, error) {
	folder := project.Manifests
	if len(l.Manifests) > 0 {
		folder = filepath.ToSlash(l.Manifests[0])
	}
	var list []files.File
	for _, k := range kind.All() {
		spec, _ := exampleOf(k.Spec()).(map[string]any)
		if k.HostField != "" {
			spec[k.HostField] = exampleHost
		}
		object, _ := exampleOf(k.Root().Fields["metadata"].Fields["name"]).(string)
		name := path.Join(folder, "example-"+strings.ToLower(k.Name)+".yaml")
		text, err := manifest.Write(manifest.Draft{
			Kind: k, Name: "example-" + object, Spec: canon.Bytes(spec), Schema: kind.EditorSchemaPath(name),
			Head: []string{
				"An example: change or remove it before you apply.",
				"trueup explain " + strings.ToLower(k.Name) + " describes every field.",
			},
		})
		if err != nil {
			return nil, err
		}
		list = append(list, files.File{Name: name, Content: text})
	}
	return list, nil
}

// exampleOf is the value that a schema shows of a field; of an object, its required fields and lists.
func exampleOf(f *kind.Field) any {
	if f.Type != kind.ObjectType && len(f.Examples) > 0 {
		return f.Examples[0]
	}
	out := map[string]any{}
	for _, name := range f.Names {
		if below := f.Fields[name]; below.Required || below.Type == kind.ListType {
			out[name] = exampleOf(below)
		}
	}
	return out
}

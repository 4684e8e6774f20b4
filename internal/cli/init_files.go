package cli

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
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// What is to be done to a file besides (written.go).
const (
	fileToWrite = "write"
	fileToAdd   = "add to"
	fileAdded   = "added to"
)

// edit is what init does to one file.
type edit struct {
	wanted
	// shown is the name from the top of the repository.
	shown    string
	was, now []byte
	state    string
	// why it is left as it is.
	why error
}

// wanted is a file that a repository is to have.
type wanted struct {
	root *os.Root
	name string
	// change makes the content of what is there, nil where nothing is.
	change func(was []byte) ([]byte, error)
}

// plan looks at every file.
func (s *setup) plan() error {
	list := []wanted{
		{s.root, projectFile, s.editProject("")},
		{s.root, kind.EditorSchemaFile, editSchema},
		{s.root, ".gitignore", editIgnored(s.ignored())},
	}
	first, err := s.firstManifests()
	if err != nil {
		return err
	}
	list = append(list, first...)
	if s.editor {
		list = append(list, wanted{s.top, settingsFile, editSettings(s.folder, s.patterns())}, wanted{s.top, extensionsFile, editExtensions})
	}
	callers, err := s.ci.files()
	if err != nil {
		return err
	}
	for _, f := range callers {
		list = append(list, wanted{s.top, f.Name, whole(f.Content)})
	}
	for _, f := range list {
		e := &edit{wanted: f, shown: f.name}
		if f.root == s.root {
			e.shown = path.Join(s.folder, f.name)
		}
		if err := e.look(); err != nil {
			return fmt.Errorf("%s: %w", e.shown, files.WithoutPath(err))
		}
		s.edits = append(s.edits, e)
	}
	return nil
}

// firstManifests are those that a project begins with.
func (s *setup) firstManifests() ([]wanted, error) {
	if s.manifests != fromExamples {
		if _, err := s.root.Lstat(manifests); s.isNew && errors.Is(err, fs.ErrNotExist) {
			// A folder without a file would not be in a clone.
			return []wanted{{s.root, manifests + "/.gitkeep", whole([]byte{})}}, nil
		}
		return nil, nil
	}
	examples, err := s.examples()
	list := make([]wanted, len(examples))
	for i, f := range examples {
		list[i] = wanted{s.root, f.Name, whole(f.Content)}
	}
	return list, err
}

// whole writes a file that has to say just that.
func whole(content []byte) func([]byte) ([]byte, error) {
	return func(was []byte) ([]byte, error) {
		if was != nil && !bytes.Equal(was, content) {
			return nil, errors.New("it has other content")
		}
		return content, nil
	}
}

// look decides what becomes of the file.
func (e *edit) look() error {
	switch was, why, err := e.read(); {
	case err != nil:
		return err
	case why != nil:
		e.state, e.why = files.Kept, why
		return nil
	default:
		e.was = was
	}
	if e.now, e.why = e.change(e.was); e.why != nil {
		e.state = files.Kept
		return nil
	}
	switch {
	case e.was == nil:
		e.state = fileToWrite
	case bytes.Equal(e.was, e.now):
		e.state = files.Unchanged
	default:
		e.state = fileToAdd
	}
	return nil
}

// errOnTheWay says why nothing is written below a link: it came with the
// repository, and leads where nobody said that something be written.
var errOnTheWay = errors.New("a folder above it is a link, or is not a folder")

// read returns what is there, nil for nothing, or why that is not looked at.
func (e *edit) read() (was []byte, why, err error) {
	parts := strings.Split(e.name, "/")
	for i := range parts[:len(parts)-1] {
		info, err := e.root.Lstat(path.Join(parts[:i+1]...))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if !info.IsDir() {
			return nil, errOnTheWay, nil
		}
	}
	info, err := e.root.Lstat(e.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file"), nil
	case info.Size() > maxProject:
		return nil, errors.New("it is too large"), nil
	}
	f, err := e.root.OpenFile(e.name, os.O_RDONLY|files.NoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	if was, err = io.ReadAll(files.AtMost(f, maxProject)); was == nil {
		was = []byte{}
	}
	return was, nil, err
}

// write does it. What changed since it was looked at stays.
func (e *edit) write() error {
	var err error
	switch e.state {
	case fileToWrite:
		e.state, err = files.WriteNew(e.root, files.File{Name: e.name, Content: e.now})
		if e.state == files.Kept {
			e.why = errors.New("another process has just created it")
		}
	case fileToAdd:
		was, why, readErr := e.read()
		if readErr != nil || why != nil || !bytes.Equal(was, e.was) {
			return cmp.Or(readErr, errors.New("another process has just changed it: run trueup again"))
		}
		e.state, err = fileAdded, files.Replace(e.root, files.File{Name: e.name, Content: e.now})
	}
	return err
}

// editProject makes trueup.yaml with the id of its ledger, or adds the ledger to
// the one that is there.
func (s *setup) editProject(id string) func([]byte) ([]byte, error) {
	return func(was []byte) ([]byte, error) {
		if was == nil {
			return s.projectText(id), nil
		}
		if s.isNew {
			return nil, errors.New("it is not a project file")
		}
		before, err := parseProject(was)
		if err != nil {
			return nil, err
		}
		if s.store == "" || before.Ledger.ID != "" {
			return was, nil
		}
		switch before.Ledger.Store {
		case s.store:
			return withID(was, before, id), nil
		case "":
		default:
			return was, nil
		}
		added := bytes.ReplaceAll(append([]byte("\n"), s.ledgerText(id)...), []byte("\n"), []byte(lineEnd(was)))
		now := append(bytes.TrimRight(bytes.Clone(was), "\r\n"), added...)
		after, err := parseProject(now)
		if err != nil || after.Ledger.Store != s.named() || after.Ledger.ID != id {
			return nil, errors.New("the ledger can't be added at its end")
		}
		return now, nil
	}
}

// storeLine and storeInBraces find the store of a ledger as most people write it:
// the id is to stand behind it.
var (
	storeLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^ledger:[ \t]*(?:#.*)?\r?\n(?:[ \t]*#.*\n)*( +)store:.*[^\s]`)
	})
	storeInBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ledger:[ \t]*\{[ \t]*store:[^{}\n]*[^{}\s]`) })
)

// withID adds the id to a ledger that has a store, and changes nothing where that
// would say anything else: then a person is asked to.
func withID(was []byte, before project, id string) []byte {
	at, between := storeInBraces().FindSubmatchIndex(was), ", "
	if at == nil {
		if at = storeLine().FindSubmatchIndex(was); at == nil {
			return was
		}
		between = lineEnd(was) + string(was[at[2]:at[3]])
	}
	now := slices.Concat(was[:at[1]], []byte(between+"id: "+jsonText(id)), was[at[1]:])
	before.Ledger.ID = id
	if after, err := parseProject(now); err != nil || !reflect.DeepEqual(after, before) {
		return was
	}
	return now
}

func (s *setup) projectText(id string) []byte {
	p := s.project
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", kind.EditorSchemaFile)
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\n", p.APIVersion, p.Kind)
	fmt.Fprintf(&b, "workspace:\n  name: %s\n  uuid: %s\n", jsonText(p.Workspace.Name), jsonText(p.Workspace.UUID))
	fmt.Fprintf(&b, "manifests: [%s]\n", manifests)
	b.Write(s.ledgerText(id))
	return b.Bytes()
}

// ledgerText is the part of trueup.yaml that names the ledger.
func (s *setup) ledgerText(id string) []byte {
	if s.store == "" {
		return nil
	}
	text := "ledger:\n"
	if store := s.named(); store != "" {
		text += "  store: " + jsonText(store) + "\n"
	}
	return []byte(text + "  id: " + jsonText(id) + "\n")
}

// named is the store as trueup.yaml names it: one that the environment chose
// stays there.
func (s *setup) named() string {
	if s.app.env.Getenv("TRUEUP_LEDGER") != "" {
		return ""
	}
	return s.store
}

// ignored are the files of a project that stay on the machine.
func (s *setup) ignored() []string {
	lines := []string{"/.trueup/"}
	if folder, ok := strings.CutPrefix(s.project.Ledger.Store, "file:"); ok && plainName().MatchString(folder) {
		if line := "/" + path.Clean(folder) + "/"; !strings.HasPrefix(line, lines[0]) && filepath.IsLocal(folder) {
			lines = append(lines, line)
		}
	}
	return lines
}

// editIgnored adds the lines that are not there in any spelling.
func editIgnored(lines []string) func([]byte) ([]byte, error) {
	return func(was []byte) ([]byte, error) {
		end, has := lineEnd(was), map[string]bool{}
		for line := range strings.Lines(string(was)) {
			has[strings.Trim(strings.TrimSpace(line), "/")] = true
		}
		now := bytes.Clone(was)
		for _, line := range lines {
			if has[strings.Trim(line, "/")] {
				continue
			}
			if len(now) > 0 && now[len(now)-1] != '\n' {
				now = append(now, end...)
			}
			now = append(now, line+end...)
		}
		return now, nil
	}
}

// lineEnd is how lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// patterns are the files of a project as an editor matches them, from the top of
// the repository. A name that means more to it is left out: the first line of a
// manifest names the schema as well.
func (s *setup) patterns() []string {
	all := []string{path.Join(s.folder, projectFile)}
	for _, name := range s.project.Manifests {
		name = path.Join(s.folder, filepath.ToSlash(name))
		switch ending := path.Ext(name); {
		case !plainName().MatchString(name) || name == "." || name == s.folder:
		case ending == ".yaml" || ending == ".yml":
			all = append(all, name)
		default:
			all = append(all, name+"/**/*.yaml", name+"/**/*.yml")
		}
	}
	return all
}

// exampleHost is nobody's.
const exampleHost = "first.example.com"

// examples are a manifest of each kind: what it must have, and its lists, as the
// schema shows them, under names that nobody has.
func (s *setup) examples() ([]files.File, error) {
	folder := manifests
	if len(s.project.Manifests) > 0 {
		folder = filepath.ToSlash(s.project.Manifests[0])
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

// exampleOf is the value that a schema shows of a field; of an object it is what
// must be there, and the lists.
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

package generate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/requesttest"
	"trueup/internal/yamledit"
)

// The states of an Edit, beside those of package files.
const (
	ToWrite = "write"
	ToAdd   = "add to"
	Added   = "added to"
)

// maxFile limits the size of a file to edit, in bytes.
const maxFile = 1 << 20

// fileChange returns the new content of a file. was is the old content, or nil if there is no file.
type fileChange func(was []byte) ([]byte, error)

// FileEdit is a change of one file.
type FileEdit struct {
	Shown string // the name from the top of the repository
	State string // ToWrite, ToAdd or Added, or files.Written, files.Unchanged or files.Kept
	Why   error  // says why the file is kept

	root   *os.Root
	name   string
	change fileChange
	was    []byte
}

// addEdit plans a change of a file below a root.
func (s *Setup) addEdit(root *os.Root, name string, c fileChange) {
	e := &FileEdit{Shown: name, root: root, name: name, change: c}
	if root == s.Root {
		e.Shown = path.Join(s.folder, name)
	}
	s.Edits = append(s.Edits, e)
}

func (s *Setup) planEdits(ctx context.Context, o SetupChoices) error {
	s.addEdit(s.Root, config.ProjectFile, s.editText)
	s.addEdit(s.Root, kind.EditorSchemaFile, editSchema)
	s.addEdit(s.Root, ".gitignore", editGitignore(s.Project.Ledger.Store))
	if o.Manifests == FromExamples {
		if err := s.addExamples(); err != nil {
			return err
		}
	} else if s.lacksManifests() && o.Manifests != FromLive {
		s.addEdit(s.Root, placeholder, newFileChange([]byte{}))
	}
	if o.Agents {
		s.addEdit(s.Root, "AGENTS.md", newFileChange(agentsText))
	}
	if err := s.addCI(ctx, o); err != nil {
		return err
	}
	for _, e := range s.Edits {
		if err := e.checkFile(); err != nil {
			return fmt.Errorf("%s: %w", e.Shown, files.WithoutPath(err))
		}
	}
	return nil
}

// placeholder is a file of a new folder, which would not be in a clone without one.
const placeholder = config.ManifestsDir + "/.gitkeep"

func (s *Setup) lacksManifests() bool {
	_, err := s.Root.Lstat(config.ManifestsDir)
	return s.IsNew && errors.Is(err, fs.ErrNotExist)
}

// EnsureManifestFolder makes the folder of manifests of a new project if nothing was pulled into it.
func (s *Setup) EnsureManifestFolder() error {
	if !s.lacksManifests() {
		return nil
	}
	_, err := files.WriteNew(s.Root, files.File{Name: placeholder})
	return err
}

// newFileChange returns a change that creates a file with this content, and rejects a file with other content.
func newFileChange(content []byte) fileChange {
	return func(was []byte) ([]byte, error) {
		if was != nil && !bytes.Equal(was, content) {
			return nil, errors.New("it has other content")
		}
		return content, nil
	}
}

func (e *FileEdit) checkFile() (err error) {
	var now []byte
	if e.was, e.Why, err = e.readFile(); err == nil && e.Why == nil {
		now, e.Why = e.change(e.was)
	}
	switch {
	case e.Why != nil:
		e.State = files.Kept
	case e.was == nil:
		e.State = ToWrite
	case bytes.Equal(e.was, now):
		e.State = files.Unchanged
	default:
		e.State = ToAdd
	}
	return err
}

// readFile returns the content of the file, or nil if there is none; why is the reason to leave the file as
// it is. It follows no symbolic link of the repository: a link can lead outside of it.
func (e *FileEdit) readFile() (was []byte, why, err error) {
	for above := path.Dir(e.name); above != "."; above = path.Dir(above) {
		if info, err := e.root.Lstat(above); err == nil && !info.IsDir() {
			return nil, errors.New("a folder above it is a link, or is not a folder"), nil
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
	case info.Size() > maxFile:
		return nil, errors.New("it is too large"), nil
	}
	if was, err = files.ReadFS(files.OpenFS(e.root), e.name, maxFile); was == nil {
		was = []byte{}
	}
	return was, nil, err
}

func (e *FileEdit) isPlanned() bool { return e.State == ToWrite || e.State == ToAdd }

// writeFile writes the file, unless it changed since look read it.
func (e *FileEdit) writeFile() error {
	if !e.isPlanned() {
		return nil
	}
	f := files.File{Name: e.name}
	if f.Content, e.Why = e.change(e.was); e.Why != nil {
		e.State = files.Kept
		return nil
	}
	var err error
	if e.State == ToWrite {
		if e.State, err = files.WriteNew(e.root, f); e.State == files.Kept {
			e.Why = errors.New("another process has just created it")
		}
		return err
	}
	was, why, err := e.readFile()
	if err != nil || why != nil || !bytes.Equal(was, e.was) {
		return cmp.Or(err, errors.New("another process has just changed it: run trueup again"))
	}
	e.State = Added
	return files.ReplaceFile(e.root, f)
}

// NewContent returns the content that a new file would get, or nil for the schema, which is long.
func (e *FileEdit) NewContent() []byte {
	text, err := e.change(nil)
	if err != nil || e.name == kind.EditorSchemaFile {
		return nil
	}
	return text
}

// NeedsID reports whether the project file still lacks the id of the ledger that was created.
func (s *Setup) NeedsID() bool {
	state := s.Edits[0].State
	return s.ID != "" && state != files.Written && state != Added
}

// editSchema updates the schema, unless somebody edited it.
func editSchema(was []byte) ([]byte, error) {
	switch unedited, current := kind.CheckEditorSchema(was); {
	case current:
		return was, nil
	case was != nil && !unedited:
		return nil, errors.New("it was edited by hand")
	}
	return kind.EditorSchema(), nil
}

// exampleHost is in a domain that is reserved for examples.
const exampleHost = "first.example.com"

// addExamples adds a manifest of each kind, with its required fields and its lists, as the schema shows them, and a
// test of a request for the CDN.
func (s *Setup) addExamples() error {
	folder := config.ManifestsDir
	if len(s.Project.Manifests) > 0 {
		folder = filepath.ToSlash(s.Project.Manifests[0])
	}
	for _, k := range kind.AllKinds() {
		spec, _ := k.Spec().ExampleValue(true).(map[string]any)
		if k.HostField != "" {
			spec[k.HostField] = exampleHost
		}
		object, _ := k.Root().Fields["metadata"].Fields["name"].ExampleValue(true).(string)
		name := path.Join(folder, "example-"+strings.ToLower(k.Name)+".yaml")
		text, err := yamledit.WriteManifest(yamledit.Draft{
			Kind: k, Name: "example-" + object, Spec: canon.Encode(spec), Schema: kind.EditorSchemaPath(name),
			Head: []string{
				"An example: change or remove it before you apply.",
				"trueup explain " + strings.ToLower(k.Name) + " describes every field.",
			},
		})
		if err != nil {
			return err
		}
		s.addEdit(s.Root, name, newFileChange(text))
		if k.HostField != "" && k.CanPatch() {
			if err := s.addTest(path.Join(folder, "example.test.yaml"), spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTest adds a test of what the home page of a CDN gets.
func (s *Setup) addTest(name string, spec map[string]any) error {
	k, home := kind.RequestTestKind(), "https://"+exampleHost+"/"
	test := map[string]any{"name": "the home page", "url": home, "expect": requesttest.ExampleExpectation(spec, home)}
	text, err := yamledit.EncodeSnippet(map[string]any{
		"apiVersion": k.APIVersion, "kind": k.Name, "spec": map[string]any{"tests": []any{test}},
	}, k.Root())
	head := "# yaml-language-server: $schema=" + kind.EditorSchemaPath(name) + "\n# trueup test runs this. Change it with the CDN.\n"
	s.addEdit(s.Root, name, newFileChange([]byte(head+text)))
	return err
}

// editText makes trueup.yaml with the id of its ledger, or adds the ledger to it.
func (s *Setup) editText(was []byte) ([]byte, error) {
	switch {
	case was == nil:
		return fmt.Appendf(nil, "# yaml-language-server: $schema=%s\napiVersion: trueup/v1\nkind: Project\n"+
			"workspace:\n  name: %s\n  uuid: %s\nmanifests: [%s]\n%s",
			kind.EditorSchemaFile, canon.Encode(s.Project.Workspace.Name), canon.Encode(s.Project.Workspace.UUID), config.ManifestsDir, s.ledgerPart()), nil
	case s.IsNew:
		return nil, errors.New("it is not a project file")
	}
	before, err := config.ParseProject(was)
	switch {
	case err != nil:
		return nil, err
	case s.Store == "" || before.Ledger.ID != "", s.Waits && before.Ledger.Store == s.Store:
		return was, nil
	case before.Ledger.Store == s.Store:
		return s.addLedgerID(was, before), nil
	case before.Ledger.Store != "":
		return was, nil
	}
	added := bytes.ReplaceAll(append([]byte("\n"), s.ledgerPart()...), []byte("\n"), []byte(lineEnd(was)))
	now := append(bytes.TrimRight(bytes.Clone(was), "\r\n"), added...)
	after, err := config.ParseProject(now)
	if err != nil || after.Ledger.Store != s.shownStore() || after.Ledger.ID != s.ID {
		return nil, errors.New("the ledger can't be added at its end")
	}
	return now, nil
}

// storeLine finds the store of a ledger, as init writes it and most people do.
var storeLine = diag.Pattern(`(?m)^( +)store:.*\n`)

// addLedgerID adds the id behind the store of a ledger. It changes nothing if that would change anything
// else; then a person has to.
func (s *Setup) addLedgerID(was []byte, before config.Project) []byte {
	at := storeLine().FindSubmatchIndex(was)
	if at == nil {
		return was
	}
	now := slices.Concat(was[:at[1]], was[at[2]:at[3]], []byte("id: "+string(canon.Encode(s.ID))+lineEnd(was)), was[at[1]:])
	before.Ledger.ID = s.ID
	if after, err := config.ParseProject(now); err != nil || !reflect.DeepEqual(after, before) {
		return was
	}
	return now
}

// ledgerPart is the part of trueup.yaml that names the ledger.
func (s *Setup) ledgerPart() string {
	if s.Store == "" {
		return ""
	}
	text := "ledger:\n"
	if store := s.shownStore(); store != "" {
		text += "  store: " + string(canon.Encode(store)) + "\n"
	}
	if !s.Waits {
		text += "  id: " + string(canon.Encode(s.ID)) + "\n"
	}
	return text
}

func (s *Setup) shownStore() string {
	if s.StoreFromEnv {
		return ""
	}
	return s.Store
}

// editGitignore adds the files of a project that stay on the machine to .gitignore, unless they are
// there in any spelling.
func editGitignore(store string) fileChange {
	lines := []string{"/.trueup/"}
	if folder, ok := strings.CutPrefix(store, "file:"); ok && isPlain(folder) && filepath.IsLocal(folder) {
		if line := "/" + path.Clean(folder) + "/"; !strings.HasPrefix(line, lines[0]) {
			lines = append(lines, line)
		}
	}
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

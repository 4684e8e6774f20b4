package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trueup/internal/config"
	"trueup/internal/kind"
)

// ProjectFile makes or completes trueup.yaml.
type ProjectFile struct {
	Workspace kind.Workspace
	// Store is that of a ledger to create, empty for none, and ID its id once it is created.
	Store, ID string
	// StoreFromEnv is true if the environment names the store, which then stays out of the file.
	StoreFromEnv bool
	// Waits is true if the store is on a git remote that does not exist yet. The file then gets no ID.
	Waits bool
	IsNew bool
}

// editText makes the file with the id of its ledger, or adds the ledger to it.
func (p *ProjectFile) editText(was []byte) ([]byte, error) {
	switch {
	case was == nil:
		return p.fileText(), nil
	case p.IsNew:
		return nil, errors.New("it is not a project file")
	}
	before, err := config.ParseProject(was)
	switch {
	case err != nil:
		return nil, err
	case p.Store == "" || before.Ledger.ID != "", p.Waits && before.Ledger.Store == p.Store:
		return was, nil
	case before.Ledger.Store == p.Store:
		return p.withID(was, before), nil
	case before.Ledger.Store != "":
		return was, nil
	}
	added := bytes.ReplaceAll(append([]byte("\n"), p.ledgerPart()...), []byte("\n"), []byte(lineEnd(was)))
	now := append(bytes.TrimRight(bytes.Clone(was), "\r\n"), added...)
	after, err := config.ParseProject(now)
	if err != nil || after.Ledger.Store != p.shownStore() || after.Ledger.ID != p.ID {
		return nil, errors.New("the ledger can't be added at its end")
	}
	return now, nil
}

// storeLine finds the store of a ledger, as init writes it and most people do.
var storeLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^( +)store:.*\n`) })

// withID adds the id behind the store of a ledger. It changes nothing if that would change anything
// else; then a person has to.
func (p *ProjectFile) withID(was []byte, before config.Project) []byte {
	at := storeLine().FindSubmatchIndex(was)
	if at == nil {
		return was
	}
	now := slices.Concat(was[:at[1]], was[at[2]:at[3]], []byte("id: "+jsonText(p.ID)+lineEnd(was)), was[at[1]:])
	before.Ledger.ID = p.ID
	if after, err := config.ParseProject(now); err != nil || !reflect.DeepEqual(after, before) {
		return was
	}
	return now
}

func (p *ProjectFile) fileText() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", kind.EditorSchemaFile)
	fmt.Fprintf(&b, "apiVersion: trueup/v1\nkind: Project\n")
	fmt.Fprintf(&b, "workspace:\n  name: %s\n  uuid: %s\n", jsonText(p.Workspace.Name), jsonText(p.Workspace.UUID))
	fmt.Fprintf(&b, "manifests: [%s]\n%s", config.ManifestsDir, p.ledgerPart())
	return b.Bytes()
}

// ledgerPart is the part of trueup.yaml that names the ledger.
func (p *ProjectFile) ledgerPart() string {
	if p.Store == "" {
		return ""
	}
	text := "ledger:\n"
	if store := p.shownStore(); store != "" {
		text += "  store: " + jsonText(store) + "\n"
	}
	if !p.Waits {
		text += "  id: " + jsonText(p.ID) + "\n"
	}
	return text
}

func (p *ProjectFile) shownStore() string {
	if p.StoreFromEnv {
		return ""
	}
	return p.Store
}

// editIgnored adds the files of a project that stay on the machine to .gitignore, unless they are
// there in any spelling.
func editIgnored(store string) fileChange {
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

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("texts as JSON: %v", err)) // they always are
	}
	return string(text)
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/history"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// projectFile is the name of the file that says what a repository manages.
const projectFile = history.ProjectFile

// project is trueup.yaml: it says what, never where to and never a secret.
type project struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Workspace  kind.Workspace `json:"workspace"`
	Manifests  []string       `json:"manifests"`
	Ledger     struct {
		Store string `json:"store"`
		ID    string `json:"id"`
	} `json:"ledger"`
	Purge     purgeSettings   `json:"purge"`
	Overrides []plan.Override `json:"overrides"`

	// dir is the folder of the file; empty where there is none. content is its text.
	dir     string
	content []byte
}

// findProject reads the project of the run: that of the folder which -C names, or
// else the nearest from the current folder upwards. A choice that was made is never
// answered with the project above it.
func (a *app) findProject() (project, error) {
	if a.global.dir == "" {
		return loadProject(a.dir())
	}
	if _, err := os.Stat(a.dir()); err != nil {
		return project{}, fmt.Errorf("-C %s: %w", a.global.dir, files.WithoutPath(err))
	}
	return projectIn(a.dir())
}

// searched is where findProject looks, for messages.
func (a *app) searched() string {
	if a.global.dir != "" {
		return "in " + a.global.dir + ", which -C names (trueup does not search the folders above it)"
	}
	return "here or above"
}

// noProject says that there is no project where the run looked for it.
func (a *app) noProject() error {
	return fmt.Errorf("there is no %s %s, so trueup does not know the workspace: run trueup init, or try --sandbox", projectFile, a.searched())
}

// loadProject reads the nearest trueup.yaml from dir upwards; without one it
// returns an empty project.
func loadProject(dir string) (project, error) {
	for {
		p, err := projectIn(dir)
		if above := filepath.Dir(dir); err == nil && !p.exists() && above != dir {
			dir = above
			continue
		}
		return p, err
	}
}

// projectIn reads the trueup.yaml of a folder; without one it returns an empty
// project.
func projectIn(dir string) (project, error) {
	path := filepath.Join(dir, projectFile)
	data, err := readProject(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return project{}, nil
	}
	if err != nil {
		return project{}, fmt.Errorf("%s: %w", path, files.WithoutPath(err))
	}
	p, err := parseProject(data)
	if err != nil {
		return project{}, exit.With(exit.Invalid, fmt.Errorf("%s: %w", path, err))
	}
	p.dir, p.content = dir, data
	return p, nil
}

// parseProject reads the file strictly.
func parseProject(data []byte) (project, error) {
	if line := manifest.FirstAlias(data); line > 0 {
		return project{}, fmt.Errorf("line %d: trueup does not read aliases (*NAME) here: write the value itself", line)
	}
	var p project
	if err := unmarshalStrict(data, &p); err != nil {
		return project{}, err
	}
	return p, p.check()
}

// wrongType is how encoding/json tells of a value of the wrong type.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot unmarshal (\w+)(?: \S+)? into Go struct field \w+\.(\S+) of type \S+`)
})

// inWords is what a decoder says of the project file, without the steps and
// the types of this program.
func inWords(err error) string {
	text := strings.NewReplacer("error unmarshaling JSON: ", "", "error converting YAML to JSON: ", "",
		"while decoding JSON: ", "", "json: ", "", "yaml: ", "", "unmarshal errors:\n  ", "").Replace(err.Error())
	text = wrongType().ReplaceAllString(text, "$2 can't be a $1: see docs/configuration.md")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	return text
}

// maxWords bounds, in bytes, what is said of the project file: it may repeat a
// key of it.
const maxWords = 1000

// readProject reads the file in dir. A link that leads out of dir is refused:
// errors show parts of the file.
func readProject(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(projectFile, os.O_RDONLY|files.NoWait, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxProject {
		return nil, fmt.Errorf("it is not a regular file of at most %d bytes", maxProject)
	}
	return io.ReadAll(files.AtMost(f, maxProject))
}

func (p project) exists() bool { return p.dir != "" }

// partly reports whether a run reads only some of what the project may have: PATHs,
// or the folder in which it was started, where trueup.yaml names none.
func (p project) partly(dir string, paths []string) bool {
	return p.exists() && (len(paths) > 0 || len(p.Manifests) == 0 && dir != p.dir)
}

// settings are what the project says that decides how a plan is made.
func (p project) settings() *plan.Project {
	return &plan.Project{
		Workspace: p.Workspace, LedgerStore: p.Ledger.Store, LedgerID: p.Ledger.ID,
		Manifests: p.Manifests, Purge: p.Purge.said(), Overrides: p.Overrides,
	}
}

// check holds the file to what its schema says (schemas/project.schema.json).
func (p project) check() error {
	if p.APIVersion != "trueup/v1" || p.Kind != "Project" {
		return errors.New("not a project file: write apiVersion: trueup/v1 and kind: Project")
	}
	if err := checkWorkspace(p.Workspace); err != nil {
		return err
	}
	if len(p.Manifests) > maxEntries || len(p.Overrides) > maxEntries {
		return fmt.Errorf("manifests and overrides have at most %d entries each: name folders, and paths without an index", maxEntries)
	}
	for _, name := range p.Manifests {
		if slices.ContainsFunc(strings.Split(filepath.ToSlash(name), "/"), isDotGit) {
			return fmt.Errorf("manifests: %.60q is git's own folder: name the folder of your manifests, such as %s", name, manifests)
		}
	}
	if err := p.Purge.check(); err != nil {
		return fmt.Errorf("purge.%w", err)
	}
	for i, o := range p.Overrides {
		if err := checkOverride(o); err != nil {
			return fmt.Errorf("overrides[%d]: %w", i, err)
		}
	}
	return nil
}

func checkWorkspace(ws kind.Workspace) error {
	switch {
	case ws.Name == "" || ws.UUID == "":
		return errors.New("workspace needs name and uuid: copy them from the workspaces section of your profile in the web console")
	case !isSegment(ws.Name) || !isSegment(ws.UUID):
		return errors.New("workspace: name and uuid have letters, digits, dots, dashes and underscores, and start with a letter or a digit")
	}
	return nil
}

// maxEntries bounds the lists of the project file; maxSegment is the longest
// name of a Kubernetes-style resource.
const (
	maxEntries = 1000
	maxSegment = 253
)

// isSegment reports whether a name can stand in the path of an address as it is.
func isSegment(name string) bool {
	if len(name) > maxSegment {
		return false
	}
	isAlnum := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	other := func(r rune) bool { return !isAlnum(r) && !strings.ContainsRune("._-", r) }
	return isAlnum(rune(name[0])) && !strings.ContainsFunc(name, other)
}

// allowOverrides refuses an override that hides a documented field, unless the
// environment of the run allows it: a pull request must not decide by itself what
// its plan leaves out.
func (a *app) allowOverrides(p project) error {
	allowed := strings.Split(a.env.Getenv("TRUEUP_ALLOW_OVERRIDES"), ",")
	for i := range allowed {
		allowed[i] = strings.Join(strings.Fields(allowed[i]), " ")
	}
	for i, o := range p.Overrides {
		if place := o.Place(); o.HidesDocumented() && !slices.Contains(allowed, place) {
			return exit.With(exit.Invalid, fmt.Errorf("%s: overrides[%d] hides the documented field %s: trueup would neither show nor send its differences. Remove the override, or allow it in this run's environment: TRUEUP_ALLOW_OVERRIDES=%q", projectFile, i, place, place))
		}
	}
	return nil
}

func checkOverride(o plan.Override) error {
	k, known := kind.Named(o.Kind)
	switch {
	case !known:
		return fmt.Errorf("unknown kind %.60q", o.Kind)
	case len(o.Undocumented) > 0:
		return checkUndocumented(k, o)
	case !strings.HasPrefix(o.Path, "spec."):
		return fmt.Errorf("path is %.60q; write a field below spec, for example spec.locations", o.Path)
	case !slices.Contains([]string{"", "set", "ordered"}, o.Order):
		return fmt.Errorf("order is %.60q; write set or ordered", o.Order)
	case !slices.Contains([]string{"", "text", "boolean", "number"}, o.Type):
		return fmt.Errorf("type is %.60q; write text, boolean or number", o.Type)
	case o.Order == "set" && o.Key != nil && len(o.Key) == 0:
		return errors.New("key: [] matches elements by position, but order: set says that position does not matter: remove one of them")
	}
	return nil
}

// checkUndocumented holds names to one place that the document shows: elsewhere
// nothing is taken for a misspelling.
func checkUndocumented(k *kind.Kind, o plan.Override) error {
	if o.Ignore || o.ReadOnly || o.Order != "" || o.Key != nil || o.Type != "" {
		return errors.New("undocumented does not change how a path is compared: write a separate override for that")
	}
	steps := strings.Split(o.Path, ".")
	holder := k.Spec()
	for _, name := range steps[1:] {
		if holder != nil {
			holder = inLists(holder.Fields[name])
		}
	}
	if steps[0] != "spec" || holder == nil || len(holder.Fields)+len(holder.Seen) == 0 {
		return fmt.Errorf("path is %.60q; undocumented needs a documented object or value, without indices, for example spec.locations.cache", o.Path)
	}
	return nil
}

// inLists returns the element of a list, or of lists in it, and any other field
// itself.
func inLists(f *kind.Field) *kind.Field {
	for f != nil && f.Type == kind.ListType {
		f = f.Item
	}
	return f
}

// undocumented are the names that the project says the platform has, by kind and
// path.
func (p project) undocumented() map[string]map[string][]string {
	var all map[string]map[string][]string
	for _, o := range p.Overrides {
		k, known := kind.Named(o.Kind)
		if !known || len(o.Undocumented) == 0 {
			continue
		}
		if all == nil {
			all = map[string]map[string][]string{}
		}
		if all[k.Name] == nil {
			all[k.Name] = map[string][]string{}
		}
		all[k.Name][o.Path] = append(all[k.Name][o.Path], o.Undocumented...)
	}
	return all
}

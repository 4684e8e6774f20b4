package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/routing"
)

// ProjectFile is the name of the project file.
const ProjectFile = "trueup.yaml"

// ManifestsDir is the usual folder of manifests.
const ManifestsDir = "manifests"

// Project is a project file. The zero value is no project.
type Project struct {
	plan.ProjectSettings
	Dir  string // the folder of the file, whose content is Text
	Text []byte
}

// FindProject reads the project file in dir or in the nearest folder above it. Without one it returns an empty project.
func FindProject(dir string) (Project, error) {
	for {
		p, err := ReadProject(dir)
		above := filepath.Dir(dir)
		if err != nil || p.Exists() || above == dir {
			return p, err
		}
		dir = above
	}
}

// ReadProject reads the project file in dir. Without one it returns an empty project.
func ReadProject(dir string) (Project, error) {
	path := filepath.Join(dir, ProjectFile)
	root, err := os.OpenRoot(dir) // no link leads out of it: errors quote the file
	var text []byte
	if err == nil {
		text, err = files.ReadFS(files.OpenFS(root), ProjectFile, maxFile)
		_ = root.Close() // opened for reading only
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Project{}, nil
	}
	if err != nil {
		return Project{}, fmt.Errorf("%s: %w", path, files.WithoutPath(err))
	}
	p, err := ParseProject(text)
	if err != nil {
		return Project{}, diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: %w", path, err))
	}
	p.Dir, p.Text = dir, text
	return p, nil
}

// ParseProject reads the text of a project file, and refuses characters that programs read differently, and fields and values that its schema does not have.
func ParseProject(text []byte) (Project, error) {
	if m, found := diag.FindMisread(text); found {
		return Project{}, m
	}
	if line := manifest.FirstAlias(text); line > 0 {
		return Project{}, fmt.Errorf("line %d: trueup does not read aliases (*NAME) here: write the value itself", line)
	}
	var p Project
	if err := UnmarshalYAML(text, "project", &p.ProjectSettings); err != nil {
		return Project{}, err
	}
	return p, p.CheckSchema()
}

// Exists reports whether there is a project file.
func (p Project) Exists() bool { return p.Dir != "" }

// ReadsPartly reports whether a run in dir reads only some of the project's manifests: PATHs, or those
// below dir, if the project names none.
func (p Project) ReadsPartly(dir string, paths []string) bool {
	return p.Exists() && (len(paths) > 0 || len(p.Manifests) == 0 && dir != p.Dir)
}

// ShownPath returns a path of the project file relative to cwd.
func (p Project) ShownPath(cwd, name string) string {
	return files.ShownPath(cwd, filepath.Join(p.Dir, name))
}

// FolderInside returns a folder inside that of the project file.
func (p Project) FolderInside(cwd, name string) files.Folder {
	return files.Folder{Base: p.Dir, Inside: filepath.Clean(name), Display: filepath.ToSlash(p.ShownPath(cwd, name))}
}

// PlanSettings returns the settings that decide how a plan is made.
func (p Project) PlanSettings(cwd string) plan.ProjectSettings {
	settings := p.ProjectSettings
	if p.Exists() {
		settings.Path = p.ShownPath(cwd, ProjectFile)
	}
	return settings
}

// SchemaAt returns the schema that the first line of a file names for editors. It is empty if the
// project has no schema, or the file is outside.
func (p Project) SchemaAt(full string) string {
	inside, err := filepath.Rel(p.Dir, full)
	if err != nil || !p.Exists() || !filepath.IsLocal(inside) {
		return ""
	}
	if info, err := os.Lstat(filepath.Join(p.Dir, kind.EditorSchemaFile)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return kind.EditorSchemaPath(filepath.ToSlash(inside))
}

// ManifestOptions returns the options for reading the manifests, without Strict.
func (p Project) ManifestOptions(parallelism int) manifest.LoadSettings {
	return manifest.LoadSettings{
		Workspace: p.Workspace.Name, Undocumented: p.undocumentedFields(),
		Precedence: p.Platform.Precedence, Parallelism: parallelism,
	}
}

// LoadedProject is a project with its manifests, after every offline check.
type LoadedProject struct {
	Project  Project
	Set      *manifest.Set
	Findings diag.List
}

// LoadManifests reads and checks manifests.
func (p Project) LoadManifests(ctx context.Context, list []manifest.PathSource, opts manifest.LoadSettings) (LoadedProject, error) {
	set, findings, err := manifest.Load(ctx, list, opts)
	if err != nil {
		return LoadedProject{}, err
	}
	findings = append(findings, manifest.CheckSet(set, opts)...)
	findings.Sort()
	return LoadedProject{p, set, findings}, nil
}

// IsEmpty reports whether there is neither a manifest, nor a test, nor a finding.
func (l LoadedProject) IsEmpty() bool {
	return len(l.Set.Objects)+len(l.Set.Tests)+len(l.Findings) == 0
}

// RefuseInvalid returns an error if the manifests are invalid. The error says what was not done, such as "nothing was written".
func (l LoadedProject) RefuseInvalid(notDone string) error {
	if err := l.Findings.ErrorIfInvalid("the manifests are invalid, and " + notDone); err != nil {
		return fmt.Errorf("%w; trueup validate shows all of them", err)
	}
	return nil
}

// AddAdvice adds to the findings what manifests alone give cause to advise on.
func (l *LoadedProject) AddAdvice() {
	for _, o := range l.Set.Objects {
		advice, silenced := manifest.Advise(o, o.Tree(), manifest.LoadSettings{Precedence: l.Project.Platform.Precedence})
		l.Findings, l.Set.Silenced = append(l.Findings, advice...), append(l.Set.Silenced, silenced...)
	}
	l.Findings.Sort()
}

// maxEntries limits the lists of the project file. maxSegment is the longest name of a Kubernetes-style resource.
const (
	maxEntries = 1000
	maxSegment = 253
)

// CheckSchema compares the project with its schema (schemas/project.schema.json).
func (p Project) CheckSchema() error {
	if p.APIVersion != "trueup/v1" || p.Kind != "Project" {
		return errors.New("not a project file: write apiVersion: trueup/v1 and kind: Project")
	}
	if err := CheckWorkspace(p.Workspace); err != nil {
		return err
	}
	if name, known := p.Platform.Precedence, routing.PrecedenceNames(); name != "" && !slices.Contains(known, name) {
		return fmt.Errorf("platform.precedence is %.60q: write %s", name, strings.Join(known, ", or "))
	}
	if n := min(p.MaxCreates, p.DeletesAllowed()); n < 0 {
		return fmt.Errorf("maxCreates or maxDeletes is %d: write 0 or more", n)
	}
	if len(p.Manifests) > maxEntries || len(p.Overrides) > maxEntries {
		return fmt.Errorf("manifests and overrides have at most %d entries each: name folders, not files, and paths of lists, not of single elements", maxEntries)
	}
	for _, name := range p.Manifests {
		if slices.ContainsFunc(strings.Split(filepath.ToSlash(name), "/"), isDotGit) {
			return fmt.Errorf("manifests: %.60q is git's own folder: name the folder of your manifests, such as %s", name, ManifestsDir)
		}
	}
	if err := checkPurge(p.Purge); err != nil {
		return fmt.Errorf("purge.%w", err)
	}
	for i, o := range p.Overrides {
		if err := checkOverride(o); err != nil {
			return fmt.Errorf("overrides[%d]: %w", i, err)
		}
	}
	return nil
}

// CheckWorkspace rejects names that can't be a segment of an address.
func CheckWorkspace(ws kind.Workspace) error {
	switch {
	case ws.Name == "" || ws.UUID == "":
		return errors.New("workspace needs name and uuid: copy them from the workspaces section of your profile in the web console")
	case !isSegment(ws.Name) || !isSegment(ws.UUID):
		return errors.New("workspace: name and uuid have letters, digits, dots, dashes and underscores, and start with a letter or a digit")
	}
	return nil
}

// segment matches a name that can be a segment of an address as it is.
var segment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`) })

func isSegment(name string) bool { return len(name) <= maxSegment && segment().MatchString(name) }

// UnmarshalYAML reads YAML into v, and rejects keys that the schema of one of kind.OwnFiles does not
// have. Keys that differ only in case count, too, because the decoder would read Ledger as ledger. Its errors name no Go
// types and internal steps.
func UnmarshalYAML(data []byte, file string, v any) error {
	var tree any
	err := yaml.UnmarshalStrict(data, v)
	if err == nil {
		err = yaml.Unmarshal(data, &tree)
	}
	if err != nil {
		text := strings.NewReplacer("error unmarshaling JSON: ", "", "error converting YAML to JSON: ", "",
			"while decoding JSON: ", "", "json: ", "", "yaml: ", "", "unmarshal errors:\n  ", "").Replace(err.Error())
		text = wrongType().ReplaceAllString(text, "$2 can't be a $1; trueup explain --schema project describes it")
		return errors.New(diag.Truncate(text, maxWords))
	}
	fields, _ := kind.OwnFileFields(file)
	if key := unknownKey(tree, fields); key != "" {
		return fmt.Errorf("unknown field %q", key)
	}
	return nil
}

// wrongType matches the message of encoding/json about a value of the wrong type.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot unmarshal (\w+)(?: \S+)? into Go struct field \w+\.(\S+) of type \S+`)
})

// maxWords limits an error, in bytes, because it may quote a key of the file.
const maxWords = 1000

func unknownKey(tree any, f *kind.Field) string {
	if f == nil {
		return ""
	}
	switch node := tree.(type) {
	case []any:
		for _, element := range node {
			if key := unknownKey(element, f.Item); key != "" {
				return key
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			below := cmp.Or(f.Fields[key], f.Any)
			if below == nil {
				return key
			}
			if key := unknownKey(node[key], below); key != "" {
				return key
			}
		}
	}
	return ""
}

// SendWindow returns how long after its first attempt a request without an answer may be sent again (docs/design.md A1).
func (p Project) SendWindow() time.Duration {
	return ParseDuration(p.Purge.Window, ledger.DefaultWindow)
}

// ParseDuration reads a duration that was checked. It returns usual if the text has none.
func ParseDuration(text string, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return usual
}

// DuplicateAnswer returns how to recognise the platform's answer to a name that exists.
func (p Project) DuplicateAnswer() api.DuplicateAnswer {
	d := api.DuplicateAnswer{Status: p.Purge.Duplicate.Status}
	if pattern := p.Purge.Duplicate.BodyRegex; pattern != "" {
		d.Body, _ = regexp.Compile(pattern) // Check refuses a wrong one
	}
	return d
}

// checkPurge returns an error that starts with the name of the field. It rejects settings that match other answers than
// that to a duplicate: after an unclear answer, a duplicate proves that the platform carried out the request.
func checkPurge(s plan.PurgeSettings) error {
	window, err := time.ParseDuration(s.Window)
	if s.Window != "" && (err != nil || window < time.Hour || window > 22*time.Hour) {
		return fmt.Errorf("window is %q: write a time between 1h and 22h", s.Window)
	}
	d := s.Duplicate
	others := []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestTimeout, http.StatusTooManyRequests,
	}
	for i, code := range d.Status {
		switch {
		case code < http.StatusBadRequest || code >= http.StatusInternalServerError:
			return fmt.Errorf("duplicate.status[%d] is %d: write codes between 400 and 499", i, code)
		case slices.Contains(others, code):
			return fmt.Errorf("duplicate.status[%d] is %d, which has another meaning: remove it", i, code)
		case code != http.StatusConflict && d.BodyRegex == "":
			return fmt.Errorf("duplicate.status[%d] is %d, which can mean anything: also write bodyRegex with words that only the answer to a duplicate has", i, code)
		}
	}
	pattern, err := regexp.Compile(d.BodyRegex)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("duplicate.bodyRegex: %s at %q", wrong.Code, wrong.Expr)
	}
	if d.BodyRegex != "" && pattern.MatchString("") {
		return errors.New("duplicate.bodyRegex matches any text: write words that only the answer to a duplicate has")
	}
	return nil
}

// CheckAllowedOverrides rejects an override that hides a documented field, unless the comma-separated list from
// the environment has it: a pull request must not decide what its own plan hides.
func (p Project) CheckAllowedOverrides(list string) error {
	allowed := diag.MapList(strings.Split(list, ","), func(place string) string { return strings.Join(strings.Fields(place), " ") })
	for i, o := range p.Overrides {
		if place := o.Place(); o.HidesDocumented() && !slices.Contains(allowed, place) {
			return diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: overrides[%d] hides the documented field %s: trueup would neither show nor send its differences. Remove the override, or allow it in this run's environment: TRUEUP_ALLOW_OVERRIDES=%q", ProjectFile, i, place, place))
		}
	}
	return nil
}

func checkOverride(o plan.Override) error {
	k, known := kind.FindKind(o.Kind)
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

// checkUndocumented requires a documented path, because trueup reports misspellings only there.
func checkUndocumented(k *kind.Kind, o plan.Override) error {
	if o.Ignore || o.ReadOnly || o.Order != "" || o.Key != nil || o.Type != "" {
		return errors.New("undocumented does not change how a path is compared: write a separate override for that")
	}
	steps := strings.Split(o.Path, ".")
	holder := k.Spec()
	for _, name := range steps[1:] {
		holder = cmp.Or(holder.Fields[name], &kind.Field{})
		for holder.Type == kind.ListType {
			holder = cmp.Or(holder.Item, &kind.Field{})
		}
	}
	if steps[0] != "spec" || len(holder.Fields)+len(holder.Seen) == 0 {
		return fmt.Errorf("path is %.60q; undocumented needs a documented object or value, without indices, for example spec.locations.cache", o.Path)
	}
	return nil
}

func (p Project) undocumentedFields() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, o := range p.Overrides {
		k, _ := kind.FindKind(o.Kind) // Check refuses another
		if len(o.Undocumented) == 0 {
			continue
		}
		if all[k.Name] == nil {
			all[k.Name] = map[string][]string{}
		}
		all[k.Name][o.Path] = append(all[k.Name][o.Path], o.Undocumented...)
	}
	return all
}

// MatchesPath reports whether a pattern of path.Match, which must be valid, matches the path of a project or a folder
// above it.
func MatchesPath(pattern, name string) bool {
	pattern = path.Clean(pattern)
	for ; ; name = path.Dir(name) {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
		if name == "." {
			return false
		}
	}
}

package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
)

// The variables that hold what a trueup.yaml must not change: the workspace and the store of the ledger of one project,
// or a file that has both for many.
const (
	WorkspacePin = "TRUEUP_WORKSPACE"
	LedgerPin    = "TRUEUP_LEDGER"
	ProjectsPin  = "TRUEUP_PROJECTS"
)

// ProjectPin is what the environment holds for a project, whatever its trueup.yaml says.
type ProjectPin struct {
	Path      string `json:"path"`      // a folder or a pattern, from the top of the repository
	Workspace string `json:"workspace"` // the UUID
	Ledger    string `json:"ledger"`    // a store, or with a final slash what stores are below
	Profile   string `json:"profile"`
	Origin    string `json:"-"` // the variable
}

// SharedState is what all projects of a run share: the pins, whose file is read once, and the warnings that were logged.
type SharedState struct {
	Root     string // the folder in which trueup each searches; empty for a single project
	readPins sync.Once
	pins     []ProjectPin
	pinsErr  error
	warned   sync.Map
}

func (o Options) sharedStateOrEmpty() *SharedState { return cmp.Or(o.Shared, &SharedState{}) }

// FindPin returns what the environment holds for a project.
func (o Options) FindPin(p Project) (ProjectPin, error) {
	one, file := ProjectPin{Workspace: o.Getenv(WorkspacePin), Ledger: o.Getenv(LedgerPin), Origin: WorkspacePin}, o.Getenv(ProjectsPin)
	switch {
	case file == "":
		return one, nil
	case !o.Sandbox && one.Workspace+one.Ledger != "":
		return one, fmt.Errorf("%s has the pins of all projects: unset %s and %s", ProjectsPin, WorkspacePin, LedgerPin)
	}
	dir := ResolveLinks(cmp.Or(p.Dir, o.Dir()))
	top, list, err := o.allPins(dir)
	if err != nil || o.Sandbox { // which no pin restricts
		return one, err
	}
	pin, at := ProjectPin{Origin: ProjectsPin}, filepath.ToSlash(files.ShownPath(top, dir))
	for _, entry := range list {
		if MatchesPath(entry.Path, at) {
			pin.Workspace = cmp.Or(pin.Workspace, entry.Workspace)
			pin.Ledger, pin.Profile = cmp.Or(pin.Ledger, entry.Ledger), cmp.Or(pin.Profile, entry.Profile)
		}
	}
	return pin, nil
}

// AddGonePins adds to the removed projects the pinned folders, without patterns, that have no project, and whose workspace no
// other project has, unless the selection leaves them out: what is live there is managed no more. A local run only reads the pins.
func (o Options) AddGonePins(f *Fleet, s Selection, isLocal bool) error {
	if o.Getenv(ProjectsPin) == "" {
		return nil
	}
	root := ResolveLinks(f.Root)
	top, list, err := o.allPins(root)
	for _, pin := range list {
		at := filepath.ToSlash(files.ShownPath(root, filepath.Join(top, filepath.FromSlash(pin.Path))))
		isFolder := pin.Workspace != "" && !strings.ContainsAny(pin.Path, `*?[\`) && filepath.IsLocal(at)
		isManaged := slices.ContainsFunc(f.All, func(p *ProjectFolder) bool {
			return p.Path == at || strings.EqualFold(p.Settings.Workspace.UUID, pin.Workspace)
		})
		if isFolder && !isManaged && !isLocal && s.takesPath(at) && !slices.Contains(f.Removed, at) {
			f.Removed = append(f.Removed, at)
		}
	}
	slices.Sort(f.Removed)
	return err
}

// allPins returns all pins, and the folder that their paths start from: the top of the repository that has dir, or in which
// trueup each searches.
func (o Options) allPins(dir string) (top string, list []ProjectPin, err error) {
	shared, file := o.sharedStateOrEmpty(), o.Getenv(ProjectsPin)
	if shared.Root != "" {
		dir = ResolveLinks(shared.Root)
	}
	top, inGit := repositoryTop(dir)
	if !inGit {
		top = ResolveLinks(cmp.Or(shared.Root, o.Cwd))
	}
	shared.readPins.Do(func() { shared.pins, shared.pinsErr = readPins(file) })
	switch err = shared.pinsErr; {
	case err != nil:
	case inGit && isBelow(top, file):
		err = errors.New("it is inside the repository, where a pull request can change it: move it outside")
	case shared.Root != "" && isBelow(ResolveLinks(shared.Root), file):
		err = errors.New("it is inside the folder of the projects, where a change of theirs can change it: move it outside")
	}
	if err != nil {
		return top, nil, fmt.Errorf("%s is %s: %w", ProjectsPin, file, err)
	}
	return top, shared.pins, nil
}

// repositoryTop returns the top of the repository that has dir. A submodule is a part of the repository around it: a change there
// can add one.
func repositoryTop(dir string) (top string, inGit bool) {
	for {
		entry, ok := files.FindAbove(dir, ".git")
		if !ok {
			return top, inGit
		}
		top, inGit = filepath.Dir(entry), true
		text, _, err := files.Read(entry, maxFile)
		if err != nil || !strings.Contains(filepath.ToSlash(string(text)), "/modules/") {
			return top, true
		}
		dir = filepath.Dir(top)
	}
}

// isBelow reports whether a file, or a link that its name goes through, is below a folder.
func isBelow(folder, file string) bool {
	if filepath.IsLocal(files.ShownPath(folder, ResolveLinks(file))) {
		return true
	}
	for at := filepath.Clean(file); at != filepath.Dir(at); at = filepath.Dir(at) {
		if filepath.IsLocal(files.ShownPath(folder, filepath.Join(ResolveLinks(filepath.Dir(at)), filepath.Base(at)))) {
			return true
		}
	}
	return false
}

// ResolveLinks returns a path without links; one that does not exist stays.
func ResolveLinks(name string) string {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		return resolved
	}
	return name
}

// readPins reads the file of pins strictly (schemas/pins.schema.json).
func readPins(file string) (list []ProjectPin, err error) {
	if !filepath.IsAbs(file) {
		return nil, errors.New("write the whole path: each project has a folder of its own")
	}
	data, _, err := files.Read(file, maxFile)
	if err != nil {
		return nil, err
	}
	if err := UnmarshalYAML(data, "pins", &list); err != nil {
		return nil, err
	}
	for i, pin := range list {
		if _, err := filepath.Match(pin.Path, ""); err != nil || pin.Path == "" {
			return nil, fmt.Errorf("entry %d has the path %q: write a folder or a pattern from the top of the repository, such as shops/*", i+1, pin.Path)
		}
		if pin.Workspace != "" && !uuidForm.MatchString(pin.Workspace) {
			return nil, fmt.Errorf("entry %d has the workspace %q, which is no UUID: copy it from trueup.yaml", i+1, pin.Workspace)
		}
	}
	return list, nil
}

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// CheckWorkspace refuses a workspace that is not the pinned one; without a pin, any is allowed.
func (p ProjectPin) CheckWorkspace(ws kind.Workspace) error {
	if p.Workspace == "" || strings.EqualFold(p.Workspace, ws.UUID) {
		return nil
	}
	return diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s names workspace %s, and %s allows only %s, so nothing was read or sent: correct workspace.uuid or the variable",
		ProjectFile, cmp.Or(ws.UUID, "none"), p.Origin, p.Workspace))
}

// checkWrite refuses to write in a read-only run, to a project that the file of pins lacks, and in CI to one of many without a pin.
func (o Options) checkWrite(pin ProjectPin) error {
	if o.ReadOnly && o.Writes {
		return diag.ErrReadOnly
	}
	isMany := o.sharedStateOrEmpty().Root != "" && o.InCI()
	if pin.Workspace != "" || !o.Writes || o.Getenv(ProjectsPin) == "" && !isMany {
		return nil
	}
	if o.Getenv(ProjectsPin) == "" {
		return diag.WithExit(diag.ExitInvalid, fmt.Errorf("in CI, %s must name the file that pins the workspace of each project, so nothing was read or sent: set it", ProjectsPin))
	}
	return diag.WithExit(diag.ExitInvalid, fmt.Errorf("the file of %s has no workspace for this project, so nothing was read or sent: add the folder there", ProjectsPin))
}

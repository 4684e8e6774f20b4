package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/git"
)

// Selection says which projects of a folder to take.
type Selection struct {
	// ChangedSince is a commit. It takes the projects that read a file that differs from that commit.
	ChangedSince string
	Shard        Shard
	// Select and Exclude have patterns of path.Match, for the path of a project or of a folder above it.
	Select, Exclude []string
}

// Fleet is the projects that a selection takes.
type Fleet struct {
	Root     string
	Projects []*ProjectFolder // sorted by path
	// All is every project that is not excluded. CompareHosts compares their hostnames.
	All []*ProjectFolder
	FleetChanges
}

// FleetChanges are what a run says of the projects of a repository, beside their results.
type FleetChanges struct {
	// Since is the commit that the facts compare with; empty without one.
	Since string `json:"since,omitempty"`
	// Added are new projects, Removed those that are gone, and Moved those that are in another folder. The objects of a
	// removed one are still live.
	Added   []string      `json:"added,omitempty"`
	Removed []string      `json:"removed,omitempty"`
	Moved   []ProjectMove `json:"moved,omitempty"`
	// Unselected counts the projects that the selection leaves out.
	Unselected int `json:"unselected,omitempty"`
}

// ProjectMove is a project that is in another folder now.
type ProjectMove struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// FindFleet finds the projects of a folder and selects among them. An excluded project is none of the fleet; all others must
// not contradict each other, whether they are selected or not. base is the commit to compare with unless ChangedSince
// names one; empty compares with none.
func (s Selection) FindFleet(ctx context.Context, root, base string) (Fleet, error) {
	all, err := s.findCandidates(ctx, root)
	f := Fleet{Root: root, All: all}
	if err != nil {
		return f, err
	}
	var changed map[string]bool
	if ref := cmp.Or(s.ChangedSince, base); ref != "" {
		changed, err = f.compareWith(ctx, ref)
		if err != nil && s.ChangedSince != "" {
			return f, fmt.Errorf("--changed-since %s: %w", s.ChangedSince, err)
		}
		f.Removed = slices.DeleteFunc(f.Removed, func(path string) bool { return matchesAny(s.Exclude, path) })
	}
	for _, p := range f.All {
		switch {
		case !s.takesPath(p.Path) || s.ChangedSince != "" && !changed[p.Path]:
			f.Unselected++
		case s.Shard.Has(p.Path):
			f.Projects = append(f.Projects, p)
		}
	}
	return f, nil
}

// findCandidates returns all projects that are not excluded.
func (s Selection) findCandidates(ctx context.Context, root string) ([]*ProjectFolder, error) {
	for _, glob := range slices.Concat(s.Select, s.Exclude) {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, fmt.Errorf("%q is no pattern: write the path of projects with *, ? and [a-z]", glob)
		}
	}
	all, err := findProjects(ctx, root)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no %s in this folder or below it: run trueup init, or name another folder", ProjectFile)
	}
	all = slices.DeleteFunc(all, func(p *ProjectFolder) bool { return matchesAny(s.Exclude, p.Path) })
	if len(all) == 0 {
		return nil, errors.New("--exclude leaves no project: exclude less")
	}
	for _, glob := range s.Select {
		if !slices.ContainsFunc(all, func(p *ProjectFolder) bool { return MatchesPath(glob, p.Path) }) {
			return nil, fmt.Errorf("--select %s matches no project: trueup each --list lists them", glob)
		}
	}
	addConflicts(all)
	return all, nil
}

func (s Selection) takesPath(path string) bool {
	return (len(s.Select) == 0 || matchesAny(s.Select, path)) && !matchesAny(s.Exclude, path)
}

// Describe returns the flags of a selection without its shard, with the commit that it compared with.
func (s Selection) Describe(since string) string {
	text := ""
	if s.ChangedSince != "" {
		text = " --changed-since " + since
	}
	for _, glob := range s.Select {
		text += " --select " + glob
	}
	for _, glob := range s.Exclude {
		text += " --exclude " + glob
	}
	return strings.TrimPrefix(text, " ")
}

func matchesAny(globs []string, path string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return MatchesPath(glob, path) })
}

// Shard is one of several parts of the projects. The zero value is all of them.
type Shard struct {
	Index, Of int // from 1
}

// String returns I/N, or "" for all.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Set reads I/N, as a flag does.
func (s *Shard) Set(text string) error {
	_, err := fmt.Sscanf(text, "%d/%d", &s.Index, &s.Of)
	if err != nil || s.String() != text || s.Index < 1 || s.Index > s.Of {
		return fmt.Errorf("%q is no shard: write I/N with I from 1 to N, such as 1/20", text)
	}
	return nil
}

// Type names the value for help texts.
func (s *Shard) Type() string { return "I/N" }

// Has reports whether the shard has the project with this path. A new project moves no other.
func (s Shard) Has(path string) bool {
	if s.Of <= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(path))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Of) == uint64(s.Index-1)
}

// compareWith compares the work tree with a commit. It returns the paths of the projects that changed, and notes those that are
// new, gone or in another folder.
func (f *Fleet) compareWith(ctx context.Context, ref string) (changed map[string]bool, err error) {
	repository, err := git.OpenRepository(ctx, f.Root)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, git.Advice(err))
	}
	commit, err := repository.ResolveCommit(ctx, ref)
	switch {
	case errors.Is(err, git.ErrNoCommit) && repository.Shallow:
		return nil, errors.New("this shallow clone lacks the commit: fetch it, or check out the whole history (fetch-depth: 0, GIT_DEPTH: 0)")
	case errors.Is(err, git.ErrNoCommit):
		return nil, errors.New("the repository has no such commit: fetch it, or name another")
	case err != nil:
		return nil, err
	}
	_, folder, err := repository.TopFolder(ctx)
	if err != nil {
		return nil, err
	}
	all, err := repository.ChangesSince(ctx, commit)
	if err != nil {
		return nil, err
	}
	var below []git.Change // with names that start from the folder
	for _, change := range all {
		name, isBelow := strings.CutPrefix("./"+change.Name, strings.TrimSuffix("./"+folder, "/.")+"/")
		if change.Name = name; isBelow && !change.IsSame() {
			below = append(below, change)
		}
	}
	return f.changedProjects(below), f.addPast(ctx, repository, commit, below)
}

// foldersAbove returns the folders above a path, the nearest first.
func foldersAbove(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name != "." {
			if name = path.Dir(name); !yield(name) {
				return
			}
		}
	}
}

// changedProjects returns the paths of the projects that have a file in their folder that differs, or a folder above it, which
// was a link or a submodule.
func (f *Fleet) changedProjects(changes []git.Change) map[string]bool {
	names, folders, changed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, change := range changes {
		names[change.Name], folders[change.Name] = true, true
		for at := range foldersAbove(change.Name) {
			folders[at] = true
		}
	}
	for _, p := range f.All {
		changed[p.Path] = folders[p.Path]
		for at := range foldersAbove(p.Path) {
			changed[p.Path] = changed[p.Path] || names[at]
		}
	}
	return changed
}

// addPast finds which projects are new, gone or in another folder. It reads the settings that the commit had of those
// that are gone.
func (f *Fleet) addPast(ctx context.Context, repository git.Repository, commit string, changes []git.Change) error {
	f.Since = commit
	existed, byPath, byID := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, c := range changes { // git has two changes for a file that it no longer tracks
		if folder, name := path.Split(c.Name); name == ProjectFile && !strings.Contains("/"+folder, "/.") {
			at := path.Clean(folder)
			existed[at] = existed[at] || c.Was.Kind != git.Absent
		}
	}
	for _, p := range f.All {
		byPath[p.Path], byID[p.Settings.Workspace.UUID] = true, p.Path
	}
	paths := slices.Sorted(maps.Keys(existed))
	gone := slices.DeleteFunc(slices.Clone(paths), func(at string) bool { return byPath[at] || !existed[at] })
	if len(gone) > 0 {
		tree, err := repository.ReadTree(ctx, commit, func(name, _ string) bool {
			return path.Base(name) == ProjectFile && slices.Contains(gone, path.Dir(name))
		})
		if err != nil {
			return err
		}
		for _, at := range gone {
			text, _ := fs.ReadFile(tree, path.Join(at, ProjectFile)) // no file for a link
			was, err := ParseProject(text)
			if to := byID[was.Workspace.UUID]; err == nil && to != "" {
				f.Moved = append(f.Moved, ProjectMove{From: at, To: to})
				existed[to] = true
			} else {
				f.Removed = append(f.Removed, at)
			}
		}
	}
	f.Added = slices.DeleteFunc(paths, func(at string) bool { return existed[at] || !byPath[at] })
	return nil
}

// Commit returns the commit that is checked out, or "" without one.
func (f Fleet) Commit(ctx context.Context) string {
	commit := ""
	if repository, err := git.OpenRepository(ctx, f.Root); err == nil {
		commit, _ = repository.ResolveCommit(ctx, "HEAD") // a new repository has none
	}
	return commit
}

// ProjectFolder is a folder with a trueup.yaml.
type ProjectFolder struct {
	Path     string // from the folder of the search, with slashes; "." is that folder itself
	Settings Project
	Err      error     // why trueup can't run there: it fails alone
	Warnings diag.List // about hosts that another project has, too
}

// filePath returns the path of its trueup.yaml from the folder of the search.
func (p *ProjectFolder) filePath() string { return path.Join(p.Path, ProjectFile) }

// findProjects returns the projects in root and below it, sorted by path. Like the reader of manifests, it skips folders whose
// name starts with a dot, and follows no link. A folder that can't be listed is an error: it must not look empty.
func findProjects(ctx context.Context, root string) ([]*ProjectFolder, error) {
	var found []*ProjectFolder
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("read folder %s: %w", files.ShownPath(root, name), files.WithoutPath(err))
		case e.IsDir() && name != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Name() == ProjectFile && name != root:
			dir := filepath.Dir(name)
			p := &ProjectFolder{Path: filepath.ToSlash(files.ShownPath(root, dir))}
			if p.Settings, p.Err = ReadProject(dir); p.Err == nil && !p.Settings.Exists() {
				p.Err = fmt.Errorf("%s: it was deleted just now: run trueup again when nothing changes the files", p.filePath())
			}
			if p.Err != nil { // its path is that on this machine
				text := strings.Replace(p.Err.Error(), name, p.filePath(), 1)
				p.Err = diag.WithExit(diag.ExitOf(p.Err), errors.New(text))
			}
			found = append(found, p)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b *ProjectFolder) int { return strings.Compare(a.Path, b.Path) })
	return found, err
}

// nestedRepository returns the path of the repository that has the project and is itself below the folder of the search, or "".
func (p *ProjectFolder) nestedRepository() string {
	for at, dir := p.Path, p.Settings.Dir; at != "."; at, dir = path.Dir(at), filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return at
		}
	}
	return ""
}

// sharedLedger returns a key of the ledger that another project may name, too. A file is in the project's own folder.
func (p *ProjectFolder) sharedLedger() string {
	store, _, _ := strings.Cut(p.Settings.Ledger.Store, "?")
	switch scheme, _, _ := strings.Cut(store, ":"); scheme {
	case "", "file":
		return ""
	case "git":
		return p.nestedRepository() + " " + strings.TrimSuffix(store, "@origin")
	}
	plain, _ := url.PathUnescape(store) // no store has a wrong escape
	return strings.TrimRight(plain, "/")
}

// addConflicts gives an error to each project within another, and to those with one workspace or ledger: they would
// undo each other's changes, and a ledger belongs to one workspace. The projects are sorted by path.
func addConflicts(all []*ProjectFolder) {
	at, claimed := map[string]*ProjectFolder{}, map[string]claim{}
	for _, p := range all {
		at[p.Path] = p
	}
	claimOnce := func(by claim, what, key, fix string) {
		if first, isClaimed := claimed[what+key]; isClaimed {
			addConflict(by, first, what, fix)
		} else {
			claimed[what+key] = by
		}
	}
	for _, p := range all {
		for above := range foldersAbove(p.Path) {
			if outer := at[above]; outer != nil {
				p.addContradiction(p.filePath(), "this project is inside that of "+outer.filePath()+": move it beside that one")
				outer.addContradiction(outer.filePath(), "the project of "+p.filePath()+" is inside this one: move it beside this one")
			}
		}
		id, store := p.Settings.Workspace.UUID, p.Settings.Ledger.Store
		if p.Err == nil { // only what all others have in order counts
			claimOnce(claim{p, p.placeOf("uuid", id)}, "this workspace", strings.ToLower(id), "make them one project, whose manifests: names both folders")
		}
		if key := p.sharedLedger(); key != "" && p.Err == nil {
			claimOnce(claim{p, p.placeOf("store", store)}, "this ledger", key, "name another one, because a ledger belongs to one workspace")
		}
	}
}

// claim is a place where a project names what only one project may have.
type claim struct {
	project *ProjectFolder
	place   string
}

// addConflict gives an error to two projects that claim the same.
func addConflict(a, b claim, what, fix string) {
	a.project.addContradiction(a.place, what+" is also in "+b.place+": "+fix)
	b.project.addContradiction(b.place, what+" is also in "+a.place+": "+fix)
}

// addContradiction gives a project its first contradiction with another.
func (p *ProjectFolder) addContradiction(place, why string) {
	if p.Err == nil {
		p.Err = diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: %s, or leave one out with --exclude", place, why))
	}
}

// placeOf returns where the project's settings have a value, as file:line.
func (p *ProjectFolder) placeOf(field, value string) string {
	for i, line := range strings.Split(string(p.Settings.Text), "\n") {
		if strings.Contains(line, field) && strings.Contains(line, value) {
			return fmt.Sprintf("%s:%d", p.filePath(), i+1)
		}
	}
	return p.filePath()
}

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// ProjectFolder is a folder with a trueup.yaml.
type ProjectFolder struct {
	Path     string // from the folder of the search, with slashes; "." is that folder itself
	Dir      string // absolute
	Settings Project
	Err      error     // why trueup can't run there: it fails alone
	Warnings diag.List // about hosts that another project has, too
}

// filePath returns the path of its trueup.yaml from the folder of the search.
func (p ProjectFolder) filePath() string { return path.Join(p.Path, ProjectFile) }

// findProjects returns the projects in root and below it, sorted by path. Like the reader of manifests, it skips folders whose
// name starts with a dot, and follows no link. A folder that can't be listed is an error: it must not look empty.
func findProjects(ctx context.Context, root string) ([]ProjectFolder, error) {
	var found []ProjectFolder
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("read folder %s: %w", files.ShownPath(root, name), files.WithoutPath(err))
		case e.IsDir() && name != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Name() == ProjectFile && name != root:
			found = append(found, readProject(root, filepath.Dir(name)))
		}
		return nil
	})
	slices.SortFunc(found, func(a, b ProjectFolder) int { return strings.Compare(a.Path, b.Path) })
	return found, err
}

func readProject(root, dir string) ProjectFolder {
	p := ProjectFolder{Path: filepath.ToSlash(files.ShownPath(root, dir)), Dir: dir}
	if p.Settings, p.Err = ReadProject(dir); p.Err == nil && !p.Settings.Exists() {
		p.Err = fmt.Errorf("%s: it was deleted just now: run trueup again when nothing changes the files", p.filePath())
	}
	if p.Err != nil { // its path is that on this machine
		text := strings.Replace(p.Err.Error(), filepath.Join(dir, ProjectFile), p.filePath(), 1)
		p.Err = diag.WithExit(diag.ExitOf(p.Err), errors.New(text))
	}
	return p
}

// nestedRepository returns the path of the repository that has the project and is itself below the folder of the search, or "".
func (p ProjectFolder) nestedRepository() string {
	for at, dir := p.Path, p.Dir; at != "."; at, dir = path.Dir(at), filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return at
		}
	}
	return ""
}

// sharedLedger returns a key of the ledger that another project may name, too. A file is in the project's own folder.
func (p ProjectFolder) sharedLedger() string {
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
func addConflicts(all []ProjectFolder) {
	at, byWorkspace, byLedger := map[string]*ProjectFolder{}, map[string]*ProjectFolder{}, map[string]*ProjectFolder{}
	for i := range all {
		at[all[i].Path] = &all[i]
	}
	for i := range all {
		p := &all[i]
		for above := range foldersAbove(p.Path) {
			if outer := at[above]; outer != nil {
				p.addContradiction(p.filePath(), "this project is inside that of "+outer.filePath()+": move it beside that one")
				outer.addContradiction(outer.filePath(), "the project of "+p.filePath()+" is inside this one: move it beside this one")
			}
		}
		if p.Err != nil {
			continue // only what all others have in order counts
		}
		id, store, key := p.Settings.Workspace.UUID, p.Settings.Ledger.Store, p.sharedLedger()
		workspace := strings.ToLower(id)
		switch other, holder := byWorkspace[workspace], byLedger[key]; {
		case other != nil:
			addConflict(p, p.placeOf("uuid", id), other, other.placeOf("uuid", other.Settings.Workspace.UUID), "this workspace",
				"make them one project, whose manifests: names both folders")
		case key != "" && holder != nil:
			addConflict(p, p.placeOf("store", store), holder, holder.placeOf("store", holder.Settings.Ledger.Store), "this ledger",
				"name another one, because a ledger belongs to one workspace")
		default:
			byWorkspace[workspace], byLedger[key] = p, p
		}
	}
}

// addConflict gives an error to two projects that have the same thing at two places.
func addConflict(a *ProjectFolder, atA string, b *ProjectFolder, atB, what, fix string) {
	a.addContradiction(atA, what+" is also in "+atB+": "+fix)
	b.addContradiction(atB, what+" is also in "+atA+": "+fix)
}

// addContradiction gives a project its first contradiction with another.
func (p *ProjectFolder) addContradiction(place, why string) {
	if p.Err == nil {
		p.Err = diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: %s, or leave one out with --exclude", place, why))
	}
}

// placeOf returns where the project's settings have a value, as file:line.
func (p ProjectFolder) placeOf(field, value string) string {
	for i, line := range strings.Split(string(p.Settings.Text), "\n") {
		if strings.Contains(line, field) && strings.Contains(line, value) {
			return fmt.Sprintf("%s:%d", p.filePath(), i+1)
		}
	}
	return p.filePath()
}

// hostClaim is a host of an object, in the form of kind.HostKey.
type hostClaim struct {
	diag.Finding // about the host, without a rule if a comment silences it
	host, object string
	isLocation   bool // it is the host of a location, and not the hostname
	project      *ProjectFolder
	isTold       bool
}

// CompareHosts reads the manifests of all projects, a few projects at once, and keeps only their hosts. Projects with the same
// hostname get an error, and those with another host in common a warning. One that can't be read fails when its turn comes.
func (f *Fleet) CompareHosts(ctx context.Context, parallelism int) error {
	all := make([]hostClaims, len(f.All))
	diag.InParallelWith(max(parallelism, 1), len(all), func(_ *struct{}, i int) (more bool) {
		all[i] = f.All[i].readHosts(ctx)
		return ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	f.addHostConflicts(all)
	n := 0
	for _, p := range f.All {
		if n < len(f.Projects) && f.Projects[n].Path == p.Path {
			f.Projects[n] = p
			n++
		}
	}
	return nil
}

// hostClaims are the hosts of a project.
type hostClaims []hostClaim

// readHosts returns the hosts of a project's manifests, or none if they can't be read.
func (p ProjectFolder) readHosts(ctx context.Context) (claims hostClaims) {
	if p.Err != nil {
		return nil
	}
	sources, err := p.Settings.OpenSources(p.Dir, nil, nil)
	if err != nil {
		return nil
	}
	set, _, err := manifest.Load(ctx, sources, p.Settings.ManifestOptions(1))
	if err != nil {
		return nil
	}
	for _, o := range set.Objects {
		if own := kind.HostKey(o.Host); o.Kind.CanPatch() {
			seen := map[string]bool{"": true}
			claims.addClaim(o, own, "spec."+o.Kind.HostField, seen)
			if slices.ContainsFunc(o.LocationHosts(), func(host string) bool { return host != own }) {
				for _, l := range routing.ReadConfig(o.Tree()).Locations {
					seen[l.Host] = seen[l.Host] || strings.Contains(l.Host, "*") // a wildcard may be shared
					claims.addClaim(o, l.Host, l.FieldPath()+".host", seen)
				}
			}
		}
	}
	return claims
}

// addClaim adds a host that was not seen before. A part of the object's text would keep all of it.
func (c *hostClaims) addClaim(o *manifest.Object, host, field string, seen map[string]bool) {
	if seen[host] {
		return
	}
	seen[host] = true
	f := diag.Finding{Path: o.Path, Field: field, Rule: rules.HostnameTaken, Severity: diag.Warning, Fix: rules.FixSharedHost}
	f.Line, f.Column = o.Position(field)
	if shown, _ := o.SplitSilenced(diag.List{f}); len(shown) == 0 {
		f.Rule = ""
	}
	*c = append(*c, hostClaim{Finding: f, host: strings.Clone(host), object: strings.Clone(o.Key().String()), isLocation: strings.HasSuffix(field, "].host")})
}

// addHostConflicts gives an error to projects that have the same hostname, and a warning to those with a location for a host of
// another.
func (f *Fleet) addHostConflicts(all []hostClaims) {
	first := map[string]*hostClaim{}
	for _, locations := range []bool{false, true} {
		for i := range all {
			for j := range all[i] {
				c := &all[i][j]
				c.project = &f.All[i]
				switch by := first[c.host]; {
				case c.isLocation != locations:
				case by == nil:
					first[c.host] = c
				case by.project == c.project:
				case locations:
					c.addWarning(by)
					by.addWarning(c)
				default:
					addConflict(c.project, c.placeOf(), by.project, by.placeOf(), "the hostname "+c.host, "keep it in one project")
				}
			}
		}
	}
}

// addWarning adds a warning to the project unless it has one about the claim.
func (c *hostClaim) addWarning(other *hostClaim) {
	if c.Rule != "" && !c.isTold {
		c.isTold = true
		c.Message = rules.SharedHostMessage(fmt.Sprintf("%s in %s", other.object, other.placeOf()), c.host)
		c.project.Warnings = append(c.project.Warnings, c.Finding)
	}
}

func (c *hostClaim) placeOf() string {
	return fmt.Sprintf("%s:%d", path.Join(c.project.Path, c.Path), c.Line)
}

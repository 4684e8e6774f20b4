package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/git"
	"trueup/internal/purge"
)

func (g *gatherer) addCommits(ctx context.Context) error {
	var mappings purge.Mappings
	for _, text := range g.Maps {
		m, err := purge.ParseMapping(text)
		if err != nil {
			return fmt.Errorf("--map %w", err)
		}
		mappings = append(mappings, m)
	}
	if mappings == nil {
		return errors.New("trueup does not know which path serves the files: add --map 'FROM -> TO', such as --map 'public/ -> /'")
	}
	r, err := git.OpenRepository(ctx, g.PurgeEnv.Dir)
	if err != nil {
		return err
	}
	if g.commits, err = r.ParseRange(ctx, g.FromGit); err != nil {
		return g.explainRangeError(r, err)
	}
	changes, err := r.Changes(ctx, g.commits.Base, g.commits.Head)
	if err != nil {
		return err
	}
	if err := g.refuseUnusedMappings(ctx, r, mappings, changes); err != nil {
		return err
	}
	g.head = append(g.head, fmt.Sprintf("from the files that differ between %s and %s:", g.commits.Base, g.commits.Head))
	for _, text := range g.Maps {
		g.head = append(g.head, "  "+oneLine(text))
	}
	g.addChanges(mappings, changes)
	return nil
}

func (g *gatherer) explainRangeError(r git.Repository, err error) error {
	base, _, _ := strings.Cut(g.FromGit, "..")
	switch {
	case !errors.Is(err, git.ErrNoCommit) && !errors.Is(err, git.ErrUnrelated):
		return err
	case base != "" && strings.Trim(base, "0") == "":
		return fmt.Errorf("%s means that the branch is new: compare with the branch that it started from, such as main...HEAD", base)
	case r.Shallow:
		return fmt.Errorf("%w, in this shallow clone: fetch more history (fetch-depth: 0)", err)
	}
	return fmt.Errorf("%w: fetch it, or name another commit", err)
}

// refuseUnusedMappings refuses a mapping from a folder that neither commit has: it is a slip, and what it
// was meant for would stay old.
func (g *gatherer) refuseUnusedMappings(ctx context.Context, r git.Repository, mappings purge.Mappings, changes []git.ChangedName) error {
	for i, m := range mappings {
		if m.From == "" || slices.ContainsFunc(changes, func(c git.ChangedName) bool { return m.ServesFile(c.Name) }) {
			continue
		}
		known := false
		for _, commit := range []string{g.commits.Base, g.commits.Head} {
			has, err := r.HasFile(ctx, commit, m.From)
			if err != nil {
				return err
			}
			known = known || has
		}
		if !known {
			return fmt.Errorf("--map %q: neither commit has %s. Names start at the top of the repository and are case-sensitive; a submodule is another repository", g.Maps[i], m.From)
		}
	}
	return nil
}

// addChanges adds the changed files that are served, and logs the names that it leaves out.
func (g *gatherer) addChanges(mappings purge.Mappings, changes []git.ChangedName) {
	var unmapped, unclear []string
	for _, c := range changes {
		is := func(k git.FileKind) bool { return c.Was == k || c.Is == k }
		switch {
		case c.Same:
			continue
		case !mappings.CoversFile(c.Name):
			unmapped = append(unmapped, c.Name)
			continue
		case is(git.Submodule) || is(git.Link):
			unclear = append(unclear, c.Name)
		}
		if is(git.Regular) {
			g.addFile(mappings, c.Name)
		}
	}
	g.logLeftOut(g.logInfo, unmapped, "changed file matches no --map", "changed files match no --map")
	g.logLeftOut(g.logWarning, unclear, "symbolic link or submodule changed, and trueup can't tell which paths it serves: name them yourself",
		"symbolic links or submodules changed, and trueup can't tell which paths they serve: name them yourself")
}

func (g *gatherer) logLeftOut(log func(string, ...any), names []string, one, many string) {
	if len(names) > 0 {
		for i, name := range names {
			names[i] = oneLine(name)
		}
		log("%s: %s", diag.Plural(len(names), one, many), diag.JoinFirst(names, 5))
	}
}

func (g *gatherer) addFile(mappings purge.Mappings, name string) {
	served, err := mappings.ServedAddresses(name, g.Pages)
	if err != nil {
		g.Unplaced = append(g.Unplaced, fmt.Sprintf("the file %s %v: name a prefix path that covers it", oneLine(name), err))
	}
	for _, a := range served {
		if err := g.addAddress(a); err != nil {
			g.Unplaced = append(g.Unplaced, fmt.Sprintf("the file %s is served at %q, which %v", oneLine(name), a.Path, err))
		}
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"trueup/internal/git"
	"trueup/internal/purge"
)

// fromGit takes the files that differ between two commits.
func (s *purgeSource) fromGit(ctx context.Context) error {
	var mappings purge.Mappings
	for _, text := range s.opts.maps {
		m, err := purge.ParseMapping(text)
		if err != nil {
			return fmt.Errorf("--map %w", err)
		}
		mappings = append(mappings, m)
	}
	if mappings == nil {
		return errors.New("trueup does not know which path serves the files: add --map 'FROM -> TO', such as --map 'public/ -> /'")
	}
	repository, err := git.At(ctx, s.app.dir())
	if err != nil {
		return err
	}
	if s.commits, err = repository.Range(ctx, s.opts.fromGit); err != nil {
		return s.mendRange(repository, err)
	}
	changes, err := repository.Changes(ctx, s.commits.Base, s.commits.Head)
	if err != nil {
		return err
	}
	if err := s.refuseIdle(ctx, repository, mappings, changes); err != nil {
		return err
	}
	s.head = append(s.head, fmt.Sprintf("from the files that differ between %s and %s:", s.commits.Base, s.commits.Head))
	for _, text := range s.opts.maps {
		s.head = append(s.head, "  "+plainText(text))
	}
	links, err := s.reaching(ctx, repository, changes)
	if err != nil {
		return err
	}
	s.changed(mappings, changes, links)
	if s.opts.collapse > 0 {
		return s.servedAt(ctx, repository, mappings)
	}
	return nil
}

// mendRange says what to do about commits that are not here.
func (s *purgeSource) mendRange(r git.Repository, err error) error {
	base, _, _ := strings.Cut(s.opts.fromGit, "..")
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

// refuseIdle refuses a mapping of which neither commit has anything: it is a slip,
// and what it was meant for would stay old.
func (s *purgeSource) refuseIdle(ctx context.Context, r git.Repository, mappings purge.Mappings, changes []git.Change) error {
	for i, m := range mappings {
		if m.From == "" || slices.ContainsFunc(changes, func(c git.Change) bool { return m.Has(c.Name) }) {
			continue
		}
		was, err := r.Has(ctx, s.commits.Base, m.From)
		if err != nil {
			return err
		}
		is, err := r.Has(ctx, s.commits.Head, m.From)
		if err != nil {
			return err
		}
		if !was && !is {
			return fmt.Errorf("--map %q: neither commit has %s. Names start at the top of the repository and are case-sensitive; a submodule is another repository", s.opts.maps[i], m.From)
		}
	}
	return nil
}

// reaching are the symbolic links of the newer commit that lead to what changed, and
// did not change themselves.
func (s *purgeSource) reaching(ctx context.Context, r git.Repository, changes []git.Change) ([]string, error) {
	links, err := r.Links(ctx, s.commits.Head)
	var names []string
	for _, c := range changes {
		delete(links, c.Name)
		if !c.Same {
			names = append(names, c.Name)
		}
	}
	return purge.Reaching(links, names), err
}

// changed takes what differs and is served. It says what it leaves out, and which
// links lead to what differs.
func (s *purgeSource) changed(mappings purge.Mappings, changes []git.Change, links []string) {
	var left leftOut
	for _, link := range links {
		if mappings.Covers(link) {
			left.leading = append(left.leading, plainText(link))
		}
	}
	for _, c := range changes {
		if c.Same || !left.takes(c, mappings.Covers(c.Name)) {
			continue
		}
		served, err := mappings.Serve(c.Name, !s.opts.noFolders)
		if err != nil {
			s.unplaced = append(s.unplaced, fmt.Sprintf("the file %s %v: name a prefix path that covers it", plainText(c.Name), err))
		}
		for _, a := range served {
			s.file(c.Name, a)
		}
	}
	left.say(s.app)
}

// leftOut are the names that git says changed, and that name no path.
type leftOut struct{ outside, links, leading, modules []string }

// takes reports whether a change is one of a file that is served, and keeps what else
// is to be said of it.
func (l *leftOut) takes(c git.Change, inside bool) bool {
	either := func(k git.FileKind) bool { return c.Was == k || c.Is == k }
	switch {
	case !inside:
		l.outside = append(l.outside, plainText(c.Name))
		return false
	case either(git.Submodule):
		l.modules = append(l.modules, plainText(c.Name))
	case either(git.Link):
		l.links = append(l.links, plainText(c.Name))
	}
	return either(git.Regular)
}

func (l *leftOut) say(a *app) {
	for _, each := range []struct {
		level     slog.Level
		names     []string
		one, many string
	}{
		{slog.LevelInfo, l.outside, "changed file matches no --map", "changed files match no --map"},
		{
			slog.LevelWarn, l.links, "symbolic link changed, and trueup can't tell which paths it serves: name them yourself",
			"symbolic links changed, and trueup can't tell which paths they serve: name them yourself",
		},
		{
			slog.LevelWarn, l.leading, "symbolic link leads to a changed file, and trueup can't tell which paths it serves: name them yourself",
			"symbolic links lead to changed files, and trueup can't tell which paths they serve: name them yourself",
		},
		{
			slog.LevelWarn, l.modules, "submodule changed: run this in it too",
			"submodules changed: run this in them too",
		},
	} {
		if len(each.names) > 0 {
			a.log(each.level, counted(len(each.names), each.one, each.many)+": "+some(each.names, 5))
		}
	}
}

func (s *purgeSource) file(name string, a purge.Address) {
	if err := s.want(a); err != nil {
		s.unplaced = append(s.unplaced, fmt.Sprintf("the file %s is served at %q, which %v", plainText(name), a.Path, err))
	}
}

// servedAt keeps what of HEAD is served, to tell what a folder has besides.
func (s *purgeSource) servedAt(ctx context.Context, r git.Repository, mappings purge.Mappings) error {
	names, err := r.Names(ctx, s.commits.Head)
	if err != nil {
		return err
	}
	wanted := s.wanted
	s.wanted = nil
	for _, name := range names {
		served, err := mappings.Serve(name, false)
		if err != nil {
			continue // it can't be named, so no folder counts it
		}
		for _, a := range served {
			if s.want(a) != nil {
				break // that it has no place is said of what changed
			}
		}
	}
	s.served, s.wanted = s.wanted, wanted
	return nil
}

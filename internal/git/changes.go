package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Range is two commits to compare.
type Range struct {
	// Base and Head are ids.
	Base, Head string
	// At is when Head was committed.
	At time.Time
}

// errRange says that a text is no range.
var errRange = errors.New("not of the form BASE..HEAD or BASE...HEAD")

// Range reads BASE..HEAD, or BASE...HEAD, which starts at the merge base. An empty side is
// the commit that is checked out.
func (r Repository) Range(ctx context.Context, text string) (Range, error) {
	base, head, ok := strings.Cut(text, "..")
	if !ok || text == ".." || text == "..." {
		return Range{}, fmt.Errorf("%q: %w", text, errRange)
	}
	head, fork := strings.CutPrefix(head, ".")
	var c Range
	for _, side := range []struct {
		name string
		id   *string
	}{{base, &c.Base}, {head, &c.Head}} {
		name := side.name
		if name == "" {
			name = "HEAD"
		}
		id, err := r.Commit(ctx, name)
		if err != nil {
			return Range{}, err
		}
		*side.id = id
	}
	if fork {
		bases, err := r.MergeBases(ctx, c.Base, c.Head)
		if err != nil {
			return Range{}, err
		}
		c.Base = bases[0] // the best, which is git's own choice
	}
	out, err := r.git(ctx, "", "rev-list", "--max-count=1", "--timestamp", c.Head)
	if err != nil {
		return Range{}, err
	}
	stamp, _, _ := strings.Cut(out, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return Range{}, fmt.Errorf("git rev-list: %q is not a time", stamp)
	}
	c.At = time.Unix(seconds, 0).UTC()
	return c, nil
}

// FileKind is the type of an entry of a commit.
type FileKind uint8

// The types of entries.
const (
	Absent FileKind = iota
	Regular
	Link
	Submodule
)

// Change is a name at which two commits differ. A renamed file is two changes.
type Change struct {
	// Name starts from the top of the repository; it may be no UTF-8.
	Name    string
	Was, Is FileKind
	// Same says that the content is the same, for example if only permissions changed.
	Same bool
}

// Changes returns the names at which two commits differ, in order.
func (r Repository) Changes(ctx context.Context, base, head string) ([]Change, error) {
	out, err := r.git(ctx, "", "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-relative", "--ignore-submodules=none", base, head)
	if err != nil {
		return nil, err
	}
	var changes []Change
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		// Like ":100644 100644 <id> <id> M".
		entry := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(entry) != 5 || !strings.HasPrefix(fields[i], ":") {
			return nil, fmt.Errorf("git diff-tree: %q is not a change", fields[i])
		}
		c := Change{Name: fields[i+1], Was: kindOf(entry[0]), Is: kindOf(entry[1])}
		c.Same = c.Was == c.Is && entry[2] == entry[3]
		changes = append(changes, c)
	}
	return changes, nil
}

// kindOf returns the type of an entry by its mode.
func kindOf(mode string) FileKind {
	switch {
	case strings.HasPrefix(mode, "000"):
		return Absent
	case strings.HasPrefix(mode, "160"):
		return Submodule
	case strings.HasPrefix(mode, "120"):
		return Link
	}
	return Regular
}

// Names returns the regular files of a commit. The names start from the top of the
// repository.
func (r Repository) Names(ctx context.Context, commit string) ([]string, error) {
	files, err := r.entries(ctx, commit, Regular)
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	return names, err
}

// Links returns the targets of a commit's symbolic links by their names, which start from
// the top of the repository.
func (r Repository) Links(ctx context.Context, commit string) (map[string]string, error) {
	links, err := r.entries(ctx, commit, Link)
	if err != nil {
		return nil, err
	}
	contents, err := r.contents(ctx, links)
	if err != nil {
		return nil, err
	}
	lead := make(map[string]string, len(links))
	for i, l := range links {
		lead[l.name] = string(contents[i])
	}
	return lead, nil
}

// entries returns the entries of one type.
func (r Repository) entries(ctx context.Context, commit string, of FileKind) ([]treeFile, error) {
	files, err := r.list(ctx, commit, "", "-r", "--full-tree")
	return slices.DeleteFunc(files, func(f treeFile) bool { return f.kind() != of }), err
}

// Has reports whether a commit has a file, or a folder if the name ends with a slash. The
// name starts from the top of the repository.
func (r Repository) Has(ctx context.Context, commit, name string) (bool, error) {
	found, err := r.list(ctx, commit, name, "--full-tree")
	return len(found) > 0, err
}

// Touched returns the newest commit, in the history of HEAD as far as it is here, that
// changed the name, or "". The name starts from the repository's folder.
func (r Repository) Touched(ctx context.Context, name string) (string, error) {
	out, err := r.git(ctx, "", "rev-list", "-1", "HEAD", "--", ":(literal)"+name)
	return strings.TrimSpace(out), err
}

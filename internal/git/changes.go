package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Range is two commits to compare.
type Range struct {
	// Base and Head are commit ids, At is when Head was committed.
	Base, Head string
	At         time.Time
}

var errRange = errors.New("not of the form BASE..HEAD or BASE...HEAD")

// Range parses BASE..HEAD, or BASE...HEAD, which starts at the merge base. An empty side means HEAD.
func (r Repository) Range(ctx context.Context, text string) (Range, error) {
	base, head, ok := strings.Cut(text, "..")
	if !ok || text == ".." || text == "..." {
		return Range{}, fmt.Errorf("%q: %w", text, errRange)
	}
	head, fork := strings.CutPrefix(head, ".")
	var c Range
	var err error
	if c.Base, err = r.Commit(ctx, cmp.Or(base, "HEAD")); err != nil {
		return Range{}, err
	}
	if c.Head, err = r.Commit(ctx, cmp.Or(head, "HEAD")); err != nil {
		return Range{}, err
	}
	if fork {
		bases, err := r.MergeBases(ctx, c.Base, c.Head)
		if err != nil {
			return Range{}, err
		}
		c.Base = bases[0] // the best, which is git's own choice
	}
	out, err := r.git(ctx, "rev-list", "--max-count=1", "--timestamp", c.Head)
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

// Change is a name that differs between two commits. A renamed file is two changes.
type Change struct {
	// Name starts from the repository's top; it may not be UTF-8.
	Name    string
	Was, Is FileKind
	// Same means that only other properties differ, such as permissions.
	Same bool
}

// Changes returns the sorted changes between two commits.
func (r Repository) Changes(ctx context.Context, base, head string) ([]Change, error) {
	out, err := r.git(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-relative", "--ignore-submodules=none", base, head)
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

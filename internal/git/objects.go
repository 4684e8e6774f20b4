package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// File is a file of a commit.
type File struct {
	Path    string
	Content []byte
}

// Commit is a commit to be made.
type Commit struct {
	// Parent is the commit whose tree it changes; empty makes a first commit.
	Parent  string
	Message string
	// Files are those that it adds or replaces.
	Files []File
}

// author stands in every commit, whoever runs the program.
const author = "trueup <trueup@localhost> now"

// Commit makes a commit in the mirror and returns its id.
func (m *Mirror) Commit(ctx context.Context, c Commit) (string, error) {
	m.mu.Lock()
	m.commits++
	ref := fmt.Sprintf("refs/trueup/commits/%d", m.commits)
	m.mu.Unlock()
	var in strings.Builder
	fmt.Fprintf(&in, "feature done\ncommit %s\nmark :1\ncommitter %s\ndata %d\n%s\n", ref, author, len(c.Message), c.Message)
	if c.Parent != "" {
		fmt.Fprintf(&in, "from %s\n", c.Parent)
	}
	for _, f := range c.Files {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", f.Path, len(f.Content), f.Content)
	}
	in.WriteString("\nget-mark :1\ndone\n")
	out, err := m.git(ctx, in.String(), "fast-import", "--quiet", "--date-format=now")
	return strings.TrimSpace(out), err
}

// Read returns the files of a commit at those paths that have one. A path holds
// no line break.
func (m *Mirror) Read(ctx context.Context, commit string, paths []string) (map[string][]byte, error) {
	var in strings.Builder
	// A commit that is not here would have no files.
	fmt.Fprintf(&in, "%s^{tree}\n", commit)
	for _, p := range paths {
		fmt.Fprintf(&in, "%s:%s\n", commit, p)
	}
	out, err := m.git(ctx, in.String(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	_, out, err = object(out, "tree")
	if err != nil {
		return nil, fmt.Errorf("git cat-file: commit %s: %w", commit, err)
	}
	files := make(map[string][]byte, len(paths))
	for _, p := range paths {
		if rest, missing := strings.CutPrefix(out, commit+":"+p+" missing\n"); missing {
			out = rest
			continue
		}
		var content string
		if content, out, err = object(out, "blob"); err != nil {
			return nil, fmt.Errorf("git cat-file: %s: %w", p, err)
		}
		files[p] = []byte(content)
	}
	return files, nil
}

// object cuts the first object off the output of cat-file, which starts with a
// line like "<id> blob 12".
func object(out, kind string) (content, rest string, err error) {
	head, rest, _ := strings.Cut(out, "\n")
	fields := strings.Fields(head)
	if len(fields) != 3 || fields[1] != kind {
		return "", "", fmt.Errorf("%q is not a %s", head, kind)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size >= len(rest) {
		return "", "", fmt.Errorf("%q is cut short", head)
	}
	return rest[:size], rest[size+1:], nil
}

// List returns the paths of the files of a commit below a folder.
func (m *Mirror) List(ctx context.Context, commit, folder string) ([]string, error) {
	out, err := m.git(ctx, "", "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", folder+"/")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}

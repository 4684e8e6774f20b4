package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// File is a file of a commit.
type File struct {
	Path    string
	Content []byte
}

// Commit is a new commit.
type Commit struct {
	// Parent is the commit whose tree it changes; empty makes a first commit.
	Parent  string
	Message string
	// Files are added or replaced, the paths of Removed are deleted.
	Files   []File
	Removed []string
}

// author is that of every commit, not the user.
const author = "trueup <trueup@localhost> now"

// Commit makes a commit in the mirror and returns its id.
func (m *Mirror) Commit(ctx context.Context, c Commit) (string, error) {
	m.made++
	var in strings.Builder
	fmt.Fprintf(&in, "feature done\ncommit refs/trueup/commits/%d\nmark :1\ncommitter %s\ndata %d\n%s\n", m.made, author, len(c.Message), c.Message)
	if c.Parent != "" {
		fmt.Fprintf(&in, "from %s\n", c.Parent)
	}
	for _, name := range c.Removed {
		fmt.Fprintf(&in, "D %s\n", name)
	}
	for _, f := range c.Files {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", f.Path, len(f.Content), f.Content)
	}
	in.WriteString("\nget-mark :1\ndone\n")
	out, err := m.git(ctx, in.String(), "fast-import", "--quiet", "--date-format=now")
	return strings.TrimSpace(out), err
}

func blobID(h hash.Hash, content []byte) string {
	h.Write(fmt.Appendf(nil, "blob %d\x00", len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// Read returns the content of a file of a commit.
func (m *Mirror) Read(ctx context.Context, commit, name string) ([]byte, error) {
	out, err := m.git(ctx, "", "cat-file", "blob", commit+":"+name)
	return []byte(out), err
}

// Files returns the paths of a commit, in order, and whether each is a plain file: not a
// link, a submodule or a program.
func (m *Mirror) Files(ctx context.Context, commit string) (paths []string, plain map[string]bool, err error) {
	out, err := m.git(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, nil, err
	}
	files, err := treeFiles(out)
	plain = map[string]bool{}
	for _, f := range files {
		paths = append(paths, f.name)
		plain[f.name] = f.mode == "100644"
	}
	return paths, plain, err
}

// cutObject takes the content of the first object off the output of cat-file, which
// starts with a line like "<id> blob 12".
func cutObject(out []byte) (content, rest []byte, err error) {
	head, rest, _ := bytes.Cut(out, []byte("\n"))
	fields := strings.Fields(string(head))
	if len(fields) != 3 {
		return nil, nil, fmt.Errorf("%q is not an object", head)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size >= len(rest) {
		return nil, nil, fmt.Errorf("%q is cut short", head)
	}
	return rest[:size], rest[size+1:], nil
}

package git

import (
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

// Commit is a commit to be made.
type Commit struct {
	// Parent is the commit whose tree it changes; empty makes a first commit.
	Parent  string
	Message string
	// Files are those that it adds or replaces, Removed the paths of those that go.
	Files   []File
	Removed []string
}

// author stands in every commit, the user.
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

// Read returns a file that a commit has.
func (m *Mirror) Read(ctx context.Context, commit, name string) ([]byte, error) {
	out, err := m.git(ctx, "", "cat-file", "blob", commit+":"+name)
	return []byte(out), err
}

// Files returns the paths of what a commit has, in order, and whether each is a plain
// file: neither a link nor a repository.
func (m *Mirror) Files(ctx context.Context, commit string) (paths []string, plain map[string]bool, err error) {
	out, err := m.git(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, nil, err
	}
	plain = map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if mode, name, ok := strings.Cut(line, "\t"); ok {
			paths = append(paths, name)
			plain[name] = strings.HasPrefix(mode, "100644 blob ")
		}
	}
	return paths, plain, nil
}

// object is one of git's.
type object struct{ kind, content string }

// cut takes the first object off the output of cat-file, which starts with a
// line like "<id> blob 12".
func cut(out string) (o object, rest string, err error) {
	head, rest, _ := strings.Cut(out, "\n")
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return object{}, "", fmt.Errorf("%q is not an object", head)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size >= len(rest) {
		return object{}, "", fmt.Errorf("%q is cut short", head)
	}
	return object{kind: fields[1], content: rest[:size]}, rest[size+1:], nil
}

package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"path"
	"slices"
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

// author stands in every commit, the user.
const author = "trueup <trueup@localhost> now"

// Commit makes a commit in the mirror and returns its id.
func (m *Mirror) Commit(ctx context.Context, c Commit) (string, error) {
	m.mu.Lock()
	m.made++
	ref := fmt.Sprintf("refs/trueup/commits/%d", m.made)
	m.mu.Unlock()
	var in strings.Builder
	fmt.Fprintf(&in, "feature done\ncommit %s\nmark :1\ncommitter %s\ndata %d\n%s\n", ref, author, len(c.Message), c.Message)
	if c.Parent != "" {
		fmt.Fprintf(&in, "from %s\n", c.Parent)
		paths := make([]string, len(c.Files))
		for i, f := range c.Files {
			paths[i] = f.Path
		}
		// The trees on the way to what changes are read.
		if _, err := m.find(ctx, c.Parent, paths); err != nil {
			return "", err
		}
	}
	for _, f := range c.Files {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", f.Path, len(f.Content), f.Content)
	}
	in.WriteString("\nget-mark :1\ndone\n")
	out, err := m.git(ctx, in.String(), "fast-import", "--quiet", "--date-format=now")
	return strings.TrimSpace(out), err
}

// BlobID is the id that a file's content has in the repository.
func (m *Mirror) BlobID(content []byte) string { return blobID(m.sum(), content) }

func blobID(h hash.Hash, content []byte) string {
	h.Write(fmt.Appendf(nil, "blob %d\x00", len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// Read returns the files of a commit at those paths that have one.
func (m *Mirror) Read(ctx context.Context, commit string, paths []string) (map[string][]byte, error) {
	at, err := m.find(ctx, commit, paths)
	if err != nil {
		return nil, err
	}
	var ids []string
	for p, e := range at {
		if e.kind != "blob" {
			return nil, fmt.Errorf("read %s of commit %s: it is not a file", p, commit)
		}
		ids = append(ids, e.id)
	}
	blobs, err := m.objects(ctx, ids, false)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte, len(at))
	for p, e := range at {
		files[p] = []byte(blobs[e.id].content)
	}
	return files, nil
}

// Files brings all files of a commit and returns their paths.
func (m *Mirror) Files(ctx context.Context, commit string) ([]string, error) {
	c, err := m.head(ctx, commit)
	if err != nil {
		return nil, err
	}
	var paths []string
	for level := map[string]string{"": c.root}; len(level) > 0; {
		if err := m.load(ctx, slices.Collect(maps.Values(level)), true); err != nil {
			return nil, err
		}
		next := map[string]string{}
		for dir, id := range level {
			for name, e := range m.tree(id) {
				switch p := path.Join(dir, name); e.kind {
				case "tree":
					next[p] = e.id
				case "blob":
					paths = append(paths, p)
				}
			}
		}
		level = next
	}
	slices.Sort(paths)
	return paths, nil
}

// Bring brings all of a commit at once, unless its root is here already: then
// what is read later is brought.
func (m *Mirror) Bring(ctx context.Context, commit string) error {
	c, err := m.head(ctx, commit)
	if err != nil {
		return err
	}
	return m.load(ctx, []string{c.root}, true)
}

// Expect brings the root of a commit together with all that is probably in one
// of its folders: files, their ids by name. If that is not so, it costs time and
// nothing else.
func (m *Mirror) Expect(ctx context.Context, commit string, files map[string]string) error {
	c, err := m.head(ctx, commit)
	if err != nil {
		return err
	}
	if _, err := m.objects(ctx, append(slices.Collect(maps.Values(files)), c.root), false); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// One that the remote does not have spoils the whole request.
		return m.load(ctx, []string{c.root}, false)
	}
	// The folder itself can't be asked for: of a tree and a file in it, both
	// asked for by id, git leaves out the file if the filter does. If it is as
	// expected, this makes the very same.
	var in strings.Builder
	for name, id := range files {
		fmt.Fprintf(&in, "100644 blob %s\t%s\n", id, name)
	}
	_, err = m.git(ctx, in.String(), "mktree")
	return err
}

// Message returns the message of a commit that is here.
func (m *Mirror) Message(ctx context.Context, id string) (string, error) {
	c, err := m.head(ctx, id)
	return c.message, err
}

// entry is what a tree has under a name; kind is tree or blob, or empty for what
// is neither.
type entry struct{ kind, id string }

// find returns what a commit has at those paths where there is something. The
// trees on the way are read level by level, with at most one request for each.
func (m *Mirror) find(ctx context.Context, commit string, paths []string) (map[string]entry, error) {
	c, err := m.head(ctx, commit)
	if err != nil {
		return nil, err
	}
	at := make(map[string]entry, len(paths))
	for _, p := range paths {
		at[p] = entry{kind: "tree", id: c.root}
	}
	for depth := 0; ; depth++ {
		var ids []string
		for p, e := range at {
			if _, deeper := step(p, depth); deeper && e.kind == "tree" {
				ids = append(ids, e.id)
			}
		}
		if len(ids) == 0 {
			return at, nil
		}
		if err := m.load(ctx, ids, false); err != nil {
			return nil, err
		}
		for p, e := range at {
			name, deeper := step(p, depth)
			if !deeper {
				continue
			}
			// What is no tree has nothing in it.
			if inside, found := m.tree(e.id)[name]; found {
				at[p] = inside
			} else {
				delete(at, p)
			}
		}
	}
}

// step returns the name that a path has at a depth, from 0.
func step(p string, depth int) (string, bool) {
	names := strings.Split(p, "/")
	if depth >= len(names) {
		return "", false
	}
	return names[depth], true
}

// head is what is read of a commit: the id of its tree, and its message.
type head struct{ root, message string }

// head reads a commit that is here.
func (m *Mirror) head(ctx context.Context, id string) (head, error) {
	m.mu.Lock()
	c, known := m.heads[id]
	m.mu.Unlock()
	if known {
		return c, nil
	}
	found, _, err := m.batch(ctx, []string{id})
	if err != nil {
		return head{}, err
	}
	lines, message, _ := strings.Cut(found[id].content, "\n\n")
	first, _, _ := strings.Cut(lines, "\n")
	root, ok := strings.CutPrefix(first, "tree ")
	if !ok || found[id].kind != "commit" {
		return head{}, fmt.Errorf("git cat-file: %s is no commit that is here", id)
	}
	c = head{root: root, message: message}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heads[id] = c
	return c, nil
}

func (m *Mirror) tree(id string) map[string]entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trees[id]
}

// load reads trees; those that are not here are brought, with whole together
// with all that is in them.
func (m *Mirror) load(ctx context.Context, ids []string, whole bool) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return m.tree(id) != nil })
	if len(ids) == 0 {
		return nil
	}
	found, err := m.objects(ctx, ids, whole)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, o := range found {
		if m.trees[id], err = o.entries(len(id) / 2); err != nil {
			return fmt.Errorf("git cat-file: tree %s: %w", id, err)
		}
	}
	return nil
}

// entries reads a tree whose ids have that many bytes.
func (o object) entries(size int) (map[string]entry, error) {
	if o.kind != "tree" {
		return nil, fmt.Errorf("it is a %s", o.kind)
	}
	inside := map[string]entry{}
	for rest := o.content; rest != ""; {
		head, after, _ := strings.Cut(rest, "\x00")
		mode, name, _ := strings.Cut(head, " ")
		if len(after) < size {
			return nil, errors.New("it is cut short")
		}
		e := entry{id: hex.EncodeToString([]byte(after[:size]))}
		switch {
		case mode == "40000":
			e.kind = "tree"
		case strings.HasPrefix(mode, "100"):
			e.kind = "blob"
		}
		inside[name] = e
		rest = after[size:]
	}
	return inside, nil
}

// object is one of git's.
type object struct{ kind, content string }

// objects returns objects; those that are not here are brought.
func (m *Mirror) objects(ctx context.Context, ids []string, whole bool) (map[string]object, error) {
	slices.Sort(ids)
	found, missing, err := m.batch(ctx, slices.Compact(ids))
	if err != nil || len(missing) == 0 {
		return found, err
	}
	if err := m.request(ctx, missing, whole); err != nil {
		return nil, err
	}
	more, missing, err := m.batch(ctx, missing)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("git fetch: the remote left out object %s", missing[0])
	}
	maps.Copy(found, more)
	return found, err
}

// batch returns those objects that are here.
func (m *Mirror) batch(ctx context.Context, ids []string) (found map[string]object, missing []string, err error) {
	found = make(map[string]object, len(ids))
	if len(ids) == 0 {
		return found, nil, nil
	}
	out, err := m.git(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch", "--buffer")
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if rest, absent := strings.CutPrefix(out, id+" missing\n"); absent {
			missing, out = append(missing, id), rest
			continue
		}
		if found[id], out, err = cut(out); err != nil {
			return nil, nil, fmt.Errorf("git cat-file: %s: %w", id, err)
		}
	}
	return found, missing, nil
}

// cut takes the first object off the output of cat-file, which starts with a
// line like "<id> blob 12".
func cut(out string) (o object, rest string, err error) {
	head, rest, _ := strings.Cut(out, "\n")
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return object{}, "", fmt.Errorf("%q is no object", head)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size >= len(rest) {
		return object{}, "", fmt.Errorf("%q is cut short", head)
	}
	return object{kind: fields[1], content: rest[:size]}, rest[size+1:], nil
}

package git

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Limits in bytes: ReadTree skips larger files, and rejects a larger tree.
const (
	maxTreeFile = 16 << 20
	maxTree     = 512 << 20
)

// FileKind is the type of an entry of a commit.
type FileKind uint8

// The types of entries.
const (
	Absent FileKind = iota
	Regular
	Link
	Submodule
)

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

// treeFile is an entry of a commit. Its size is -1 if unknown.
type treeFile struct {
	mode, id, name string
	size           int
}

func (f treeFile) kind() FileKind { return kindOf(f.mode) }

// treeFiles parses ls-tree -z, with entries like "100644 blob <id> 12\tmanifests/shop.yaml"; the size is only there
// with -l.
func treeFiles(out string) ([]treeFile, error) {
	var files []treeFile
	for entry := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		head, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if len(fields) != 3 && len(fields) != 4 {
			return nil, fmt.Errorf("git ls-tree: %q is not an entry", entry)
		}
		f := treeFile{mode: fields[0], id: fields[2], name: name, size: -1}
		if len(fields) == 4 && f.kind() == Regular {
			size, err := strconv.Atoi(fields[3])
			if err != nil || size < 0 {
				return nil, fmt.Errorf("git ls-tree: %q is not an entry", entry)
			}
			f.size = size
		}
		files = append(files, f)
	}
	return files, nil
}

// listTree returns the entries below path, or all.
func (r Repository) listTree(ctx context.Context, commit, path string, flags ...string) ([]treeFile, error) {
	args := slices.Concat([]string{"ls-tree", "-z"}, flags, []string{commit})
	if path != "" {
		args = append(args, "--", ":(literal)"+path)
	}
	out, err := r.runGit(ctx, args...)
	if err != nil {
		return nil, err
	}
	return treeFiles(out)
}

// ReadTree returns the regular files of a commit below the repository's folder, with names that start from it. If want is
// set, it chooses them by name and content id. An absent folder is empty. Tree rejects a commit that has one name
// twice: readers would see different trees.
func (r Repository) ReadTree(ctx context.Context, commit string, want func(name, id string) bool) (fs.FS, error) {
	files, err := r.listTree(ctx, commit, "", "-r", "-l")
	if err == nil {
		files, err = chooseReadable(files, want)
	}
	if err != nil {
		return nil, err
	}
	contents, err := r.readContents(ctx, files)
	if err != nil {
		return nil, err
	}
	return newTree(files, contents)
}

func newTree(files []treeFile, contents [][]byte) (fs.FS, error) {
	var tree txtar.Archive
	for i, f := range files {
		tree.Files = append(tree.Files, txtar.File{Name: f.name, Data: contents[i]})
	}
	return txtar.FS(&tree)
}

// chooseReadable returns the files that ReadTree reads, and checks their size.
func chooseReadable(files []treeFile, want func(name, id string) bool) ([]treeFile, error) {
	total := 0
	var all []treeFile
	for _, f := range files {
		if f.kind() != Regular || f.size > maxTreeFile || !fs.ValidPath(f.name) || f.name == "." || want != nil && !want(f.name, f.id) {
			continue
		}
		if f.size < 0 {
			return nil, fmt.Errorf("git ls-tree: it gives no size of %q", f.name)
		}
		if total += f.size; total > maxTree {
			return nil, fmt.Errorf("git ls-tree: the files together are larger than %d MiB", maxTree>>20)
		}
		all = append(all, f)
	}
	return all, nil
}

func (r Repository) readContents(ctx context.Context, files []treeFile) ([][]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var in strings.Builder
	for _, f := range files {
		in.WriteString(f.id + "\n")
	}
	batch := gitCommand{dir: r.dir, offline: r.offline, in: strings.NewReader(in.String()), args: []string{"cat-file", "--batch", "--buffer"}}
	out, err := batch.runCommand(ctx)
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(files))
	for i, f := range files {
		if contents[i], out, err = cutObject(out); err != nil {
			return nil, fmt.Errorf("git cat-file: %s: %w", f.name, err)
		}
	}
	return contents, nil
}

// cutObject returns the first object in the output of cat-file, which starts with a line like "<id> blob 12".
func cutObject(out []byte) (content, rest []byte, err error) {
	head, rest, _ := bytes.Cut(out, []byte("\n"))
	fields := strings.Fields(string(head))
	if len(fields) != 3 {
		return nil, nil, fmt.Errorf("%q is not an object", head)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size >= len(rest) {
		return nil, nil, fmt.Errorf("%q is truncated", head)
	}
	return rest[:size], rest[size+1:], nil
}

// ReadFile reads a regular file of a commit; found is false if there is none. The name starts from the repository's folder.
// If same accepts the content's id, ReadFile does not read it.
func (r Repository) ReadFile(ctx context.Context, commit, name string, same func(id string) bool) (content string, found bool, err error) {
	files, err := r.listTree(ctx, commit, name, "-l")
	if err == nil {
		files, err = chooseReadable(files, nil)
	}
	if err != nil || len(files) != 1 {
		return "", false, err
	}
	if same(files[0].id) {
		return "", true, nil
	}
	content, err = r.runGit(ctx, "cat-file", "blob", files[0].id)
	return content, err == nil, err
}

// HasFile reports whether a commit has a file, or a folder if the name ends with a slash. The name starts from the
// repository's top.
func (r Repository) HasFile(ctx context.Context, commit, name string) (bool, error) {
	found, err := r.listTree(ctx, commit, name, "--full-tree")
	return len(found) > 0, err
}

// Submodules returns the submodules below the repository's folder, with names that start from it.
func (r Repository) Submodules(ctx context.Context) ([]string, error) {
	out, err := r.runGit(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var names []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if head, name, _ := strings.Cut(entry, "\t"); kindOf(head) == Submodule {
			names = append(names, name)
		}
	}
	return names, nil
}

// EmptySubmodules returns the submodules whose files are not checked out.
func (r Repository) EmptySubmodules(ctx context.Context) ([]string, error) {
	names, err := r.Submodules(ctx)
	return slices.DeleteFunc(names, func(name string) bool {
		// A submodule with files has a repository, or a file that names it.
		_, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(name), ".git"))
		return err == nil
	}), err
}

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
	"time"

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

func parseFileKind(mode string) FileKind {
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

func (f treeFile) kind() FileKind { return parseFileKind(f.mode) }

// parseTreeFiles parses ls-tree -z, with entries like "100644 blob <id> 12\tmanifests/shop.yaml"; the size is only there
// with -l.
func parseTreeFiles(out string) ([]treeFile, error) {
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
	return parseTreeFiles(out)
}

// ReadTree returns the regular files of a commit below the repository's folder, with names that start from it. If want is
// set, it chooses them by name and content id. An absent folder is empty. ReadTree rejects a commit that has one name
// twice: readers would see different trees.
func (r Repository) ReadTree(ctx context.Context, commit string, want func(name, id string) bool) (fs.FS, error) {
	files, err := r.listTree(ctx, commit, "", "-r", "-l")
	if err == nil {
		files, err = chooseReadable(files, want)
	}
	if err != nil {
		return nil, err
	}
	return r.readFiles(ctx, files)
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

func (r Repository) readFiles(ctx context.Context, files []treeFile) (fs.FS, error) {
	if len(files) == 0 {
		return newTree(nil, nil)
	}
	var in strings.Builder
	for _, f := range files {
		in.WriteString(f.id + "\n")
	}
	out, err := r.run(ctx, strings.NewReader(in.String()), "cat-file", "--batch", "--buffer")
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(files))
	for i, f := range files {
		if contents[i], out, err = cutObject(out); err != nil {
			return nil, fmt.Errorf("git cat-file: %s: %w", f.name, err)
		}
	}
	return newTree(files, contents)
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
		if head, name, _ := strings.Cut(entry, "\t"); parseFileKind(head) == Submodule {
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

// LogCommit is a commit of a log.
type LogCommit struct {
	ID      string
	Author  string
	Subject string
	Time    time.Time // Time is when it was committed.
	// Parents are the newest commits of the log before this one, even if Log left them out.
	Parents []string
}

// Log returns at most so many commits of HEAD that changed one of the names, each before its parents. It includes
// a merge only if it differs from a parent that no other one has. The names start from the repository's folder.
func (r Repository) Log(ctx context.Context, names []string, most int) ([]LogCommit, error) {
	args := []string{
		"rev-list", "--date-order", "--simplify-merges", "--parents", "--encoding=UTF-8", "--format=tformat:%ct%n%an%n%s",
		"--max-count=" + strconv.Itoa(most), "HEAD", "--",
	}
	args = append(args, literalPaths(names)...)
	out, err := r.runGit(ctx, args...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var entries []LogCommit
	for ; len(lines) >= 4; lines = lines[4:] {
		ids := strings.Fields(strings.TrimPrefix(lines[0], "commit "))
		seconds, err := strconv.ParseInt(lines[1], 10, 64)
		if err != nil || len(ids) == 0 {
			return nil, fmt.Errorf("git rev-list: %q is not a commit", lines[0])
		}
		entries = append(entries, LogCommit{
			ID: ids[0], Parents: ids[1:], Author: lines[2], Subject: lines[3], Time: time.Unix(seconds, 0).UTC(),
		})
	}
	return entries, nil
}

// ChangesOfCommits returns what commits changed since each of their parents: below the names, or anywhere. Names of the result
// start from the repository's top.
func (r Repository) ChangesOfCommits(ctx context.Context, commits, names []string) (map[string][]Change, error) {
	args := append([]string{"diff-tree", "--stdin", "-r", "-m", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-relative", "--ignore-submodules=none", "--"}, literalPaths(names)...)
	in := strings.NewReader(strings.Join(commits, "\n") + "\n")
	out, err := r.run(ctx, in, args...)
	if err != nil {
		return nil, err
	}
	return parseRawDiff(string(out))
}

// BlobIDs returns the ids of the contents of files, which are named like COMMIT:./FILE, "" where there is no file.
func (r Repository) BlobIDs(ctx context.Context, files []string) ([]string, error) {
	found, err := r.readSizes(ctx, files)
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.id
	}
	return ids, err
}

// ReadBlobs returns contents by their ids, as files that are named after the ids, with an extension. It skips those that
// are too large.
func (r Repository) ReadBlobs(ctx context.Context, ids []string, extension string) (fs.FS, error) {
	files, err := r.readSizes(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].name = files[i].id + extension
	}
	if files, err = chooseReadable(files, func(_, id string) bool { return id != "" }); err != nil {
		return nil, err
	}
	return r.readFiles(ctx, files)
}

// readSizes returns the ids and sizes of objects, without those that are not there or no files.
func (r Repository) readSizes(ctx context.Context, objects []string) ([]treeFile, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	in := strings.NewReader(strings.Join(objects, "\n") + "\n")
	out, err := r.run(ctx, in, "cat-file", "--batch-check")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(objects) {
		return nil, fmt.Errorf("git cat-file: %d answers to %d questions", len(lines), len(objects))
	}
	files := make([]treeFile, len(lines))
	for i, line := range lines {
		// Like "<id> blob 12", or what is missing.
		fields := strings.Fields(line)
		if n := len(fields); n == 3 && fields[1] == "blob" {
			if files[i].size, err = strconv.Atoi(fields[2]); err != nil {
				return nil, fmt.Errorf("git cat-file: %q is not an answer", line)
			}
			files[i].mode, files[i].id = "100644", fields[0]
		}
	}
	return files, nil
}

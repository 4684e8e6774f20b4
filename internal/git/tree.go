package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// The limits of a tree, in bytes: a larger file is left out, a larger tree is an error.
const (
	maxTreeFile = 16 << 20
	maxTree     = 512 << 20
)

// ErrNoCommit says that a repository has no commit of that name.
var ErrNoCommit = errors.New("no such commit here")

// Repository is the user's repository that a folder is in. It is only read.
type Repository struct {
	dir string
	// format names the hash of its objects.
	format string
	// offline keeps git from fetching what is not here.
	offline bool
	// Shallow says that the clone lacks older commits, Sparse that the work tree lacks
	// files of the commit.
	Shallow, Sparse bool
}

// At finds the repository that dir is in, or returns ErrNoRepository.
func At(ctx context.Context, dir string) (Repository, error) {
	_, format, err := locate(ctx, dir)
	if err != nil {
		return Repository{}, err
	}
	r := Repository{dir: dir, format: format}
	out, err := r.git(ctx, "", "rev-parse", "--is-shallow-repository")
	if err != nil {
		return Repository{}, fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	r.Shallow = strings.TrimSpace(out) == "true"
	// A setting that is absent is an error.
	out, err = r.git(ctx, "", "config", "--bool", "core.sparseCheckout")
	r.Sparse = err == nil && strings.TrimSpace(out) == "true"
	return r, nil
}

func (r Repository) run(ctx context.Context, in string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	return call{dir: r.dir, offline: r.offline, in: strings.NewReader(in), args: args}.run(ctx)
}

func (r Repository) git(ctx context.Context, in string, args ...string) (string, error) {
	out, err := r.run(ctx, in, args...)
	return string(out), err
}

// Commit returns the id of the commit that a ref names, or ErrNoCommit.
func (r Repository) Commit(ctx context.Context, ref string) (string, error) {
	out, err := r.git(ctx, "", "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q: %w: %w", ref, ErrNoCommit, err)
	}
	return strings.TrimSpace(out), nil
}

// In returns the repository as seen from another of its folders.
func (r Repository) In(dir string) Repository {
	r.dir = dir
	return r
}

// Top returns the top folder of the repository, and the path of this one in it, "." for
// the top itself.
func (r Repository) Top(ctx context.Context) (dir, folder string, err error) {
	if dir, err = r.git(ctx, "", "rev-parse", "--show-toplevel"); err != nil {
		return "", "", err
	}
	if folder, err = r.git(ctx, "", "rev-parse", "--show-prefix"); err != nil {
		return "", "", err
	}
	return strings.TrimSuffix(dir, "\n"), path.Clean(strings.TrimSuffix(folder, "\n")), nil
}

// Submodules returns the submodules below the repository's folder. The names start from
// the folder.
func (r Repository) Submodules(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "", "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var names []string
	for entry := range strings.SplitSeq(out, "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		if kindOf(head) == Submodule {
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

// Tree reads the files that a commit has in the repository's folder and below it,
// and that are wanted, by their names and the ids of their contents; nil means
// all. Links and submodules are not in it, and the names start from the folder. A folder
// that the commit does not have is empty. A commit that has one name twice, as two files
// or as a file and a folder, is an error: git makes none, and each reader would see
// another tree.
func (r Repository) Tree(ctx context.Context, commit string, want func(name, id string) bool) (fs.FS, error) {
	files, err := r.list(ctx, commit, "", "-r", "-l")
	if err == nil {
		files, err = readable(files, want)
	}
	if err != nil {
		return nil, err
	}
	contents, err := r.contents(ctx, files)
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

// list returns the entries of a commit: those below path, or with "" all.
func (r Repository) list(ctx context.Context, commit, path string, flags ...string) ([]treeFile, error) {
	args := slices.Concat([]string{"ls-tree", "-z"}, flags, []string{commit})
	if path != "" {
		args = append(args, "--", ":(literal)"+path)
	}
	out, err := r.git(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	return treeFiles(out)
}

// contents reads files, in their order.
func (r Repository) contents(ctx context.Context, files []treeFile) ([][]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var in strings.Builder
	for _, f := range files {
		in.WriteString(f.id + "\n")
	}
	out, err := r.run(ctx, in.String(), "cat-file", "--batch", "--buffer")
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

// File reads a regular file of a commit, whose name starts from the repository's folder;
// found is false if there is none. It does not read a file whose id the caller has
// already, as same reports.
func (r Repository) File(ctx context.Context, commit, name string, same func(id string) bool) (content string, found bool, err error) {
	files, err := r.list(ctx, commit, name, "-l")
	if err == nil {
		files, err = readable(files, nil)
	}
	if err != nil || len(files) != 1 {
		return "", false, err
	}
	if same(files[0].id) {
		return "", true, nil
	}
	content, err = r.git(ctx, "", "cat-file", "blob", files[0].id)
	return content, err == nil, err
}

// treeFile is an entry of a commit.
type treeFile struct {
	mode, id, name string
	// size is -1 where ls-tree did not give it.
	size int
}

func (f treeFile) kind() FileKind { return kindOf(f.mode) }

// treeFiles reads the output of ls-tree -z, of entries like
// "100644 blob <id>     12\tmanifests/shop.yaml"; the size is there with -l.
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

// readable leaves out what Tree does not read, and bounds the rest.
func readable(files []treeFile, want func(name, id string) bool) ([]treeFile, error) {
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

// Branch returns the branch that is checked out, which may have no commit yet, or "".
func (r Repository) Branch(ctx context.Context) string {
	aim, err := r.git(ctx, "", "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return "" // a commit is checked out
	}
	return strings.TrimPrefix(strings.TrimSpace(aim), "refs/heads/")
}

// Remote returns the address of a remote, or "". It may hold a password: don't show it.
func (r Repository) Remote(ctx context.Context, name string) string {
	address, err := r.git(ctx, "", "config", "--get", "remote."+name+".url")
	if err != nil {
		return "" // there is none
	}
	return strings.TrimSpace(address)
}

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
)

// The bounds of a tree that is read, in bytes: a larger file is left out of it, a
// larger tree is an error.
const (
	maxTreeFile = 16 << 20
	maxTree     = 512 << 20
)

// ErrNoCommit says that a repository has no commit of that name.
var ErrNoCommit = errors.New("no such commit here")

// Repository is the user's repository that a folder is in; it is only read.
type Repository struct {
	dir string
	// format names the hash of its objects.
	format string
	// alone keeps git from asking a remote for what is not here.
	alone bool
	// Shallow says that older commits were left out when it was cloned, Sparse
	// that not all files of a commit are in the work tree.
	Shallow, Sparse bool
}

// At finds the repository that dir is in, or gives ErrNoRepository.
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

func (r Repository) git(ctx context.Context, in string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	out, err := call{dir: r.dir, alone: r.alone, in: strings.NewReader(in), args: args}.run(ctx)
	return string(out), err
}

// Commit returns the id of the commit that a ref, or another name of it, means;
// or ErrNoCommit.
func (r Repository) Commit(ctx context.Context, ref string) (string, error) {
	out, err := r.git(ctx, "", "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q: %w: %w", ref, ErrNoCommit, err)
	}
	return strings.TrimSpace(out), nil
}

// In is the repository as it is seen from another one of its folders.
func (r Repository) In(dir string) Repository {
	r.dir = dir
	return r
}

// Top returns the topmost folder of the repository, and the name that this one has
// in it, which is "." for that itself.
func (r Repository) Top(ctx context.Context) (dir, folder string, err error) {
	if dir, err = r.git(ctx, "", "rev-parse", "--show-toplevel"); err != nil {
		return "", "", err
	}
	if folder, err = r.git(ctx, "", "rev-parse", "--show-prefix"); err != nil {
		return "", "", err
	}
	return strings.TrimSuffix(dir, "\n"), path.Clean(strings.TrimSuffix(folder, "\n")), nil
}

// Submodules returns the submodules in the repository's folder and below it. The
// names start from the folder.
func (r Repository) Submodules(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "", "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var names []string
	for entry := range strings.SplitSeq(out, "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		if strings.HasPrefix(head, submoduleMode) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Unfilled returns those submodules whose files are not checked out.
func (r Repository) Unfilled(ctx context.Context) ([]string, error) {
	names, err := r.Submodules(ctx)
	return slices.DeleteFunc(names, func(name string) bool {
		// What was checked out has a repository, or says where it is.
		_, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(name), ".git"))
		return err == nil
	}), err
}

// submoduleMode starts the entry of a submodule.
const submoduleMode = "160000 "

// Tree reads the files that a commit has in the repository's folder and below it,
// and that are wanted, by their names and the ids of their contents; nil means
// all. Links and submodules are not in it, and the
// names start from the folder. A folder that the commit does not have is empty.
func (r Repository) Tree(ctx context.Context, commit string, want func(name, id string) bool) (fs.FS, error) {
	out, err := r.git(ctx, "", "ls-tree", "-r", "-z", "-l", commit)
	if err != nil {
		return nil, err
	}
	ids, err := treeFiles(out, want)
	if err != nil {
		return nil, fmt.Errorf("git ls-tree: %w", err)
	}
	files := make(map[string]string, len(ids))
	var in strings.Builder
	for _, f := range ids {
		in.WriteString(f.id + "\n")
	}
	if len(ids) > 0 {
		if out, err = r.git(ctx, in.String(), "cat-file", "--batch", "--buffer"); err != nil {
			return nil, err
		}
	}
	for _, f := range ids {
		var o object
		if o, out, err = cut(out); err != nil {
			return nil, fmt.Errorf("git cat-file: %s: %w", f.name, err)
		}
		files[f.name] = o.content
	}
	return newTree(files), nil
}

// File reads a regular file of a commit, whose name starts from the repository's
// folder; found is false where the commit has none of that name. A file whose id the
// caller has already, as same reports, is not read.
func (r Repository) File(ctx context.Context, commit, name string, same func(id string) bool) (content string, found bool, err error) {
	out, err := r.git(ctx, "", "ls-tree", "-z", "-l", commit, "--", ":(literal)"+name)
	if err != nil {
		return "", false, err
	}
	files, err := treeFiles(out, nil)
	if err != nil || len(files) != 1 {
		return "", false, err
	}
	if same(files[0].id) {
		return "", true, nil
	}
	content, err = r.git(ctx, "", "cat-file", "blob", files[0].id)
	return content, err == nil, err
}

// treeFile is a file of a commit.
type treeFile struct{ name, id string }

// treeFiles reads the output of ls-tree.
func treeFiles(out string, want func(name, id string) bool) ([]treeFile, error) {
	var files []treeFile
	total := 0
	for entry := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
		f, size, err := treeEntry(entry)
		switch {
		case err != nil:
			return nil, err
		case size > maxTreeFile || !fs.ValidPath(f.name) || f.name == "." || want != nil && !want(f.name, f.id):
			continue
		}
		if total += size; total > maxTree {
			return nil, fmt.Errorf("the files together are larger than %d MiB", maxTree>>20)
		}
		files = append(files, f)
	}
	return files, distinct(files)
}

// treeEntry reads one entry, like "100644 blob <id>     12\tmanifests/shop.yaml";
// what is no regular file has no name.
func treeEntry(entry string) (f treeFile, size int, err error) {
	head, name, _ := strings.Cut(entry, "\t")
	fields := strings.Fields(head)
	if entry == "" || len(fields) == 4 && !strings.HasPrefix(fields[0], "100") {
		return treeFile{}, 0, nil
	}
	if len(fields) == 4 {
		size, err = strconv.Atoi(fields[3])
	}
	if err != nil || len(fields) != 4 || size < 0 {
		return treeFile{}, 0, fmt.Errorf("%q is not an entry", entry)
	}
	return treeFile{name: name, id: fields[2]}, size, nil
}

// distinct refuses a commit that has one name twice, as two files or as a file
// and a folder: git makes none, and each reader would see another tree.
func distinct(files []treeFile) error {
	names := make(map[string]bool, len(files))
	for _, f := range files {
		if names[f.name] {
			return fmt.Errorf("%q is in it twice", f.name)
		}
		names[f.name] = true
	}
	for _, f := range files {
		for folder := path.Dir(f.name); folder != "."; folder = path.Dir(folder) {
			if names[folder] {
				return fmt.Errorf("%q is in it as a file and as a folder", folder)
			}
		}
	}
	return nil
}

// tree is an fs.FS in memory.
type tree struct {
	files map[string]string
	// folders are the entries of each folder, in the order of their names.
	folders map[string][]fs.DirEntry
}

func newTree(files map[string]string) *tree {
	t := &tree{files: files, folders: map[string][]fs.DirEntry{".": nil}}
	for name, content := range files {
		t.enter(name, treeInfo{name: path.Base(name), size: int64(len(content))})
	}
	for _, entries := range t.folders {
		sortEntries(entries)
	}
	return t
}

// enter puts an entry into its folder, and that into its own, where it is new.
func (t *tree) enter(name string, info treeInfo) {
	folder := path.Dir(name)
	_, known := t.folders[folder]
	t.folders[folder] = append(t.folders[folder], fs.FileInfoToDirEntry(info))
	if !known {
		t.enter(folder, treeInfo{name: path.Base(folder), folder: true})
	}
}

// Open opens a file or a folder.
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if content, ok := t.files[name]; ok {
		return &openTreeFile{
			Reader: strings.NewReader(content),
			info:   treeInfo{name: path.Base(name), size: int64(len(content))},
		}, nil
	}
	if entries, ok := t.folders[name]; ok {
		return &openTreeFolder{info: treeInfo{name: path.Base(name), folder: true}, rest: entries}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/files"
)

var (
	// ErrNoGit means that there is no program git.
	ErrNoGit = errors.New("git is not installed, or not in PATH")
	// ErrNoRepository means that no git repository has the folder.
	ErrNoRepository = errors.New("this is not a git repository")
	// ErrRefused means that git does not read the repository that has the folder, such as one of another user.
	ErrRefused = errors.New("git can't use the repository here")
	// ErrNoCommit means that this clone has no commit of that name.
	ErrNoCommit = errors.New("no such commit here")
	// ErrUnrelated means that two commits have no common ancestor in this clone.
	ErrUnrelated = errors.New("no ancestor in common")

	// errBareRepository rejects a repository whose settings, which name programs to run, may not be the user's. git
	// also reads any folder that looks like a bare repository, and a pull request can add one.
	errBareRepository = errors.New("it is a bare repository in a folder that is not named .git, and may have come with a clone: set GIT_DIR to use it")
)

// Advice returns what to do if OpenRepository or OpenMirror fails.
func Advice(err error) string {
	switch {
	case errors.Is(err, ErrNoGit):
		return "install git, or add its folder to PATH"
	case errors.Is(err, ErrLocal):
		return "git needs a folder for temporary files (TMPDIR) with free space, and descriptors (ulimit -n)"
	case errors.Is(err, ErrNoRepository):
		return "run trueup in a clone of the repository"
	}
	return "follow git's message, until git status works here"
}

// OpenRepository returns the repository that has dir, or ErrNoGit, ErrNoRepository or ErrRefused: Advice says what to do.
// It runs no program that settings name.
func OpenRepository(ctx context.Context, dir string) (r Repository, err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return r, ErrNoGit
	}
	_, chosen := os.LookupEnv("GIT_DIR")
	known := chosen || hasAbove(dir, ".git")
	if !known && !hasAbove(dir, "HEAD") { // a bare repository has HEAD
		return r, ErrNoRepository
	}
	args := []string{"rev-parse", "--path-format=absolute", "--show-object-format", "--is-shallow-repository", "--git-dir"}
	r.dir = dir
	out, err := r.runGit(ctx, args...)
	switch {
	case err != nil && known:
		return r, fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return r, fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	format, out, _ := strings.Cut(strings.TrimRight(out, "\n"), "\n")
	shallow, gitDir, _ := strings.Cut(out, "\n")
	r.format, r.Shallow, r.gitDir = format, shallow == "true", gitDir
	// No commit has an entry named .git, so nothing below one was checked out. Git reads the variable from this
	// process as well.
	if !chosen && !slices.Contains(strings.Split(filepath.ToSlash(gitDir), "/"), ".git") {
		return r, fmt.Errorf("%w: %w", ErrNoRepository, errBareRepository)
	}
	return r, nil
}

// hasAbove reports whether dir, where its links lead, or a folder above it has an entry of that name.
func hasAbove(dir, entry string) bool {
	if led, err := filepath.EvalSymlinks(dir); err == nil {
		dir = led
	}
	_, found := files.FindAbove(dir, entry)
	return found
}

// Repository is the user's repository. It is only read.
type Repository struct {
	runner
	gitDir  string // git's own folder
	format  string // the hash of object ids
	Shallow bool   // the clone lacks older commits
}

// IsSparse reports whether the work tree lacks files of the commit.
func (r Repository) IsSparse(ctx context.Context) bool {
	sparse, err := r.runForLine(ctx, "config", "--bool", "core.sparseCheckout")
	return err == nil && sparse == "true" // an unset setting is an error
}

// InFolder returns the repository seen from another of its folders.
func (r Repository) InFolder(dir string) Repository {
	r.dir = dir
	return r
}

// WithoutFetching returns the repository without fetching what a partial clone left out.
func (r Repository) WithoutFetching() Repository {
	r.offline = true
	return r
}

// IsPartial reports whether this is a partial clone, which fetches what it lacks.
func (r Repository) IsPartial(ctx context.Context) bool {
	_, err := r.runGit(ctx, "config", "--get-regexp", `^remote\..*\.promisor$`)
	return err == nil
}

// TopFolder returns the top folder of the repository, and the path of this one in it, "." for the top itself.
func (r Repository) TopFolder(ctx context.Context) (dir, folder string, err error) {
	if dir, err = r.runGit(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return "", "", err
	}
	if folder, err = r.runGit(ctx, "rev-parse", "--show-prefix"); err != nil {
		return "", "", err
	}
	return strings.TrimSuffix(dir, "\n"), path.Clean(strings.TrimSuffix(folder, "\n")), nil
}

// ResolveCommit returns the id of the commit that a ref names, or ErrNoCommit.
func (r Repository) ResolveCommit(ctx context.Context, ref string) (string, error) {
	id, err := r.runForLine(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q: %w: %w", ref, ErrNoCommit, err)
	}
	return id, nil
}

// CurrentBranch returns the branch that is checked out, which may have no commit yet, or "".
func (r Repository) CurrentBranch(ctx context.Context) string {
	aim, err := r.runForLine(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return "" // a commit is checked out
	}
	return strings.TrimPrefix(aim, "refs/heads/")
}

// DefaultBranch returns the default branch of remote origin, such as origin/main, or else its main or master;
// "" if there is none.
func (r Repository) DefaultBranch(ctx context.Context) (string, error) {
	const prefix = "refs/remotes/"
	out, err := r.runForLine(ctx, "for-each-ref", "--format=%(refname) %(symref)", prefix+"origin/HEAD", prefix+"origin/main", prefix+"origin/master")
	if err != nil {
		return "", err
	}
	// They come in this order.
	first, _, _ := strings.Cut(out, "\n")
	name, aim, _ := strings.Cut(strings.TrimSpace(first), " ")
	return strings.TrimPrefix(cmp.Or(aim, name), prefix), nil
}

// RemoteURL returns the address of a remote, or "". It may contain a password.
func (r Repository) RemoteURL(ctx context.Context, name string) string {
	address, err := r.runForLine(ctx, "config", "--get", "remote."+name+".url")
	if err != nil {
		return "" // there is none
	}
	return address
}

// Parents returns a commit's parents, first parent first, even those that the clone lacks.
func (r Repository) Parents(ctx context.Context, commit string) ([]string, error) {
	out, err := r.runGit(ctx, "cat-file", "commit", commit)
	if err != nil {
		return nil, err
	}
	head, _, _ := strings.Cut(out, "\n\n")
	var parents []string
	for line := range strings.Lines(head) {
		if id, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, strings.TrimSpace(id))
		}
	}
	return parents, nil
}

// MergeBases returns the newest common ancestors, or ErrUnrelated. Criss-cross merges have several.
func (r Repository) MergeBases(ctx context.Context, a, b string) ([]string, error) {
	out, err := r.runGit(ctx, "merge-base", "--all", a, b)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 { // other errors have other codes
		return nil, fmt.Errorf("%.12s and %.12s: %w: %w", a, b, ErrUnrelated, err)
	}
	return strings.Fields(out), err
}

// literalPaths returns names as arguments of git, in which a star is no pattern.
func literalPaths(names []string) []string {
	literal := make([]string, len(names))
	for i, name := range names {
		literal[i] = ":(literal)" + name
	}
	return literal
}

// CountMissingCommits counts the commits that other has and commit lacks, and that change one of the names.
func (r Repository) CountMissingCommits(ctx context.Context, commit, other string, names []string) (int, error) {
	args := append([]string{"rev-list", "--count", commit + ".." + other, "--"}, literalPaths(names)...)
	out, err := r.runForLine(ctx, args...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// BlobID returns git's id of a file's content.
func (r Repository) BlobID(content []byte) string {
	var h hash.Hash
	if h = sha1.New(); r.format == "sha256" {
		h = sha256.New()
	}
	h.Write(fmt.Appendf(nil, "blob %d\x00", len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// CommitRange is two commits to compare.
type CommitRange struct {
	// Base and Head are commit ids, At is when Head was committed.
	Base, Head string
	At         time.Time
}

// ParseRange parses BASE..HEAD, or BASE...HEAD, which starts at the merge base. An empty side means HEAD.
func (r Repository) ParseRange(ctx context.Context, text string) (CommitRange, error) {
	base, head, ok := strings.Cut(text, "..")
	if !ok || text == ".." || text == "..." {
		return CommitRange{}, fmt.Errorf("%q: not of the form BASE..HEAD or BASE...HEAD", text)
	}
	head, fork := strings.CutPrefix(head, ".")
	var c CommitRange
	var err error
	if c.Base, err = r.ResolveCommit(ctx, cmp.Or(base, "HEAD")); err != nil {
		return CommitRange{}, err
	}
	if c.Head, err = r.ResolveCommit(ctx, cmp.Or(head, "HEAD")); err != nil {
		return CommitRange{}, err
	}
	if fork {
		bases, err := r.MergeBases(ctx, c.Base, c.Head)
		if err != nil {
			return CommitRange{}, err
		}
		c.Base = bases[0] // the best, which is git's own choice
	}
	out, err := r.runGit(ctx, "rev-list", "--max-count=1", "--timestamp", c.Head)
	if err != nil {
		return CommitRange{}, err
	}
	stamp, _, _ := strings.Cut(out, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return CommitRange{}, fmt.Errorf("git rev-list: %q is not a time", stamp)
	}
	c.At = time.Unix(seconds, 0).UTC()
	return c, nil
}

// ListCommits returns HEAD and the newest commits that it contains, at most so many.
func (r Repository) ListCommits(ctx context.Context, most int) ([]string, error) {
	out, err := r.runGit(ctx, "rev-list", "--max-count="+strconv.Itoa(most), "HEAD")
	return strings.Fields(out), err
}

// UncommittedNames returns the names below some paths that differ from HEAD in the work tree or the index, and those that are
// neither in HEAD nor ignored. Names start from the repository's top, paths from the repository's folder.
func (r Repository) UncommittedNames(ctx context.Context, paths []string) (changed, added []string, err error) {
	args := append([]string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"}, literalPaths(paths)...)
	out, err := r.runGit(ctx, args...)
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		// Like " M shop.yaml".
		if name, isNew := strings.CutPrefix(entry, "?? "); isNew {
			added = append(added, name)
		} else if len(entry) > 3 {
			changed = append(changed, entry[3:])
		}
	}
	return changed, added, err
}

// Change is a name that differs between two commits. A renamed file is two changes.
type Change struct {
	Name    string // Name starts from the repository's top; it may not be UTF-8
	Was, Is FileVersion
}

// FileVersion is what a name is in a commit. ID is the content's, empty for what is not a regular file.
type FileVersion struct {
	Kind FileKind
	ID   string
}

// IsSame reports whether only other properties of a file differ, such as permissions.
func (c Change) IsSame() bool { return c.Was == c.Is && c.Was.ID != "" }

// ChangesBetween returns the sorted changes between two commits.
func (r Repository) ChangesBetween(ctx context.Context, base, head string) ([]Change, error) {
	out, err := r.runGit(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-relative", "--ignore-submodules=none", base, head)
	if err != nil {
		return nil, err
	}
	changes, err := parseRawDiff(out)
	return changes[""], err
}

// ChangesSince returns the changes between a commit and the work tree, where a file that is not tracked is new. It
// leaves out files that git ignores. A repository that is not tracked is a Submodule.
func (r Repository) ChangesSince(ctx context.Context, base string) ([]Change, error) {
	out, err := r.runGit(ctx, "diff", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-relative", "--ignore-submodules=none", base, "--")
	if err != nil {
		return nil, err
	}
	top, _, err := r.TopFolder(ctx)
	if err != nil {
		return nil, err
	}
	parsed, err := parseRawDiff(out)
	if err != nil {
		return nil, err
	}
	changes := parsed[""]
	for i := range changes {
		// The diff has no id of a file that was written to since it was added to the index.
		if c := &changes[i]; c.Is == (FileVersion{Kind: Regular}) {
			if content, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(c.Name))); err == nil {
				c.Is.ID = r.BlobID(content)
			}
		}
	}
	out, err = r.runGit(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", ":(top)")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if name == "" {
			continue
		}
		c := Change{Name: strings.TrimSuffix(name, "/"), Is: FileVersion{Kind: Regular}}
		switch info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name))); {
		case strings.HasSuffix(name, "/"):
			c.Is.Kind = Submodule
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			c.Is.Kind = Link
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// parseRawDiff parses the raw format of git diff: changes by the commit that is named before them, "" before the first.
func parseRawDiff(out string) (map[string][]Change, error) {
	changes, commit := map[string][]Change{}, ""
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		change, ok := strings.CutPrefix(fields[i], ":")
		if !ok {
			commit = fields[i]
			continue
		}
		// Like "100644 100644 <id> <id> M", and then the name.
		entry := strings.Fields(change)
		if i++; len(entry) != 5 || i == len(fields) {
			return nil, fmt.Errorf("git diff: %q is not a change", change)
		}
		changes[commit] = append(changes[commit], Change{fields[i], parseFileVersion(entry[0], entry[2]), parseFileVersion(entry[1], entry[3])})
	}
	return changes, nil
}

func parseFileVersion(mode, id string) FileVersion {
	v := FileVersion{Kind: parseFileKind(mode)}
	if v.Kind == Regular && strings.Trim(id, "0") != "" {
		v.ID = id
	}
	return v
}

const (
	// timeout bounds one command, waitDelay how long helpers may then keep its pipes open.
	timeout   = 2 * time.Minute
	waitDelay = 2 * time.Second
	// maxSaid bounds git's message, in bytes.
	maxSaid = 1000
)

// CommandError is a git command that failed.
type CommandError struct {
	Command string // the subcommand
	Said    string // git's message without passwords. Never parse it.
	Err     error
}

func (e *CommandError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %v: %s", e.Command, e.Err, e.Said)
}

// Unwrap returns why the command failed.
func (e *CommandError) Unwrap() error { return e.Err }

// runner runs git in a folder. It asks for no password.
type runner struct {
	dir     string
	env     []string
	offline bool // offline keeps git from fetching what a partial clone lacks
}

// runGit returns the standard output.
func (c runner) runGit(ctx context.Context, args ...string) (string, error) {
	out, err := c.run(ctx, nil, args...)
	return string(out), err
}

func (c runner) runForLine(ctx context.Context, args ...string) (string, error) {
	out, err := c.runGit(ctx, args...)
	return strings.TrimSpace(out), err
}

func (c runner) run(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = c.dir, in
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), c.hidesVariable), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.Env = append(cmd.Env, c.env...)
	if c.offline {
		// Older versions of git only know the second variable.
		cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	cmd.WaitDelay = waitDelay
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case cmd.Process == nil:
		err = fmt.Errorf("%w: %w", ErrLocal, err)
	}
	return out.Bytes(), &CommandError{Command: args[0], Said: cleanMessage(said.String()), Err: err}
}

var (
	// local matches variables that select a repository: a mirror must not see them.
	local = diag.Pattern(`^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|` +
		`CONFIG.*|PREFIX|SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|IMPLICIT_WORK_TREE|NAMESPACE|DEFAULT_HASH)=`)
	// unwanted matches variables that no call of git may see: the platform's tokens, and what editors and their hooks
	// set for calls of their own, such as GIT_LITERAL_PATHSPECS, and what git prints for people.
	unwanted = diag.Pattern(`^(TRUEUP_[A-Z_]*TOKEN|GIT_((LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS|EXTERNAL_DIFF|DIFF_OPTS|TRACE[A-Z0-9_]*)=)`)
	password = diag.Pattern(`//[^/@\s]*@`)
)

func (c runner) hidesVariable(variable string) bool {
	return unwanted().MatchString(variable) || len(c.env) > 0 && local().MatchString(variable)
}

func cleanMessage(said string) string {
	said = strings.Join(strings.Fields(password().ReplaceAllString(said, "//")), " ")
	return strings.ToValidUTF8(said[:min(len(said), maxSaid)], "")
}

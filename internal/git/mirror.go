// Package git runs the few git commands that trueup needs. It writes only to a temporary repository beside the user's,
// pushes only over the commit that it expects, and never parses git's messages.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
)

// tipRef is what a mirror fetched.
const tipRef = "refs/trueup/tip"

// Mirror reads and writes one remote through a temporary bare repository, with the user's settings for that remote. It
// leaves the user's index, work tree, refs and objects alone. Only one goroutine at a time may use Fetch, CreateCommit, Push
// and HasCommit.
type Mirror struct {
	remote string
	dir    string // the mirror's folder
	// mirror runs git for the mirror, and checkout for the user's repository. Relative addresses start at its top.
	mirror, checkout runner
	commits          int
	// Lazy lets Fetch leave out contents, which ReadFile gets later, if the remote can filter.
	Lazy bool
}

var (
	// ErrNoRemote means that the repository has no such remote.
	ErrNoRemote = errors.New("no such remote")
	// ErrLocal means that this machine lets git not work, whatever the remote does.
	ErrLocal = errors.New("git can't work on this machine")
)

var (
	// settings matches settings for every remote, remoteSettings those of one.
	settings       = diag.Pattern(`(?i)^(credential|http|url|ssh|protocol)\.|^core\.(sshcommand|askpass|gitproxy)$`)
	remoteSettings = diag.Pattern(`(?i)\.(url|pushurl|proxy|proxyauthmethod|uploadpack|receivepack|vcs)$`)
)

// OpenMirror makes a mirror for a remote of the repository that has dir. Call Close. If it fails, Advice says what to do.
func OpenMirror(ctx context.Context, dir, remote string) (*Mirror, error) {
	r, err := OpenRepository(ctx, dir)
	if err != nil {
		return nil, err
	}
	top := r.gitDir
	// A bare repository has no work tree.
	if out, err := r.runGit(ctx, "rev-parse", "--show-toplevel"); err == nil && len(out) > 1 {
		top = strings.TrimRight(out, "\n")
	}
	if out, err := r.runGit(ctx, "remote", "get-url", "--", remote); err != nil || out == "" {
		return nil, fmt.Errorf("%q: %w: %w", remote, ErrNoRemote, err)
	}
	config, err := r.runGit(ctx, "config", "--list", "-z")
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", mirrorPrefix)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLocal, err)
	}
	removeOldMirrors(temp)
	m := &Mirror{
		remote: remote, dir: temp,
		mirror: runner{dir: top, env: mirrorEnv(temp, remote, config)}, checkout: runner{dir: top, offline: true},
	}
	if _, err := m.runGit(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+r.format); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// mirrorPrefix begins the names of the temporary folders of mirrors.
const mirrorPrefix = "trueup-git-"

// removeOldMirrors removes the mirrors of runs that were killed more than a day before this one was made.
func removeOldMirrors(made string) {
	now, err := os.Stat(made)
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(made), mirrorPrefix+"*"))
	for _, dir := range left {
		if is, statErr := os.Lstat(dir); errors.Join(err, statErr) == nil && now.ModTime().Sub(is.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
}

// mirrorEnv returns variables with the user's settings for a remote, without hooks and housekeeping. They may contain a
// token, so trueup must not write them to a file.
func mirrorEnv(dir, remote, config string) []string {
	env := []string{"GIT_DIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	n := 0
	set := func(key, value string) {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	for entry := range strings.SplitSeq(config, "\x00") {
		key, value, given := strings.Cut(entry, "\n")
		if !given {
			value = "true" // a key without a value is a switch that is on
		}
		name, ofRemote := strings.CutPrefix(key, "remote."+remote)
		if settings().MatchString(key) || ofRemote && remoteSettings().MatchString(key) && strings.Count(name, ".") == 1 {
			set(key, value)
		}
	}
	set("core.hooksPath", os.DevNull)
	set("gc.auto", "0")
	// Objects stay in the packs that they came in: to unpack them would compress them again.
	set("transfer.unpackLimit", "1")
	set("fastimport.unpackLimit", "1")
	for _, key := range []string{"maintenance.auto", "push.gpgSign", "push.followTags", "fetch.recurseSubmodules"} {
		set(key, "false")
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
}

// Close removes the mirror.
func (m *Mirror) Close() error { return os.RemoveAll(m.dir) }

func (m *Mirror) runGit(ctx context.Context, args ...string) (string, error) {
	out, err := m.run(ctx, nil, args...)
	return string(out), err
}

func (m *Mirror) run(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	// Without its folder git would look for another repository.
	if _, err := os.Stat(m.dir); err != nil {
		return nil, fmt.Errorf("%w: the temporary repository %s is gone: %w", ErrLocal, filepath.Base(m.dir), err)
	}
	out, err := m.mirror.run(ctx, in, args...)
	if err == nil {
		return out, nil
	}
	// Without space or descriptors, no other file can be written either.
	if local := os.WriteFile(filepath.Join(m.dir, "trueup"), make([]byte, 4096), 0o600); local != nil {
		err = fmt.Errorf("%w: %w: %w", ErrLocal, local, err)
	}
	return out, err
}

// fetchTries bounds the retries of a ref that another run just created.
const fetchTries = 3

// Fetch fetches the depth newest commits of a ref and returns the newest; "" if the remote has no such ref.
func (m *Mirror) Fetch(ctx context.Context, ref string, depth int) (string, error) {
	for try := 1; ; try++ {
		tip, err := m.fetchRef(ctx, ref, depth)
		if err == nil {
			return tip, nil
		}
		// Fetch also fails if no ref matches the pattern.
		listing, lerr := m.runGit(ctx, "ls-remote", "--quiet", m.remote, ref)
		switch {
		case lerr == nil && !listsRef(listing, ref):
			return "", nil
		case lerr != nil || try == fetchTries:
			return "", err
		}
	}
}

func (m *Mirror) fetchRef(ctx context.Context, ref string, depth int) (string, error) {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", fmt.Sprintf("--depth=%d", depth), "--prune"}
	if m.Lazy {
		args = append(args, "--filter=blob:none")
	}
	// A pattern, because a plain name would also find refs/heads/<name>.
	_, err := m.runGit(ctx, append(args, m.remote, "+"+ref+"*:"+tipRef+"*", "^"+ref+"-*")...)
	if err != nil {
		return "", err
	}
	out, err := m.runGit(ctx, "for-each-ref", "--format=%(refname) %(objectname)", tipRef)
	for line := range strings.Lines(out) {
		if tip, exact := strings.CutPrefix(line, tipRef+" "); exact {
			return strings.TrimSpace(tip), err
		}
	}
	return "", err
}

// listsRef reports whether ls-remote lists exactly this ref: it also lists refs with the same end.
func listsRef(listing, ref string) bool {
	for line := range strings.Lines(listing) {
		if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); name == ref {
			return true
		}
	}
	return false
}

// HasCommit reports whether a ref has the commit among its depth newest.
func (m *Mirror) HasCommit(ctx context.Context, ref string, depth int, commit string) (bool, error) {
	tip, err := m.Fetch(ctx, ref, depth)
	if err != nil || tip == "" {
		return false, err
	}
	out, err := m.runGit(ctx, "rev-list", fmt.Sprintf("--max-count=%d", depth), tip)
	return strings.Contains(out, commit), err
}

// FindAdded returns the commit that added each file, among the depth newest commits of a ref.
func (m *Mirror) FindAdded(ctx context.Context, ref string, depth int) (map[string]string, error) {
	tip, err := m.Fetch(ctx, ref, depth)
	if err != nil || tip == "" {
		return nil, err
	}
	out, err := m.runGit(ctx, "log", "--format=%H", "--name-only", "--no-renames", "--diff-filter=A", tip)
	added, commit := map[string]string{}, ""
	for line := range strings.Lines(out) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
		case strings.Contains(line, "/"):
			added[line] = commit
		default:
			commit = line
		}
	}
	return added, err
}

// Push moves a ref of the remote between commits. If from is "", the ref must not exist; if to is "", Push removes it. If
// keep is a ref, it gets what ref had. True means that the remote confirmed it; otherwise the caller must fetch the ref.
func (m *Mirror) Push(ctx context.Context, ref, from, to, keep string) (bool, error) {
	args := []string{"push", "--porcelain", "--force-with-lease=" + ref + ":" + from, m.remote, to + ":" + ref}
	if keep != "" && from != "" {
		args = append(args, "+"+from+":"+keep, "--atomic")
	}
	out, err := m.runGit(ctx, args...)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(out) {
		flag, rest, _ := strings.Cut(line, "\t")
		if _, at, _ := strings.Cut(rest, ":"); strings.HasPrefix(at, ref+"\t") {
			return flag == " " || flag == "*" || flag == "-", nil
		}
	}
	return false, nil
}

// WhyInUse returns why trueup may not use a branch: it is checked out in a work tree, or is a default branch. Otherwise it
// returns "".
func (m *Mirror) WhyInUse(ctx context.Context, ref string) (string, error) {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return "", nil
	}
	// Some file systems ignore the case of names.
	has := func(text, want string) bool {
		return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.EqualFold(line, want) })
	}
	trees, err := m.checkout.runGit(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	if has(trees, "branch "+ref) {
		return "it is checked out here", nil
	}
	// A clone need not have a default branch.
	known, _ := m.checkout.runGit(ctx, "symbolic-ref", "--quiet", "refs/remotes/"+m.remote+"/HEAD")
	if !has(known, "refs/remotes/"+m.remote+"/"+branch) {
		if head, err := m.runGit(ctx, "ls-remote", "--quiet", "--symref", m.remote, "HEAD"); err != nil || !has(head, "ref: "+ref+"\tHEAD") {
			return "", err
		}
	}
	return "it is the default branch", nil
}

// CommitInput is a new commit.
type CommitInput struct {
	Parent  string // the commit whose tree it changes; empty makes a first commit
	Anew    bool   // the commit has no parent
	Message string
	Files   map[string][]byte // the contents to add or replace, by path
	Removed []string          // the paths to delete
}

const author = "trueup <trueup@localhost> now"

// CreateCommit makes a commit in the mirror and returns its id.
func (m *Mirror) CreateCommit(ctx context.Context, c CommitInput) (string, error) {
	m.commits++
	from := ""
	if c.Parent != "" {
		from = "from " + c.Parent + "\n"
	}
	if c.Parent != "" && c.Anew {
		tree, err := m.runGit(ctx, "rev-parse", c.Parent+"^{tree}")
		if err != nil {
			return "", err
		}
		from = "M 040000 " + strings.TrimSpace(tree) + " \"\"\n"
	}
	var in []io.Reader // contents may be long
	add := func(format string, args ...any) { in = append(in, strings.NewReader(fmt.Sprintf(format, args...))) }
	add("feature done\ncommit refs/trueup/commits/%d\nmark :1\ncommitter %s\ndata %d\n%s\n%s", m.commits, author, len(c.Message), c.Message, from)
	for _, name := range c.Removed {
		add("D %s\n", name)
	}
	for name, content := range c.Files {
		add("M 100644 inline %s\ndata %d\n", name, len(content))
		in = append(in, bytes.NewReader(content), strings.NewReader("\n"))
	}
	add("\nget-mark :1\ndone\n")
	out, err := m.run(ctx, io.MultiReader(in...), "fast-import", "--quiet", "--date-format=now")
	return strings.TrimSpace(string(out)), err
}

// ReadFile returns the content of a file of a commit.
func (m *Mirror) ReadFile(ctx context.Context, commit, name string) ([]byte, error) {
	return m.run(ctx, nil, "cat-file", "blob", commit+":"+name)
}

// ListFiles returns the sorted paths of plain files of a commit, and those of links, submodules and programs.
func (m *Mirror) ListFiles(ctx context.Context, commit string) (plain, other []string, err error) {
	out, err := m.runGit(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, nil, err
	}
	files, err := parseTreeFiles(out)
	for _, f := range files {
		if f.mode == "100644" {
			plain = append(plain, f.name)
		} else {
			other = append(other, f.name)
		}
	}
	return plain, other, err
}

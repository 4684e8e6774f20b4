// Package git makes the few plumbing calls to git that trueup needs, on a
// repository of its own beside the user's; it refuses to write into the user's
// repository, to force a push, and to understand git's messages.
package git

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// netTimeout bounds one conversation with a remote.
const netTimeout = 2 * time.Minute

// tipRef is where a mirror keeps what it fetched.
const tipRef = "refs/trueup/tip"

// Mirror reads and writes one remote of the user's repository through a bare repository
// in a temporary folder, with the user's settings for that remote. The user's index, work
// tree, refs and objects stay as they are, and a fetch leaves no shallow boundary. One
// goroutine at a time may use Fetch, Commit, Push and Holds.
type Mirror struct {
	remote string
	// dir is the mirror's folder, top where relative addresses start.
	dir, top string
	config   []setting
	made     int
}

// ErrNoRemote says that the user's repository has no remote of that name.
var ErrNoRemote = errors.New("no such remote")

// ErrNoRepository says that the folder is in no git repository.
var ErrNoRepository = errors.New("not a git repository")

// settings matches the settings that every conversation with a remote depends on.
var settings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(credential|http|url|ssh|protocol)\.|^core\.(sshcommand|askpass|gitproxy)$`)
})

// remoteSettings matches those of one remote.
var remoteSettings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\.(url|pushurl|proxy|proxyauthmethod|uploadpack|receivepack|vcs)$`)
})

// Open makes a mirror for a remote of the repository that dir is in. It must be
// closed.
func Open(ctx context.Context, dir, remote string) (*Mirror, error) {
	gitDir, format, err := locate(ctx, dir)
	if err != nil {
		return nil, err
	}
	top := gitDir
	// A bare repository has no work tree.
	if out, err := (call{dir: dir, args: []string{"rev-parse", "--show-toplevel"}}).run(ctx); err == nil && len(out) > 1 {
		top = strings.TrimRight(string(out), "\n")
	}
	if out, err := (call{dir: dir, args: []string{"remote", "get-url", "--", remote}}).run(ctx); err != nil || len(out) == 0 {
		return nil, fmt.Errorf("%q: %w: %w", remote, ErrNoRemote, err)
	}
	listed, err := call{dir: dir, args: []string{"config", "--list", "-z"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "trueup-git-")
	if err != nil {
		return nil, err
	}
	m := &Mirror{remote: remote, dir: temp, top: top, config: configured(string(listed), remote)}
	if _, err := m.git(ctx, "", "init", "--quiet", "--bare", "--template=", "--object-format="+format); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// hasher returns the hash that names the objects of a format.
func hasher(format string) func() hash.Hash {
	if format == "sha256" {
		return sha256.New
	}
	return sha1.New
}

// setting is one line of configuration.
type setting struct{ key, value string }

// configured returns what the mirror needs of the user's configuration, without hooks and
// housekeeping.
func configured(listed, remote string) []setting {
	var out []setting
	for entry := range strings.SplitSeq(listed, "\x00") {
		key, value, given := strings.Cut(entry, "\n")
		if !given {
			// A key without a value is a switch that is on.
			value = "true"
		}
		name, ofRemote := strings.CutPrefix(key, "remote."+remote)
		if settings().MatchString(key) || ofRemote && remoteSettings().MatchString(key) && strings.Count(name, ".") == 1 {
			out = append(out, setting{key, value})
		}
	}
	return append(out, setting{"core.hooksPath", os.DevNull}, setting{"gc.auto", "0"}, setting{"maintenance.auto", "false"},
		setting{"push.gpgSign", "false"}, setting{"push.followTags", "false"}, setting{"fetch.recurseSubmodules", "false"})
}

// mirrorEnv returns the configuration as variables: it may hold a token, which must not be
// written to a file.
func mirrorEnv(dir string, config []setting) []string {
	env := []string{
		"GIT_DIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)),
	}
	for i, s := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return env
}

// Close removes the mirror.
func (m *Mirror) Close() error { return os.RemoveAll(m.dir) }

// git runs a command in the mirror.
func (m *Mirror) git(ctx context.Context, in string, args ...string) (string, error) {
	// Without its folder git would look for another repository.
	if _, err := os.Stat(m.dir); err != nil {
		return "", fmt.Errorf("the temporary repository %s is gone: %w", filepath.Base(m.dir), err)
	}
	env := mirrorEnv(m.dir, m.config)
	out, err := call{dir: m.top, env: env, in: strings.NewReader(in), args: args}.run(ctx)
	return string(out), err
}

// Push moves a ref of the remote from one commit to the next; with an empty from the ref
// must not exist, and an empty to removes it. True means that the remote confirmed it.
// Everything else is unclear: the caller must fetch the ref.
func (m *Mirror) Push(ctx context.Context, ref, from, to string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	out, err := m.git(ctx, "", "push", "--porcelain", "--force-with-lease="+ref+":"+from, m.remote, to+":"+ref)
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

// InUse returns why a branch is not free for trueup: it is checked out in a work tree of
// the user's repository, or is the default branch of the repository or the remote. It
// returns "" for any other ref.
func (m *Mirror) InUse(ctx context.Context, ref string) (string, error) {
	if !strings.HasPrefix(ref, "refs/heads/") {
		return "", nil
	}
	trees, err := m.user(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	// Some file systems ignore the case of names.
	if slices.ContainsFunc(strings.Split(trees, "\n"), func(line string) bool { return strings.EqualFold(line, "branch "+ref) }) {
		return "it is checked out here", nil
	}
	// A clone need not have a default branch.
	known, _ := m.user(ctx, "symbolic-ref", "--quiet", "refs/remotes/"+m.remote+"/HEAD")
	if strings.EqualFold(strings.TrimSpace(known), "refs/remotes/"+m.remote+"/"+strings.TrimPrefix(ref, "refs/heads/")) {
		return "it is the default branch", nil
	}
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	head, err := m.git(ctx, "", "ls-remote", "--quiet", "--symref", m.remote, "HEAD")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(head) {
		if strings.EqualFold(strings.TrimSpace(line), "ref: "+ref+"\tHEAD") {
			return "it is the default branch", nil
		}
	}
	return "", nil
}

// user runs a command that reads the user's repository.
func (m *Mirror) user(ctx context.Context, args ...string) (string, error) {
	out, err := call{dir: m.top, offline: true, args: args}.run(ctx)
	return string(out), err
}

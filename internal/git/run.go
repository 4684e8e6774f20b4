package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// timeout bounds one command, waitDelay how long helpers may then keep its pipes open.
	timeout   = 2 * time.Minute
	waitDelay = 2 * time.Second
	// maxSaid bounds git's message, in bytes.
	maxSaid = 1000
)

// Error is a git command that failed.
type Error struct {
	Command string // the subcommand
	// Said is git's message without passwords. Never parse it.
	Said string
	Err  error
}

func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %v: %s", e.Command, e.Err, e.Said)
}

// Unwrap returns why the command failed.
func (e *Error) Unwrap() error { return e.Err }

type call struct {
	dir string
	env []string
	// offline disables fetching for a partial clone.
	offline bool
	in      io.Reader
	args    []string
}

// run returns the standard output. git asks for no password.
func (c call) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", c.args...)
	cmd.Dir, cmd.Stdin = c.dir, c.in
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), c.hides), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
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
	case errors.Is(err, exec.ErrNotFound):
		err = errors.New("git is not installed, or not in PATH")
	}
	return out.Bytes(), &Error{Command: c.args[0], Said: clean(said.String()), Err: err}
}

func (c call) text(ctx context.Context) (string, error) {
	out, err := c.run(ctx)
	return string(out), err
}

// Version returns the version of the installed git.
func Version(ctx context.Context) (string, error) {
	out, err := call{args: []string{"version"}}.text(ctx)
	return strings.TrimSpace(out), err
}

var (
	// local matches variables that select a repository: a mirror must not see them.
	local = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|` +
			`CONFIG.*|PREFIX|SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|IMPLICIT_WORK_TREE|NAMESPACE|DEFAULT_HASH)=`)
	})
	// tokens matches variables with the platform's tokens: git and its helpers must not see them.
	tokens   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^TRUEUP_[A-Z_]*TOKEN`) })
	password = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^/@\s]*@`) })
)

func (c call) hides(variable string) bool {
	return tokens().MatchString(variable) || len(c.env) > 0 && local().MatchString(variable)
}

func clean(said string) string {
	said = strings.Join(strings.Fields(password().ReplaceAllString(said, "//")), " ")
	return strings.ToValidUTF8(said[:min(len(said), maxSaid)], "")
}

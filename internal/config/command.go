package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/files"
	"trueup/internal/project"
)

// maxSaid limits what is shown of a command's standard error, in bytes. execWait is how long the
// processes that it started may hold its pipes after its end.
const (
	maxSaid  = 2000
	execWait = 2 * time.Second
)

// capped keeps the first bytes of what is written.
type capped struct {
	kept  []byte
	limit int
	over  bool
}

// Write takes everything and keeps what there is room for.
func (c *capped) Write(p []byte) (int, error) {
	room := min(len(p), c.limit-len(c.kept))
	c.over = c.over || room < len(p)
	c.kept = append(c.kept, p[:room]...)
	return len(p), nil
}

// tokenFromCommand runs the user's own command. It runs in the folder of the profiles file, so that
// nothing in a repository can change what it does, without a terminal, and without the tokens of
// the environment.
func (o Options) tokenFromCommand(ctx context.Context, c TokenCommand, p Profile) (string, error) {
	limit := project.Duration(c.Timeout, usualExecTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	program := c.Command[0]
	if strings.ContainsRune(program, filepath.Separator) {
		program = p.path(program)
	}
	cmd := exec.CommandContext(ctx, program, c.Command[1:]...)
	cmd.Dir = filepath.Dir(p.File)
	cmd.Env = slices.DeleteFunc(cmd.Environ(), p.holdsToken)
	cmd.WaitDelay = execWait
	apart(cmd)
	out, said := &capped{limit: maxToken}, &capped{limit: maxSaid}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and left something running
	}
	words := o.Clean(spoken(said, string(out.kept)))
	name := "command " + filepath.Base(program)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s did not end within %s: find out why, or raise exec.timeout%s", name, limit, words)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", name, ctx.Err())
	case err != nil:
		return "", fmt.Errorf("%s: %w%s", name, plainExec(err), words)
	case out.over:
		return "", fmt.Errorf("%s printed more than %d KiB, which is too much for a token", name, maxToken>>10)
	}
	if words != "" && o.Verbose {
		o.Log(slog.LevelDebug, name+words)
	}
	text, err := printedToken(out.kept, o.Now())
	if err != nil {
		return "", fmt.Errorf("%s %w", name, err)
	}
	return text, nil
}

// holdsToken reports whether a variable has a token or says where one is.
func (p Profile) holdsToken(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	if strings.HasPrefix(name, "TRUEUP_") && strings.Contains(name, "TOKEN") {
		return true
	}
	return name != "" && (name == p.Compute.Token.Env || name == p.Delivery.Token.Env)
}

// leastSecret is the length of the shortest text that may be a part of a token.
const leastSecret = 4

// spoken returns what a command wrote to standard error, on one line after a colon, without what it
// wrote to standard output. It omits a word that was cut, which may be half of a secret.
func spoken(wrote *capped, printed string) string {
	said := string(wrote.kept)
	if wrote.over {
		said = said[:strings.LastIndexAny(said, " \t\r\n")+1]
	}
	var answer struct{ Token string }
	_ = json.Unmarshal([]byte(printed), &answer)
	for _, secret := range append(strings.Fields(printed), answer.Token) {
		if len(secret) >= leastSecret {
			said = strings.ReplaceAll(said, secret, "***")
		}
	}
	if said = strings.Join(strings.Fields(said), " "); said == "" {
		return ""
	}
	return ": " + said
}

// plainExec returns why a command failed, without its path.
func plainExec(err error) error {
	if missing, ok := errors.AsType[*exec.Error](err); ok {
		return missing.Err
	}
	return files.WithoutPath(err)
}

// printedToken reads what a command printed: the token alone, or a JSON object with token and
// perhaps expiresAt.
func printedToken(out []byte, now time.Time) (string, error) {
	trimmed := bytes.TrimSpace(out)
	if len(trimmed) == 0 {
		return "", errors.New("printed nothing to standard output")
	}
	if trimmed[0] != '{' {
		return string(out), nil
	}
	var answer struct {
		Token     string `json:"token"`
		ExpiresAt string `json:"expiresAt"`
	}
	if err := json.Unmarshal(trimmed, &answer); err != nil {
		// The decoder's error may quote the answer.
		return "", errors.New(`printed neither a token nor JSON such as {"token": "...", "expiresAt": "2026-11-21T12:00:00Z"}`)
	}
	if answer.Token == "" {
		return "", errors.New("printed JSON without token")
	}
	if answer.ExpiresAt == "" {
		return answer.Token, nil
	}
	until, err := time.Parse(time.RFC3339, answer.ExpiresAt)
	if err != nil {
		return "", errors.New("printed an expiresAt that is not a time such as 2026-11-21T12:00:00Z")
	}
	if !until.After(now) {
		return "", fmt.Errorf("printed a token that has expired at %s", until.UTC().Format(time.RFC3339))
	}
	return answer.Token, nil
}

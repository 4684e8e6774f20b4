package cli

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
	"trueup/internal/report"
)

// Bounds of a token command's words, in bytes, and how long what it has started
// may hold its pipes after its end.
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

// tokenFromCommand runs the user's own command. It runs in the folder of the
// user's file, so that nothing in a repository can change what it does, without
// a terminal, and without the tokens that are in the environment.
func (a *app) tokenFromCommand(ctx context.Context, t tokenSetting) (string, error) {
	argv, limit := t.Exec.Command, t.Exec.timeout()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	program := argv[0]
	if strings.ContainsRune(program, filepath.Separator) {
		program = t.profile.path(program)
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Dir = filepath.Dir(t.profile.file)
	cmd.Env = slices.DeleteFunc(cmd.Environ(), t.hides)
	cmd.WaitDelay = execWait
	apart(cmd)
	out, said := &capped{limit: maxToken}, &capped{limit: maxSaid}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		// It has ended well; what it left running holds its pipes.
		err = nil
	}
	words := spoken(said, string(out.kept))
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
	if words != "" && a.global.verbose {
		a.log(slog.LevelDebug, name+words)
	}
	text, err := a.printedToken(out.kept)
	if err != nil {
		return "", fmt.Errorf("%s %w", name, err)
	}
	return text, nil
}

// hides reports whether a variable holds a token or says where one is.
func (t tokenSetting) hides(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	if strings.HasPrefix(name, "TRUEUP_") && strings.Contains(name, "TOKEN") {
		return true
	}
	return name != "" && (name == t.profile.Compute.Token.Env || name == t.profile.Delivery.Token.Env)
}

// leastSecret is the shortest text that is taken for a part of a token.
const leastSecret = 4

// spoken is what a command wrote to standard error, on one line after a colon,
// without what it wrote to standard output. A word that was cut is left out: it
// may be the half of a secret.
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
	return ": " + report.Clean(said)
}

// plainExec is why a command failed, without its path.
func plainExec(err error) error {
	var missing *exec.Error
	if errors.As(err, &missing) {
		return missing.Err
	}
	return files.WithoutPath(err)
}

// printedToken reads what a command prints: the token alone, or a JSON object
// with token and perhaps expiresAt.
func (a *app) printedToken(out []byte) (string, error) {
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
		// The decoder's words may quote the answer.
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
	if !until.After(a.env.Now()) {
		return "", fmt.Errorf("printed a token that has expired at %s", until.UTC().Format(time.RFC3339))
	}
	return answer.Token, nil
}

package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/safetext"
	"trueup/internal/sandbox"
)

const maxToken = 64 << 10

// TokenSource says where a token comes from: one of three, or nowhere.
type TokenSource struct {
	Env  string        `json:"env"`
	File string        `json:"file"`
	Exec *TokenCommand `json:"exec"`
}

// TokenCommand is a program that prints a token.
type TokenCommand struct {
	Command []string `json:"command"` // the program and its arguments, which no shell reads
	Timeout string   `json:"timeout"`
}

// How long a token command may take.
const (
	usualExecTime = 10 * time.Second
	mostExecTime  = 5 * time.Minute
)

var variableName = diag.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsZero reports whether there is no source.
func (s TokenSource) IsZero() bool { return s.Env == "" && s.File == "" && s.Exec == nil }

// checkSource returns what is wrong, beginning with the field below token.
func (s TokenSource) checkSource() error {
	switch {
	case s.Env != "" && s.File != "" || s.Exec != nil && s.Env+s.File != "":
		return errors.New(" names several sources: write one of env, file and exec")
	case s.Env != "" && !variableName().MatchString(s.Env):
		// The error does not quote it: somebody may have written the token itself.
		return errors.New(".env is not the name of a variable: write the name, not the token")
	case strings.HasPrefix(s.File, "~"):
		return fmt.Errorf(".file is %q: write the whole path, because ~ has no meaning here", s.File)
	case s.Exec == nil:
		return nil
	case len(s.Exec.Command) == 0 || s.Exec.Command[0] == "":
		return errors.New(".exec.command is empty: write the program and its arguments as a list")
	}
	if d, err := time.ParseDuration(s.Exec.Timeout); s.Exec.Timeout != "" && (err != nil || d <= 0 || d > mostExecTime) {
		return fmt.Errorf(".exec.timeout is %q: write a time up to 5m", s.Exec.Timeout)
	}
	return nil
}

// TokenSetting is where an area's token comes from. A run reads it when a request needs it.
type TokenSetting struct {
	TokenSource
	Origin, setting string // Origin says who chose the source, and setting how it is called there
	ofProfile       bool
	refused         error // refused says why the token may not go to the area's address; nil if it may
}

// Source names the source without the secret.
func (t TokenSetting) Source() string {
	switch {
	case t.Env != "":
		return "variable " + t.Env
	case t.File != "":
		return "file " + t.File
	case t.Exec != nil:
		return "command " + filepath.Base(t.Exec.Command[0])
	}
	return "none"
}

// tokenAsker returns a function that asks for the token of an area once in a run, unless admit refuses to
// send it; nil if no source is set.
func (o Options) tokenAsker(s Settings, area kind.Area, admit func(context.Context) error) func(context.Context) (api.Token, error) {
	t := s.Tokens[area]
	if t.IsZero() {
		return nil
	}
	var once sync.Once
	var token api.Token
	var err error
	return func(ctx context.Context) (api.Token, error) {
		once.Do(func() {
			if err = admit(ctx); err == nil {
				token, err = o.readToken(ctx, t, s.Profile)
			}
		})
		return token, err
	}
}

func (o Options) readToken(ctx context.Context, t TokenSetting, p Profile) (api.Token, error) {
	if t.refused != nil {
		return api.Token{}, t.refused
	}
	var text string
	var err error
	switch {
	case t.Env != "":
		if text = o.Getenv(t.Env); text == "" {
			err = fmt.Errorf("variable %s is not set", t.Env)
		}
	case t.File != "":
		text, err = o.tokenFromFile(t.File)
	default:
		text, err = o.tokenFromCommand(ctx, *t.Exec, p)
	}
	var token api.Token
	switch {
	case err != nil:
	case text == sandbox.ComputeToken || text == sandbox.DeliveryToken:
		token = api.PublicToken(text)
	default:
		token, err = api.NewToken(text)
	}
	if err != nil {
		return api.Token{}, fmt.Errorf("%s: %w", t.setting, err)
	}
	return token, nil
}

// tokenFromFile reads a file that only the user should be able to read.
func (o Options) tokenFromFile(file string) (string, error) {
	if filepath.Base(file) == "-" {
		return "", errors.New("standard input is not read: write the path of a file that is not named -")
	}
	data, info, err := files.Read(file, maxToken)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	warning, err := o.checkReaders(file, info, isOnReadOnlyMount(file))
	if _, isKnown := o.sharedStateOrEmpty().warned.LoadOrStore(warning, true); warning != "" && !isKnown {
		o.Warn("%s", warning)
	}
	return string(data), err
}

// checkReaders checks who else may read or replace a file with a token. It refuses what the user can fix, and only warns
// of a file that somebody else mounted, as clusters and CI services do: the user can't change its mode.
func (o Options) checkReaders(file string, info fs.FileInfo, readOnly bool) (warning string, err error) {
	mode := info.Mode().Perm()
	uid, known := ownerOf(info)
	mounted := readOnly || known && uid != os.Geteuid() && mode&0o022 == 0
	switch {
	case known && uid != 0 && uid != os.Geteuid():
		return "", fmt.Errorf("%s belongs to user %d, who could replace it: make yourself its owner", file, uid)
	case mode&0o077 == 0:
		return "", nil
	case mounted || o.InCI():
		return fmt.Sprintf("other users can read the token in %s (mode %04o): mount it with mode 0400 or 0440", file, mode), nil
	}
	return "", fmt.Errorf("other users can read or write %s (mode %04o): chmod 600 %s", file, mode, file)
}

// maxSaid limits what is shown of a command's standard error, in bytes. execWait is how long the
// processes that it started may hold its pipes after its end.
const (
	maxSaid  = 2000
	execWait = 2 * time.Second
)

type cappedBuffer struct {
	kept  []byte
	limit int
	over  bool
}

// Write takes everything and keeps what there is room for.
func (c *cappedBuffer) Write(p []byte) (int, error) {
	room := min(len(p), c.limit-len(c.kept))
	c.over = c.over || room < len(p)
	c.kept = append(c.kept, p[:room]...)
	return len(p), nil
}

// tokenFromCommand runs the user's own command. It runs in the folder of the profiles file, so that nothing in a
// repository can change what it does, without a terminal, and without the tokens of the environment.
func (o Options) tokenFromCommand(ctx context.Context, c TokenCommand, p Profile) (string, error) {
	limit := ParseDuration(c.Timeout, usualExecTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	program := c.Command[0]
	if strings.ContainsRune(program, filepath.Separator) {
		program = p.filePath(program)
	}
	cmd := exec.CommandContext(ctx, program, c.Command[1:]...)
	cmd.Dir = filepath.Dir(p.File)
	cmd.Env = slices.DeleteFunc(cmd.Environ(), p.holdsToken)
	cmd.WaitDelay = execWait
	setOwnSession(cmd)
	out, said := &cappedBuffer{limit: maxToken}, &cappedBuffer{limit: maxSaid}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and left something running
	}
	words := safetext.Clean(lineOnStderr(said, string(out.kept))).EscapeCommands().String()
	name := "command " + filepath.Base(program)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s did not end within %s: find out why, or raise exec.timeout%s", name, limit, words)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", name, ctx.Err())
	case err != nil:
		if missing, ok := errors.AsType[*exec.Error](err); ok {
			err = missing.Err
		}
		return "", fmt.Errorf("%s: %w%s", name, files.WithoutPath(err), words)
	case len(bytes.TrimSpace(out.kept)) == 0:
		return "", fmt.Errorf("%s printed nothing to standard output", name)
	case out.kept[0] == '{':
		return "", fmt.Errorf("%s printed JSON: print the token alone, such as with jq -r .token", name)
	case out.over:
		return "", fmt.Errorf("%s printed more than %d KiB, which is too much for a token", name, maxToken>>10)
	}
	if words != "" && o.Verbose {
		o.Log(slog.LevelDebug, name+words)
	}
	return string(out.kept), nil
}

func (p Profile) holdsToken(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	isToken := strings.HasPrefix(name, "TRUEUP_") && strings.Contains(name, "TOKEN")
	return isToken || name != "" && (name == p.Compute.Token.Env || name == p.Delivery.Token.Env)
}

// lineOnStderr returns what a command wrote to standard error, on one line after a colon, unless it repeats a part of what
// it wrote to standard output. It omits a word that was cut, which may be half of a secret.
func lineOnStderr(wrote *cappedBuffer, printed string) string {
	said := string(wrote.kept)
	if wrote.over {
		said = said[:strings.LastIndexAny(said, " \t\r\n")+1]
	}
	for _, secret := range strings.Fields(printed) {
		diag.RegisterSecret(secret)
	}
	if words := diag.QuoteAnswer(said, maxSaid).String(); words != "" {
		return ": " + words
	}
	return ""
}

// shortestToken is the least length at which FindTokenVariable looks for a token.
const shortestToken = 8

// FindTokenVariable returns the variable whose token is in a text, or "". It looks for those of the areas, and of more variables.
func (o Options) FindTokenVariable(text string, more ...string) string {
	for _, area := range kind.Areas() {
		more = append(more, api.VariableName(area, "TOKEN"))
	}
	for _, name := range more {
		if token := strings.TrimSpace(o.Getenv(name)); len(token) >= shortestToken && strings.Contains(text, token) {
			return name
		}
	}
	return ""
}

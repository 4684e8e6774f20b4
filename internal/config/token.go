package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"trueup/internal/api"
	"trueup/internal/files"
	"trueup/internal/kind"
)

// maxToken limits what is read as a token, in bytes.
const maxToken = 64 << 10

// TokenSource says where a token comes from: one of three, or nowhere.
type TokenSource struct {
	Env  string        `json:"env"`
	File string        `json:"file"`
	Exec *TokenCommand `json:"exec"`
}

// TokenCommand is a program that prints a token.
type TokenCommand struct {
	// Command is the program and its arguments, which no shell reads.
	Command []string `json:"command"`
	Timeout string   `json:"timeout"`
}

// How long a token command may take.
const (
	usualExecTime = 10 * time.Second
	mostExecTime  = 5 * time.Minute
)

// variableName matches the names of variables in a shell.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// IsZero reports whether there is no source.
func (s TokenSource) IsZero() bool { return s.Env == "" && s.File == "" && s.Exec == nil }

// check returns what is wrong, beginning with the field below token.
func (s TokenSource) check() error {
	switch {
	case s.Env != "" && s.File != "" || s.Exec != nil && s.Env+s.File != "":
		return errors.New(" names several sources: write one of env, file and exec")
	case s.Env != "" && !variableName().MatchString(s.Env):
		// The error does not quote it: somebody may have written the token itself.
		return errors.New(".env is not the name of a variable: write the name, not the token")
	case strings.HasPrefix(s.File, "~"):
		return fmt.Errorf(".file is %q: write the whole path, because ~ has no meaning here", s.File)
	case s.Exec != nil:
		return s.Exec.check()
	}
	return nil
}

// check returns what is wrong, beginning with the field below token.
func (c TokenCommand) check() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New(".exec.command is empty: write the program and its arguments as a list")
	}
	if d, err := time.ParseDuration(c.Timeout); c.Timeout != "" && (err != nil || d <= 0 || d > mostExecTime) {
		return fmt.Errorf(".exec.timeout is %q: write a time up to 5m", c.Timeout)
	}
	return nil
}

// TokenSetting is where an area's token comes from. A run reads it when a request needs it.
type TokenSetting struct {
	TokenSource
	// Origin says who chose the source, and setting how it is called there.
	Origin, setting string
	// refused says why the token may not go to the area's address; nil if it may.
	refused error
}

// Source names the source without the secret.
func (t TokenSetting) Source() string {
	switch {
	case t.Env != "":
		return "variable " + t.Env
	case t.File == "-":
		return "standard input"
	case t.File != "":
		return "file " + t.File
	case t.Exec != nil:
		return "command " + filepath.Base(t.Exec.Command[0])
	}
	return "none"
}

// askFunc returns a token when it is needed.
type askFunc func(context.Context) (api.Token, error)

// asker returns a function that asks for the token of an area once in a run, unless admit refuses to
// send it; nil if no source is set.
func (o Options) asker(s Settings, area kind.Area, admit func(context.Context) error) askFunc {
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
				token, err = o.token(ctx, t, s.Profile)
			}
		})
		return token, err
	}
}

// token reads the token from its source.
func (o Options) token(ctx context.Context, t TokenSetting, p Profile) (api.Token, error) {
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
	case t.File == "-":
		text, err = o.tokenFromInput()
	case t.File != "":
		text, err = o.tokenFromFile(t.File)
	default:
		text, err = o.tokenFromCommand(ctx, *t.Exec, p)
	}
	var token api.Token
	if err == nil {
		token, err = api.NewToken(text)
	}
	if err != nil {
		return api.Token{}, fmt.Errorf("%s: %w", t.setting, err)
	}
	return token, nil
}

// tokenFromInput reads standard input to its end.
func (o Options) tokenFromInput() (string, error) {
	if o.StdinIsTTY {
		return "", errors.New("standard input is a terminal, which would show the token: use a pipe")
	}
	data, err := io.ReadAll(io.LimitReader(o.Stdin, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxToken {
		return "", fmt.Errorf("standard input has more than %d KiB, which is too much for a token", maxToken>>10)
	}
	return string(data), nil
}

// tokenFromFile reads a file that only the user should be able to read.
func (o Options) tokenFromFile(file string) (string, error) {
	data, info, err := files.Read(file, maxToken)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	warning, err := o.exposed(file, info, onReadOnly(file))
	if err != nil {
		return "", err
	}
	if warning != "" {
		o.Log(slog.LevelWarn, warning)
	}
	return string(data), nil
}

// exposed checks who else may read or replace a file with a token. It refuses what the user can fix,
// and only warns of a file that somebody else mounted, as clusters and CI services do: the user
// can't change its mode.
func (o Options) exposed(file string, info fs.FileInfo, readOnly bool) (warning string, err error) {
	mode := info.Mode().Perm()
	uid, known := ownerOf(info)
	mounted := readOnly || known && uid != ownID() && mode&0o022 == 0
	switch {
	case known && uid != 0 && uid != ownID():
		return "", fmt.Errorf("%s belongs to user %d, who could replace it: make yourself its owner", file, uid)
	case mode&0o077 == 0:
		return "", nil
	case mounted || InCI(o.Getenv):
		return fmt.Sprintf("%s has a token that other users can read (mode %04o): mount it with mode 0400 or 0440", file, mode), nil
	}
	return "", fmt.Errorf("other users can read or write %s (mode %04o): chmod 600 %s", file, mode, file)
}

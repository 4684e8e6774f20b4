package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"

	"trueup/internal/api"
	"trueup/internal/files"
)

// maxToken bounds what is read as a token, in bytes.
const maxToken = 64 << 10

// tokenSetting is where an area's token comes from; asking for it may run a
// command or read a file, so it is done when it is needed.
type tokenSetting struct {
	tokenSource
	// origin says who chose the source, setting what it is called there.
	origin, setting string
	// profile is where a command was chosen.
	profile profile
	// refused is why it may not go to the area's address, or nil.
	refused error
}

// source names the source without the secret.
func (t tokenSetting) source() string {
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

// askFunc gives a token when it is needed.
type askFunc func(context.Context) (api.Token, error)

// asker asks for the token once in a run, however often and by how many it is
// needed, unless admit says that none may be sent; nil where no source is set.
func (a *app) asker(t tokenSetting, admit func(context.Context) error) askFunc {
	if t.isZero() {
		return nil
	}
	var mu sync.Mutex
	var token api.Token
	var err error
	asked := false
	return func(ctx context.Context) (api.Token, error) {
		mu.Lock()
		defer mu.Unlock()
		if !asked {
			if err = admit(ctx); err == nil {
				token, err = a.fetchToken(ctx, t)
			}
			asked = true
		}
		return token, err
	}
}

// fetchToken gets the token from its source.
func (a *app) fetchToken(ctx context.Context, t tokenSetting) (api.Token, error) {
	if t.refused != nil {
		return api.Token{}, t.refused
	}
	var text string
	var err error
	switch {
	case t.Env != "":
		if text = a.env.Getenv(t.Env); text == "" {
			err = fmt.Errorf("variable %s is not set", t.Env)
		}
	case t.File == "-":
		text, err = a.tokenFromInput()
	case t.File != "":
		text, err = a.tokenFromFile(t.File)
	default:
		text, err = a.tokenFromCommand(ctx, t)
	}
	if err != nil {
		return api.Token{}, fmt.Errorf("%s: %w", t.setting, err)
	}
	token, err := api.NewToken(text)
	if err != nil {
		return api.Token{}, fmt.Errorf("%s: %w", t.setting, err)
	}
	return token, nil
}

// tokenFromInput reads standard input to its end.
func (a *app) tokenFromInput() (string, error) {
	if a.env.StdinIsTTY {
		return "", errors.New("standard input is a terminal, which would show the token: use a pipe")
	}
	data, err := io.ReadAll(io.LimitReader(a.env.Stdin, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxToken {
		return "", fmt.Errorf("standard input has more than %d KiB, which is too much for a token", maxToken>>10)
	}
	return string(data), nil
}

// tokenFromFile reads a file that nobody else should be able to read.
func (a *app) tokenFromFile(file string) (string, error) {
	data, info, err := files.Read(file, maxToken)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	warning, err := a.exposed(file, info, onReadOnly(file))
	if err != nil {
		return "", err
	}
	if warning != "" {
		a.log(slog.LevelWarn, warning)
	}
	return string(data), nil
}

// exposed judges who else may read or replace a file that holds a token. What
// its user can mend is refused. What somebody else has mounted for the user, as
// clusters and CI services do, is only warned of: the user can't change its mode.
func (a *app) exposed(file string, info fs.FileInfo, readOnly bool) (warning string, err error) {
	mode := info.Mode().Perm()
	uid, known := ownerOf(info)
	mounted := readOnly || known && uid != ownID() && mode&0o022 == 0
	switch {
	case known && uid != 0 && uid != ownID():
		return "", fmt.Errorf("%s belongs to user %d, who could replace it: make yourself its owner", file, uid)
	case mode&0o077 == 0:
		return "", nil
	case mounted || a.inCI():
		return fmt.Sprintf("%s has a token that other users can read (mode %04o): mount it with mode 0400 or 0440", file, mode), nil
	}
	return "", fmt.Errorf("other users can read or write %s (mode %04o): chmod 600 %s", file, mode, file)
}

// inCI reports whether the run is on a machine that CI made for it.
func (a *app) inCI() bool { return a.env.Getenv("CI") != "" && a.env.Getenv("CI") != "false" }

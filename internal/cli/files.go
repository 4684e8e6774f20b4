package cli

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
)

// The bounds of what is read beside manifests, in bytes.
const (
	maxBackup = 1 << 30
)

// stdin is standard input. Who sits at a terminal is told that it is waited for.
func (a *app) stdin(what string) io.Reader {
	if a.env.StdinIsTTY {
		a.log(slog.LevelInfo, "reading "+what+" from the terminal: end with Ctrl-D on its own line")
	}
	return a.env.Stdin
}

// full is the path of a file that the user named, from where -C leads.
func (a *app) full(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(a.dir(), name)
}

// errSource says why a file is not emptied for a result.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")

// mayBeSource tells by its name whether a file may be one that a person wrote.
func mayBeSource(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending == ".yaml" || ending == ".yml"
}

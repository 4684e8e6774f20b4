package cli

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
)

// maxBackup limits the backup of a ledger, in bytes.
const maxBackup = 1 << 30

// stdin returns standard input. At a terminal it says that it waits.
func (a *app) stdin(what string) io.Reader {
	if a.env.StdinIsTTY {
		a.log(slog.LevelInfo, "reading "+what+" from the terminal: end with Ctrl-D on its own line")
	}
	return a.env.Stdin
}

// full returns the whole path of a file that the user named, which starts from the folder of -C.
func (a *app) full(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(a.dir(), name)
}

// errSource refuses to write a result to a file that may be a manifest.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")

// mayBeSource reports whether the name of a file is that of a manifest.
func mayBeSource(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending == ".yaml" || ending == ".yml"
}

//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// ownerOf is the number of the user that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// ownID is the number of the user that the program runs as.
func ownID() int { return os.Geteuid() }

// onReadOnly reports whether a file is on a file system that can't be written, so
// that nobody can change its mode.
func onReadOnly(file string) bool { return errors.Is(syscall.Access(file, 2), syscall.EROFS) }

// apart gives a command a session of its own, so that it can ask nothing at the
// terminal, and is ended with all that it has started.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

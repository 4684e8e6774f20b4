//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
)

func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// isOnReadOnlyMount reports whether a file is on a read-only file system, so that nobody can change its mode.
func isOnReadOnlyMount(file string) bool { return errors.Is(syscall.Access(file, 2), syscall.EROFS) }

// setOwnSession gives a command its own session: it can't use the terminal, and is killed with all processes that it started.
func setOwnSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

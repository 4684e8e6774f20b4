//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// asksPassword reports whether a program asks for a password at the terminal f.
func asksPassword(f *os.File) bool {
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TIOCGETA)
	return err == nil && state.Lflag&unix.ECHO == 0 && state.Lflag&unix.ICANON != 0
}

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// asksSecretly reports whether somebody is asked for what must not be seen at the
// terminal that f is, as ssh asks for a passphrase: what is typed is not shown.
func asksSecretly(f *os.File) bool {
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil && state.Lflag&unix.ECHO == 0 && state.Lflag&unix.ICANON != 0
}

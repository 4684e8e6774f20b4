package docs

import (
	"testing"

	"golang.org/x/sys/unix"

	"trueup/internal/cli"
)

// TestNoBarOverAPassword: a terminal that shows nothing of what is typed has no
// room for a bar, which would take the place of the question.
func TestNoBarOverAPassword(t *testing.T) {
	outside, inside, err := openTerminal()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer func() { _, _ = inside.Close(), outside.Close() }()
	state, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{100, 0, 100} {
		if state.Lflag |= unix.ECHO; want == 0 {
			state.Lflag &^= unix.ECHO
		}
		if err := unix.IoctlSetTermios(int(inside.Fd()), unix.TCSETS, state); err != nil {
			t.Fatal(err)
		}
		if got := cli.ProgressBarWidth(inside); got != want {
			t.Errorf("a bar has %d columns, want %d", got, want)
		}
	}
}

package cli

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
)

// TestStartIsCheap: what every run does before it begins stays small. Allocations
// are counted and not time, which depends on what else the machine does.
func TestStartIsCheap(t *testing.T) {
	env := config.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(string) string { return "" }, Now: time.Now, Cwd: t.TempDir(),
	}
	const most, mostBytes = 4000, 640 << 10
	for _, command := range []string{"version", "--help", "plan --help"} {
		run := func() {
			if code := Main(t.Context(), strings.Fields(command), env); code != diag.ExitOK {
				t.Fatalf("%s: exit %d", command, code)
			}
		}
		run()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		if n, size := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc; n > most || size > mostBytes {
			t.Errorf("%s: %d allocations of %d bytes, at most %d of %d", command, n, size, most, mostBytes)
		}
	}
}

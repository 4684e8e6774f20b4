package cli

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestPercentOfTheUser: what GOGC says stays after collections.
func TestPercentOfTheUser(t *testing.T) {
	const child = "TRUEUP_TEST_PERCENT"
	if os.Getenv(child) == "" {
		for _, value := range []string{"off", "20", "400"} {
			cmd := exec.Command(os.Args[0], "-test.run", t.Name())
			cmd.Env = append(os.Environ(), "GOGC="+value, child+"=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("GOGC=%s: %v\n%s", value, err, out)
			}
		}
		return
	}
	was := debug.SetGCPercent(100)
	debug.SetGCPercent(was)
	tuneGC(0)
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // cleanups run beside the program
	}
	if is := debug.SetGCPercent(100); is != was {
		t.Errorf("%d became %d", was, is)
	}
}

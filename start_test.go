package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStartDoesNoWork: before main a package of ours makes its tables, and
// nothing else. Bytes are counted and not time, which depends on what else the
// machine does.
func TestStartDoesNoWork(t *testing.T) {
	const most = 16 << 10
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Args = []string{"trueup", "version"}
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\ntrueup ") {
		t.Fatalf("%v: %s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^init (trueup/\S+) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	if len(lines) == 0 {
		t.Fatalf("Go does not tell what packages do: %s", out)
	}
	for _, line := range lines {
		if size, err := strconv.Atoi(line[2]); err != nil || size > most {
			t.Errorf("%s allocates %s bytes before main, at most %d: let it wait until it", line[1], line[2], most)
		}
	}
}

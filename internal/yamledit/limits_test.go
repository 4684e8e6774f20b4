package yamledit

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestLimitsComeBeforeWork: a file that is refused for its size or depth costs little more than reading it.
func TestLimitsComeBeforeWork(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	for name, text := range map[string]string{
		"lines":       "a: 1\n" + strings.Repeat("\n", 2<<20),
		"comments":    "a: 1\n" + strings.Repeat("#\n", 1<<20),
		"nested JSON": `{"a":` + deep + strings.Repeat(`,"a":`+deep, 20) + "}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Format([]byte(text))
		runtime.ReadMemStats(&after)
		var left *UnformattedError
		if !errors.As(err, &left) {
			t.Errorf("%s: %v", name, err)
		}
		if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); each > 20 && name != "nested JSON" || each > 400 {
			t.Errorf("%s: %d bytes of memory for each byte", name, each)
		}
	}
}

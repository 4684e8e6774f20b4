package report

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		want, doing string
		done, of    int
		took        time.Duration
	}{
		{"reading manifests: 4231 of 10000, 3s", "reading manifests", 4231, 10000, 3400 * time.Millisecond},
		{"applying: 9 of 9, 1s", "applying", 9, 9, time.Second},
		{"applying: 0 of 9, 1m30s", "applying", 0, 9, 90 * time.Second},
		{"reading what is live: 812, 4s", "reading what is live", 812, 0, 4 * time.Second},
		{"reading the ledger: 812, 4s", "reading the ledger", 812, 800, 4 * time.Second}, // more than was thought
		{"reading the ledger: 3s", "reading the ledger", 0, 0, 2600 * time.Millisecond},
	} {
		if got := ProgressText(c.doing, c.done, c.of, c.took); got != c.want {
			t.Errorf("line %q, want %q", got, c.want)
		}
	}
}

// TestBarFits: what a terminal shows is always text of one line that fits.
func TestBarFits(t *testing.T) {
	told := ProgressText("reading manifests\x1b[2J\n", 4231, 10000, 3*time.Second)
	for columns := range 120 {
		var out strings.Builder
		if err := NewLineWriter(&out, 0).Bar(told, columns); err != nil {
			t.Fatal(err)
		}
		bar, ok := strings.CutPrefix(out.String(), clearLine)
		if !ok || strings.ContainsFunc(bar, unicode.IsControl) {
			t.Fatalf("in %d columns: %q", columns, out.String())
		}
		if wide := clean(bar).Width(); wide > columns {
			t.Errorf("in %d columns: %q has %d", columns, bar, wide)
		}
	}
}

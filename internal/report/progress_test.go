package report

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestProgress(t *testing.T) {
	for want, told := range map[string]Progress{
		"reading manifests: 4231 of 10000, 3s": {Doing: "reading manifests", Done: 4231, Of: 10000, Took: 3400 * time.Millisecond},
		"applying: 9 of 9, 1s":                 {Doing: "applying", Done: 9, Of: 9, Took: time.Second},
		"applying: 0 of 9, 1m30s":              {Doing: "applying", Done: 0, Of: 9, Took: 90 * time.Second},
		"reading what is live: 812, 4s":        {Doing: "reading what is live", Done: 812, Took: 4 * time.Second},
		"reading the ledger: 812, 4s":          {Doing: "reading the ledger", Done: 812, Of: 800, Took: 4 * time.Second}, // more than was thought
		"reading the ledger: 3s":               {Doing: "reading the ledger", Took: 2600 * time.Millisecond},
	} {
		if got := told.String(); got != want {
			t.Errorf("line %q, want %q", got, want)
		}
	}
}

// TestBarFits: what a terminal shows is always text of one line that fits.
func TestBarFits(t *testing.T) {
	told := Progress{Doing: "reading manifests\x1b[2J\n", Done: 4231, Of: 10000, Took: 3 * time.Second}
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

package report

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestProgress(t *testing.T) {
	reading := Progress{Doing: "reading manifests", Done: 4231, Of: 10000, Rate: 1240.4, Took: 3400 * time.Millisecond}
	slow := Progress{Doing: "applying", Done: 3, Of: 900, Rate: 0.25, Took: 12 * time.Second}
	for _, c := range []struct {
		name string
		told Progress
		line string
		bar  string
	}{
		{
			"counted", reading,
			"reading manifests: 4231 of 10000, 5s left, 1240/s",
			"reading manifests  [==========              ]  4231 of 10000  5s left  1240/s",
		},
		{
			"slow", slow,
			"applying: 3 of 900, 59m48s left, 0.2/s",
			"applying  [                        ]  3 of 900  59m48s left  0.2/s",
		},
		{
			"complete",
			Progress{Doing: "applying", Done: 9, Of: 9, Rate: 12, Took: time.Second},
			"applying: 9 of 9, 0s left, 12/s",
			"applying  [========================]  9 of 9  0s left  12/s",
		},
		{
			"standing still",
			Progress{Doing: "applying", Done: 0, Of: 9, Took: 90 * time.Second},
			"applying: 0 of 9, 1m30s",
			"applying  [                        ]  0 of 9  1m30s",
		},
		{
			"of nobody knows how many",
			Progress{Doing: "reading what is live", Done: 812, Rate: 200, Took: 4 * time.Second},
			"reading what is live: 812, 200/s",
			"reading what is live  812  200/s",
		},
		{
			"of more than was thought",
			Progress{Doing: "reading what is live", Done: 812, Of: 800, Rate: 200, Took: 4 * time.Second},
			"reading what is live: 812, 200/s",
			"reading what is live  812  200/s",
		},
		{
			"not counted",
			Progress{Doing: "reading the ledger", Took: 2600 * time.Millisecond},
			"reading the ledger: 3s",
			"reading the ledger  3s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.told.String(); got != c.line {
				t.Errorf("line %q, want %q", got, c.line)
			}
			if got := c.told.bar(79).String(); got != c.bar {
				t.Errorf("bar %q, want %q", got, c.bar)
			}
		})
	}
}

// TestBarFits: a bar leaves out what there is no room for, and is always text of
// one line.
func TestBarFits(t *testing.T) {
	told := Progress{Doing: "reading manifests\x1b[2J\n", Done: 4231, Of: 10000, Rate: 1240, Took: 3 * time.Second}
	for columns := range 120 {
		var out strings.Builder
		if err := NewLineWriter(&out).Bar(told, columns); err != nil {
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

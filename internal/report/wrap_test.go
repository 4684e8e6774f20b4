package report

import (
	"bytes"
	"testing"
)

// TestTheTextOfCommandsBreaksBetweenWords: no command breaks, and no line that may be part of a file.
func TestTheTextOfCommandsBreaksBetweenWords(t *testing.T) {
	var b bytes.Buffer
	out := Lines{w: &b, width: 40}
	for _, line := range []string{
		"Left out, because the schema does not know them: upstreams[].hc2.downThreshold.",
		"keep it in git with trueup pull CDN/shop --replace, or undo it",
		"# Every six hours: finishes what a dead run left, and reports drift.",
		"  id: 7c0e2f5b-0d0a-4a53-9a0c-9b6f2f1f3a77 # of the ledger",
	} {
		if err := out.Printf("%s\n", line); err != nil {
			t.Fatal(err)
		}
	}
	const want = `Left out, because the schema does not
    know them:
    upstreams[].hc2.downThreshold.
keep it in git with
    trueup pull CDN/shop --replace, or
    undo it
# Every six hours: finishes what a dead run left, and reports drift.
  id: 7c0e2f5b-0d0a-4a53-9a0c-9b6f2f1f3a77 # of the ledger
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

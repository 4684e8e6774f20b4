package report

import (
	"bytes"
	"testing"
)

// TestTheTextOfCommandsBreaksBetweenWords: no command breaks, and no line that may be part of a file.
func TestTheTextOfCommandsBreaksBetweenWords(t *testing.T) {
	var b bytes.Buffer
	out := LineWriter{w: &b, width: 40}
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
	for _, destination := range []string{"Delete", "Delete 12 snapshots and apply the rest"} {
		if err := out.Printf("\n%s to %s? Type yes: ", destination, "acme (5a1d0c7e-3b52)"); err != nil {
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

Delete to acme (5a1d0c7e-3b52)? Type
    yes: 
Delete 12 snapshots and apply the rest
    to acme (5a1d0c7e-3b52)? Type yes: `
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

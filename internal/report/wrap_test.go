package report

import (
	"bytes"
	"testing"

	"trueup/internal/safetext"
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

func TestFlowLines(t *testing.T) {
	for _, c := range []struct {
		tokens  []string
		columns int
		want    string
	}{
		{[]string{"a: 1,", "b: 2"}, 9, "a: 1,|b: 2"},
		{[]string{"a: 1,", "b: 2"}, 10, "a: 1, b: 2"},
		{[]string{`a: "one two three"`, "b: 2"}, 10, `a: "one|two three"|b: 2`},
		{[]string{"aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff"}, 5, "aaaa|bbbb|cccc|dddd|… and 2 more values"},
		{[]string{"aaaa", "bbbb", "cccc", "dd ee ff"}, 5, "aaaa|bbbb|cccc|dd ee|… and 1 more value"},
		{[]string{"aaaaaaaaaa", "b"}, 5, "aaaaa|aaaaa|b"},
	} {
		tokens := make([]safeText, len(c.tokens))
		for i, token := range c.tokens {
			tokens[i] = clean(token)
		}
		if got := safetext.Join(wrapTokens(tokens, c.columns, false), "|").String(); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.tokens, c.columns, got, c.want)
		}
	}
}

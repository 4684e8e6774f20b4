package report

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestManShowsWhatWasWritten: no text of a page is a request or an escape.
func TestManShowsWhatWasWritten(t *testing.T) {
	const odd = `.SH no heading 'quoted' "twice" \fBno bold\fR -- --flag=a-b ~/x ^ ` + "`code` ä … 🙂"
	text := Man(Page{
		Name: "trueup-x", Short: "do - it", Synopsis: "trueup x [PATH...] --a|--b", See: []string{"trueup", "trueup-y"},
		Parts: []PagePart{
			{Title: "DESCRIPTION", Text: odd + "\n'begins with a quote\n\n  .table  row\n  \\second\n\nafter"},
			{Title: "OPTIONS", Terms: []Term{{"-o, --out FILE", ".hidden \\n"}}},
			{Title: "EMPTY"},
		},
	})
	if bytes.Contains(text, []byte("EMPTY")) || bytes.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
		t.Errorf("%s", text)
	}
	program, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("there is no groff: the page is not rendered")
	}
	cmd := exec.CommandContext(t.Context(), program, "-ww", "-man", "-Tutf8", "-P-c", "-P-bou", "-rLL=200n")
	cmd.Stdin = bytes.NewReader(text)
	var warnings bytes.Buffer
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err != nil || warnings.Len() > 0 {
		t.Fatalf("%v: %s", err, warnings.String())
	}
	for _, want := range []string{
		odd, "'begins with a quote", ".table  row\n", `\second` + "\n", `.hidden \n`, "-o, --out FILE", "trueup-x - do - it",
		"trueup x [PATH...] --a|--b", "trueup(1), trueup-y(1)",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"trueup/internal/view"
)

// FuzzLines: what a command prints beside a Document, however it does so, holds
// nothing that is obeyed, and a text stays in its line.
func FuzzLines(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i*7)%len(seeds)])
		f.Add("\t"+s, s+"\t")
		f.Add("\xdb", "\xa7")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for name, way := range map[string]struct {
			// lines is how many there have to be, 0 where the text itself has them.
			lines int
			print func(LineWriter) error
		}{
			"Printf":   {1, func(l LineWriter) error { return l.Printf("%s%s\n", a, b) }},
			"quoted":   {1, func(l LineWriter) error { return l.Printf("  %q: %v\n", a, []string{b}) }},
			"Table":    {2, func(l LineWriter) error { return l.Table("", [][]string{{a, b}, {b, a, a}}) }},
			"Marked":   {2, func(l LineWriter) error { return l.MarkedTable([][]string{{a, b}, {b, a, a}}, view.TextOptions{}) }},
			"JSON":     {0, func(l LineWriter) error { return l.JSON([]string{a, b}) }},
			"JSONLine": {1, func(l LineWriter) error { return l.JSONLine(a, jsonOf(t, b)) }},
			"Text":     {0, func(l LineWriter) error { return l.Text(a + "\n" + b) }},
			"Source":   {0, func(l LineWriter) error { return NewLineWriter(l.w, 80).Source([]byte(a + "\n" + b)) }},
			"Diff": {0, func(l LineWriter) error {
				return l.Diff(FileVersions{a, []byte(a + "\n" + b), []byte(b + "\n " + a + "  "), 0}, view.TextOptions{})
			}},
			"Help": {0, func(l LineWriter) error { return writeAll(l, a, "\n", b) }},
			"Stream": {2, func(l LineWriter) error {
				return writeAll(NewJSONStream(l.w), string(jsonOf(t, a)), "\n", string(jsonOf(t, b)), "\n")
			}},
			"Clean": {1, func(l LineWriter) error { return writeAll(l.w, Clean(a+b), "\n") }},
		} {
			var out bytes.Buffer
			if err := way.print(NewLineWriter(&out, 0)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			checkPlain(t, name, bytes.ReplaceAll(out.Bytes(), []byte("\t"), []byte(" ")))
			if n := strings.Count(out.String(), "\n"); way.lines > 0 && n != way.lines {
				t.Fatalf("%s: %d lines: %q", name, n, out.String())
			}
			var same []string
			if name == "JSON" && (json.Unmarshal(out.Bytes(), &same) != nil || utf8.ValidString(a) && utf8.ValidString(b) && !slices.Equal(same, []string{a, b})) {
				t.Fatalf("%q, %q became %s", a, b, &out)
			}
		}
	})
}

// TestSourceIsDataInAPipe: a terminal is shown no command that a file holds, and
// a program that reads the file's text is given just that.
func TestSourceIsDataInAPipe(t *testing.T) {
	text := "\ufeffa: \"\x1b]0;x\x07\"\r\n\n::error::no\n\tb: \u202e"
	var shown, piped bytes.Buffer
	if err := NewLineWriter(&shown, 80).Source([]byte(text)); err != nil {
		t.Fatal(err)
	}
	checkPlain(t, "a terminal", bytes.ReplaceAll(shown.Bytes(), []byte("\t"), []byte(" ")))
	if err := NewLineWriter(&piped, 0).Source([]byte(text)); err != nil || piped.String() != text {
		t.Errorf("%q is written to a pipe as %q, %v", text, &piped, err)
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeAll(w io.Writer, texts ...string) error {
	for _, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

package report

import (
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/view"
)

func TestDiffering(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`"the quick brown fox"`, `"the slow brown fox"`, `"the [quick→slow] brown fox"`},
		{`"aa.example.com, b.example.com"`, `"aa.example.com"`, `"aa.example.com[, b.example.com→]"`},
		{`"1234567890123"`, `"1234567890129"`, ""},
		{`"false"`, `"true"`, ""},
		{`"nothing in common here"`, `"quite0 other1 words2"`, ""},
	} {
		a, b, ok := splitDifferences(clean(c.before), clean(c.after))
		if !ok {
			if c.want != "" {
				t.Errorf("%s and %s: not marked", c.before, c.after)
			}
			continue
		}
		if whole(a) != c.before || whole(b) != c.after {
			t.Errorf("%s and %s became %s and %s", c.before, c.after, whole(a), whole(b))
		}
		if got := marked(a, b); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func whole(parts []linePart) string {
	s := ""
	for _, p := range parts {
		s += p.Text.String()
	}
	return s
}

// marked shows two sides in one line.
func marked(a, b []linePart) string {
	s := ""
	for len(a) > 0 || len(b) > 0 {
		before, after := "", ""
		for len(a) > 0 && a[0].Differs {
			before, a = before+a[0].Text.String(), a[1:]
		}
		for len(b) > 0 && b[0].Differs {
			after, b = after+b[0].Text.String(), b[1:]
		}
		if before+after != "" {
			s += "[" + before + "→" + after + "]"
		}
		if len(a) > 0 && len(b) > 0 {
			s += a[0].Text.String()
			a, b = a[1:], b[1:]
		}
	}
	return s
}

// TestCaret holds that the caret stands below the character that the column
// counts, whatever is in front of it.
func TestCaret(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		want   string
	}{
		{"a: b", 4, "    a: b\n       ^\n"},
		{"\ta: b", 5, "        a: b\n           ^\n"},
		{"漢字: b", 5, "    漢字: b\n          ^\n"},
		{"a\x1b: b", 5, "    a\\x1b: b\n           ^\n"},
		{"a", 9, "    a\n     ^\n"},
		{"a: b", 0, "    a: b\n"},
		{strings.Repeat("x", 500) + "!", 501, "    …" + strings.Repeat("x", 56) + "!\n" + strings.Repeat(" ", 61) + "^\n"},
	} {
		got := string(render(t, "text", Document{Findings: diag.List{{Path: "f", Line: 1, Column: c.column, Rule: "r", Source: c.line}}}, view.TextOptions{}))
		_, got, _ = strings.Cut(got, "\n")
		got, _, _ = strings.Cut(got, "\n\n")
		if got+"\n" != c.want && got != strings.TrimSuffix(c.want, "\n") {
			t.Errorf("%q:\n%s\nwant\n%s", c.line, got, c.want)
		}
	}
}

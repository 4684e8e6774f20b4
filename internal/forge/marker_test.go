package forge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAMarkIsOneHiddenLine: whatever the key, the line can be read back, ends the
// HTML comment once, at its end, and holds nothing that a host could act on.
func TestAMarkIsOneHiddenLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := hiddenMark{
			use: rapid.SampledFrom([]string{"comment", "issue"}).Draw(t, "use"),
			key: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"--> @all", "a\r\n-->", "--!>", "<!--", "", ".", "//x", "%2F"})).Draw(t, "key"),
			run: runOrder{rapid.Int64Min(0).Draw(t, "run"), rapid.IntRange(0, 999_999_999).Draw(t, "attempt")},
		}
		line, rest := m.String(), rapid.String().Draw(t, "rest")
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, " -->\n") || strings.Count(line, ">") != 1 || strings.Count(line, "<") != 1 {
			t.Fatalf("%q", line)
		}
		if got, ok := parseMark(line + rest); !ok || got != m {
			t.Fatalf("%q is read as %+v, %t; it was %+v", line, got, ok, m)
		}
		if _, ok := parseMark(" " + line); ok {
			t.Fatal("a line that is not the first is taken for a mark")
		}
	})
}

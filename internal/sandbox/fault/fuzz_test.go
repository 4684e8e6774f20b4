package fault

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzFault: a rule is refused in one line that shows the grammar, or
// understood, and then it is what its own text says.
func FuzzFault(f *testing.F) {
	for _, e := range Effects() {
		f.Add(e.Example, cdns)
	}
	for _, rule := range []string{
		"", ":", "POST /purges: 503 after-commit x2 @3 seed=9", "* *: drop 50%", "GET *: delay 9999999h x*", "GET *a*a*a*a*a*a*a*a*b: huge 1GiB", "POST /a: \"503\" x\"2\"",
		"POST /purges: 429 retry-after=\"Sat, 21 Nov 2026 10:00:30 GMT\"", "GET *: 1e1%", "GET *: 0x10", "GET *: \xff\n\x1b[2J", "GET *: 503 seed=18446744073709551616", "GET *: redirect ://",
	} {
		f.Add(rule, strings.Repeat("a", 100))
	}
	f.Fuzz(func(t *testing.T, rule, path string) {
		got, err := parseRule(rule)
		if err != nil {
			text := err.Error()
			if !strings.Contains(text, Grammar) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Fatalf("%q: %q", rule, text)
			}
			return
		}
		got.matches("GET", path)
		if got.percent <= 0 || got.percent > 100 || got.times == 0 || got.from < 1 {
			t.Fatalf("%q is %+v", rule, got)
		}
		again, err := parseRule(got.text)
		if err != nil || again.text != got.text || again.method != got.method || again.path != got.path || again.times != got.times || again.percent != got.percent ||
			again.from != got.from || again.seed != got.seed || again.after != got.after {
			t.Fatalf("%q is %+v, and then %+v, %v", rule, got, again, err)
		}
		for range 5 {
			got.due()
		}
	})
}

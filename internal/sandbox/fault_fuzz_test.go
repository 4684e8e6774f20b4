package sandbox

import (
	"strings"
	"testing"
	"unicode"

	"trueup/internal/e2e/sandboxtest"
)

// FuzzFault: a fault is refused in one line that shows its form, or
// understood, and then it is what its own text says.
func FuzzFault(f *testing.F) {
	for _, e := range FaultKinds() {
		f.Add(e.Example, sandboxtest.CDNs)
	}
	for _, rule := range []string{
		"", ":", "POST /purges: 503 after-commit x2 @3", "* *: drop 50%", "GET *: delay=9999999h x*", "GET *a*a*a*a*a*a*a*a*b: partial-list=1024",
		"POST /purges: 429 retry-after=+30s", "GET *: 1e1%", "GET *: 0x10", "GET *: \xff\n\x1b[2J", "GET *: 503 message=", "GET *: redirect=://",
	} {
		f.Add(rule, strings.Repeat("a", 100))
	}
	f.Fuzz(func(t *testing.T, rule, path string) {
		got, err := parseFault(rule, FaultKinds())
		if err != nil {
			text := err.Error()
			if !strings.Contains(text, Grammar) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Fatalf("%q: %q", rule, text)
			}
			return
		}
		got.matchesRequest("GET", path)
		if got.percent <= 0 || got.percent > 100 || got.times == 0 || got.from < 1 {
			t.Fatalf("%q is %d times, from %d, %g%%", rule, got.times, got.from, got.percent)
		}
		again, err := parseFault(got.text, FaultKinds())
		if err != nil || again.text != got.text || again.method != got.method || again.path != got.path || again.times != got.times || again.percent != got.percent ||
			again.from != got.from || again.Text != got.Text || again.after != got.after {
			t.Fatalf("%q is %q, and then %q, %v", rule, got.text, again.text, err)
		}
		for range 5 {
			got.countRequest()
		}
	})
}

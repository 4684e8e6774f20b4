package sandbox

import (
	"strings"
	"testing"

	"trueup/internal/e2e/sandboxtest"
)

func TestPathsOfFaults(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"*", sandboxtest.CDNs, true},
		{"/cdns", sandboxtest.CDNs + "/shop", true},
		{"/purges", sandboxtest.CDNs, false},
		{"*/cdns", sandboxtest.CDNs, true},
		{"*/cdns", sandboxtest.CDNs + "/shop", false},
		{"*/cdns/*", sandboxtest.CDNs + "/shop", true},
		{"*/cdns/*", sandboxtest.CDNs, false},
		{"/delivery/*/shop", sandboxtest.CDNs + "/shop", true},
		{"/elsewhere/*/shop", sandboxtest.CDNs + "/shop", false},
		{"*a*b*", "xaxb", true},
		{"*a*b*", "xbxa", false},
		{"a*a", "a", false},
	} {
		if got := matchPath(tc.pattern, tc.path); got != tc.want {
			t.Errorf("%s of %s: %t", tc.pattern, tc.path, got)
		}
	}
}

// A fault that can't be read changes nothing; its error names the word and
// shows the form, in one line.
func TestGrammarOfFaults(t *testing.T) {
	s := newWorld(t).s
	for _, tc := range []struct{ rule, says string }{
		{"POST /purges 503", "write a method (or *) and a path before a colon"},
		{"", "write a method (or *) and a path before a colon"},
		{"/purges: 503", "write a method (or *) and a path before a colon"},
		{"POST /a /b: 503", "write a method (or *) and a path before a colon"},
		{"post /purges: 503", `"post": write the method in capital letters`},
		{"POST /purges:", `"" does not exist: trueup sandbox fault --help`},
		{"POST /purges: 5O3", `"5O3" does not exist`},
		{"POST /purges: 99", `"99" does not exist`},
		{"POST /purges: NNN", `"NNN" does not exist`},
		{"POST /purges: 199", "a status is between 200 and 599"},
		{"POST /pürges: 503 x0", `"x0": only after-commit`},
		{"POST /purges: 503 xx", `"xx": only after-commit`},
		{"POST /purges: 503 @0", `"@0": only after-commit`},
		{"POST /purges: 503 0%", `"0%": only after-commit`},
		{"POST /purges: 503 after", `"after": only after-commit`},
		{"POST /purges: drop plain", `"plain": only after-commit`},
		{"GET *: partial-list-paged", `"partial-list-paged": write partial-list-paged=N`},
		{"GET *: partial-list=3MB", `"partial-list=3MB": write partial-list=N`},
		{"GET *: partial-list=99999999999", "write partial-list=N"},
		{"GET *: drop=1", `"drop=1": write drop`},
		{"GET *: delay", "write delay=TIME, where N is a number, TIME is such as 300ms"},
		{"GET *: partial-list=-1", "write partial-list=N"},
		{"GET *: redirect", `"redirect": write redirect=URL`},
		{"GET *: partial-list", "write partial-list=N"},
		{"GET *: clock=soon", "write clock=TIME"},
	} {
		err := s.AddFaults("GET *: 503", tc.rule)
		if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.HasSuffix(err.Error(), Grammar) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", tc.rule, err)
		}
	}
	if got := s.PendingFaults(); len(got) != 0 {
		t.Errorf("waiting: %v", got)
	}
}

func TestProbabilityOfFaults(t *testing.T) {
	strikes := func(rule string) (n int) {
		f, err := parseFault(rule, FaultKinds())
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if f.countRequest() {
				n++
			}
		}
		return n
	}
	if n := strikes("GET *: 503 5%"); n < 10 || n > 120 {
		t.Errorf("5%% of 1000 are %d", n)
	}
	if n := strikes("GET *: 503 50% @901"); n < 15 || n > 85 {
		t.Errorf("50%% of the last 100 are %d", n)
	}
}

package fault

import (
	"strings"
	"testing"
	"time"
)

const cdns = "/delivery/v2.1/global/workspaces/5a1d/cdns"

func TestPathsOfFaults(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"*", cdns, true},
		{"/cdns", cdns + "/shop", true},
		{"/purges", cdns, false},
		{"*/cdns", cdns, true},
		{"*/cdns", cdns + "/shop", false},
		{"*/cdns/*", cdns + "/shop", true},
		{"*/cdns/*", cdns, false},
		{"/delivery/*/shop", cdns + "/shop", true},
		{"/elsewhere/*/shop", cdns + "/shop", false},
		{"*a*b*", "xaxb", true},
		{"*a*b*", "xbxa", false},
		{"a*a", "a", false},
	} {
		if got := matchPath(tc.pattern, tc.path); got != tc.want {
			t.Errorf("%s of %s: %t", tc.pattern, tc.path, got)
		}
	}
}

// A rule that can't be read changes nothing; its error names the word and
// shows the grammar, in one line.
func TestGrammarOfFaults(t *testing.T) {
	s, err := New(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ rule, says string }{
		{"POST /purges 503", "write a method (or *) and a path before a colon"},
		{"", "write a method (or *) and a path before a colon"},
		{"/purges: 503", "write a method (or *) and a path before a colon"},
		{"POST /a /b: 503", "write a method (or *) and a path before a colon"},
		{"post /purges: 503", `"post": write the method in capital letters`},
		{"POST /purges:", "\"\": an effect is one of NNN [retry-after=VALUE] [reason=WORD] [message=TEXT] [field=PATH] [plain], drop, reset"},
		{"POST /purges: 5O3", `"5O3": an effect is one of`},
		{"POST /purges: 99", `"99": an effect is one of`},
		{"POST /purges: 199", `"199": a status is between 200 and 599`},
		{"POST /pürges: 503 x0", `"x0": write a number, at least 1`},
		{"POST /purges: 503 xx", `"xx": write a number, at least 1`},
		{"POST /purges: 503 @0", "write a number, at least 1"},
		{"POST /purges: 503 0%", "a probability is above 0"},
		{"POST /purges: 503 NaN%", "a probability is above 0"},
		{"POST /purges: 503 seed=-1", "a seed is a number without a sign"},
		{"POST /purges: 503 after", `"after": only before-commit`},
		{"GET *: huge", "\"\": a size is a number of bytes"},
		{"GET *: huge 3MB", "a size is a number of bytes"},
		{"GET *: huge 9999999999GiB", "a size is a number of bytes"},
		{"GET *: huge 1MiB before-commit", "this effect always comes after the commit"},
		{"GET *: delay", "write a time such as 300ms"},
		{"GET *: delay -1s", "write a time such as 300ms"},
		{"GET *: drip 10B", "a drip is a size and a time"},
		{"GET *: drip 0/1s", "a drip is a size and a time"},
		{"GET *: truncate", "or half"},
		{"GET *: redirect", `"": the URL is missing`},
		{"GET *: partial-list", "write a number of objects"},
		{"GET *: clock 25h", "write a time with a sign, such as +25h or -7m"},
		{"GET *: clock", "write a time with a sign"},
	} {
		err := s.Fault("GET *: 503", tc.rule)
		if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.HasSuffix(err.Error(), Grammar) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", tc.rule, err)
		}
	}
	if got := s.Faults(); len(got) != 0 {
		t.Errorf("waiting: %v", got)
	}
}

// The same seed strikes at the same requests.
func TestProbabilityHasASeed(t *testing.T) {
	strikes := func(rule string) string {
		r, err := parseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for range 1000 {
			out.WriteByte("-x"[map[bool]int{true: 1}[r.due()]])
		}
		return out.String()
	}
	first := strikes("GET *: 503 5%")
	if n := strings.Count(first, "x"); n < 25 || n > 80 {
		t.Errorf("5%% of 1000 are %d", n)
	}
	if first != strikes("GET *: 503 5%") {
		t.Error("the same rule strikes otherwise")
	}
	if first == strikes("GET *: 503 5% seed=2") || first == strikes("GET *: drop 5%") {
		t.Error("another rule strikes the same")
	}
	if n := strings.Count(strikes("GET *: 503 50% @901"), "x"); n < 20 || n > 80 {
		t.Errorf("50%% of the last 100 are %d", n)
	}
}

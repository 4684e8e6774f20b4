package plan_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatIsServedNoLonger: a line says what its CDN stops serving.
func TestWhatIsServedNoLonger(t *testing.T) {
	const host = "{hostname: h.example.com, locations: [%s]}"
	for name, tt := range map[string]struct{ live, git, want string }{
		"a path that another covers":   {`{path: /a/*}, {path: /*}`, `{path: /*}`, ""},
		"one that several cover":       {`{path: /a/b/*}, {path: /a/*}, {path: /*}`, `{path: /a/*}, {path: /*}`, ""},
		"one that none covers":         {`{path: /a/*}, {path: /b/*}`, `{path: /b/*}`, "/a/*: not h.example.com/a/*"},
		"one that is covered in part":  {`{path: /a/*}, {path: /a/b}`, `{path: /a/b}`, "/a/*: not h.example.com/a/* outside /a/b"},
		"a single path":                {`{path: /a}, {path: /a/*}`, `{path: /a/*}`, "/a: not h.example.com/a"},
		"a single path below a prefix": {`{path: /ab}, {path: /a*}`, `{path: /a*}`, ""},
		"a star in the middle":         {`{path: /a}, {path: "/*/x"}`, `{path: "/*/x"}`, ""},
		"another host":                 {`{path: /a/*, host: x.example.com}, {path: /*, host: y.example.com}`, `{path: /*, host: y.example.com}`, "/a/*: not x.example.com"},
		"any host":                     {`{path: /a/*, host: x.example.com}, {path: /*}`, `{path: /*}`, "/a/*: not x.example.com"},
		"any host, and then one":       {`{path: /a/*}, {path: /*, host: y.example.com}`, `{path: /*, host: y.example.com}`, "/a/*: not h.example.com/a/*"},
		"a host with a star":           {`{path: /a/*, host: x.example.com}, {path: /*, host: "*.example.com"}`, `{path: /*, host: "*.example.com"}`, ""},
		"a renamed path":               {`{path: /a/*}, {path: /*}`, `{path: /b/*}, {path: /*}`, ""},
		"a renamed path that is lost":  {`{path: /a/*, upstream: o}`, `{path: /b/*, upstream: o}`, "locations[/b/*].path: not h.example.com/a/*"},
		"a renamed host":               {`{path: /a, host: x.example.com}, {path: /b, host: x.example.com}`, `{path: /a, host: y.example.com}, {path: /b, host: y.example.com}`, "locations.host: not x.example.com"},
		"a renamed host of a part": {
			`{path: /a, host: x.example.com}, {path: /*, host: x.example.com, upstream: o}`, `{path: /a, host: y.example.com}, {path: /*, host: x.example.com, upstream: o}`,
			"",
		},
		"one that only unknown hosts reach":   {`{path: /*, host: h.example.com}, {path: /*}`, `{path: /*, host: h.example.com}`, ""},
		"a host, with all its paths":          {`{path: /a, host: x.example.com}, {path: /*}`, `{path: /*}`, "/a: not x.example.com"},
		"a host, with a wide path first":      {`{path: /*, host: x.example.com}, {path: /a, host: x.example.com}, {path: /*}`, `{path: /*}`, "/a: not x.example.com\nx.example.com/*: not x.example.com"},
		"a host, with a wide path last":       {`{path: /a, host: x.example.com}, {path: /*, host: x.example.com}, {path: /*}`, `{path: /*}`, "/a: not x.example.com\nx.example.com/*: not x.example.com"},
		"wide and narrow paths, wide first":   {`{path: /a/*}, {path: /a/b}, {path: /c}`, `{path: /c}`, "/a/*: not h.example.com/a/*\n/a/b: not h.example.com/a/*"},
		"wide and narrow paths, wide last":    {`{path: /a/b}, {path: /a/*}, {path: /c}`, `{path: /c}`, "/a/*: not h.example.com/a/*\n/a/b: not h.example.com/a/*"},
		"a hostname that a location has, too": {`{path: /s/*, host: h.example.com}, {path: /*}`, `{path: /s/*, host: h.example.com}`, "/*: not h.example.com/* outside /s/*"},
		"a renamed host and path":             {`{path: /a, host: x.example.com, upstream: o, action: p}, {path: /*}`, `{path: /b, host: y.example.com, upstream: o, action: p}, {path: /*}`, "/a: not x.example.com"},
		"a host that moves below a star":      {`{path: /a, host: x.example.com}, {path: /*}`, `{path: /b, host: "*.example.com"}, {path: /*}`, ""},
		"no change":                           {`{path: /a}`, `{path: /a}`, ""},
	} {
		live, want := fmt.Sprintf(host, tt.live), fmt.Sprintf(host, tt.git)
		if got := notServed(t, live, want); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	renamed := `{hostname: i.example.com, locations: [{path: /a, host: i.example.com}, {path: /*}]}`
	for live, want := range map[string]string{
		`{hostname: h.example.com, locations: [{path: /a, host: h.example.com}, {path: /*}]}`:                      "hostname: not h.example.com",
		`{hostname: I.Example.com., locations: [{path: /a, host: i.example.com}, {path: /*}, {path: /b}]}`:         "",
		`{hostname: h.example.com, locations: [{path: /a, host: h.example.com}, {path: /*, host: j.example.com}]}`: "hostname: not h.example.com\nlocations[/*].host: not j.example.com",
	} {
		if got := notServed(t, live, renamed); got != want {
			t.Errorf("%s: %q, want %q", live, got, want)
		}
	}
}

func notServed(t *testing.T, live, want string) string {
	t.Helper()
	var lines []string
	for _, l := range git(t, cdn("shop", want)).has(shop, live).applied(shop, live).item(shop).Lines() {
		path := l.Path
		if name, is := strings.CutSuffix(path, "]"); is {
			path = strings.TrimPrefix(name, "locations[")
		}
		if len(l.Unserved) > 0 {
			lines = append(lines, path+": not "+strings.Join(l.Unserved, " "))
		}
	}
	return strings.Join(lines, "\n")
}

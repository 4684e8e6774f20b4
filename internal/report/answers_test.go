package report

import (
	"strconv"
	"strings"
	"testing"

	"trueup/internal/plan"
	"trueup/internal/route"
)

// TestBriefPlanCountsChanges that it does not list. Others list them, with all classes that have a change in common.
func TestBriefPlanCountsChanges(t *testing.T) {
	a := &plan.Answers{Hostname: "h", Classes: 20, Changed: 9}
	for i := range 8 {
		a.Groups = append(a.Groups, plan.RequestGroup{
			Pattern: "/" + strconv.Itoa(i), Effect: plan.Answered, Hosts: []string{"h"}, Except: []string{"/" + strconv.Itoa(i+1)},
			Answers: []plan.Answer{{Differences: []route.Difference{
				{What: "CORS", Before: "on", After: "off"}, {What: "level", Before: strconv.Itoa(i), After: "x"}, {What: "headers", Before: strconv.Itoa(i), After: "y"},
			}}},
		})
	}
	text := func(opts Options) string {
		var lines []string
		for _, n := range answerNotes(plan.Item{Answers: a}, opts) {
			lines = append(lines, n.Text.String())
		}
		return strings.Join(lines, "\n")
	}
	const head, first, own = "requests: 9 of 20 classes change\n", "  /0, /1, /2 and 5 more except /8: CORS on → off\n", "  /0 except /1, such as : level 0 → x; headers 0 → y\n"
	if got := text(Options{Brief: true}); !strings.HasPrefix(got, head+first+own) || !strings.HasSuffix(got, "\n  and 4 more changes; -v lists them") {
		t.Error(got)
	}
	if got := text(Options{}); !strings.HasPrefix(got, head+"  /0, /1, /2, /3, /4, /5, /6, /7 except /8: CORS on → off\n"+own) {
		t.Error(got)
	}
	a.Groups[7].Hosts = []string{"x", "y"}
	if got := text(Options{Brief: true}); !strings.Contains(got, "  /0, /1, /2 and 4 more of h except /7: CORS on → off\n  h/0 except ") {
		t.Error(got)
	}
	a.More = 3
	if got := text(Options{}); !strings.HasSuffix(got, "\n  /7 of x, y except /8, such as : CORS on → off; level 7 → x; headers 7 → y\n  and 3 classes, too many to list") {
		t.Error(got)
	}
	a.Groups = a.Groups[:5]
	if got := text(Options{Brief: true}); !strings.Contains(got, "  /4 except /5, such as : level 4") {
		t.Errorf("a line for one change instead of the change: %s", got)
	}
}

// TestUnservedClasses: what may still serve a class, or may not reach the CDN at all, is said with it.
func TestUnservedClasses(t *testing.T) {
	group := func(pattern string) plan.RequestGroup {
		return plan.RequestGroup{Pattern: pattern, Effect: plan.Unserved, Answers: []plan.Answer{{Before: "a", After: "nothing"}}}
	}
	a, b, elsewhere, unless := group("/a"), group("/b"), group("/*"), group("/c")
	elsewhere.Elsewhere, unless.Unless = true, []string{"/*d", "/*e"}
	gone := a
	gone.Hosts, gone.Apart = []string{"x"}, true
	item := plan.Item{Answers: &plan.Answers{Classes: 9, Changed: 5, Groups: []plan.RequestGroup{gone, a, b, elsewhere, unless}}}
	want := []string{
		"requests: 5 of 9 classes change", "  all of x: no longer served", "  /a, /b: no longer served", "  for other hosts, /*: no longer served; before, a",
		"  /c: no longer served, unless /*d, /*e matches; before, a",
	}
	for i, n := range answerNotes(item, Options{}) {
		if got := n.Text.String(); got != want[i] {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
}

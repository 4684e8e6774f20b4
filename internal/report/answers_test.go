package report

import (
	"strconv"
	"strings"
	"testing"

	"trueup/internal/plan"
	"trueup/internal/route"
)

// TestBriefPlanCountsClasses that it does not list: of each host. Others list them.
func TestBriefPlanCountsClasses(t *testing.T) {
	a := &plan.Answers{Hostname: "h", Classes: 20, Changed: 9}
	for i := range 8 {
		a.Groups = append(a.Groups, plan.RequestGroup{
			Pattern: "/" + strconv.Itoa(i), Effect: plan.Answered, Hosts: []string{"h"},
			Answers: []plan.Answer{{Differences: []route.Difference{{What: "CORS", Before: "on", After: "off"}}}},
		})
	}
	text := func(opts Options) string {
		var lines []string
		for _, n := range answerNotes(plan.Item{Answers: a}, opts) {
			lines = append(lines, n.Text.String())
		}
		return strings.Join(lines, "\n")
	}
	if got := text(Options{Brief: true}); !strings.HasPrefix(got, "requests: 9 of 20 classes change\n  /0: CORS on → off\n") || !strings.HasSuffix(got, "\n  /4: CORS on → off\n  and 3 classes; -v lists them") {
		t.Error(got)
	}
	a.Groups[7].Hosts = []string{"x", "y"}
	if got := text(Options{Brief: true}); !strings.Contains(got, "\n  h/0: CORS") || !strings.HasSuffix(got, "\n  and 4 classes; -v lists them") {
		t.Error(got)
	}
	a.More = 3
	if got := text(Options{}); !strings.HasSuffix(got, "\n  /7 of x, y: CORS on → off\n  and 3 classes, too many to list") {
		t.Error(got)
	}
	a.Groups = a.Groups[:6]
	if got := text(Options{Brief: true}); !strings.Contains(got, "/5") {
		t.Errorf("a line for one class instead of the class: %s", got)
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

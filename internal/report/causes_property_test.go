package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/view"

	"pgregory.net/rapid"

	"trueup/internal/merge"
	"trueup/internal/plan"
)

// saidIn returns the name of the cause that a line says, or "". The words come from manifests and live
// only after those of the cause.
func saidIn(line string) string {
	for _, c := range []struct{ words, name string }{
		{"conflict: ", "in conflict"},
		{"by this change", "this change"},
		{"origin unknown", "of unknown origin"},
		{"outside git", "drift"},
		{"not in git now, ", "not in git now"},
		{"newly managed", "newly managed"},
		{"pending", "pending"},
		{"this change", "this change"},
		{"the server did not keep it", "not kept by the server"},
	} {
		if strings.Contains(line, c.words) {
			return c.name
		}
	}
	return ""
}

// giveCause gives an object a cause that a plan may have for it.
func giveCause(it *plan.Item, n int) {
	it.By = []plan.ChangeOrigin{"", plan.ByThisChange}[n%2]
	switch it.Op {
	case plan.Delete, plan.Kept:
		if it.Cause = plan.FromRemoval; it.By != "" {
			it.Cause, it.Path = plan.FromThisChange, ""
		}
	case plan.Patch, plan.None:
		return
	case plan.Create, plan.Post, plan.Blocked, plan.Deferred, plan.InFlight:
		it.Cause = []plan.Cause{plan.FromPending, plan.FromThisChange}[n%2]
	}
	it.Resend, it.Recreate = it.Op == plan.Post && n%5 == 0, it.Op == plan.Create && n%5 == 0
	if n%3 == 0 && (it.Op == plan.Create || it.Op == plan.Kept || it.Op == plan.Blocked) {
		it.Cause, it.By, it.Deleted, it.Reason = plan.FromDrift, "", true, "deleted outside git"
		it.Happened = n%7 == 0 && it.Op != plan.Kept
	}
}

// TestCausesEqualTheLines: the causes that a report counts are those that its lines say, in every format that has both.
func TestCausesEqualTheLines(t *testing.T) {
	order := []string{"this change", "pending", "newly managed", "not in git now", "drift", "in conflict", "not kept by the server", "of unknown origin"}
	long.SetChecks(t, 50)
	chip := regexp.MustCompile(`name="why" value="[^"]*"> ([^<]*) <span class="n">(\d+)<`)
	rapid.Check(t, func(rt *rapid.T) {
		doc := anyDocument().Draw(rt, "document")
		doc.Plan.Settings, doc.Plan.Advice = nil, nil
		for i := range doc.Plan.Items {
			it := &doc.Plan.Items[i]
			it.Reason = "some reason"
			it.Changes = slices.DeleteFunc(it.Changes, func(c plan.Change) bool { return !plan.IsShown(c.Class) })
			for j := range it.Changes {
				it.Changes[j].Left = it.Changes[j].Class == merge.DriftOverwrite && rapid.IntRange(0, 2).Draw(rt, "left") == 0
			}
			giveCause(it, rapid.IntRange(0, 99).Draw(rt, "cause"))
		}
		opts := view.TextOptions{Width: 400, Verbose: rapid.Bool().Draw(rt, "verbose")}
		said := map[string]int{}
		for _, item := range doc.Plan.Items {
			for _, r := range view.NewObjectView(item, opts).Lines() {
				said[saidIn(r.Cause.String()+"\n"+onlyOf(r).String())]++
			}
		}
		var want []string
		for _, name := range order {
			if said[name] > 0 {
				want = append(want, fmt.Sprintf("%d %s", said[name], name))
			}
		}
		if got := view.DescribeTallies(view.CountCauses(doc.Plan, opts)).String(); got != strings.Join(want, ", ") {
			rt.Fatalf("the causes are %q, and the lines say %q in\n%s", got, want, render(t, "text", doc, opts))
		}
		format := rapid.SampledFrom([]string{"text", "markdown", "html"}).Draw(rt, "format")
		out := string(render(t, format, doc, opts))
		found := strings.Contains(out, "\nCauses: "+strings.Join(want, ", ")+".\n")
		if format == "html" {
			var chips []string
			for _, m := range chip.FindAllStringSubmatch(out, -1) {
				chips = append(chips, m[2]+" "+m[1])
			}
			found = slices.Equal(chips, want) || len(want) == 1 // one is no choice
		}
		if len(want) > 0 && !found {
			rt.Fatalf("%s does not say %q:\n%s", format, want, out)
		}
	})
}

// onlyOf returns the words about an object as a whole.
func onlyOf(r view.Row) safeText {
	if r.Line == 0 && r.Facts == nil && !r.Moved {
		return r.Path
	}
	return safeText{}
}

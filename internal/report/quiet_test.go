package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// TestWarningsOfWhatStaysAreCounted, but for errors, what changes, what is about a file as a whole, and where all was asked for.
func TestWarningsOfWhatStaysAreCounted(t *testing.T) {
	doc := Document{Command: "plan", Plan: &plan.Plan{Items: []plan.Item{
		{Key: kind.Key{Kind: "CDN", Name: "new"}, Path: "b.yaml", Line: 11, Op: plan.Create},
		{Key: kind.Key{Kind: "CDN", Name: "old"}, Path: "b.yaml", Line: 1, Op: plan.None},
	}}}
	add := func(severity diag.Severity, rule, path string, line int) {
		doc.Findings = append(doc.Findings, diag.Finding{
			Path: path, Line: line, Column: 3, Rule: rule, Severity: severity, Field: "spec.hostname", Message: fmt.Sprint(rule, line),
		})
	}
	for line := 2; line < 8; line++ {
		add(diag.Warning, "many", "b.yaml", line)
	}
	add(diag.Warning, "many", "b.yaml", 12)
	add(diag.Warning, "many", "b.yaml", 0)
	for line := 2; line < 5; line++ {
		add(diag.Warning, "few", "b.yaml", line)
	}
	for line := 2; line < 7; line++ {
		add(diag.Error, "wrong", "a.yaml", line)
	}
	texts := func(opts view.TextOptions) string {
		var all []string
		for _, f := range shownFindings(doc, opts) {
			all = append(all, f.Message)
		}
		return strings.Join(all, " | ")
	}
	const want = "many12 | many0 | wrong2 | wrong3 | wrong4 | wrong5 | wrong6"
	if got := texts(view.TextOptions{}); got != want {
		t.Errorf("shown are %s", got)
	}
	if got := unrelatedWarnings(doc, view.TextOptions{}); len(got) != 1 || !strings.HasPrefix(got[0].String(), "9 warnings about objects that this plan does not change:") {
		t.Errorf("counted are %v", got)
	}
	if got := len(shownFindings(doc, view.TextOptions{Verbose: true})); got != len(doc.Findings) {
		t.Errorf("-v shows %d of %d", got, len(doc.Findings))
	}
	var b bytes.Buffer
	if err := writeJSON(&b, doc, view.TextOptions{}); err != nil || strings.Count(b.String(), `"rule": "many"`) != 8 {
		t.Errorf("JSON has not all: %v %s", err, b.String())
	}
	doc.Plan = nil
	if got := len(shownFindings(doc, view.TextOptions{})); got != len(doc.Findings) {
		t.Errorf("validate shows %d of %d", got, len(doc.Findings))
	}
}

// TestBriefPlanLeavesOutWhatNeedsNoDecision, names removed objects once, and counts quiet warnings. With
// --prune the reasons why objects stay are shown.
func TestBriefPlanLeavesOutWhatNeedsNoDecision(t *testing.T) {
	gone := func(name string) plan.Item {
		return plan.Item{Key: kind.Key{Kind: "CDN", Name: name}, Op: plan.Kept, Cause: plan.FromRemoval, Reason: "it stays live"}
	}
	doc := Document{Command: "plan", Plan: &plan.Plan{
		Digest: "sha256:1", Items: []plan.Item{gone("a"), gone("b"), {Key: kind.Key{Kind: "CDN", Name: "old"}, Path: "a.yaml", Line: 1, Op: plan.None}},
		Notes: []string{plan.UnseenLedger, "another note"},
		Blame: &plan.ComparedCommits{Problem: "nothing to compare with", Fix: "--base-ref REF"},
	}}
	doc.Findings = diag.List{{Path: "a.yaml", Line: 2, Rule: "some", Severity: diag.Warning, Message: "quiet"}}
	doc.Plan.Summary = plan.Summary{Kept: 2, Unchanged: 1}
	noise := []string{"Digest", "Causes", "nothing to compare with", "--base-ref", plan.UnseenLedger, "it stays live"}
	text := func(opts view.TextOptions) string { return string(render(t, "text", doc, opts)) }
	full, brief := text(view.TextOptions{}), text(view.TextOptions{Brief: true})
	for _, want := range noise {
		if strings.Contains(brief, want) || !strings.Contains(full, want) {
			t.Errorf("%q belongs to the full plan alone:\n%s", want, brief)
		}
	}
	for _, want := range []string{"still live: CDN a, CDN b. The platform documents no deletion of a CDN: delete it in the web console. trueup ledger forget", "Note: 1 warning about", "another note"} {
		if strings.Count(brief, want) != 1 {
			t.Errorf("the brief plan does not say %q once:\n%s", want, brief)
		}
	}
	doc.Plan.Items[1].Kind = "VolumeSnapshot"
	if got := text(view.TextOptions{Brief: true}); !strings.Contains(got, "no deletion of a CDN") || !strings.Contains(got, "--prune shows each VolumeSnapshot that can be deleted.") {
		t.Errorf("what can be done depends on the kind:\n%s", got)
	}
	doc.Plan.Items[0].By = plan.ByThisChange
	if got := text(view.TextOptions{Brief: true}); strings.Count(got, "it stays live") != 1 {
		t.Errorf("what this change removes needs a line of its own:\n%s", got)
	}
	doc.Plan.Options = map[string]any{"prune": true}
	if got := text(view.TextOptions{Brief: true}); strings.Count(got, "it stays live") != 2 {
		t.Errorf("--prune does not say why objects stay:\n%s", got)
	}
	doc.Plan.Blame.Ref = "main"
	if got := text(view.TextOptions{Brief: true}); !strings.Contains(got, "nothing to compare with") {
		t.Errorf("the problem of a base that was found is missing:\n%s", got)
	}
}

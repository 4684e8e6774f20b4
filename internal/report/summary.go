package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// putTitle puts a title, which may be empty, before a sentence.
func putTitle(title string, sentence safeText) safeText {
	return safetext.Join(safetext.NonEmpty(clean(title), sentence), ": ")
}

// titleOf returns the words before the sentence of counts: the command, or what show and status show, and the number of
// its projects if there are many.
func titleOf(doc Document) string {
	name := doc.Command
	if doc.Plan != nil && doc.Apply == nil && name != "drift" {
		name = "plan"
	}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz ") != "" {
		return ""
	}
	title := strings.ToUpper(name[:1]) + name[1:]
	if doc.Projects != nil {
		title += " of " + safetext.Count(len(doc.Projects), "project").String()
	}
	return title
}

// summaryOf returns the title of a document, its sentence of counts, and what a plan says of drift and the results of
// many projects.
func summaryOf(doc Document) (title string, lede, sub safeText) {
	lede = countsOf(doc)
	if doc.Plan != nil && doc.Apply == nil {
		if doc.Command != "drift" && doc.Plan.Summary.Drifted > 0 {
			sub = view.CountSentence("", view.CountDrift(doc.Plan))
		}
		if doc.Tests != nil {
			sub = view.JoinSentences(sub, putTitle("Tests", testCounts(doc.Tests)))
		}
	}
	if doc.Projects != nil && len(doc.Projects) == 0 && !doc.Fleet.headline().Empty() {
		lede = safeText{} // nothing is selected, which does not say what a reader must know
	}
	return titleOf(doc), view.JoinSentences(doc.Fleet.headline(), lede), view.JoinSentences(sub, projectResults(doc.Projects))
}

// runSummary sums up the run in one line.
func runSummary(doc Document) safeText {
	title, lede, sub := summaryOf(doc)
	text := putTitle(title, view.JoinSentences(lede, sub))
	if doc.Apply == nil && doc.Plan == nil && doc.Projects == nil && len(doc.Errors) > 0 {
		text = safetext.F("The run stopped: %s.", safetext.Count(len(doc.Errors), "error"))
	}
	if doc.Plan != nil && doc.Plan.Offline {
		text = safetext.F("%s Offline: git was compared with git.", text)
	}
	if doc.Plan != nil && doc.Plan.Digest != "" {
		text = safetext.F("%s Digest %s.", text, clean(doc.Plan.Digest).Truncate(view.MaxPath))
	}
	if doc.Sandbox {
		text = safetext.F("%s %s.", text, Banner)
	}
	return text
}

func keyWidth(r *apply.Result) int {
	column := 0
	for _, o := range r.Outcomes {
		column = growColumn(column, view.FormatKey(o.Key).Width(), maxAlign)
	}
	return column
}

// fact is a line about a plan as a whole, such as its workspace.
type fact struct {
	Name   string
	Values []safeText
	// Words are prose, and Values are names that a reader may copy.
	Words safeText
}

func (f fact) empty() bool { return len(f.Values) == 0 && f.Words.Empty() }

// targetFacts returns where the plan sends requests, and the ledger that records them.
func targetFacts(doc Document) []fact {
	pl := doc.Plan
	workspace := clean(pl.Target.Workspace.Name)
	if uuid := pl.Target.Workspace.UUID; uuid != "" {
		workspace = safetext.Join(safetext.NonEmpty(workspace, safetext.F("(%s)", uuid)), " ")
	}
	var origins []safeText
	for _, area := range slices.Sorted(maps.Keys(pl.Target.Origins)) {
		origin := clean(pl.Target.Origins[area])
		if !doc.Sandbox && !slices.Contains(origins, origin) { // the banner names the sandbox
			origins = append(origins, origin)
		}
	}
	facts := []fact{
		{Name: "Workspace", Values: safetext.NonEmpty(workspace)},
		{Name: "Platform", Values: safetext.NonEmpty(origins...)},
		{Name: "Ledger", Values: safetext.NonEmpty(clean(cmp.Or(pl.LedgerStore, pl.Ledger)))},
	}
	return slices.DeleteFunc(facts, fact.empty)
}

// countsOf returns the sentence that counts what a document shows, the same in every format.
func countsOf(doc Document) safeText {
	switch {
	case doc.Plan == nil && doc.Apply == nil && doc.HasOwnText() && len(doc.Findings) == 0 && doc.Tests == nil:
		return clean(doc.Result)
	case doc.Projects != nil && len(doc.Projects) == 0:
		return view.CountSentence("nothing selected", nil)
	case doc.Apply != nil:
		return view.CountSentence("nothing to do", view.CountOutcomes(doc.Apply))
	case doc.Plan == nil:
		return findingCounts(doc)
	case doc.Command == "drift":
		changed := [...]string{"changed", "is known to have changed"}[view.OneIf(doc.Plan.LedgerProblem != "")]
		outside := view.CountSentence("nothing that git manages "+changed+" outside git", append(view.CountDrift(doc.Plan), view.CountUnaffected(doc.Plan.Summary)...))
		if !view.HasWaiting(doc.Plan) {
			return outside
		}
		return view.JoinSentences(outside, putTitle("Not applied", view.CountSentence("", view.CountToSend(doc.Plan))))
	}
	parts := view.CountPlan(doc.Plan)
	if doc.Findings.HasErrors() && len(doc.Projects) == 0 { // the other projects send theirs
		return safetext.F("trueup sends nothing while there are errors, %s", view.CountSentence("nothing to do", parts))
	}
	return view.CountSentence("nothing to do", parts)
}

// testCounts returns the sentence that counts the results of request tests.
func testCounts(t *requesttest.TestResults) safeText {
	return view.CountSentence("no request tests", []view.Count{
		{N: t.Failed, Words: view.Pluralize(t.Failed, "request") + " failed"},
		{N: t.Passed, Words: "passed"},
	})
}

// findingCounts returns the sentence that counts the errors, the findings and the manifests.
func findingCounts(doc Document) safeText {
	if t := doc.Tests; t != nil {
		return testCounts(t)
	}
	errors, warnings, advice := doc.Findings.Count(diag.Error)+len(doc.Errors), doc.Findings.Count(diag.Warning), doc.Findings.Count(diag.Advice)
	idle := "no findings"
	if doc.Objects == 0 {
		idle += ", 0 objects"
	}
	return view.CountSentence(idle, []view.Count{
		{N: errors, Words: view.Pluralize(errors, "error")},
		{N: warnings, Words: view.Pluralize(warnings, "warning")},
		{N: advice, Words: view.Pluralize(advice, "piece") + " of advice"},
		{N: doc.Objects, Words: view.Pluralize(doc.Objects, "object"), Calm: true},
	})
}

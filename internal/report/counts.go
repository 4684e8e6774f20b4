package report

import (
	"maps"
	"slices"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
)

// count is a number in the sentence of counts, and the words after it.
type count struct {
	n     int
	words string
	// calm is set if nothing happens to what is counted.
	calm bool
	// of has what is counted in it, such as "2 fields"; empty for nothing.
	of safe
}

func (p count) text() safe {
	text := safetext.F("%d %s", p.n, clean(p.words))
	return safetext.Join(safetext.Filled(p.of, text), " of ")
}

// counted returns the sentence of counts. It starts with idle if nothing happens.
func counted(idle string, parts []count) safe {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p count) bool { return p.n == 0 })
	var texts []safe
	if !slices.ContainsFunc(parts, func(p count) bool { return !p.calm }) {
		texts = append(texts, clean(idle))
	}
	for _, p := range parts {
		texts = append(texts, p.text())
	}
	return safetext.F("%s.", safetext.Join(texts, ", "))
}

// countsOf returns the sentence that counts what a document shows, the same in every format.
func countsOf(doc Document) safe {
	switch {
	case doc.Projects != nil && len(doc.Projects) == 0:
		return counted("nothing selected", nil)
	case doc.Apply != nil:
		return counted("nothing to do", outcomeParts(doc.Apply))
	case doc.Plan == nil:
		return findingCounts(doc)
	case doc.Command == "drift":
		changed := [...]string{"changed", "is known to have changed"}[oneIf(doc.Plan.LedgerProblem != "")]
		outside := counted("nothing that git manages "+changed+" outside git", append(driftParts(doc.Plan), calmParts(doc.Plan.Summary)...))
		if !slices.ContainsFunc(doc.Plan.Items, func(item plan.Item) bool { return item.Waits }) {
			return outside
		}
		return sentences(outside, headed("Not applied", counted("", sendParts(doc.Plan))))
	}
	parts := planParts(doc.Plan)
	if doc.Findings.HasErrors() && len(doc.Projects) == 0 { // the other projects send theirs
		return safetext.F("trueup sends nothing while there are errors, %s", counted("nothing to do", parts))
	}
	return counted("nothing to do", parts)
}

// planParts counts the objects of a plan by what apply would do with them.
func planParts(pl *plan.Plan) []count { return append(sendParts(pl), calmParts(pl.Summary)...) }

func sendParts(pl *plan.Plan) []count {
	s, change := pl.Summary, "to change"
	if s.Removed > 0 {
		change += " (" + removals(pl.Items).String() + ")"
	}
	return []count{
		{n: s.Create, words: "to create"},
		{n: s.Change, words: change},
		{n: s.Purge, words: nouns(s.Purge, "purge") + " to post"},
		{n: s.Delete, words: "to delete"},
		{n: s.Deferred, words: "deferred"},
		{n: s.InFlight, words: "in flight elsewhere"},
		{n: s.Blocked, words: "blocked"},
		{n: s.Kept, words: "kept", calm: true},
	}
}

// removals counts what patches take out of live.
func removals(items []plan.Item) safe {
	counts := map[string]int{}
	for _, item := range items {
		countNouns(counts, item, item.Removals())
	}
	return safetext.F("%s removed", inNouns(counts, ", "))
}

// countNouns counts the lines of an item by what they are about: list elements by their title, and fields.
func countNouns(counts map[string]int, item plan.Item, lines []plan.Line) {
	for _, l := range lines {
		for _, p := range l.Parts(item.Kind) {
			counts[p.Noun] += p.N
		}
	}
}

// inNouns lists the counts, with last before the last one.
func inNouns(counts map[string]int, last string) safe {
	var parts []safe
	for _, noun := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, safetext.Count(counts[noun], noun))
	}
	if n := len(parts) - 2; n >= 0 {
		parts = append(parts[:n], safetext.F("%s%s%s", parts[n], last, parts[n+1]))
	}
	return safetext.Join(parts, ", ")
}

func calmParts(s plan.Summary) []count {
	return []count{{n: s.Unchanged, words: "unchanged", calm: true}, {n: s.Unmanaged, words: "not in git", calm: true}}
}

// nouns returns the noun, with an s unless n is 1.
func nouns(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// tableOfDrift has what may have happened outside git: to what an object has, or to it as a whole.
var tableOfDrift = []struct {
	how    string
	causes []plan.Cause
	whole  func(plan.Item) bool
}{
	{how: "changed outside git", causes: []plan.Cause{plan.FromDrift, plan.FromBoth}},
	{how: "not kept by the server", causes: []plan.Cause{plan.FromRefusal}},
	{how: "of unknown origin", causes: []plan.Cause{plan.FromUnknown}},
	{how: "deleted outside git", whole: func(it plan.Item) bool { return it.Deleted }},
	{how: "missing live", whole: plan.Item.Missing},
	{how: "failed on the platform", whole: func(it plan.Item) bool { return it.Failed && !it.Deleted }},
}

// driftParts counts what was changed outside git, or may have been.
func driftParts(pl *plan.Plan) (parts []count) {
	for _, d := range tableOfDrift {
		counts, objects, noun := map[string]int{}, 0, ""
		for _, item := range pl.Items {
			lines := slices.DeleteFunc(item.Lines(), func(l plan.Line) bool { return !slices.Contains(d.causes, l.Cause) })
			if len(lines) == 0 && (d.whole == nil || !d.whole(item)) {
				continue
			}
			countNouns(counts, item, lines)
			objects++
			if name := clean(item.Kind).Cut(maxPath).String(); noun == "" || noun == name {
				noun = name
			} else {
				noun = "object"
			}
		}
		parts = append(parts, count{n: objects, words: nouns(objects, noun) + " " + d.how, of: inNouns(counts, " and ")})
	}
	return parts
}

// outcomeKind is a kind of outcome: its effect, or its status if it is not done.
type outcomeKind struct {
	what string
	// Label is the first column of its lines.
	Label safe
	look
	rule string
}

// tableOfOutcomes has the kinds of outcomes that need a person first.
var tableOfOutcomes = []outcomeKind{
	{string(apply.Failed), clean("failed"), look{alarm, "bad", "✗", ""}, "apply/failed"},
	{string(apply.Blocked), clean("blocked"), look{changed, "bad", "✗", ""}, "apply/blocked"},
	{string(apply.Deferred), clean("deferred"), look{changed, "wait", "●", ""}, "apply/deferred"},
	{string(apply.InFlight), clean("in flight"), look{changed, "wait", "●", ""}, "apply/in-flight"},
	{string(apply.Skipped), clean("skipped"), look{faint, "wait", "●", ""}, "apply/skipped"},
	{string(apply.Created), clean("created"), look{added, "good", "✓", ""}, ""},
	{string(apply.Changed), clean("changed"), look{added, "good", "✓", ""}, ""},
	{string(apply.Posted), clean("posted"), look{added, "good", "✓", ""}, ""},
	{string(apply.Deleted), clean("deleted"), look{added, "good", "✓", ""}, ""},
	{string(apply.Deleting), clean("deleting"), look{added, "good", "✓", ""}, ""},
	{string(apply.Kept), clean("kept"), look{faint, "wait", "●", ""}, ""},
	{string(apply.Unchanged), clean("unchanged"), look{faint, "good", "✓", ""}, ""},
}

// outcomeRank returns the place of an outcome in tableOfOutcomes, or its length for one that is unknown.
func outcomeRank(o apply.Outcome) int {
	i := slices.IndexFunc(tableOfOutcomes, func(k outcomeKind) bool { return k.what == o.What() })
	if i < 0 {
		return len(tableOfOutcomes)
	}
	return i
}

func outcomeKindOf(o apply.Outcome) outcomeKind {
	if i := outcomeRank(o); i < len(tableOfOutcomes) {
		return tableOfOutcomes[i]
	}
	return outcomeKind{Label: clean(o.What()).Cut(maxName)}
}

// outcomeParts counts the outcomes of each kind, in the order of tableOfOutcomes.
func outcomeParts(r *apply.Result) []count {
	parts := make([]count, len(tableOfOutcomes))
	for i := range parts {
		p, what := &parts[i], tableOfOutcomes[i].what
		p.n = r.Summary[what]
		switch what {
		case string(apply.Posted):
			p.words = nouns(p.n, "purge") + " posted"
		case string(apply.InFlight):
			p.words = "in flight elsewhere"
		case string(apply.Deleting):
			p.words = "being deleted"
		default:
			p.words, p.calm = what, what == string(apply.Kept) || what == string(apply.Unchanged)
		}
	}
	return parts
}

// testCounts returns the sentence that counts the results of request tests.
func testCounts(t *requesttest.Result) safe {
	return counted("no request tests", []count{
		{n: t.Failed, words: nouns(t.Failed, "request") + " failed"},
		{n: t.Passed, words: "passed"},
		{n: t.Skipped, words: "skipped"},
	})
}

// findingCounts returns the sentence that counts the errors, the findings and the manifests.
func findingCounts(doc Document) safe {
	if t := doc.Tests; t != nil {
		return testCounts(t)
	}
	errors, warnings := doc.Findings.Count(diag.Error)+len(doc.Errors), doc.Findings.Count(diag.Warning)
	idle := "no findings"
	if doc.Objects == 0 {
		idle += ", 0 objects"
	}
	return counted(idle, []count{
		{n: errors, words: nouns(errors, "error")},
		{n: warnings, words: nouns(warnings, "warning")},
		{n: doc.Objects, words: nouns(doc.Objects, "object"), calm: true},
	})
}

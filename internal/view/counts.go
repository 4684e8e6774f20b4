package view

import (
	"cmp"
	"maps"
	"slices"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// Count is a number in the sentence of counts, and the words after it.
type Count struct {
	N     int
	Words string
	// Calm is set if nothing happens to what is counted.
	Calm bool
	// of has what is counted in it, such as "2 fields"; empty for nothing.
	of safetext.Text
}

// Text returns the number with its words, and what is counted in it.
func (p Count) Text() safetext.Text {
	text := safetext.F("%d %s", p.N, clean(p.Words))
	return safetext.Join(safetext.NonEmpty(p.of, text), " of ")
}

// CountSentence returns the sentence of counts. It starts with idle if nothing happens.
func CountSentence(idle string, parts []Count) safetext.Text {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Count) bool { return p.N == 0 })
	var texts []safetext.Text
	if !slices.ContainsFunc(parts, func(p Count) bool { return !p.Calm }) {
		texts = append(texts, clean(idle))
	}
	for _, p := range parts {
		texts = append(texts, p.Text())
	}
	return safetext.F("%s.", safetext.Join(texts, ", "))
}

// CountPlan counts the objects of a plan by what apply would do with them.
func CountPlan(pl *plan.Plan) []Count { return append(CountToSend(pl), CountUnaffected(pl.Summary)...) }

// CountToSend counts the objects for which apply sends something, or would.
func CountToSend(pl *plan.Plan) []Count {
	s, change := pl.Summary, "to change"
	if s.Removed > 0 {
		change += " (" + countRemovals(pl.Items).String() + ")"
	}
	return []Count{
		{N: s.Create, Words: "to create"},
		{N: s.Change, Words: change},
		{N: s.Purge, Words: Pluralize(s.Purge, "purge") + " to post"},
		{N: s.Delete, Words: "to delete"},
		{N: s.Deferred, Words: "deferred"},
		{N: s.InFlight, Words: "in flight elsewhere"},
		{N: s.Blocked, Words: "blocked"},
		{N: s.Kept, Words: "kept", Calm: true},
	}
}

// HasWaiting reports whether a report of drift shows what git has and live does not.
func HasWaiting(pl *plan.Plan) bool {
	return slices.ContainsFunc(pl.Items, func(item plan.Item) bool { return item.Waits })
}

// countRemovals counts what patches take out of live.
func countRemovals(items []plan.Item) safetext.Text {
	counts := map[string]int{}
	for _, item := range items {
		countNouns(counts, item, item.RemovalLines())
	}
	return safetext.F("%s removed", joinCounts(counts, ", "))
}

// countNouns counts the lines of an item by what they are about: list elements by their title, and fields.
func countNouns(counts map[string]int, item plan.Item, lines []plan.ChangeLine) {
	for _, l := range lines {
		for _, p := range l.Parts(item.Kind) {
			counts[p.Noun] += p.N
		}
	}
}

// joinCounts lists the counts, with last before the last one.
func joinCounts(counts map[string]int, last string) safetext.Text {
	parts := diag.MapList(slices.Sorted(maps.Keys(counts)), func(noun string) safetext.Text { return safetext.Count(counts[noun], noun) })
	if n := len(parts) - 2; n >= 0 {
		parts = append(parts[:n], safetext.F("%s%s%s", parts[n], last, parts[n+1]))
	}
	return safetext.Join(parts, ", ")
}

// CountUnaffected counts the objects to which nothing happens.
func CountUnaffected(s plan.Summary) []Count {
	return []Count{{N: s.Unchanged, Words: "unchanged", Calm: true}, {N: s.Unmanaged, Words: "not in git", Calm: true}}
}

// Pluralize returns the noun, with an s unless n is 1.
func Pluralize(n int, noun string) string {
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
	{how: "missing live", whole: plan.Item.IsReportedMissing},
	{how: "failed on the platform", whole: func(it plan.Item) bool { return it.Failed && !it.Deleted }},
}

// CountDrift counts what was changed outside git, or may have been.
func CountDrift(pl *plan.Plan) (parts []Count) {
	for _, d := range tableOfDrift {
		counts, objects, noun := map[string]int{}, 0, ""
		for _, item := range pl.Items {
			lines := item.LinesCausedBy(d.causes...)
			if len(lines) == 0 && (d.whole == nil || !d.whole(item)) {
				continue
			}
			countNouns(counts, item, splitLiveChanges(lines))
			objects++
			if name := clean(item.Kind).Truncate(MaxPath).String(); noun == "" || noun == name {
				noun = name
			} else {
				noun = "object"
			}
		}
		parts = append(parts, Count{N: objects, Words: Pluralize(objects, noun) + " " + d.how, of: joinCounts(counts, " and ")})
	}
	return parts
}

// OutcomeKind is a kind of outcome: its effect, or its status if it is not done.
type OutcomeKind struct {
	What string
	// Label is the first column of its lines, and words follow its number.
	Label, rule, words string
	calm               bool // nothing happened to the object
}

// TableOfOutcomes has the kinds of outcomes that need a person first.
var TableOfOutcomes = []OutcomeKind{
	{string(apply.Failed), "failed", "apply/failed", "failed", false},
	{string(apply.Blocked), "blocked", "apply/blocked", "blocked", false},
	{string(apply.Deferred), "deferred", "apply/deferred", "deferred", false},
	{string(apply.InFlight), "in flight", "apply/in-flight", "in flight elsewhere", false},
	{string(apply.Skipped), "skipped", "apply/skipped", "skipped", false},
	{string(apply.Created), "created", "", "created", false},
	{string(apply.Changed), "changed", "", "changed", false},
	{string(apply.Posted), "posted", "", "", false},
	{string(apply.Deleted), "deleted", "", "deleted", false},
	{string(apply.Deleting), "deleting", "", "being deleted", false},
	{string(apply.Kept), "kept", "", "kept", true},
	{string(apply.Unchanged), "unchanged", "", "unchanged", true},
}

// CountOutcomes counts the outcomes of each kind, in the order of TableOfOutcomes.
func CountOutcomes(r *apply.Result) []Count {
	return diag.MapList(TableOfOutcomes, func(k OutcomeKind) Count {
		n := r.Summary[k.What]
		return Count{N: n, Words: cmp.Or(k.words, Pluralize(n, "purge")+" posted"), Calm: k.calm}
	})
}

// OutcomeKindOf returns the kind of an outcome, and its place in TableOfOutcomes. One that is unknown comes last.
func OutcomeKindOf(o apply.ItemOutcome) (OutcomeKind, int) {
	if i := slices.IndexFunc(TableOfOutcomes, func(k OutcomeKind) bool { return k.What == o.EffectOrStatus() }); i >= 0 {
		return TableOfOutcomes[i], i
	}
	return OutcomeKind{Label: clean(o.EffectOrStatus()).Truncate(MaxName).String()}, len(TableOfOutcomes)
}

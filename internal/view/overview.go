package view

import (
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

// Notice is something in a plan that a reviewer should not miss, with the objects that have it.
type Notice struct {
	Title safetext.Text
	grave bool
	Keys  []kind.Key
	Names []safetext.Text
}

// More returns how many objects follow the first ones.
func (n Notice) More(shown int) int { return max(0, len(n.Keys)-shown) }

// Notices lists what a plan has, the gravest first.
func Notices(pl *plan.Plan) (all []Notice) {
	// add adds what count finds in objects. says describes it in the first of them, and is nil if the name is enough.
	add := func(grave bool, title func(total int) safetext.Text, count func(plan.Item) int, says func(plan.Item) safetext.Text) {
		n, total := Notice{grave: grave}, 0
		for _, item := range pl.Items {
			here := count(item)
			if here == 0 {
				continue
			}
			name := titleOf(item.Key)
			if says != nil && len(n.Keys) < MaxParts {
				name = safetext.Join(safetext.NonEmpty(name, says(item)), ": ")
			}
			total, n.Keys, n.Names = total+here, append(n.Keys, item.Key), append(n.Names, name)
		}
		if n.Title = title(total); total > 0 {
			all = append(all, n)
		}
	}
	plural := func(one, many string) func(int) safetext.Text {
		return func(n int) safetext.Text { return clean(diag.Plural(n, one, many)) }
	}
	is := func(op plan.Op) func(plan.Item) int {
		return func(item plan.Item) int { return OneIf(item.Op == op) }
	}
	stops := " that a CDN stops serving"
	if slices.ContainsFunc(pl.Items, func(item plan.Item) bool { return item.Happened }) {
		stops = " that a CDN stopped serving"
	}
	add(true, plural("address"+stops, "addresses"+stops), func(item plan.Item) int { return len(unservedBy(item)) },
		func(item plan.Item) safetext.Text { return JoinLimited(cleanAll(unservedBy(item)), ", ") })
	for _, r := range kind.Risks() {
		says := func(item plan.Item) safetext.Text { return factsAtRisk(item, r) }
		if !r.IsGrave() {
			says = nil
		}
		add(true, plural("change that "+r.Meaning(), "changes that "+r.Meaning()), func(item plan.Item) int { return max(0, item.CountWithRisk(r)-CountStopping(item, r)) }, says)
	}
	add(false, plural("blocked", "blocked"), is(plan.Blocked), nil)
	add(false, plural("purge to post", "purges to post"), is(plan.Post), func(item plan.Item) safetext.Text { return countInvalidated(item.Purge) })
	add(false, plural("object to delete", "objects to delete"), is(plan.Delete), nil)
	add(false, func(int) safetext.Text { return countRemovals(pl.Items) }, func(item plan.Item) int { return len(item.RemovalLines()) }, nil)
	add(false, plural("conflict of git and live", "conflicts of git and live"), countCausedBy(plan.FromBoth), nil)
	add(false, plural("change outside git", "changes outside git"), countCausedBy(plan.FromDrift), nil)
	add(false, plural("value not kept by the server", "values not kept by the server"), countCausedBy(plan.FromRefusal), nil)
	return all
}

// factsAtRisk says what changes in an object at a risk: its first lines, and how many follow. It is empty for an object that is made or
// deleted as a whole.
func factsAtRisk(item plan.Item, risk kind.Risk) safetext.Text {
	var facts []safetext.Text
	more := 0
	for _, l := range item.AllLines() {
		switch {
		case l.Risk != risk || l.Left || !plan.IsShown(l.Class) || l.Class == plan.Added || l.Class == plan.Stays || len(l.Unserved) > 0:
			continue // what is served no longer has a sentence of its own
		case len(facts) == maxFacts:
			more++
			continue
		}
		facts = append(facts, factText(rowOf(item, l.Change, nil)))
	}
	if more > 0 {
		facts = append(facts, safetext.Count(more, "more change"))
	}
	return safetext.Join(facts, ", ")
}

// factText returns a row without its cause; if it is long, it says what happened to the place.
func factText(r Row) safetext.Text {
	r.Cause = safetext.Text{}
	fact := RowSentence(r)
	switch isLong := fact.Width() > maxFact || len(r.Details) > 0; {
	case isLong && r.Moved:
		return safetext.F("%s moved", r.Path.Truncate(maxFact))
	case isLong && r.Mark == MarkAdd:
		return safetext.F("%s added", r.Path.Truncate(maxFact))
	case r.Mark == MarkRemove:
		return safetext.F("%s removed", r.Path.Truncate(maxFact))
	case isLong:
		return safetext.F("%s changed", r.Path.Truncate(maxFact))
	}
	return fact
}

// A sentence of risks has so many facts of an object, of so many columns each.
const maxFacts, maxFact = 3, 60

// unservedBy returns what a CDN stops serving, or stopped serving.
func unservedBy(item plan.Item) []string {
	if item.Happened && item.Unserved != "" {
		return append([]string{item.Unserved}, item.UnservedNames()...)
	}
	return item.UnservedNames()
}

// CountStopping counts the lines of a risk that are told as what a CDN stops serving.
func CountStopping(item plan.Item, r kind.Risk) int {
	n := OneIf(r == kind.RiskServes && item.Happened && item.Unserved != "")
	if len(item.Stops) == 0 {
		return n
	}
	for _, l := range item.Lines() {
		n += OneIf(l.Risk == r && len(l.Unserved) > 0)
	}
	return n
}

// OneIf returns 1 if something is so, and 0 otherwise.
func OneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// countCausedBy counts the object and its changes that have the cause.
func countCausedBy(why plan.Cause) func(plan.Item) int {
	return func(item plan.Item) int { return OneIf(item.Cause == why) + len(item.LinesCausedBy(why)) }
}

// NeedsBase reports whether a better base would change what the plan says: it names a commit, or the cause of a change is
// unknown.
func NeedsBase(pl *plan.Plan) bool {
	return pl.Blame != nil && pl.Blame.Ref != "" || slices.ContainsFunc(pl.Items, func(item plan.Item) bool { return countCausedBy(plan.FromUnknown)(item) > 0 })
}

// RisksLine counts the grave changes and names their objects; empty without any.
func RisksLine(pl *plan.Plan) safetext.Text {
	var parts []safetext.Text
	for _, n := range Notices(pl) {
		if n.grave {
			parts = append(parts, safetext.F("%s (%s)", n.Title, JoinLimited(n.Names, ", ")))
		}
	}
	if len(parts) == 0 {
		return safetext.Text{}
	}
	return safetext.F("%s.", safetext.Join(parts, "; "))
}

// CountAdvice counts pieces of advice.
func CountAdvice(n int) safetext.Text {
	return clean(diag.Plural(n, "piece of advice", "pieces of advice"))
}

// Tally is a number and what it counts: Value for filters, Class for CSS.
type Tally struct {
	Value, Name, Class string
	N                  int
}

// CountCauses counts the causes that the lines of a report say.
func CountCauses(pl *plan.Plan, opts TextOptions) []Tally {
	var whys []plan.Cause
	for _, item := range pl.Items {
		if IsHidden(item, opts) {
			continue
		}
		whys = append(whys, objectCause(item))
		for _, l := range item.NotedLines() {
			if plan.IsShown(l.Class) {
				whys = append(whys, l.Cause)
			}
		}
	}
	return countCauses(whys)
}

// tableOfCauses names the causes in the order in which reports list them.
var tableOfCauses = []struct {
	why         plan.Cause
	name, class string
}{
	{plan.FromThisChange, "this change", "plain"},
	{plan.FromPending, "pending", "plain"},
	{plan.FromTakeOver, "newly managed", "plain"},
	{plan.FromRemoval, "not in git now", "plain"},
	{plan.FromDrift, "drift", "alarm"},
	{plan.FromBoth, "in conflict", "alarm"},
	{plan.FromRefusal, "not kept by the server", "alarm"},
	{plan.FromUnknown, "of unknown origin", "plain"},
}

func countCauses(whys []plan.Cause) []Tally {
	n := map[plan.Cause]int{}
	for _, why := range whys {
		n[why]++
	}
	var all []Tally
	for _, c := range tableOfCauses {
		if n[c.why] > 0 {
			all = append(all, Tally{Value: string(c.why), Name: c.name, Class: c.class, N: n[c.why]})
		}
	}
	return all
}

// DescribeTallies lists counts with their names.
func DescribeTallies(tallies []Tally) safetext.Text {
	parts := diag.MapList(tallies, func(t Tally) safetext.Text { return safetext.F("%d %s", t.N, t.Name) })
	return safetext.Join(parts, ", ")
}

// CausesLine returns the causes as a sentence; empty without any.
func CausesLine(pl *plan.Plan, opts TextOptions) safetext.Text {
	if text := DescribeTallies(CountCauses(pl, opts)); !text.Empty() {
		return safetext.F("%s.", text)
	}
	return safetext.Text{}
}

// A brief plan lists the first lines about requests, and names the first hosts and paths of each.
const (
	maxRequestLines = 12
	maxRequestNames = 5
)

// RequestSection is what a plan does to the requests of the site.
type RequestSection struct {
	Title safetext.Text
	Lines []safetext.Text
	// Rank is that of the worst line.
	Rank Rank
}

// NewRequestSection returns the section about requests of a plan; it has no lines if the plan changes no object that answers
// requests.
func NewRequestSection(pl *plan.Plan, opts TextOptions) RequestSection {
	s := RequestSection{Title: clean("Requests that change, the worst first"), Rank: rankChange}
	lines := routing.MergeLines(pl.Requests, true)
	switch {
	case pl.HidesRequests:
	case len(lines) > 0 && lines[0].Drift:
		s.Title = clean("Requests that live answers otherwise than git, the worst first")
	case slices.ContainsFunc(pl.Items, func(it plan.Item) bool { return it.Happened || it.Waits }): // what git changes is not compared
	case len(lines) == 0 && slices.ContainsFunc(pl.Items, plan.Item.ChangesServedObject):
		s.Title, s.Lines = clean("Requests"), []safetext.Text{clean("none is answered in another way")}
	}
	if len(lines) > 0 && lines[0].Effect == routing.Dark {
		s.Rank = rankStops
	}
	s.addLines(lines, opts)
	return s
}

// addLines adds the lines, not all of them if the report is brief.
func (s *RequestSection) addLines(lines []routing.RequestChange, opts TextOptions) {
	names, more := routing.All, 0
	if opts.Brief {
		names = maxRequestNames
		if len(lines) > maxRequestLines+1 {
			lines, more = lines[:maxRequestLines], len(lines)-maxRequestLines
		}
	}
	areSeveral := slices.ContainsFunc(lines, func(l routing.RequestChange) bool {
		return !slices.Equal(l.Objects, lines[0].Objects) || len(l.Objects) > 1
	})
	for _, l := range lines {
		s.Lines = append(s.Lines, DescribeRequests(l, names, areSeveral))
	}
	if more > 0 {
		s.Lines = append(s.Lines, safetext.F("and %d more; -v lists them", more))
	}
}

// DescribeRequests returns a line, with the objects whose change does it if there may be others.
func DescribeRequests(l routing.RequestChange, names int, areSeveral bool) safetext.Text {
	text := clean(l.Sentence(names))
	if !areSeveral {
		return text
	}
	keys := diag.MapList(l.Objects, FormatKey)
	if more := len(keys) - names; more > 1 {
		keys = append(keys[:names], safetext.F("%d more", more))
	}
	return safetext.F("%s [%s]", text, safetext.Join(keys, ", "))
}

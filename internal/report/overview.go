package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// fact is a line about a plan as a whole, such as its workspace.
type fact struct {
	Name   string
	Values []safe
	// Words are prose, and Values are names that a reader may copy.
	Words safe
}

func (f fact) empty() bool { return len(f.Values) == 0 && f.Words.Empty() }

// target returns where the plan sends requests, and the ledger that records them.
func target(doc Document) []fact {
	pl := doc.Plan
	workspace := clean(pl.Target.Workspace.Name)
	if uuid := pl.Target.Workspace.UUID; uuid != "" {
		workspace = safetext.Join(safetext.Filled(workspace, safetext.F("(%s)", uuid)), " ")
	}
	var origins []safe
	for _, area := range slices.Sorted(maps.Keys(pl.Target.Origins)) {
		origin := clean(pl.Target.Origins[area])
		if !doc.Sandbox && !slices.Contains(origins, origin) { // the banner names the sandbox
			origins = append(origins, origin)
		}
	}
	facts := []fact{
		{Name: "Workspace", Values: safetext.Filled(workspace)},
		{Name: "Platform", Values: safetext.Filled(origins...)},
		{Name: "Ledger", Values: safetext.Filled(clean(cmp.Or(pl.LedgerStore, pl.Ledger)))},
	}
	return slices.DeleteFunc(facts, fact.empty)
}

// notice is something in a plan that a reviewer should not miss, with the objects that have it.
type notice struct {
	Title safe
	grave bool
	total int
	Keys  []kind.Key
	Names []safe
}

// More returns how many objects follow the first ones.
func (n notice) More(shown int) int { return max(0, len(n.Keys)-shown) }

// notices lists what a plan has, the gravest first.
func notices(pl *plan.Plan) (all []notice) {
	add := func(n notice, title safe) {
		if n.Title = title; n.Keys != nil {
			all = append(all, n)
		}
	}
	number := func(n notice, noun, rest string) safe {
		return safetext.F("%s %s", safetext.Count(n.total, noun), rest)
	}
	is := func(op plan.Op) func(plan.Item) int {
		return func(item plan.Item) int { return oneIf(item.Op == op) }
	}
	stops := "that a CDN stops serving"
	if slices.ContainsFunc(pl.Items, func(item plan.Item) bool { return item.Happened }) {
		stops = "that a CDN stopped serving"
	}
	n := noticeOf(pl, func(item plan.Item) int { return len(unservedBy(item)) }, func(item plan.Item) safe { return limited(cleanAll(unservedBy(item)), ", ") })
	n.grave = true
	add(n, safetext.F("%s %s", clean(diag.Plural(n.total, "address", "addresses")), stops))
	for _, r := range kind.Risks() {
		at := func(item plan.Item) int { return max(0, item.AtStake(r)-stopping(item, r)) }
		says := func(item plan.Item) safe { return factAt(item, r) }
		if !r.Grave() {
			says = nil
		}
		n = noticeOf(pl, at, says)
		n.grave = true
		add(n, number(n, "change", "that "+r.Meaning()))
	}
	n = noticeOf(pl, is(plan.Blocked), nil)
	add(n, safetext.F("%d blocked", n.total))
	n = noticeOf(pl, is(plan.Post), func(item plan.Item) safe { return invalidated(item.Purge) })
	add(n, number(n, "purge", "to post"))
	n = noticeOf(pl, is(plan.Delete), nil)
	add(n, number(n, "object", "to delete"))
	add(noticeOf(pl, func(item plan.Item) int { return len(item.Removals()) }, nil), removals(pl.Items))
	n = noticeOf(pl, caused(plan.FromBoth), nil)
	add(n, number(n, "conflict", "of git and live"))
	n = noticeOf(pl, caused(plan.FromDrift), nil)
	add(n, number(n, "change", "outside git"))
	n = noticeOf(pl, caused(plan.FromRefusal), nil)
	add(n, number(n, "value", "not kept by the server"))
	return all
}

// noticeOf counts something in the objects of a plan, and says what it is in the first of them.
func noticeOf(pl *plan.Plan, count func(plan.Item) int, says func(plan.Item) safe) (n notice) {
	for _, item := range pl.Items {
		here := count(item)
		if here == 0 {
			continue
		}
		name := titled(item.Key)
		if says != nil && len(n.Keys) < maxParts {
			name = safetext.Join(safetext.Filled(name, says(item)), ": ")
		}
		n.total, n.Keys, n.Names = n.total+here, append(n.Keys, item.Key), append(n.Names, name)
	}
	return n
}

// factAt says what changes in an object at a risk: its first line, and how many follow. It is empty for an object that is made or
// deleted as a whole.
func factAt(item plan.Item, risk kind.Risk) safe {
	lines := slices.DeleteFunc(item.AllLines(), func(l plan.Line) bool {
		return l.Risk != risk || l.Left || !plan.IsShown(l.Class) || l.Class == plan.Added || l.Class == plan.Stays || len(l.Unserved) > 0
	})
	if len(lines) == 0 {
		return safe{}
	}
	r := rowOf(item, lines[0].Change, nil, Options{})
	r.Cause = safe{}
	text := clean(strings.TrimSuffix(sentence(r).String(), ":")).Cut(maxFact)
	if more := len(lines) - 1; more > 0 {
		text = safetext.F("%s and %d more", text, more)
	}
	return text
}

// maxFact is the most columns of a fact in the sentence of risks.
const maxFact = 60

// unservedBy returns what a CDN stops serving, or stopped serving.
func unservedBy(item plan.Item) []string {
	if item.Happened && item.Unserved != "" {
		return append([]string{item.Unserved}, item.StopsServing()...)
	}
	return item.StopsServing()
}

// stopping counts the lines of a risk that are told as what a CDN stops serving.
func stopping(item plan.Item, r kind.Risk) int {
	n := oneIf(r == kind.RiskServes && item.Happened && item.Unserved != "")
	for _, l := range item.ServedLines() {
		n += oneIf(l.Risk == r && len(l.Unserved) > 0)
	}
	return n
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// caused counts the object and its changes that have the cause.
func caused(why plan.Cause) func(plan.Item) int {
	return func(item plan.Item) int {
		n := oneIf(item.Cause == why)
		for _, l := range item.Lines() {
			n += oneIf(l.Cause == why)
		}
		return n
	}
}

// risksLine counts the grave changes and names their objects; empty without any.
func risksLine(pl *plan.Plan) safe {
	var parts []safe
	for _, n := range notices(pl) {
		if n.grave {
			parts = append(parts, safetext.F("%s (%s)", n.Title, limited(n.Names, ", ")))
		}
	}
	if len(parts) == 0 {
		return safe{}
	}
	return safetext.F("%s.", safetext.Join(parts, "; "))
}

func advices(n int) safe { return clean(diag.Plural(n, "piece of advice", "pieces of advice")) }

// tally is a number and what it counts: Value for filters, Class for CSS.
type tally struct {
	Value, Name, Class string
	N                  int
}

// causes counts the causes that the lines of a report say.
func causes(pl *plan.Plan, opts Options) []tally {
	var whys []plan.Cause
	for _, item := range pl.Items {
		if hidden(item, opts) {
			continue
		}
		whys = append(whys, causeSaid(item))
		for _, l := range item.AllLines() {
			if plan.IsShown(l.Class) {
				whys = append(whys, l.Cause)
			}
		}
	}
	return tallied(whys)
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

func tallied(whys []plan.Cause) []tally {
	n := map[plan.Cause]int{}
	for _, why := range whys {
		n[why]++
	}
	var all []tally
	for _, c := range tableOfCauses {
		if n[c.why] > 0 {
			all = append(all, tally{Value: string(c.why), Name: c.name, Class: c.class, N: n[c.why]})
		}
	}
	return all
}

func inWords(tallies []tally) safe {
	parts := make([]safe, len(tallies))
	for i, t := range tallies {
		parts[i] = safetext.F("%d %s", t.N, t.Name)
	}
	return safetext.Join(parts, ", ")
}

// causesLine returns the causes as a sentence; empty without any.
func causesLine(pl *plan.Plan, opts Options) safe {
	text := inWords(causes(pl, opts))
	if !text.Empty() {
		text = safetext.F("%s.", text)
	}
	return text
}

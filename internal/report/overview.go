package report

import (
	"cmp"
	"maps"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// What a report says about a plan as a whole: where requests go, how many there are
// and why, and what a reviewer should not miss.

// fact is a line about a plan, such as its workspace.
type fact struct {
	Name   string
	Values []safe
	// Words are no name that could be copied.
	Words safe
}

func (f fact) empty() bool { return len(f.Values) == 0 && f.Words.Empty() }

// target says where the requests of a plan would go, and what records them.
func target(doc Document) []fact {
	pl := doc.Plan
	workspace := clean(pl.Target.Workspace.Name)
	if uuid := pl.Target.Workspace.UUID; uuid != "" {
		workspace = safetext.Join(safetext.Filled(workspace, safetext.F("(%s)", uuid)), " ")
	}
	var origins []safe
	for _, area := range slices.Sorted(maps.Keys(pl.Target.Origins)) {
		origin := clean(pl.Target.Origins[area])
		if !doc.Sandbox && !slices.Contains(origins, origin) { // of the sandbox, the banner says it
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

// notable is something in a plan that a reviewer should not miss.
type notable struct {
	title func(n int) safe
	// count is how much of it an item has.
	count func(plan.Item) int
	// name says where it is.
	name func(plan.Item) safe
}

// in counts how much of it a plan has, and names the objects.
func (n notable) in(pl *plan.Plan) (total int, names []safe) {
	for _, item := range pl.Items {
		if here := n.count(item); here > 0 {
			total += here
			names = append(names, n.name(item))
		}
	}
	return total, names
}

func counted(noun, rest string) func(int) safe {
	return func(n int) safe { return safetext.F("%s%s", safetext.Count(n, noun), rest) }
}

func itemName(item plan.Item) safe { return titled(item.Key) }

// graveRisks are the grave changes that are sent, by risk.
func graveRisks() []notable {
	var out []notable
	for _, r := range kind.Risks() {
		if r.Grave() {
			out = append(out, notable{counted("change", " that "+r.Meaning()), func(item plan.Item) int { return item.AtStake(r) }, itemName})
		}
	}
	return out
}

func notables() []notable {
	is := func(op plan.Op) func(plan.Item) int {
		return func(item plan.Item) int { return oneIf(item.Op == op) }
	}
	purge := func(item plan.Item) safe {
		return safetext.Join(safetext.Filled(titled(item.Key), invalidated(item.Purge)), ": ")
	}
	return append(graveRisks(), []notable{
		{func(n int) safe { return safetext.F("%d blocked", n) }, is(plan.Blocked), itemName},
		{counted("purge", " to post"), is(plan.Post), purge},
		{counted("object", " to delete"), is(plan.Delete), itemName},
		{counted("value", " removed"), plan.Item.Removals, itemName},
		{counted("conflict", " of git and live"), caused(plan.FromBoth), itemName},
		{counted("change", " outside git"), caused(plan.FromDrift), itemName},
		{counted("value", " not kept by the server"), caused(plan.FromRefusal), itemName},
	}...)
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// caused counts the lines with a cause.
func caused(why plan.Cause) func(plan.Item) int {
	return func(item plan.Item) int {
		n := oneIf(item.Cause == why)
		for _, c := range item.Changes {
			n += oneIf(c.Cause == why)
		}
		return n
	}
}

// risksLine counts the grave changes and names their objects, empty where there are none.
func risksLine(pl *plan.Plan) safe {
	var parts []safe
	for _, n := range graveRisks() {
		if total, names := n.in(pl); total > 0 {
			parts = append(parts, safetext.F("%s (%s)", n.title(total), limited(names, ", ")))
		}
	}
	if len(parts) == 0 {
		return safe{}
	}
	return safetext.F("%s.", safetext.Join(parts, "; "))
}

func advices(n int) safe {
	if n == 1 {
		return clean("1 piece of advice")
	}
	return safetext.F("%d pieces of advice", n)
}

// tally is a number with what it counts, the head of a column, and a class for the page.
type tally struct {
	Value, Short, Name, Class string
	N                         int
}

// causes counts the lines of a plan that are shown by cause.
func causes(pl *plan.Plan, opts Options) []tally {
	var whys []plan.Cause
	for _, item := range pl.Items {
		if hidden(item, opts) {
			continue
		}
		whys = append(whys, item.Cause)
		for _, c := range item.Changes {
			if visible(c.Class, opts) {
				whys = append(whys, c.Cause)
			}
		}
	}
	return tallied(whys)
}

// tallied counts causes, in the order of a change's life.
func tallied(whys []plan.Cause) []tally {
	n := map[plan.Cause]int{}
	for _, why := range whys {
		n[why]++
	}
	var all []tally
	for _, c := range []struct {
		why         plan.Cause
		name, class string
	}{
		{plan.FromThisChange, "this change", "plain"},
		{plan.FromPending, "pending from earlier", "plain"},
		{plan.FromGit, "changed in git", "plain"},
		{plan.FromTakeOver, "newly managed", "plain"},
		{plan.FromRemoval, "removed from git", "plain"},
		{plan.FromDrift, "drift", "alarm"},
		{plan.FromBoth, "in conflict", "alarm"},
		{plan.FromRefusal, "not kept by the server", "alarm"},
		{plan.FromUnknown, "of unknown origin", "plain"},
	} {
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

// causesLine counts the lines of a plan in a sentence, empty where no line has a cause.
func causesLine(pl *plan.Plan, opts Options) safe {
	text := inWords(causes(pl, opts))
	if text.Empty() {
		return text
	}
	return safetext.F("%s.", text)
}

func planCounts(s plan.Summary) []tally {
	return []tally{
		{"", "serves", "may serve other content", "alarm", s.Serves},
		{"", "security", "may expose protected content", "alarm", s.Security},
		{"", "create", "create", "add", s.Create},
		{"", "change", "change", "edit", s.Change},
		{"", "remove", "values removed", "cut", s.Removed},
		{"", "purge", "purges", "once", s.Purge},
		{"", "delete", "delete", "cut", s.Delete},
		{"", "deferred", "deferred", "edit", s.Deferred},
		{"", "in flight", "in flight", "once", s.InFlight},
		{"", "blocked", "blocked", "cut", s.Blocked},
		{"", "drift", "drifted fields", "alarm", s.Drifted},
		{"", "kept", "kept", "plain", s.Kept},
		{"", "in sync", "in sync", "plain", s.Unchanged},
		{"", "not in git", "not in git", "plain", s.Unmanaged},
	}
}

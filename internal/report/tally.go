package report

import "trueup/internal/plan"

// causeCount is how many lines there are of each cause.
type causeCount struct {
	name  safe
	n     int
	alarm bool
}

// causes counts the lines of a plan by cause, in the order of a change's life.
func causes(pl *plan.Plan, opts Options) []causeCount {
	counted := []causeCount{
		{name: "this change"}, {name: "pending from earlier"}, {name: "changed in git"}, {name: "newly managed"},
		{name: "removed from git"}, {name: "drift", alarm: true}, {name: "conflict", alarm: true},
		{name: "not kept by the server", alarm: true}, {name: "of unknown origin"},
	}
	place := map[plan.Cause]int{
		plan.FromThisChange: 0, plan.FromPending: 1, plan.FromGit: 2, plan.FromTakeOver: 3,
		plan.FromRemoval: 4, plan.FromDrift: 5, plan.FromBoth: 6, plan.FromRefusal: 7, plan.FromUnknown: 8,
	}
	count := func(c plan.Cause) {
		if i, ok := place[c]; ok {
			counted[i].n++
		}
	}
	for _, item := range pl.Items {
		if hidden(item, opts) {
			continue
		}
		count(item.Cause)
		for _, c := range item.Changes {
			if visible(c.Class, opts) {
				count(c.Cause)
			}
		}
	}
	return counted
}

// causesLine is the tally in one sentence, empty where no line has a cause.
func causesLine(pl *plan.Plan, opts Options) safe {
	var parts []safe
	for _, t := range causes(pl, opts) {
		if t.n > 0 {
			parts = append(parts, number(t.n)+" "+t.name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return join(parts, ", ") + "."
}

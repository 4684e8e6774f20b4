package report

import "trueup/internal/plan"

// causeCount is how many lines there are of a cause.
type causeCount struct {
	why   plan.Cause
	name  safe
	n     int
	alarm bool
}

// causeTally counts lines by cause, in the order of a change's life.
type causeTally []causeCount

func newCauses() causeTally {
	return causeTally{
		{why: plan.FromThisChange, name: "this change"},
		{why: plan.FromPending, name: "pending from earlier"},
		{why: plan.FromGit, name: "changed in git"},
		{why: plan.FromTakeOver, name: "newly managed"},
		{why: plan.FromRemoval, name: "removed from git"},
		{why: plan.FromDrift, name: "drift", alarm: true},
		{why: plan.FromBoth, name: "in conflict", alarm: true},
		{why: plan.FromRefusal, name: "not kept by the server", alarm: true},
		{why: plan.FromUnknown, name: "of unknown origin"},
	}
}

func (t causeTally) add(why plan.Cause) {
	for i := range t {
		if t[i].why == why {
			t[i].n++
		}
	}
}

// text is the count in words, empty where no line has a cause.
func (t causeTally) text() safe {
	var parts []safe
	for _, c := range t {
		if c.n > 0 {
			parts = append(parts, number(c.n)+" "+c.name)
		}
	}
	return join(parts, ", ")
}

// causes counts the lines of a plan that are shown.
func causes(pl *plan.Plan, opts Options) causeTally {
	t := newCauses()
	for _, item := range pl.Items {
		if hidden(item, opts) {
			continue
		}
		t.add(item.Cause)
		for _, c := range item.Changes {
			if visible(c.Class, opts) {
				t.add(c.Cause)
			}
		}
	}
	return t
}

// causesLine counts the lines of a plan in a sentence, empty where no line has a cause.
func causesLine(pl *plan.Plan, opts Options) safe {
	if text := causes(pl, opts).text(); text != "" {
		return text + "."
	}
	return ""
}

// planCount is one number of a plan's summary.
type planCount struct {
	// short heads a column, name says it in full.
	short, name safe
	// class is its look in the page.
	class safe
	n     int
}

// planCounts are the numbers of a plan in the order in which tables have them.
func planCounts(s plan.Summary) []planCount {
	return []planCount{
		{"serves", "may serve other content", "alarm", s.Serves},
		{"security", "may expose protected content", "alarm", s.Security},
		{"create", "create", "add", s.Create},
		{"change", "change", "edit", s.Change},
		{"remove", "values removed", "cut", s.Removed},
		{"purge", "purges", "once", s.Purge},
		{"delete", "delete", "cut", s.Delete},
		{"deferred", "deferred", "edit", s.Deferred},
		{"in flight", "in flight", "once", s.InFlight},
		{"blocked", "blocked", "cut", s.Blocked},
		{"drift", "drifted fields", "alarm", s.Drifted},
		{"kept", "kept", "plain", s.Kept},
		{"in sync", "in sync", "plain", s.Unchanged},
		{"not in git", "not in git", "plain", s.Unmanaged},
	}
}

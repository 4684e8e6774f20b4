package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// minGroup is the number of objects with equal changes that are shown as one.
const minGroup = 3

// group is an object of a plan, or several with equal changes.
type group struct {
	// item is the first of the objects.
	item plan.Item
	rows []row
	// others are the objects besides.
	others []plan.Item
	rank   rank
}

// groups are the objects that a report shows, those with grave changes first.
func groups(pl *plan.Plan, opts Options) []group {
	all := make([]group, 0, len(pl.Items))
	for _, item := range pl.Items {
		if hidden(item, opts) {
			continue
		}
		rows := itemRows(item, opts)
		all = append(all, group{item: item, rows: rows, rank: priority(item, rows)})
	}
	all = together(all)
	slices.SortStableFunc(all, func(a, b group) int {
		return cmp.Compare(a.place(), b.place())
	})
	return all
}

// place sorts groups: of grave ones, changes come before what is new.
func (g group) place() rank {
	switch {
	case g.rank > rankSecurity:
		return rankRest
	case g.item.Op == plan.Create:
		return rankSecurity
	}
	return g.rank
}

// together makes groups of objects whose changes are equal. Few have equal glances,
// which are cheaper to compare than contents.
func together(all []group) []group {
	glances, alike := make([]string, len(all)), map[string]int{}
	for i, g := range all {
		if g.item.Op == plan.Patch {
			glances[i] = glance(g.rows)
			alike[glances[i]]++
		}
	}
	same := map[string][]int{}
	for i, g := range all {
		if g.item.Op == plan.Patch && alike[glances[i]] >= minGroup {
			text := content(forMany(g.item), g.rows)
			same[text] = append(same[text], i)
		}
	}
	joined := make([]bool, len(all))
	for _, of := range same {
		if len(of) < minGroup {
			continue
		}
		first := &all[of[0]]
		for _, i := range of[1:] {
			first.others, joined[i] = append(first.others, all[i].item), true
		}
		first.item = forMany(first.item)
	}
	out := all[:0]
	for i, g := range all {
		if !joined[i] {
			out = append(out, g)
		}
	}
	return out
}

// glance is what the rows say at a glance: it is cheap, and equal for equal contents.
func glance(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(string(r.mark) + r.path.String() + "\n" + r.before.String() + "\n" + r.after.String() + "\n")
	}
	return b.String()
}

// forMany is the item with a request that names none of the objects.
func forMany(item plan.Item) plan.Item {
	if item.Request == nil {
		return item
	}
	request := *item.Request
	if dir, _, ok := strings.Cut(strings.TrimPrefix(request.Path, "/"), "/"); ok {
		request.Path = "/" + dir + "/{name}"
	}
	item.Request = &request
	return item
}

// content is all that a report shows of an item but its name, with values whole.
func content(item plan.Item, rows []row) string {
	var b strings.Builder
	put := func(texts ...safe) {
		for _, text := range texts {
			b.WriteString(text.String())
			b.WriteByte('\n') // no safe text has one
		}
	}
	put(clean(item.Kind), clean(string(item.Cause)))
	for _, r := range rows {
		b.WriteString(string(r.mark) + " ")
		put(r.path, r.cause, literal(r.live), literal(r.desired), r.before, r.after)
	}
	for _, v := range slices.Concat(item.Preserved, item.Collateral) {
		put(clean(v.Path), literal(v.Value))
	}
	for _, n := range itemNotes(item) {
		put(n.text)
	}
	return b.String()
}

func (g group) many() bool { return len(g.others) > 0 }

func (g group) title() safe {
	if !g.many() {
		return titled(g.item.Key)
	}
	return safetext.Count(1+len(g.others), clean(g.item.Kind).Cut(maxPath).String())
}

func (g group) names() safe {
	names := []safe{clean(g.item.Name).Cut(maxPath)}
	for _, item := range g.others {
		names = append(names, clean(item.Name).Cut(maxPath))
	}
	return safetext.Join(names, ", ")
}

func (g group) notes(of func(plan.Item) []note) []note {
	notes := of(g.item)
	if g.many() {
		notes = append(notes, note{text: safetext.F("in %s: %s", g.title(), g.names()), list: true})
	}
	return notes
}

// rank is how much a reader should see a part of a report, the most important
// first: what changes the rules of the plan, then what went wrong and what to do,
// what may serve other content or expose protected content, what needs a person, what
// can't be undone, what others did, and what git does.
type rank int

const (
	rankSettings rank = iota
	rankErrors
	rankNext
	rankOutcomes
	rankNotes
	rankServes
	rankSecurity
	rankBlocked
	rankPurge
	rankRemoval
	rankDrift
	rankAdvice
	rankChange
	rankCreate
	rankRest
)

// tableOfRanks says what the parts of each rank are, where some are left out.
func tableOfRanks() [rankRest + 1]string {
	return [...]string{
		"of settings", "with errors", "of next steps", "of outcomes", "of notes", "that " + kind.RiskServes.Meaning(),
		"that " + kind.RiskSecurity.Meaning(), "blocked", "of purges", "with removals",
		"with drift or conflicts", "of advice", "with changes", "to create", "that need nothing",
	}
}

// rankOfRisk is the rank of an item by its gravest change that is sent.
func rankOfRisk(item plan.Item) rank {
	switch {
	case item.AtStake(kind.RiskServes) > 0:
		return rankServes
	case item.AtStake(kind.RiskSecurity) > 0:
		return rankSecurity
	}
	return rankRest
}

func priority(item plan.Item, rows []row) rank {
	if rank := rankOfRisk(item); rank < rankRest {
		return rank
	}
	switch {
	case item.Op == plan.Blocked:
		return rankBlocked
	case item.Op == plan.Post || item.Op == plan.Deferred:
		return rankPurge
	case item.Op == plan.Delete || slices.ContainsFunc(rows, func(r row) bool { return r.mark == markRemove || r.mark == markLost }):
		return rankRemoval
	case slices.ContainsFunc(rows, func(r row) bool { return r.alarm }):
		return rankDrift
	case item.Op == plan.Patch:
		return rankChange
	case item.Op == plan.Create:
		return rankCreate
	default:
		return rankRest
	}
}

package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/parallel"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// minGroup is the fewest objects with equal changes that become one group.
const minGroup = 3

// group is an object of a plan, or several with equal changes.
type group struct {
	item plan.Item
	rows []row
	// keys are several objects, and item is the first of them by forMany.
	keys []kind.Key
	rank rank
}

// groups returns the objects that a report shows, those with grave changes first.
func groups(pl *plan.Plan, opts Options) []group {
	shown := slices.DeleteFunc(slices.Clone(pl.Items), func(item plan.Item) bool { return hidden(item, opts) || folded(pl, item, opts) })
	all := make([]group, len(shown))
	parallel.Each(len(shown), func(i int) {
		rows := itemRows(shown[i], opts)
		all[i] = group{item: shown[i], rows: rows, rank: priority(shown[i], rows)}
	})
	all = together(all)
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// folded reports whether the foot of a plan names an object instead of a line of its own: it was removed
// from git before this change, and stays live.
func folded(pl *plan.Plan, item plan.Item, opts Options) bool {
	return opts.Brief && mentioned(item) && item.Cause == plan.FromRemoval && item.By == "" && pl.Options["prune"] != true
}

// foldedLine names the folded objects; empty without any.
func foldedLine(pl *plan.Plan, opts Options) safe {
	var names []safe
	kinds := map[string]bool{}
	for _, item := range pl.Items {
		if folded(pl, item, opts) {
			names, kinds[item.Kind] = append(names, titled(item.Key)), true
		}
	}
	if len(names) == 0 {
		return safe{}
	}
	parts := []safe{safetext.F("%s.", limited(names, ", "))}
	for _, k := range kind.All() {
		switch {
		case !kinds[k.Name]:
		case k.Can(kind.Delete):
			parts = append(parts, safetext.F("trueup plan --prune shows each %s that can be deleted.", k.Name))
		default:
			parts = append(parts, safetext.F("The platform documents no deletion of a %s: delete it in the web console.", k.Name))
		}
	}
	return sentences(append(parts, clean("trueup forget KIND/NAME hides an object."))...)
}

// together merges objects with equal changes. It compares cheap glances before contents, for speed.
func together(all []group) []group {
	var patches []int
	for i, g := range all {
		if g.item.Op == plan.Patch {
			patches = append(patches, i)
		}
	}
	joined := make([]bool, len(all))
	for _, similar := range buckets(patches, func(i int) string { return glance(all[i].rows) }) {
		for _, same := range buckets(similar, func(i int) string { return content(forMany(all[i].item), all[i].rows) }) {
			first := &all[same[0]]
			for _, i := range same {
				first.keys, joined[i] = append(first.keys, all[i].item.Key), i != same[0]
			}
			first.item = forMany(first.item)
		}
	}
	out := all[:0]
	for i, g := range all {
		if !joined[i] {
			out = append(out, g)
		}
	}
	return out
}

// buckets returns the indices with equal keys, if they are enough for a group.
func buckets(indices []int, key func(int) string) map[string][]int {
	same := map[string][]int{}
	for _, i := range indices {
		k := key(i)
		same[k] = append(same[k], i)
	}
	maps.DeleteFunc(same, func(_ string, of []int) bool { return len(of) < minGroup })
	return same
}

// glance returns the short text of the rows, which is equal for equal contents.
func glance(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(string(r.Mark) + r.Path.String() + "\n" + r.Before.String() + "\n" + r.After.String() + "\n")
	}
	return b.String()
}

// forMany returns the item with NAME for its name, also in its fix, and without its project.
func forMany(item plan.Item) plan.Item {
	key := item.String()
	item.Name, item.Project = "NAME", ""
	item.Fix = strings.ReplaceAll(item.Fix, key, item.String())
	return item
}

// content returns all that a report shows of an item except its name, with full values.
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
		b.WriteString(string(r.Mark) + " ")
		put(r.Path, r.Cause, literal(r.from), literal(r.to), r.Before, r.After)
	}
	for _, v := range slices.Concat(item.Preserved, item.Collateral) {
		put(clean(v.Path), literal(v.Value))
	}
	for _, n := range itemNotes(item, Options{}) {
		put(n.Text)
	}
	return b.String()
}

func (g group) many() bool { return len(g.keys) > 0 }

func (g group) title() safe {
	switch {
	case !g.many():
		return titled(g.item.Key)
	case g.sameName():
		return safetext.F("%s in %s", titled(kind.Key{Kind: g.item.Kind, Name: g.keys[0].Name}), g.where())
	}
	return g.where()
}

// sameName reports whether several objects are one of the same name in each of many projects.
func (g group) sameName() bool {
	return g.keys[0].Project != "" && !slices.ContainsFunc(g.keys, func(k kind.Key) bool { return k.Name != g.keys[0].Name })
}

// where counts several objects.
func (g group) where() safe {
	if g.sameName() {
		return safetext.Count(len(g.keys), "project")
	}
	return safetext.Count(len(g.keys), clean(g.item.Kind).Cut(maxPath).String())
}

// names returns what tells several objects apart.
func (g group) names() []safe {
	names, same := make([]safe, len(g.keys)), g.many() && g.sameName()
	for i, k := range g.keys {
		if names[i] = inProject(clean(k.Name).Cut(maxPath), k.Project); same {
			names[i] = clean(k.Project).CutLeft(maxPath)
		}
	}
	return names
}

func (g group) notes(of func(plan.Item, Options) []note, opts Options) []note {
	notes := of(g.item, opts)
	if g.many() {
		notes = append(notes, note{Text: safetext.F("in %s: %s", g.where(), safetext.Join(g.names(), ", ")), list: true})
	}
	return notes
}

// rank orders the parts of a report, the most important first: settings, errors and next
// steps, grave risks, new objects, what needs a person, deletions and removals, drift, changes of git, the purges that
// wait for them, and advice.
type rank int

const (
	rankSettings rank = iota
	rankErrors
	rankNext
	rankOutcomes
	rankStops
	rankServes
	rankSecurity
	rankCreate
	rankBlocked
	rankRemoval
	rankDrift
	rankChange
	rankPurge
	rankNotes
	rankAdvice
	rankRest
)

// tableOfRanks describes the parts of each rank, for the count of omitted parts.
func tableOfRanks() [rankRest + 1]string {
	return [...]string{
		"with settings", "with errors", "with next steps", "with outcomes", "that stop serving something", "that " + kind.RiskServes.Meaning(),
		"that " + kind.RiskSecurity.Meaning(), "to create", "blocked", "with removals",
		"with drift or conflicts", "with changes", "with purges", "with notes", "with advice", "unchanged",
	}
}

// tableOfOpRanks has the rank of each operation, if its rows have no graver one. All others need no request.
var tableOfOpRanks = map[plan.Op]rank{
	plan.Blocked: rankBlocked, plan.Post: rankPurge, plan.Deferred: rankPurge, plan.Delete: rankRemoval,
	plan.Patch: rankChange,
}

func priority(item plan.Item, rows []row) rank {
	has := func(is func(row) bool) bool { return slices.ContainsFunc(rows, is) }
	switch {
	case item.Op == plan.Create && !item.Happened:
		return rankCreate
	case has(func(r row) bool { return r.stops }):
		return rankStops
	}
	for _, risk := range kind.Risks() {
		if risk.Grave() && item.AtStake(risk) > 0 {
			return rankServes + rank(kind.RiskServes-risk)
		}
	}
	of, known := tableOfOpRanks[item.Op]
	if !known {
		of = rankRest
	}
	switch {
	case known && of != rankChange: // whatever its rows are
		return of
	case has(func(r row) bool { return r.Mark == markRemove }):
		return rankRemoval
	case has(func(r row) bool { return r.Alarm }):
		return rankDrift
	}
	return of
}

package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/parallel"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
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
	// content is equal for equal changes.
	content [sha256.Size]byte
}

// groups returns the objects that a report shows, those with grave changes first. Equal changes of several are one if joins
// is set.
func groups(pl *plan.Plan, opts Options, joins bool) []group {
	shown := slices.DeleteFunc(slices.Clone(pl.Items), func(item plan.Item) bool { return hidden(item, opts) || folded(pl, item, opts) })
	all := make([]group, len(shown))
	parallel.Each(len(shown), func(i int) {
		all[i] = groupOf(shown[i], opts)
		if joins && shown[i].Op == plan.Patch {
			all[i].content = contentOf(shown[i])
		}
	})
	all = together(all, opts)
	slices.SortStableFunc(all, func(a, b group) int {
		return cmp.Or(oneIf(a.item.Waits)-oneIf(b.item.Waits), cmp.Compare(a.rank, b.rank))
	})
	return all
}

// groupOf returns the group of one object.
func groupOf(item plan.Item, opts Options) group {
	g := group{item: item, rows: itemRows(item, opts), rank: rankElsewhere}
	if !item.Elsewhere {
		g.rank = priority(item, g.rows)
	}
	return g
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
	return sentences(append(parts, clean("trueup ledger forget KIND/NAME hides an object."))...)
}

// together merges objects with equal changes.
func together(all []group, opts Options) (out []group) {
	members := map[[sha256.Size]byte][]kind.Key{}
	for _, g := range all {
		members[g.content] = append(members[g.content], g.item.Key)
	}
	for _, g := range all {
		switch keys := members[g.content]; {
		case g.content == [sha256.Size]byte{} || len(keys) > 0 && len(keys) < minGroup:
			out = append(out, g)
		case len(keys) > 0:
			first := groupOf(forMany(g.item), opts)
			first.keys, members[g.content] = keys, nil
			for i := range first.rows {
				first.rows[i].facts, first.rows[i].line = first.factsOf(first.rows[i].facts), 0
			}
			out = append(out, first)
		}
	}
	return out
}

// forMany returns the item with NAME for its name, also in its fix, and without its project.
func forMany(item plan.Item) plan.Item {
	key := item.String()
	item.Name, item.Project = "NAME", ""
	item.Fix = strings.ReplaceAll(item.Fix, key, item.String())
	return item
}

// contentOf returns a digest of all that a report shows of an item except its name, with full values.
func contentOf(item plan.Item) (sum [sha256.Size]byte) {
	item = forMany(item)
	h, lines := sha256.New(), item.AllLines()
	for i := range lines {
		lines[i].Line, lines[i].Column = 0, 0
	}
	_ = json.NewEncoder(h).Encode([]any{item.Kind, item.Cause, lines}) // it is decoded JSON
	for _, n := range itemNotes(item, Options{}) {
		_, _ = io.WriteString(h, n.Text.String()+"\n")
	}
	return [sha256.Size]byte(h.Sum(nil))
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

// members names several objects; there are none for one.
func (g group) members() []row {
	if !g.many() {
		return nil
	}
	return []row{{Text: safetext.F("in %s: %s", g.where(), safetext.Join(g.names(), ", "))}}
}

// memberLines returns the lines that name several objects.
func (g group) memberLines(columns int) (lines []safe) {
	for _, r := range g.members() {
		lines = append(lines, sentenceLines(r, columns)...)
	}
	return lines
}

// factsOf returns the same facts about each of several objects.
func (g group) factsOf(facts []view.Fact) (all []view.Fact) {
	for _, k := range g.keys {
		for _, f := range facts {
			all = append(all, f.Of(k))
		}
	}
	return all
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
	rankElsewhere
	rankNotes
	rankAdvice
	rankRest
)

// tableOfRanks describes the parts of each rank, for the count of omitted parts.
func tableOfRanks() [rankRest + 1]string {
	return [...]string{
		"with settings", "with errors", "with next steps", "with outcomes", "that stop serving something", "that " + kind.RiskServes.Meaning(),
		"that " + kind.RiskSecurity.Meaning(), "to create", "blocked", "with removals",
		"with drift or conflicts", "with changes", "with purges", "in projects that this change does not change", "with notes", "with advice", "unchanged",
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

// document writes a document, and at its end what the format left out although it must be shown.
func (f format) document(w io.Writer, doc Document, opts Options) error {
	doc.score = scoreOf(doc)
	if err := f.write(w, doc, opts); err != nil || f.programs {
		return err
	}
	left := doc.score.Left()
	switch {
	case len(left) == 0:
		return nil
	case f.rest == nil:
		return fmt.Errorf("it leaves out %s, the first is %s of %s", safetext.Count(len(left), "grave change"), kind.JoinSteps(left[0].Path), left[0].Object)
	}
	var lines []safe
	say := func(before safe, rows []row) {
		for _, r := range rows {
			if doc.score.IsLeft(r.facts) {
				lines = append(lines, safetext.F("%s%s", before, wholeSentence(r)))
			}
		}
	}
	for _, s := range settingsOf(doc.Plan) {
		say(safe{}, s.Rows)
	}
	for _, item := range doc.Plan.Items {
		say(safetext.F("%s: ", named(item.Key)), itemRows(item, Options{}))
	}
	return f.rest(w, lines)
}

// scoreOf returns the score of a report of a document that has shown nothing. A plan that was applied needs no reader.
func scoreOf(doc Document) *view.Score {
	var facts []view.Fact
	for _, s := range settingsOf(doc.Plan) {
		facts = append(facts, factsIn(s.Rows)...)
	}
	if doc.Plan != nil && doc.Apply == nil {
		for _, item := range doc.Plan.Items {
			if !oneLine(item) && (item.Purge != nil || item.Op == plan.Delete || view.MustShow(item.Risk)) {
				facts = append(facts, factsOf(item)...)
			}
		}
	}
	return view.NewScore(facts)
}

// factsOf returns what the plan changes of an object, from the plan itself and not from the rows about it.
func factsOf(item plan.Item) (facts []view.Fact) {
	for _, l := range item.AllLines() {
		if visible(l.Class, Options{}) && l.Class != plan.Stays {
			facts = append(facts, factsOfLine(item, l)...)
		}
	}
	return slices.Concat(facts, factsOfPurge(item), factsOfAll(item))
}

// factsIn returns what rows show.
func factsIn(rows []row) (facts []view.Fact) {
	for _, r := range rows {
		facts = append(facts, r.facts...)
	}
	return facts
}

// mustShow reports whether one of the facts must be shown.
func mustShow(facts []view.Fact) bool {
	return slices.ContainsFunc(facts, func(f view.Fact) bool { return view.MustShow(f.Risk) })
}

// factsOfLine returns a fact for each element that a line is about.
func factsOfLine(item plan.Item, l plan.Line) []view.Fact {
	if len(l.Elements) == 0 {
		return []view.Fact{{Object: item.Key, Path: kind.Steps(l.Path), Risk: l.Risk}}
	}
	facts, list, field := make([]view.Fact, len(l.Elements)), kind.Steps(l.List), kind.Steps(strings.TrimPrefix(l.Path, l.List+"."))
	for i, e := range l.Elements {
		facts[i] = view.Fact{Object: item.Key, Path: slices.Concat(list, []string{"[" + e + "]"}, field), Risk: l.Risk}
	}
	return facts
}

// factsOfPurge returns the prefixes that a purge invalidates.
func factsOfPurge(item plan.Item) (facts []view.Fact) {
	if item.Purge == nil {
		return nil
	}
	prefixes, _ := pathsOf(item)
	for _, path := range prefixes {
		facts = append(facts, view.Fact{Object: item.Key, Path: []string{"paths", path}, Risk: kind.RiskAvailability})
	}
	return facts
}

// factsOfAll returns the fact that an object is deleted, or that a purge which is posted invalidates everything.
func factsOfAll(item plan.Item) []view.Fact {
	if item.Op == plan.Delete {
		return []view.Fact{{Object: item.Key, Path: []string{view.Deleted}, Risk: max(item.Risk, kind.RiskServes)}}
	}
	if item.Op != plan.Post || item.Purge == nil || !item.Purge.Everything {
		return nil
	}
	return []view.Fact{{Object: item.Key, Path: []string{"everything"}, Risk: kind.RiskAvailability}}
}

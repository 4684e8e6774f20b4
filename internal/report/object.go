package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/parallel"
	"trueup/internal/plan"
	"trueup/internal/routing"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// minGroup is the fewest objects with equal changes that become one.
const minGroup = 3

// object is what a reader sees of an object of a plan, or of several with equal changes.
type object struct {
	// Key is the first of several Keys. A single object has none of these.
	Key  kind.Key
	Keys []kind.Key
	// Mark is the sign of what is done with the object, or of what happened to it, and State says that in a word.
	Mark  mark
	State string
	// Title is the kind and the name, and Headline counts the changes or says what is done.
	Title, Headline safe
	// Source is the place of the manifest; empty for several objects. path and line are the same place.
	Source safe
	path   string
	line   int
	// Leads are about the object as a whole, Changes about what differs in it, and Notes are sentences below them.
	Leads, Changes, Notes []row
	// Short is set if one line says all of an object.
	Short bool
	// Waits is set if apply sends the change later, and Happened if it happened outside git.
	Waits, Happened bool
	// Request is what apply sends; nil for nothing, and for several objects.
	Request *plan.Request
	// verdict is set if a person must act or wait.
	verdict verdict
	rule    string // of a remark about the object as a whole; empty if it needs none
	level   level  // of that remark
	rank    rank
	// requests are lines about the requests that the object is the first to change, and dark is set if some are served no longer.
	requests []safe
	dark     bool
}

// verdict says why a person must act on an object, or wait for it.
type verdict struct {
	what string // such as blocked; empty for nothing
	says safe
	ok   bool // set if nobody must act
}

// everyObject returns each object of a plan, in its order.
func everyObject(pl *plan.Plan, opts Options) []object {
	if pl == nil {
		return nil
	}
	all := make([]object, len(pl.Items))
	parallel.Each(len(all), func(i int) { all[i] = objectOf(pl.Items[i], opts) })
	at := make(map[kind.Key]int, len(all))
	for i := range all {
		at[all[i].Key] = i
	}
	for _, l := range pl.Requests {
		if i, known := at[l.Objects[0]]; known {
			all[i].requests, all[i].dark = append(all[i].requests, describeRequests(l, maxParts, len(l.Objects) > 1)), all[i].dark || l.Effect == routing.Dark
		}
	}
	return all
}

// shownObjects returns the objects that a report shows, those with grave changes first. Equal changes of several are one if joins
// is set.
func shownObjects(pl *plan.Plan, opts Options, joins bool) []object {
	shown := slices.DeleteFunc(slices.Clone(pl.Items), func(item plan.Item) bool { return hidden(item, opts) || folded(pl, item, opts) })
	all, content := make([]object, len(shown)), make([]contentSum, len(shown))
	parallel.Each(len(shown), func(i int) {
		all[i] = objectOf(shown[i], opts)
		if joins && shown[i].Op == plan.Patch {
			content[i] = contentOf(shown[i])
		}
	})
	all = together(shown, all, content, opts)
	slices.SortStableFunc(all, func(a, b object) int {
		return cmp.Or(oneIf(a.Waits)-oneIf(b.Waits), cmp.Compare(a.rank, b.rank))
	})
	return all
}

// objectOf returns what a reader sees of one object.
func objectOf(item plan.Item, opts Options) object {
	op := opOf(item)
	o := object{
		Key: item.Key, Mark: op.mark, State: stateOf(item), Title: titled(item.Key), Source: source(item), path: item.Path, line: item.Line,
		Waits: item.Waits, Happened: item.Happened, Request: item.Request, Leads: opRows(item, opts), rank: rankElsewhere,
	}
	o.Changes, o.Notes = changeRows(item, opts)
	if mentioned(item) {
		o.Notes = nil // the line has the fix
	}
	o.Short = isShort(item)
	o.Headline = headline(item, o.rows())
	o.verdict = verdictOf(item, o)
	o.rule = opRule(item)
	o.level = levelOf(o.rule)
	if o.rule == "plan/blocked" && !item.NeedsPerson {
		o.level = warningLevel
	}
	if !item.Elsewhere {
		o.rank = priority(item, o.rows())
	}
	return o
}

// isShort reports whether one line says all of an object.
func isShort(item plan.Item) bool {
	return mentioned(item) || item.Op == plan.None && len(item.Changes)+len(item.Notes) == 0
}

// rows returns the lines that are not sentences.
func (o object) rows() []row { return slices.Concat(o.Leads, o.Changes) }

// lines returns all lines, of which the sentences are the last.
func (o object) lines() []row { return slices.Concat(o.Leads, o.Changes, o.Notes) }

// stateOf says what is done with an object, or what happened to it. Several operations undo the same.
func stateOf(item plan.Item) string {
	if item.Waits {
		return "not applied"
	}
	return opOf(item).headline
}

func verdictOf(item plan.Item, o object) verdict {
	rows := o.rows()
	switch {
	case item.Waits:
		return verdict{what: "not-applied", says: o.Headline}
	case item.Happened && len(rows) == 1:
		return verdict{what: "drift", says: sentence(rows[0])}
	case item.Happened:
		return verdict{what: "drift", says: o.Headline}
	case item.Op == plan.Blocked:
		return verdict{what: "blocked", says: safetext.F("blocked: %s", message(item.Reason))}
	case item.Op == plan.Deferred || item.Op == plan.InFlight:
		return verdict{what: "later", says: message(item.Reason), ok: true}
	}
	return verdict{}
}

func source(item plan.Item) safe { return location(diag.Finding{Path: item.Path, Line: item.Line}) }

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

// contentSum is equal for equal changes, and zero for what is not compared.
type contentSum [sha256.Size]byte

// together merges objects with equal changes.
func together(items []plan.Item, all []object, content []contentSum, opts Options) (out []object) {
	members := map[contentSum][]kind.Key{}
	for i := range all {
		members[content[i]] = append(members[content[i]], all[i].Key)
	}
	for i := range all {
		switch keys := members[content[i]]; {
		case content[i] == contentSum{} || len(keys) > 0 && len(keys) < minGroup:
			out = append(out, all[i])
		case len(keys) > 0:
			out, members[content[i]] = append(out, objectsAsOne(items[i], keys, opts)), nil
		}
	}
	return out
}

// objectsAsOne returns several objects with the changes of item. The last note names them.
func objectsAsOne(item plan.Item, keys []kind.Key, opts Options) object {
	o := objectOf(forMany(item), opts)
	o.Key, o.Keys, o.Request, o.Source, o.line = item.Key, keys, nil, safe{}, 0
	o.Title = o.where()
	if o.sameName() {
		o.Title = safetext.F("%s in %s", titled(kind.Key{Kind: item.Kind, Name: item.Name}), o.where())
	}
	for _, rows := range [][]row{o.Leads, o.Changes, o.Notes} {
		for i := range rows {
			rows[i].facts, rows[i].line = o.factsOf(rows[i].facts), 0
		}
	}
	o.Notes = append(o.Notes, row{Text: safetext.F("in %s: %s", o.where(), safetext.Join(o.names(), ", "))})
	return o
}

// forMany returns the item with NAME for its name, also in its fix, and without its project.
func forMany(item plan.Item) plan.Item {
	key := item.String()
	item.Name, item.Project = "NAME", ""
	item.Fix = strings.ReplaceAll(item.Fix, key, item.String())
	return item
}

// contentOf returns a digest of all that a report shows of an item except its name, with full values.
func contentOf(item plan.Item) contentSum {
	item = forMany(item)
	h, lines := sha256.New(), item.AllLines()
	for i := range lines {
		lines[i].Line, lines[i].Column = 0, 0
	}
	_ = json.NewEncoder(h).Encode([]any{item.Kind, item.Cause, lines}) // it is decoded JSON
	for _, n := range itemNotes(item, Options{}) {
		_, _ = io.WriteString(h, n.Text.String()+"\n")
	}
	return contentSum(h.Sum(nil))
}

// many is the number of several objects, and 0 for one.
func (o object) many() int { return len(o.Keys) }

// sameName reports whether several objects are one of the same name in each of many projects.
func (o object) sameName() bool {
	return o.Keys[0].Project != "" && !slices.ContainsFunc(o.Keys, func(k kind.Key) bool { return k.Name != o.Keys[0].Name })
}

// where counts several objects.
func (o object) where() safe {
	if o.sameName() {
		return safetext.Count(len(o.Keys), "project")
	}
	return safetext.Count(len(o.Keys), clean(o.Key.Kind).Cut(maxPath).String())
}

// names returns what tells several objects apart.
func (o object) names() []safe {
	names, same := make([]safe, len(o.Keys)), o.many() > 0 && o.sameName()
	for i, k := range o.Keys {
		if names[i] = inProject(clean(k.Name).Cut(maxPath), k.Project); same {
			names[i] = clean(k.Project).CutLeft(maxPath)
		}
	}
	return names
}

// factsOf returns the same facts about each of several objects.
func (o object) factsOf(facts []view.Fact) (all []view.Fact) {
	for _, k := range o.Keys {
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
	rankSecurity
	rankServes
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
		"with settings", "with errors", "with next steps", "with outcomes", "that stop serving something", "that " + kind.RiskSecurity.Meaning(),
		"that " + kind.RiskServes.Meaning(), "to create", "blocked", "with removals",
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
			return map[kind.Risk]rank{kind.RiskSecurity: rankSecurity, kind.RiskServes: rankServes}[risk]
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

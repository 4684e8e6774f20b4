package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

// minGroup is the fewest objects with equal changes that become one.
const minGroup = 3

// ObjectView is what a reader sees of an object of a plan, or of several with equal changes.
type ObjectView struct {
	// Key is the first of several Keys. A single object has none of these.
	Key  kind.Key
	Keys []kind.Key
	// Mark is the sign of what is done with the object, or of what happened to it, and State says that in a word.
	Mark  Mark
	State string
	// Title is the kind and the name, and Headline counts the changes or says what is done.
	Title, Headline safetext.Text
	// Source is the place of the manifest; empty for several objects. path and line are the same place.
	Source safetext.Text
	Path   string
	Line   int
	// Leads are about the object as a whole, Changes about what differs in it, and Notes are sentences below them.
	Leads, Changes, Notes []Row
	// Short is set if one line says all of an object.
	Short bool
	// Waits is set if apply sends the change later, and Happened if it happened outside git.
	Waits, Happened bool
	Rule            string // of a remark about the object as a whole; empty if it needs none
	Level           Level  // of that remark
	Rank            Rank
	// Requests are lines about the requests that the object is the first to change, and dark is set if some are served no longer.
	Requests []safetext.Text
	Dark     bool
}

// EveryObject returns each object of a plan, in its order.
func EveryObject(pl *plan.Plan, opts TextOptions) []ObjectView {
	if pl == nil {
		return nil
	}
	all := make([]ObjectView, len(pl.Items))
	diag.InParallel(len(all), func(i int) { all[i] = NewObjectView(pl.Items[i], opts) })
	at := make(map[kind.Key]int, len(all))
	for i := range all {
		at[all[i].Key] = i
	}
	for _, l := range pl.Requests {
		if i, known := at[l.Objects[0]]; known {
			all[i].Requests, all[i].Dark = append(all[i].Requests, DescribeRequests(l, MaxParts, len(l.Objects) > 1)), all[i].Dark || l.Effect == routing.Dark
		}
	}
	return all
}

// ShownObjects returns the objects that a report shows, those with grave changes first. Equal changes of several are one if joins
// is set.
func ShownObjects(pl *plan.Plan, opts TextOptions, joins bool) []ObjectView {
	shown := slices.DeleteFunc(slices.Clone(pl.Items), func(item plan.Item) bool { return IsHidden(item, opts) || isFolded(pl, item, opts) })
	all, content := make([]ObjectView, len(shown)), make([]string, len(shown)) // the digests of what is compared
	diag.InParallel(len(shown), func(i int) {
		all[i] = NewObjectView(shown[i], opts)
		if joins && shown[i].Op == plan.Patch {
			content[i] = contentDigest(shown[i])
		}
	})
	all = mergeEqualObjects(shown, all, content, opts)
	slices.SortStableFunc(all, func(a, b ObjectView) int {
		return cmp.Or(OneIf(a.Waits)-OneIf(b.Waits), cmp.Compare(a.Rank, b.Rank))
	})
	return all
}

// NewObjectView returns what a reader sees of one object.
func NewObjectView(item plan.Item, opts TextOptions) ObjectView {
	op := opLookOf(item)
	o := ObjectView{
		Key: item.Key, Mark: op.mark, State: op.headline, Title: titleOf(item.Key), Path: item.Path, Line: item.Line,
		Source: FormatLocation(diag.Finding{Path: item.Path, Line: item.Line}), Waits: item.Waits, Happened: item.Happened,
		Leads: opRows(item), Short: isShort(item), Rule: opRule(item), Rank: rankElsewhere,
	}
	if item.Waits {
		o.State = "not applied"
	}
	o.Changes, o.Notes = changeRows(item, opts)
	if isKeptUnchanged(item) {
		o.Notes = nil // the line has the fix
	}
	o.Headline, o.Level = headlineOf(item, o.Rows()), LevelOf(o.Rule)
	if o.Rule == "plan/blocked" && !item.NeedsPerson {
		o.Level = WarningLevel
	}
	if !item.Elsewhere {
		o.Rank = rankOf(item, o.Rows())
	}
	return o
}

// isShort reports whether one line says all of an object.
func isShort(item plan.Item) bool {
	return isKeptUnchanged(item) || item.Op == plan.None && len(item.Changes)+len(item.Notes) == 0
}

// Rows returns the lines that are not sentences.
func (o ObjectView) Rows() []Row { return slices.Concat(o.Leads, o.Changes) }

// Lines returns all lines; sentences come last.
func (o ObjectView) Lines() []Row { return slices.Concat(o.Leads, o.Changes, o.Notes) }

// isFolded reports whether the foot of a plan names an object instead of a line of its own: it was removed
// from git before this change, and stays live.
func isFolded(pl *plan.Plan, item plan.Item, opts TextOptions) bool {
	return opts.Brief && isKeptUnchanged(item) && item.Cause == plan.FromRemoval && item.By == "" && pl.Options["prune"] != true
}

// FoldedLine names the folded objects; empty without any.
func FoldedLine(pl *plan.Plan, opts TextOptions) safetext.Text {
	var names []safetext.Text
	kinds := map[string]bool{}
	for _, item := range pl.Items {
		if isFolded(pl, item, opts) {
			names, kinds[item.Kind] = append(names, titleOf(item.Key)), true
		}
	}
	if len(names) == 0 {
		return safetext.Text{}
	}
	parts := []safetext.Text{safetext.F("%s.", JoinLimited(names, ", "))}
	for _, k := range kind.AllKinds() {
		switch {
		case !kinds[k.Name]:
		case k.Documents(kind.Delete):
			parts = append(parts, safetext.F("trueup plan --prune shows each %s that can be deleted.", k.Name))
		default:
			parts = append(parts, safetext.F("The platform documents no deletion of a %s: delete it in the web console.", k.Name))
		}
	}
	return safetext.Join(append(parts, clean("trueup ledger forget KIND/NAME hides an object.")), " ")
}

// mergeEqualObjects merges objects with equal content, but not those without any.
func mergeEqualObjects(items []plan.Item, all []ObjectView, content []string, opts TextOptions) (out []ObjectView) {
	members := map[string][]kind.Key{}
	for i := range all {
		members[content[i]] = append(members[content[i]], all[i].Key)
	}
	for i := range all {
		switch keys := members[content[i]]; {
		case content[i] == "" || len(keys) > 0 && len(keys) < minGroup:
			out = append(out, all[i])
		case len(keys) > 0:
			out, members[content[i]] = append(out, newJoinedView(items[i], keys, opts)), nil
		}
	}
	return out
}

// newJoinedView returns several objects with the changes of item. The last note names them.
func newJoinedView(item plan.Item, keys []kind.Key, opts TextOptions) ObjectView {
	o := NewObjectView(withPlaceholderName(item), opts)
	o.Key, o.Keys, o.Source, o.Line = item.Key, keys, safetext.Text{}, 0
	o.Title = o.Where()
	if o.SameName() {
		o.Title = safetext.F("%s in %s", titleOf(kind.Key{Kind: item.Kind, Name: item.Name}), o.Where())
	}
	for _, rows := range [][]Row{o.Leads, o.Changes, o.Notes} {
		for i := range rows {
			rows[i].Facts, rows[i].Line = o.repeatPerObject(rows[i].Facts), 0
		}
	}
	o.Notes = append(o.Notes, Row{Text: safetext.F("in %s: %s", o.Where(), safetext.Join(o.Names(), ", "))})
	return o
}

// withPlaceholderName returns the item with NAME for its name, also in its fix, and without its project.
func withPlaceholderName(item plan.Item) plan.Item {
	key := item.String()
	item.Name, item.Project = "NAME", ""
	item.Fix = strings.ReplaceAll(item.Fix, key, item.String())
	return item
}

// contentDigest returns a digest of all that a report shows of an item except its name, with full values.
func contentDigest(item plan.Item) string {
	item = withPlaceholderName(item)
	h, lines := sha256.New(), item.AllLines()
	for i := range lines {
		lines[i].Line, lines[i].Column = 0, 0
	}
	_ = json.NewEncoder(h).Encode([]any{item.Kind, item.Cause, lines}) // it is decoded JSON
	for _, n := range itemNotes(item, TextOptions{}) {
		_, _ = io.WriteString(h, n.Text.String()+"\n")
	}
	return string(h.Sum(nil))
}

// SameName reports whether several objects are one of the same name in each of many projects.
func (o ObjectView) SameName() bool {
	return o.Keys[0].Project != "" && !slices.ContainsFunc(o.Keys, func(k kind.Key) bool { return k.Name != o.Keys[0].Name })
}

// Where counts several objects.
func (o ObjectView) Where() safetext.Text {
	if o.SameName() {
		return safetext.Count(len(o.Keys), "project")
	}
	return safetext.Count(len(o.Keys), clean(o.Key.Kind).Truncate(MaxPath).String())
}

// Names returns what tells several objects apart.
func (o ObjectView) Names() []safetext.Text {
	same := len(o.Keys) > 0 && o.SameName()
	return diag.MapList(o.Keys, func(k kind.Key) safetext.Text {
		if same {
			return clean(k.Project).TruncateLeft(MaxPath)
		}
		return WithProject(clean(k.Name).Truncate(MaxPath), k.Project)
	})
}

// repeatPerObject returns the same facts about each of several objects.
func (o ObjectView) repeatPerObject(facts []ChangeFact) (all []ChangeFact) {
	for _, k := range o.Keys {
		for _, f := range facts {
			f.Object = k
			all = append(all, f)
		}
	}
	return all
}

// Rank orders the parts of a report, the most important first: settings, errors and next
// steps, grave risks, new objects, what needs a person, deletions and removals, drift, changes of git, the purges that
// wait for them, and advice.
type Rank int

// The ranks.
const (
	RankSettings Rank = iota
	RankErrors
	RankNext
	RankOutcomes
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
	RankNotes
	RankAdvice
	RankRest
)

func rankOf(item plan.Item, rows []Row) Rank {
	has := func(is func(Row) bool) bool { return slices.ContainsFunc(rows, is) }
	of := tableOfOps[item.Op].rank
	switch {
	case item.Op == plan.Create && !item.Happened:
		return rankCreate
	case has(func(r Row) bool { return r.Stops }):
		return rankStops
	case item.CountWithRisk(kind.RiskSecurity) > 0:
		return rankSecurity
	case item.CountWithRisk(kind.RiskServes) > 0:
		return rankServes
	case of != RankRest && of != rankChange: // whatever its rows are
		return of
	case has(func(r Row) bool { return r.Mark == MarkRemove }):
		return rankRemoval
	case has(func(r Row) bool { return r.Alarm }):
		return rankDrift
	}
	return of
}

// TextOptions change the text format. Markdown and HTML follow only Verbose.
type TextOptions struct {
	// Color allows colors and bold text, by ANSI escape sequences (SGR).
	Color bool
	// Width is the columns of the terminal; 0 means no terminal: sentences are not wrapped.
	Width int
	// Room limits the bytes of Markdown; 0 is the limit of a comment.
	Room int
	// Variables writes outputs as variables of a dotenv file, which GitLab reads.
	Variables bool
	// Verbose also shows objects and findings that need no action, and what is live and not in git.
	Verbose bool
	// Brief leaves out of text what needs no decision: causes, digest, removed objects that stay live.
	Brief bool
}

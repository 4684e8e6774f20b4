package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// mark is the sign in front of a path.
type mark string

const (
	markAdd     mark = "+"
	markChange  mark = "~"
	markRemove  mark = "-"
	markOnce    mark = "!"
	markBlocked mark = "x"
	markLater   mark = ">"
	markSame    mark = "="
)

// look is the style of a mark in a terminal; in HTML its class and sign, and its name for
// screen readers.
type look struct {
	style             style
	Class, Sign, Name string
}

var tableOfMarks = map[mark]look{
	markAdd:     {added, "add", "+", "added"},
	markChange:  {changed, "edit", "~", "changed"},
	markRemove:  {removed, "cut", "−", "removed"},
	markOnce:    {once, "once", "!", "once"},
	markBlocked: {alarm, "stop", "×", "blocked"},
	markLater:   {once, "once", ">", "later"},
	markSame:    {faint, "plain", "=", "unchanged"},
}

// reason says why a value differs.
type reason struct {
	Mark mark
	// Cause is why in words.
	Cause safe
	// Alarm is set unless the cause is simply a change in git without a grave risk.
	Alarm bool
}

// row is a line about an object: a path, the change of its value, and the cause; or a sentence.
type row struct {
	reason
	Path safe
	// Text is a sentence, in place of a path. Fix marks an instruction.
	Text safe
	Fix  bool
	// Before and After are the values in short; empty for none.
	Before, After safe
	// details are the YAML flow tokens that Before or After leaves out, and names the list elements that the line is
	// about, if they are many.
	details, names []safe
	// Why is the cause that the row says; empty for none.
	Why plan.Cause
	// rule is that of a remark about the row; empty if it needs none.
	rule string
	// field is the path of the change. line and column are in the manifest; 0 is unknown.
	field        string
	line, column int
	// facts are what the row shows, and whole is set if it must show all of that.
	facts []view.Fact
	whole bool
	// Moved is set if only the position in a list changes, and stops if something is served no longer.
	Moved, stops bool
}

// lineRow returns the row of a line, with what a rename and the request do. spec is that of a new object.
func lineRow(item plan.Item, l plan.Line, spec map[string]any, opts Options) row {
	if l.Class == plan.Stays {
		return row{Text: safetext.F("live only: %s = %s (it stays)", clean(l.Path).Cut(maxPath), value(l.Live, false))}
	}
	if l.Class == plan.NotSent {
		return notSentRow(item, l)
	}
	r := rowOf(item, l.Change, spec, opts)
	r.facts = factsOfLine(item, l)
	if l.Class == plan.Added { // the row of the object has the cause
		return r
	}
	r.rule = riskRule(item, l.Change, changeRule(l.Change))
	if r.stops = len(l.Unserved) > 0; r.stops {
		r.Alarm, r.rule = true, "plan/stops"
	}
	risk := risky(item, l.Risk)
	if l.Left || !plan.IsShown(l.Class) || r.stops && l.Risk == kind.RiskServes {
		risk = safe{}
	}
	r.Alarm = r.Alarm || !risk.Empty()
	r.Cause = safetext.Join(safetext.Filled(serving(item, cleanAll(l.Unserved)), risk, r.Cause, r.elements(l)), "; ")
	return r
}

// notSentRow returns the sentence about a value that is lost with a list that is sent whole.
func notSentRow(item plan.Item, l plan.Line) row {
	lost := clean("null") // which a list in live may have
	if l.Live != nil {
		lost = value(l.Live, view.MustShow(l.Risk))
	}
	effect := safetext.Join(safetext.Filled(clean("not in git"), clean("lost unless the platform sets it itself"), risky(item, l.Risk)), "; ")
	return row{Text: safetext.F("not sent: %s = %s (%s)", view.CountSpaces(clean(l.Path)), lost, effect), rule: ruleOf(l.Risk), facts: factsOfLine(item, l)}
}

// elements returns the words for the list elements that a line is about, if there are several, and puts the names of many below
// the row.
func (r *row) elements(l plan.Line) safe {
	n := len(l.Elements)
	if n == 0 {
		return safe{}
	}
	names := make([]safe, n)
	for i, e := range l.Elements {
		names[i] = view.CountSpaces(clean(e))
	}
	words := safetext.F("in %d %s", n, clean(l.List[strings.LastIndexByte(l.List, '.')+1:]))
	if n <= maxParts {
		return safetext.F("%s: %s", words, safetext.Join(names, ", "))
	}
	r.names = names
	return words
}

// risky returns the words of a grave risk that takes effect; empty for others.
func risky(item plan.Item, risk kind.Risk) safe {
	if !risk.Grave() || !item.TakesEffect() {
		return safe{}
	}
	return clean(risk.Meaning())
}

// serving names what is served no longer; empty for nothing.
func serving(item plan.Item, unserved []safe) safe {
	if len(unserved) == 0 {
		return safe{}
	}
	verb := "stops"
	if item.Happened {
		verb = "stopped"
	}
	return safetext.F("%s serving %s", verb, limited(unserved, ", "))
}

func cleanAll(texts []string) []safe {
	out := make([]safe, len(texts))
	for i, text := range texts {
		out[i] = view.Shorten(view.CountSpaces(clean(text)))
	}
	return out
}

// rowOf returns the row of a change, from live to git as apply sends it, perhaps in the spec of a new object. What happened
// outside git goes from git to live.
func rowOf(item plan.Item, c plan.Change, spec map[string]any, opts Options) row {
	r := row{
		reason: reason{Mark: markRemove, Cause: label(item, c, opts), Alarm: alarming(c.Class)}, Path: view.CountSpaces(clean(c.Path)),
		field: c.Path, Moved: c.Moved, Why: c.Cause, line: c.Line, column: c.Column,
	}
	from, to, units := c.Live, c.Desired, c.Units
	if item.Happened {
		from, to, units = to, from, plan.Units{Live: units.Desired, Desired: units.Live}
	}
	from, to = likeText(from, to), likeText(to, from)
	of := subject{item.Kind, c.Path, spec}
	switch r.whole = view.MustShow(c.Risk); {
	case c.Moved:
		r.Mark, r.After = markChange, moved(item, c)
	case from != nil && to != nil:
		r.Mark = markChange
		r.Before, r.After = view.Pair(from, to, r.whole)
	case to != nil:
		r.Mark = markAdd
		r.After, r.details = gist(of, to)
		r.After = withPosition(c, r.After)
	case from != nil:
		r.Before, r.details = gist(of, from)
	}
	if len(r.details) > 0 { // what is in an element is read, even if the element itself only protects more
		r.whole = view.MustShow(max(c.Risk, riskAt(item.Kind, c.Path, from), riskAt(item.Kind, c.Path, to)))
	}
	r.Before, r.After = timed(r.Before, from, units.Live), timed(r.After, to, units.Desired)
	r.unsent(c)
	return r
}

// unsent changes the row of what the request leaves as it is.
func (r *row) unsent(c plan.Change) {
	switch {
	case c.Class == merge.Unmanaged:
		r.Mark = markSame
	case c.Class == merge.Converged:
		r.Mark, r.Why, r.Cause = markSame, "", clean("already so")
	case c.Left:
		r.Mark, r.Cause = markSame, safetext.F("%s, left as it is (--drift report)", r.Cause)
		if !r.Moved {
			absent := clean("absent")
			r.Before, r.After = safe{}, safetext.F("%s (git: %s)", cmp.Or(r.Before, absent), cmp.Or(r.After, absent))
		}
	}
}

// inTime returns a number of units of time in words, or "".
func inTime(v any, unit string) string {
	text, _ := kind.TimeText(fmt.Sprint(v), unit)
	return text
}

// timed adds to a value what it is in words, if it is a number of a unit of time.
func timed(value safe, v any, unit string) safe {
	if words := inTime(v, unit); words != "" && !value.Empty() {
		return safetext.F("%s (%s)", value, words)
	}
	return value
}

// likeText returns a number or boolean as text if the other value is the text of one: servers return 60 for
// "60", and only the rest is a difference.
func likeText(v, other any) any {
	s, isText := other.(string)
	switch v.(type) {
	case json.Number, bool:
		if isText && json.Valid([]byte(s)) {
			return fmt.Sprint(v)
		}
	}
	return v
}

// alarming reports whether git alone does not explain a change.
func alarming(c merge.Class) bool {
	return slices.Contains([]merge.Class{merge.DriftOverwrite, plan.ServerNormalised, merge.Conflict, merge.RemovedConflict, plan.Lost}, c)
}

// moved says how an element moves in its list, or how another client moved it.
func moved(item plan.Item, c plan.Change) safe {
	drift, happened := c.Class == merge.DriftOverwrite, item.Happened || c.Left
	verb := "moves"
	switch {
	case drift && happened:
		verb = "moved"
	case drift:
		verb = "moves back"
	}
	switch p := c.Position; {
	case p == nil || p.Live == p.Desired: // its neighbors are others
		return clean(verb)
	case happened && !drift: // nobody knows from where
		return safetext.F("at %d (git: %d)", p.Live, p.Desired)
	case happened:
		return safetext.F("%s from %d to %d", verb, p.Desired, p.Live)
	default:
		return safetext.F("%s from %d to %d", verb, p.Live, p.Desired)
	}
}

// withPosition says where in an ordered list a new element is, if it is not the last.
func withPosition(c plan.Change, value safe) safe {
	switch p := c.Position; {
	case p == nil || p.Of == 0:
		return value
	case p.Desired == 1:
		return safetext.F("first of %d, %s", p.Of, value)
	default:
		return safetext.F("at %d of %d, %s", p.Desired, p.Of, value)
	}
}

func visible(c merge.Class, opts Options) bool {
	if c == plan.Stays {
		return opts.Verbose
	}
	return plan.IsShown(c) || c == merge.Converged && opts.Verbose || c == merge.Unmanaged && opts.ShowUnmanaged
}

// changeRows returns the rows about what differs in an object, which begin with what is served no longer, and the sentences about
// the object.
func changeRows(item plan.Item, opts Options) (changes, notes []row) {
	said, spec := map[string]bool{}, map[string]any(nil)
	if item.Op == plan.Create {
		spec = item.BodySpec()
	}
	lines := slices.DeleteFunc(item.AllLines(), func(l plan.Line) bool { return !visible(l.Class, opts) })
	slices.SortStableFunc(lines, func(a, b plan.Line) int { return oneIf(len(b.Unserved) > 0) - oneIf(len(a.Unserved) > 0) })
	for _, l := range lines {
		if l.Commit != nil && said[l.Commit.ID] {
			l.Commit = &plan.Commit{ID: l.Commit.ID} // the first line says the rest
		}
		r := lineRow(item, l, spec, opts)
		if l.Commit != nil && strings.Contains(r.Cause.String(), short(l.Commit.ID).String()) {
			said[l.Commit.ID] = true
		}
		if r.Text.Empty() {
			changes = append(changes, r)
		} else {
			notes = append(notes, r)
		}
	}
	return changes, append(notes, itemNotes(item, opts)...)
}

// riskAt returns the risk of changing a value.
func riskAt(kindName, path string, v any) kind.Risk {
	k, ok := kind.Named(kindName)
	if !ok {
		return kind.RiskServes
	}
	return k.Spec().Find(path).RiskOfRemoval(v)
}

// mentioned reports whether an item is kept without changes.
func mentioned(item plan.Item) bool { return item.Op == plan.Kept && len(item.Changes) == 0 }

// mention says why an object is kept.
func mention(item plan.Item, opts Options) safe {
	why := safetext.Join(safetext.Filled(causeOf(item, opts), message(item.Reason)), "; ")
	if item.Fix != "" {
		why = safetext.F("%s (%s)", why, message(item.Fix))
	}
	return safetext.F("kept: %s", why)
}

// hidden reports whether a report leaves an item out.
func hidden(item plan.Item, opts Options) bool {
	return item.Op == plan.None && len(item.Changes) == 0 && len(item.Hints) == 0 && !opts.Verbose
}

// opRows returns the row about the object as a whole, if there is one.
func opRows(item plan.Item, opts Options) []row {
	op, reason := opOf(item), message(item.Reason)
	r := row{Why: causeSaid(item), Path: clean(op.title)}
	r.Mark = op.mark
	if item.Happened && !item.Failed {
		r.Alarm, r.Cause, r.stops = true, serving(item, safetext.Filled(clean(item.Unserved).Cut(maxPath))), item.Unserved != ""
		if item.Missing() {
			r.Cause = clean(unknownOrigin)
		}
		return []row{r}[:oneIf(item.Deleted || item.Missing())]
	}
	switch item.Op {
	case plan.Create:
		risk := risky(item, item.Risk)
		r.After, r.Alarm = making(item), isAgain(item) || !risk.Empty()
		r.Cause = safetext.Join(safetext.Filled(risk, again(item, opts)), "; ")
	case plan.Post:
		r.After, r.Cause, r.Alarm = invalidated(item.Purge), afterwards(item, opts), item.Resend
		r.facts = factsOfAll(item)
	case plan.Delete:
		r.Before, r.Cause, r.Alarm = making(item), safetext.F("%s; this can't be undone", removal(item.By, item.Commit, opts)), true
		r.facts = factsOfAll(item)
	case plan.Deferred:
		r.After, r.Cause = invalidated(item.Purge), reason
	case plan.Blocked, plan.InFlight, plan.Kept:
		if mentioned(item) {
			r.Path = mention(item, opts)
			break
		}
		r.Path, r.Alarm = safetext.F("%s%s", op.title, reason), item.Op != plan.InFlight
	case plan.None, plan.Patch:
		return nil
	}
	return []row{r}
}

// causeSaid returns the cause that the line of an object as a whole says; empty for none.
func causeSaid(item plan.Item) plan.Cause {
	again := item.Resend || item.Recreate && !item.Happened
	makes := !item.Happened && (item.Op == plan.Create || item.Op == plan.Post || item.Op == plan.Delete)
	if !again && (makes || item.Deleted || item.Missing() || mentioned(item)) {
		return item.Cause
	}
	return ""
}

func making(item plan.Item) safe {
	var parts []safe
	if item.Made != "" {
		parts = append(parts, safetext.F("created at %s", clean(item.Made).Cut(maxName)))
	}
	if item.Disk != "" {
		parts = append(parts, safetext.F("from disk %s", clean(item.Disk).Cut(maxPath)))
	}
	return safetext.Join(parts, " ")
}

func isAgain(item plan.Item) bool { return item.Resend || item.Recreate || item.Deleted }

// again returns why an object is created or sent, perhaps once more.
func again(item plan.Item, opts Options) safe {
	switch {
	case item.Resend:
		return clean("sent again: the platform rejects the name if it was executed")
	case item.Recreate:
		return clean("created again, as you allowed: it has other data")
	case item.Deleted:
		return clean("adds back what was deleted outside git")
	}
	return causeOf(item, opts)
}

// afterwards returns the cause of a purge, and the objects that it waits for.
func afterwards(item plan.Item, opts Options) safe {
	why := plan.Item{Cause: item.Cause, By: item.By, Commit: item.Commit, Resend: item.Resend}
	parts := safetext.Filled(again(why, opts))
	names := make([]safe, len(item.After))
	for i, k := range item.After {
		names[i] = titled(k)
	}
	if n := len(names); n > 0 {
		parts = append(parts, safetext.F("after %s %s verified", safetext.Join(names, ", "), [...]string{"are", "is"}[oneIf(n == 1)]))
	}
	return safetext.Join(parts, ", ")
}

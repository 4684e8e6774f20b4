package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

// Mark is the sign in front of a path.
type Mark string

// The marks.
const (
	MarkAdd     Mark = "+"
	MarkChange  Mark = "~"
	MarkRemove  Mark = "-"
	MarkOnce    Mark = "!"
	MarkBlocked Mark = "x"
	MarkLater   Mark = ">"
	MarkSame    Mark = "="
)

// Row is a line about an object: a path, the change of its value, and the cause; or a sentence.
type Row struct {
	Mark Mark
	// Cause is why a value differs, in words. Alarm is set unless that is simply a change in git without a grave risk.
	Cause safetext.Text
	Alarm bool
	Path  safetext.Text
	// Text is a sentence, in place of a path. Fix marks an instruction.
	Text safetext.Text
	Fix  bool
	// Before and After are the values in short; empty for none.
	Before, After safetext.Text
	// Details are the YAML flow tokens that Before or After leaves out, and names the list elements that the line is
	// about, if they are many.
	Details, Names []safetext.Text
	// Why is the cause that the row says; empty for none.
	Why plan.Cause
	// Rule is that of a remark about the row; empty if it needs none.
	Rule string
	// Field is the path of the change. line and column are in the manifest; 0 is unknown.
	Field        string
	Line, Column int
	// Facts are what the row shows, and whole is set if it must show all of that.
	Facts []ChangeFact
	Whole bool
	// Moved is set if only the position in a list changes, and stops if something is served no longer.
	Moved, Stops bool
}

// lineRow returns the row of a line, with what a rename and the request do. locations are those of a new object.
func lineRow(item plan.Item, l plan.ChangeLine, locations []routing.Location, opts TextOptions) Row {
	if l.Class == plan.Stays {
		return Row{Text: safetext.F("live only: %s = %s (it stays)", clean(l.Path).Truncate(MaxPath), FormatValue(l.Live, false))}
	}
	if l.Class == plan.NotSent {
		return notSentRow(item, l)
	}
	r := rowOf(item, l.Change, locations)
	r.Facts = factsOfLine(item, l)
	if l.Class == plan.Added {
		r.Cause = safetext.Text{} // the row of the object has it
		return r
	}
	r.Rule = riskRule(item, l.Change, changeRule(l.Change))
	if r.Stops = len(l.Unserved) > 0; r.Stops {
		r.Alarm, r.Rule = true, "plan/stops"
	}
	var risk safetext.Text
	if !l.Left && plan.IsShown(l.Class) && (!r.Stops || l.Risk != kind.RiskServes) {
		if risk = describeRisk(item, l.Risk); opts.Verbose && !risk.Empty() && l.RiskReason != "" {
			risk = safetext.F("%s (%s)", risk, clean(l.RiskReason))
		}
	}
	r.Alarm = r.Alarm || !risk.Empty()
	r.Cause = safetext.Join(safetext.NonEmpty(describeUnserved(item, cleanAll(l.Unserved)), risk, r.Cause, r.describeElements(l)), "; ")
	return r
}

// notSentRow returns the sentence about a value that is lost with a list that is sent whole.
func notSentRow(item plan.Item, l plan.ChangeLine) Row {
	lost := clean("null") // which a list in live may have
	if l.Live != nil {
		lost = FormatValue(l.Live, MustShow(l.Risk))
	}
	effect := safetext.Join(safetext.NonEmpty(clean("not in git"), clean("lost unless the platform sets it itself"), describeRisk(item, l.Risk)), "; ")
	return Row{Text: safetext.F("not sent: %s = %s (%s)", CollapseSpaces(clean(l.Path)), lost, effect), Rule: ruleOf(l.Risk), Facts: factsOfLine(item, l)}
}

// describeElements returns the words for the list elements that a line is about, if there are several, and puts the names of many below
// the row.
func (r *Row) describeElements(l plan.ChangeLine) safetext.Text {
	n := len(l.Elements)
	if n == 0 {
		return safetext.Text{}
	}
	names := diag.MapList(l.Elements, func(e string) safetext.Text { return CollapseSpaces(clean(e)) })
	words := safetext.F("in %d %s", n, clean(l.List[strings.LastIndexByte(l.List, '.')+1:]))
	if n <= MaxParts {
		return safetext.F("%s: %s", words, safetext.Join(names, ", "))
	}
	r.Names = names
	return words
}

// describeRisk returns the words of a grave risk that takes effect; empty for others.
func describeRisk(item plan.Item, risk kind.Risk) safetext.Text {
	if !risk.IsGrave() || !item.TakesEffect() {
		return safetext.Text{}
	}
	return clean(risk.Meaning())
}

// describeUnserved names what is served no longer; empty for nothing.
func describeUnserved(item plan.Item, unserved []safetext.Text) safetext.Text {
	if len(unserved) == 0 {
		return safetext.Text{}
	}
	verb := "stops"
	if item.Happened {
		verb = "stopped"
	}
	return safetext.F("%s serving %s", verb, JoinLimited(unserved, ", "))
}

func cleanAll(texts []string) []safetext.Text {
	return diag.MapList(texts, func(text string) safetext.Text { return Shorten(CollapseSpaces(clean(text))) })
}

// rowOf returns the row of a change, from live to git as apply sends it. What happened outside git goes from git to live. locations
// are those of a new object.
func rowOf(item plan.Item, c plan.Change, locations []routing.Location) Row {
	alarming := []merge.ChangeKind{merge.DriftOverwrite, plan.ServerNormalised, merge.Conflict, merge.RemovedConflict, plan.Lost}
	r := Row{
		Mark: MarkRemove, Cause: causeLabel(item, c), Alarm: slices.Contains(alarming, c.Class), Path: CollapseSpaces(clean(c.Path)),
		Field: c.Path, Moved: c.Moved, Why: c.Cause, Line: c.Line, Column: c.Column,
	}
	from, to, units := c.Live, c.Desired, c.Units
	if item.Happened {
		from, to, units = to, from, plan.Units{Live: units.Desired, Desired: units.Live}
	}
	from, to = matchTextType(from, to), matchTextType(to, from)
	of := valueContext{item.Kind, c.Path, locations}
	switch r.Whole = MustShow(c.Risk); {
	case c.Moved:
		r.Mark, r.After = MarkChange, describeMove(item, c)
	case from != nil && to != nil:
		r.Mark = MarkChange
		r.Before, r.After = FormatPair(from, to, r.Whole)
	case to != nil:
		r.Mark = MarkAdd
		r.After, r.Details = describeValue(of, to)
		r.After = withPosition(c, r.After)
	case from != nil:
		r.Before, r.Details = describeValue(of, from)
	}
	if len(r.Details) > 0 && !r.Whole { // what is in an element is read, even if the element itself only protects more
		r.Whole = MustShow(max(riskAt(item.Kind, c.Path, from), riskAt(item.Kind, c.Path, to)))
	}
	r.Before, r.After = addTime(r.Before, from, units.Live), addTime(r.After, to, units.Desired)
	r.markUnsent(c)
	return r
}

// LoggedRows returns a row for each change of an entry of the ledger's log, with or without its values.
func LoggedRows(e plan.LoggedChanges, values bool) []Row {
	rows := make([]Row, len(e.Changes))
	for i, c := range e.Changes {
		r := rowOf(plan.Item{Key: e.Key}, c, nil)
		if r.Cause = (safetext.Text{}); !values {
			r.Before, r.After, r.Details = safetext.Text{}, safetext.Text{}, nil
		}
		rows[i] = r
	}
	return rows
}

// markUnsent changes the row of what the request leaves as it is.
func (r *Row) markUnsent(c plan.Change) {
	switch {
	case c.Class == merge.Unmanaged:
		r.Mark = MarkSame
	case c.Class == merge.Converged:
		r.Mark, r.Why, r.Cause = MarkSame, "", clean("already so")
	case c.Left:
		r.Mark, r.Cause = MarkSame, safetext.F("%s, left as it is (--drift report)", r.Cause)
		if !r.Moved {
			absent := clean("absent")
			r.Before, r.After = safetext.Text{}, safetext.F("%s (git: %s)", cmp.Or(r.Before, absent), cmp.Or(r.After, absent))
		}
	}
}

// addTime adds to a value what it is in words, if it is a number of a unit of time.
func addTime(value safetext.Text, v any, unit string) safetext.Text {
	if d, ok := kind.DurationOf(fmt.Sprint(v), unit); ok && !value.Empty() {
		return safetext.F("%s (%s)", value, kind.FormatDuration(d))
	}
	return value
}

// matchTextType returns a number or boolean as text if the other value is the text of one: servers return 60 for
// "60", and only the rest is a difference.
func matchTextType(v, other any) any {
	s, isText := other.(string)
	switch v.(type) {
	case json.Number, bool:
		if isText && json.Valid([]byte(s)) {
			return fmt.Sprint(v)
		}
	}
	return v
}

// describeMove says how an element moves in its list, or how another client moved it.
func describeMove(item plan.Item, c plan.Change) safetext.Text {
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
func withPosition(c plan.Change, value safetext.Text) safetext.Text {
	switch p := c.Position; {
	case p == nil || p.Of == 0:
		return value
	case p.Desired == 1:
		return safetext.F("first of %d, %s", p.Of, value)
	default:
		return safetext.F("at %d of %d, %s", p.Desired, p.Of, value)
	}
}

func isVisible(c merge.ChangeKind, opts TextOptions) bool {
	return opts.Verbose || plan.IsShown(c) && c != plan.Stays
}

// changeRows returns the rows about what differs in an object, which begin with what is served no longer, and the sentences about
// the object.
func changeRows(item plan.Item, opts TextOptions) (changes, notes []Row) {
	said, locations := map[string]bool{}, []routing.Location(nil)
	if item.Op == plan.Create {
		locations = routing.ReadConfig(item.BodySpec()).Locations
	}
	lines := slices.DeleteFunc(item.AllLines(), func(l plan.ChangeLine) bool { return !isVisible(l.Class, opts) })
	slices.SortStableFunc(lines, func(a, b plan.ChangeLine) int { return OneIf(len(b.Unserved) > 0) - OneIf(len(a.Unserved) > 0) })
	for _, l := range lines {
		if l.Commit != nil && said[l.Commit.ID] {
			l.Commit = &plan.Commit{ID: l.Commit.ID} // the first line says the rest
		}
		r := lineRow(item, l, locations, opts)
		if l.Commit != nil && strings.Contains(r.Cause.String(), ShortCommit(l.Commit.ID).String()) {
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
	k, ok := kind.FindKind(kindName)
	if !ok {
		return kind.RiskServes
	}
	return k.Spec().FindField(path).RiskOf(v, nil)
}

// isKeptUnchanged reports whether an item is kept without changes.
func isKeptUnchanged(item plan.Item) bool { return item.Op == plan.Kept && len(item.Changes) == 0 }

// whyKept says why an object is kept.
func whyKept(item plan.Item) safetext.Text {
	why := safetext.Join(safetext.NonEmpty(describeObjectCause(item), CleanMessage(item.Reason)), "; ")
	if item.Fix != "" {
		why = safetext.F("%s (%s)", why, CleanMessage(item.Fix))
	}
	return safetext.F("kept: %s", why)
}

// IsHidden reports whether a report leaves an item out.
func IsHidden(item plan.Item, opts TextOptions) bool {
	return item.Op == plan.None && len(item.Changes) == 0 && len(item.Hints) == 0 && !opts.Verbose
}

// opRows returns the row about the object as a whole, if there is one.
func opRows(item plan.Item) []Row {
	op, reason := opLookOf(item), CleanMessage(item.Reason)
	r := Row{Mark: op.mark, Why: objectCause(item), Path: clean(op.title)}
	if item.Happened && !item.Failed {
		r.Alarm, r.Stops = true, item.Unserved != ""
		if r.Cause = describeUnserved(item, safetext.NonEmpty(clean(item.Unserved).Truncate(MaxPath))); item.IsReportedMissing() {
			r.Cause = clean(unknownOrigin)
		}
		return []Row{r}[:OneIf(item.Deleted || item.IsReportedMissing())]
	}
	switch item.Op {
	case plan.Create:
		risk := describeRisk(item, item.Risk)
		r.After, r.Alarm = describeCreation(item), item.Resend || item.Recreate || item.Deleted || !risk.Empty()
		r.Cause = safetext.Join(safetext.NonEmpty(risk, whySent(item)), "; ")
	case plan.Post:
		r.After, r.Cause, r.Alarm = countInvalidated(item.Purge), describePurgeCause(item), item.Resend
		r.Facts = wholeObjectFacts(item)
	case plan.Delete:
		r.Before, r.Cause, r.Alarm = describeCreation(item), safetext.F("%s; this can't be undone", DescribeRemoval(item.By, item.Commit)), true
		r.Facts = wholeObjectFacts(item)
	case plan.Deferred:
		r.After, r.Cause = countInvalidated(item.Purge), reason
	case plan.Blocked, plan.InFlight, plan.Kept:
		if isKeptUnchanged(item) {
			r.Path = whyKept(item)
			break
		}
		r.Path, r.Alarm = safetext.F("%s%s", op.title, reason), item.Op != plan.InFlight
	case plan.None, plan.Patch:
		return nil
	}
	return []Row{r}
}

// objectCause returns the cause that the line of an object as a whole says; empty for none.
func objectCause(item plan.Item) plan.Cause {
	again := item.Resend || item.Recreate && !item.Happened
	makes := !item.Happened && (item.Op == plan.Create || item.Op == plan.Post || item.Op == plan.Delete)
	if !again && (makes || item.Deleted || item.IsReportedMissing() || isKeptUnchanged(item)) {
		return item.Cause
	}
	return ""
}

func describeCreation(item plan.Item) safetext.Text {
	var parts []safetext.Text
	if item.Made != "" {
		parts = append(parts, safetext.F("created at %s", clean(item.Made).Truncate(MaxName)))
	}
	if item.Disk != "" {
		parts = append(parts, safetext.F("from disk %s", clean(item.Disk).Truncate(MaxPath)))
	}
	return safetext.Join(parts, " ")
}

// whySent returns why an object is created or sent, perhaps once more.
func whySent(item plan.Item) safetext.Text {
	switch {
	case item.Resend:
		return clean("sent again: the platform rejects the name if it was executed")
	case item.Recreate:
		return clean("created again, as you allowed: it has other data")
	case item.Deleted:
		return clean("adds back what was deleted outside git")
	}
	return describeObjectCause(item)
}

// describePurgeCause returns the cause of a purge, and the objects that it waits for.
func describePurgeCause(item plan.Item) safetext.Text {
	why := plan.Item{Cause: item.Cause, By: item.By, Commit: item.Commit, Resend: item.Resend}
	parts := safetext.NonEmpty(whySent(why))
	names := diag.MapList(item.After, titleOf)
	if n := len(names); n > 0 {
		parts = append(parts, safetext.F("after %s %s verified", safetext.Join(names, ", "), [...]string{"are", "is"}[OneIf(n == 1)]))
	}
	return safetext.Join(parts, ", ")
}

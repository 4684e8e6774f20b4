package report

import (
	"cmp"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// mark is the sign of a line in front of its path.
type mark string

// The marks: what is added, changed, removed; with ! where live was changed
// outside git, and !! where git was changed as well.
const (
	markAdd      mark = "+"
	markChange   mark = "~"
	markRemove   mark = "-"
	markDrift    mark = "!~"
	markLost     mark = "!-"
	markConflict mark = "!!"
	markOnce     mark = "!"
	markBlocked  mark = "x"
	markLater    mark = ">"
	markSame     mark = "="
)

// look is how a mark looks: its style in a terminal; its class and sign in the page,
// and its name for whoever can't see the sign.
type look struct {
	style             style
	Class, Sign, Name string
}

var tableOfMarks = map[mark]look{
	markAdd:      {added, "add", "+", "added"},
	markChange:   {changed, "edit", "~", "changed"},
	markRemove:   {removed, "cut", "−", "removed"},
	markDrift:    {alarm, "alarm", "!~", "not as applied"},
	markLost:     {alarm, "alarm", "!−", "would be lost"},
	markConflict: {alarm, "alarm", "!!", "conflict"},
	markOnce:     {once, "once", "!", "once"},
	markBlocked:  {alarm, "stop", "×", "blocked"},
	markLater:    {once, "once", ">", "not now"},
	markSame:     {faint, "plain", "=", "as it is"},
}

// row is one line of an item: a path, what happens to its value, and why.
type row struct {
	mark mark
	path safe
	// before and after are empty where there is no such value.
	before, after safe
	// live and desired are what before and after are short for; nil is none.
	live, desired any
	// details are the tokens of the flow of what before or after is short for.
	details []safe
	cause   safe
	// why is the cause for a program; line and column are in the manifest, 0 is unknown.
	why          plan.Cause
	line, column int
	// risk is what is at stake.
	risk kind.Risk
	// moved says that only the place in a list changes.
	moved bool
	// alarm says that the cause is not simply a change in git.
	alarm bool
}

// whole reports whether the values of the row are shown whole, however long.
func (r row) whole() bool { return r.risk.Grave() }

// changeRow shows one change of an object of that kind.
func changeRow(kindName string, c plan.Change) row {
	r := row{
		path: clean(c.Path), mark: markRemove, risk: c.Risk, moved: c.Moved, why: c.Cause, line: c.Line, column: c.Column,
		live: c.Live, desired: c.Desired, cause: label(c),
	}
	switch {
	case c.Moved:
		r.mark, r.after = markChange, clean("moved")
	case c.Live != nil && c.Desired != nil:
		r.mark = markChange
		r.before, r.after = pair(c.Live, c.Desired, r.whole())
	case c.Desired != nil:
		r.mark = markAdd
		r.after, r.details = gist(kindName, c.Path, c.Desired, r.whole())
	case c.Live != nil:
		r.before, r.details = gist(kindName, c.Path, c.Live, r.whole())
	}
	r.classify(c)
	if c.Left {
		r.mark, r.cause = markSame, safetext.F("%s, unchanged (--drift report)", r.cause)
		if !r.moved {
			absent := clean("absent")
			r.before, r.after = safe{}, safetext.F("%s (git: %s)", cmp.Or(r.before, absent), cmp.Or(r.after, absent))
		}
	}
	return r
}

// classify sets what the class of a change says beyond its values.
func (r *row) classify(c plan.Change) {
	switch c.Class {
	case plan.DriftOverwrite, plan.ServerNormalised:
		r.mark, r.alarm = markDrift, true
		if c.Class == plan.DriftOverwrite && c.Desired == nil && !c.Moved {
			r.mark = markLost
		}
	case plan.Conflict:
		r.mark, r.alarm = markConflict, true
	case plan.RemovedConflict:
		r.mark, r.alarm = markLost, true
	case plan.Converged:
		r.mark, r.cause = markSame, clean("already so")
	case plan.Unmanaged:
		r.mark = markSame
	case plan.InSync, plan.AlreadyRemoved, plan.Changed, plan.TakeOver, plan.Removed, plan.UnknownBase:
	}
}

func visible(c plan.Class, opts Options) bool {
	return plan.IsShown(c) || c == plan.Converged && opts.Verbose || c == plan.Unmanaged && opts.ShowUnmanaged
}

// itemRows are the marked lines of an item.
func itemRows(item plan.Item, opts Options) []row {
	rows, lost := opRows(item), lossesOf(item)
	for _, c := range slices.Concat(item.Changes, item.Notes) {
		if visible(c.Class, opts) && !lost.have(c) {
			rows = append(rows, changeRow(item.Kind, c))
		}
	}
	for _, c := range item.Added() {
		rows = append(rows, addedRow(item.Kind, c))
	}
	for _, v := range item.FirstContact {
		r := row{mark: markLost, path: clean(v.Path), cause: clean(lostCause), alarm: true, live: v.Value, risk: riskAt(item.Kind, v.Path, v.Value)}
		r.before, r.details = gist(item.Kind, v.Path, v.Value, r.whole())
		rows = append(rows, r)
	}
	return rows
}

// addedRow shows a field of an object that is created. The object's row has the cause.
func addedRow(kindName string, c plan.Change) row {
	c.Cause = ""
	r := changeRow(kindName, c)
	r.cause = safe{}
	return r
}

// riskAt is what is at stake with a value of an object of that kind.
func riskAt(kindName, path string, v any) kind.Risk {
	k, ok := kind.Named(kindName)
	if !ok {
		return kind.RiskServes
	}
	return k.Spec().Places(path).RiskIn(v)
}

// opRows is the line about an item as a whole, if there is one.
func opRows(item plan.Item) []row {
	r := row{why: item.Cause}
	reason := message(item.Reason)
	switch item.Op {
	case plan.Create:
		r.mark, r.path, r.after, r.cause = markAdd, clean("create"), making(item), clean(again(item))
		r.alarm = again(item) != causeOf(item)
	case plan.Post:
		r.mark, r.path, r.after, r.cause, r.alarm = markOnce, clean("post once"), invalidated(item.Purge), afterwards(item), item.Resend
	case plan.Delete:
		r.mark, r.path, r.before, r.alarm = markRemove, clean("delete"), making(item), true
		r.cause = safetext.F("removed from git%s; this can't be undone", by(item.By))
	case plan.Blocked:
		r.mark, r.path, r.alarm = markBlocked, safetext.F("blocked: %s", reason), true
	case plan.InFlight:
		r.mark, r.path = markLater, reason
	case plan.Deferred:
		r.mark, r.path, r.after, r.cause = markLater, clean("deferred"), invalidated(item.Purge), reason
	case plan.Kept:
		if mentioned(item) {
			return nil
		}
		r.mark, r.path, r.alarm = markSame, safetext.F("kept: %s", reason), true
	case plan.None, plan.Patch:
		return nil
	}
	return []row{r}
}

// lostCause is that of a live element that only a take-over may drop.
const lostCause = "live only: would be lost"

// mentioned reports whether an item is kept and there is no more to say about it.
func mentioned(item plan.Item) bool { return item.Op == plan.Kept && len(item.Changes) == 0 }

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

// losses are the paths of elements that only a take-over may drop.
type losses map[string]bool

// have reports whether a change is such a loss: it has a row of its own.
func (l losses) have(c plan.Change) bool { return c.Desired == nil && l[c.Path] }

func lossesOf(item plan.Item) losses {
	lost := make(losses, len(item.FirstContact))
	for _, v := range item.FirstContact {
		lost[v.Path] = true
	}
	return lost
}

func again(item plan.Item) string {
	switch {
	case item.Resend:
		return "sent again: the platform refuses the name if it was executed"
	case item.Recreate:
		return "created again, as you allowed: it has other data"
	case item.Deleted:
		return "drift: live was deleted outside git"
	}
	return causeOf(item)
}

// afterwards says why a purge is posted, and what it waits for.
func afterwards(item plan.Item) safe {
	why := plan.Item{Cause: item.Cause, By: item.By, Resend: item.Resend}
	parts := safetext.Filled(clean(again(why)))
	names := make([]safe, len(item.After))
	for i, k := range item.After {
		names[i] = titled(k)
	}
	switch len(names) {
	case 0:
	case 1:
		parts = append(parts, safetext.F("after %s is verified", names[0]))
	default:
		parts = append(parts, safetext.F("after %s are verified", safetext.Join(names, ", ")))
	}
	return safetext.Join(parts, ", ")
}

// hidden reports whether an item needs no line of its own.
func hidden(item plan.Item, opts Options) bool {
	return item.Op == plan.None && len(item.Changes) == 0 && len(item.Hints) == 0 && !opts.Verbose
}

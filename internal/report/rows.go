package report

import (
	"cmp"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// mark is the sign of a line in front of its path (docs/design.md B4).
type mark safe

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
	// why is the cause for a program, line and column where the manifest says it;
	// 0 is unknown.
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
	r := row{path: clean(c.Path), mark: plainMark(c), risk: c.Risk, moved: c.Moved, why: c.Cause, line: c.Line, column: c.Column}
	r.live, r.desired = c.Live, c.Desired
	switch {
	case c.Moved:
		r.after = "moved"
	case c.Live != nil && c.Desired != nil:
		r.before, r.after = pair(c.Live, c.Desired, r.whole())
	case c.Desired != nil:
		r.after, r.details = gist(kindName, c.Path, c.Desired, r.whole())
	case c.Live != nil:
		r.before, r.details = gist(kindName, c.Path, c.Live, r.whole())
	}
	r.explain(c)
	if c.Left {
		r.leave()
	}
	return r
}

// leave says that live stays as it is.
func (r *row) leave() {
	r.mark, r.cause = markSame, r.cause+", unchanged (--drift report)"
	if !r.moved {
		r.before, r.after = "", cmp.Or(r.before, "absent")+" (git: "+cmp.Or(r.after, "absent")+")"
	}
}

// visible reports whether a class is shown (docs/design.md B4).
func visible(c plan.Class, opts Options) bool {
	return plan.IsShown(c) || c == plan.Converged && opts.Verbose || c == plan.Unmanaged && opts.ShowUnmanaged
}

// explain sets mark and cause (docs/design.md B4).
func (r *row) explain(c plan.Change) {
	r.cause = label(c)
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
		r.mark, r.cause = markSame, "already so"
	case plan.Unmanaged:
		r.mark = markSame
	case plan.InSync, plan.AlreadyRemoved, plan.Changed, plan.TakeOver, plan.Removed, plan.UnknownBase:
	}
}

func plainMark(c plan.Change) mark {
	switch {
	case c.Moved || c.Live != nil && c.Desired != nil:
		return markChange
	case c.Desired != nil:
		return markAdd
	default:
		return markRemove
	}
}

// had quotes a value inside a cause; a long one stands in the line anyway.
func had(before safe, v any, after safe) safe {
	if v == nil {
		return ""
	}
	return before + cut(literal(v), 40) + after
}

// wholeRows are the marked lines about an item as a whole.
func wholeRows(item plan.Item) []row {
	rows := opRows(item)
	for i := range rows {
		rows[i].why = item.Cause
	}
	return rows
}

// itemRows are the marked lines of an item.
func itemRows(item plan.Item, opts Options) []row {
	rows, lost := wholeRows(item), lossesOf(item)
	for _, c := range slices.Concat(item.Changes, item.Notes) {
		if visible(c.Class, opts) && !lost.have(c) {
			rows = append(rows, changeRow(item.Kind, c))
		}
	}
	for _, c := range item.Added() {
		rows = append(rows, addedRow(item.Kind, c))
	}
	for _, v := range item.FirstContact {
		r := row{mark: markLost, path: clean(v.Path), cause: lostCause, alarm: true, live: v.Value, risk: riskOf(item, v)}
		r.before, r.details = gist(item.Kind, v.Path, v.Value, r.whole())
		rows = append(rows, r)
	}
	return rows
}

// addedRow shows a field of an object that is made: why it is made stands with the
// object.
func addedRow(kindName string, c plan.Change) row {
	c.Cause = ""
	r := changeRow(kindName, c)
	r.cause = ""
	return r
}

// riskOf is what is at stake with a value that an item drops.
func riskOf(item plan.Item, v plan.Value) kind.Risk { return riskAt(item.Kind, v.Path, v.Value) }

// riskAt is what is at stake with a value of an object of that kind.
func riskAt(kindName, path string, v any) kind.Risk {
	k, ok := kind.Named(kindName)
	if !ok {
		return kind.RiskServes
	}
	return k.Spec().Places(path).RiskIn(v)
}

// opRows is the line of what apply does with a whole item, if it does.
func opRows(item plan.Item) []row {
	switch item.Op {
	case plan.Create:
		return []row{{mark: markAdd, path: "create", after: making(item), cause: again(item), alarm: item.Deleted || item.Recreate || item.Resend}}
	case plan.Post:
		return []row{{mark: markOnce, path: "post once", after: invalidated(item.Purge), cause: afterwards(item), alarm: item.Resend}}
	case plan.Delete:
		return []row{{mark: markRemove, path: "delete", before: making(item), cause: "removed from git" + by(item.By) + "; this can't be undone", alarm: true}}
	case plan.Blocked:
		return []row{{mark: markBlocked, path: "blocked: " + message(item.Reason), alarm: true}}
	case plan.InFlight:
		return []row{{mark: markLater, path: message(item.Reason)}}
	case plan.Deferred:
		return []row{{mark: markLater, path: "deferred", after: invalidated(item.Purge), cause: message(item.Reason)}}
	case plan.Kept:
		if !mentioned(item) {
			return []row{{mark: markSame, path: "kept: " + message(item.Reason), alarm: true}}
		}
	case plan.None, plan.Patch:
	}
	return nil
}

// lostCause is that of a live element that only a take-over may drop.
const lostCause safe = "live only: would be lost"

// mentioned reports whether an item is kept and there is no more to say of it.
func mentioned(item plan.Item) bool { return item.Op == plan.Kept && len(item.Changes) == 0 }

// making says when and from what an object was made, or is.
func making(item plan.Item) safe {
	var parts []safe
	if item.Made != "" {
		parts = append(parts, "created at "+cut(clean(item.Made), maxName))
	}
	if item.Disk != "" {
		parts = append(parts, "from disk "+cut(clean(item.Disk), maxPath))
	}
	return join(parts, " ")
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

// again says why an object is made that was made before, or may have been.
func again(item plan.Item) safe {
	switch {
	case item.Resend:
		return resent
	case item.Recreate:
		return "created again, as you allowed: it has other data"
	case item.Deleted:
		return "drift: live was deleted outside git"
	}
	return causeOf(item)
}

// resent says why a request is sent that may have been sent before.
const resent = "sent again: the platform refuses the name if it was executed"

func afterwards(item plan.Item) safe {
	var parts []safe
	if item.Resend {
		parts = append(parts, resent)
	} else {
		parts = filled(causeOf(item))
	}
	names := make([]safe, len(item.After))
	for i, k := range item.After {
		names[i] = titled(k)
	}
	switch len(names) {
	case 0:
	case 1:
		parts = append(parts, "after "+names[0]+" is verified")
	default:
		parts = append(parts, "after "+join(names, ", ")+" are verified")
	}
	return join(parts, ", ")
}

// hidden reports whether an item needs no line of its own.
func hidden(item plan.Item, opts Options) bool {
	return item.Op == plan.None && len(item.Changes) == 0 && len(item.Hints) == 0 && !opts.Verbose
}

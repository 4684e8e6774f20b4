package plan

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"trueup/internal/kind"
	"trueup/internal/merge"
)

// driftOf returns the changes of an item that another client made. A deletion or failure counts as one.
func driftOf(it Item) []Change {
	var drift []Change
	for _, c := range it.Changes {
		if tableOfClasses[c.Class].drift {
			drift = append(drift, c)
		}
	}
	if it.Deleted || it.Failed {
		drift = append(drift, Change{Difference: merge.Difference{Class: merge.DriftOverwrite}})
	}
	return drift
}

// countDrifted counts the lines about what was changed outside git.
func (it Item) countDrifted() (n int) {
	for _, l := range it.Lines() {
		if tableOfClasses[l.Class].drift {
			n++
		}
	}
	if it.Deleted || it.Failed || it.IsReportedMissing() {
		n++
	}
	return n
}

// NarrowToDrift narrows a plan, which was made with ForDrift, to how live differs from git: what was changed outside git, which
// Happened, and after that what git has and apply did not send, which Waits. An object may be in both parts.
func NarrowToDrift(p *Plan) *Plan {
	d := *p
	d.Items, d.Digest, d.Advice, d.Silenced = nil, "", nil, nil
	var waiting []Item
	unchanged := 0
	for _, it := range p.Items {
		drift := driftOf(it)
		happened := len(drift) > 0 || it.isMissing()
		if w, waits := it.narrowToWaiting(); waits {
			waiting = append(waiting, w.withUndoFix(happened, p.Older))
		} else if len(drift) == 0 && it.isDone() {
			unchanged++
		}
		if it.Happened = happened; !it.Happened {
			continue
		}
		if it.Unserved != "" { // the row of the object says it
			it.Stops = nil
		}
		switch {
		case it.Failed:
		case it.Deleted:
			it.Fix = cmp.Or(it.Fix, fmt.Sprintf("create it again with trueup apply --target %s, or remove its manifest from git", it.Key))
		case it.isMissing():
			it.Fix = cmp.Or(it.Fix, fmt.Sprintf("create it with trueup apply --target %s, or remove its manifest from git", it.Key))
		default:
			it.Fix = cmp.Or(it.Fix, it.undoOrKeepFix())
			it.Changes = drift
		}
		it.Hints = slices.DeleteFunc(slices.Clone(it.Hints), func(h string) bool { return h != hintRefused && h != hintKept && h != hintReplaced })
		it.Lists, it.Preserved, it.Collateral, it.FirstContact = nil, nil, nil, nil
		it.weighRisk()
		it.Request = nil
		d.Items = append(d.Items, it)
	}
	d.Items = append(d.Items, waiting...)
	if !d.hasGitCause() {
		d.Blame = nil
	}
	d.Summary = d.CountItems()
	d.Summary.Unchanged = unchanged
	return &d
}

// narrowToWaiting narrows an item to what git has and live does not. It reports whether there is anything.
func (it Item) narrowToWaiting() (Item, bool) {
	own := slices.DeleteFunc(slices.Clone(it.Changes), func(c Change) bool { return c.Left || tableOfClasses[c.Class].drift })
	it.Waits = it.isToSend(len(own) > 0)
	if it.Changes, it.Request, it.Hints, it.Notes = own, nil, nil, nil; it.Op == Create || it.Op == Patch {
		it.Fix = fmt.Sprintf("send it with trueup apply --target %s", it.Key)
	}
	it.Lists, it.Preserved, it.Collateral, it.FirstContact, it.Stops = nil, nil, nil, nil, nil
	it.weighRisk()
	return it, it.Waits
}

// withUndoFix completes the fix of an item that waits. An older commit has none: apply would send nothing of it.
func (it Item) withUndoFix(happened, older bool) Item {
	switch sends := it.Op == Create || it.Op == Patch; {
	case sends && older:
		it.Fix = ""
	case sends && happened:
		it.Fix += "; it also undoes what changed outside git"
	}
	return it
}

// isToSend reports whether git has something of the item that is not applied. hasOwn says that git changes fields.
func (it Item) isToSend(hasOwn bool) bool {
	isGone := it.Deleted || it.Failed || it.isMissing()
	k, _ := kind.FindKind(it.Kind)
	switch it.Op {
	case Create:
		return !isGone
	case Patch:
		return hasOwn
	case Blocked:
		return hasOwn || k.IsSendOnce() && !isGone
	case Post, Delete, Deferred:
		return true
	case None, InFlight, Kept:
	}
	return false
}

// NeedsReread returns a function that reports whether to read a listed object by name: trueup wrote it lately, and it seems to
// be changed outside git. The list may lag behind.
func NeedsReread(in Inputs, now time.Time) func(kind.Key, kind.LiveObject) bool {
	p := sync.OnceValue(func() *Planner { return NewPlanner(in) })
	return func(key kind.Key, listed kind.LiveObject) bool {
		if !in.Ledger.Records[key].WrittenLately(now) || in.Set.Find(key) == nil {
			return false
		}
		it, _ := p().ReplanItem(key, &listed)
		return len(driftOf(it)) > 0
	}
}

// isMissing reports whether live lacks the object, and no record shows whether it ever had it.
func (it Item) isMissing() bool {
	k, ok := kind.FindKind(it.Kind)
	return ok && !k.IsRequestOnly() && it.Cause == FromUnknown && !it.Live.Exists
}

// IsReportedMissing reports whether a report of drift says so.
func (it Item) IsReportedMissing() bool { return it.Happened && it.isMissing() }

// isDone reports whether the object is in git, and live or sent once.
func (it Item) isDone() bool {
	return (it.Live.Exists || it.Op == None) && it.Op != Kept && it.Op != Delete
}

// DriftPolicy is what a plan does about drift (docs/design.md B4); empty is OverwriteDrift.
type DriftPolicy string

// The policies. FailOnDrift sends nothing at all while anything drifted;
// ReportDrift leaves what drifted as it is and sends the rest.
const (
	OverwriteDrift DriftPolicy = "overwrite"
	FailOnDrift    DriftPolicy = "fail"
	ReportDrift    DriftPolicy = "report"
)

// DriftPolicies are their names, the default first.
func DriftPolicies() []DriftPolicy { return []DriftPolicy{OverwriteDrift, FailOnDrift, ReportDrift} }

// keepDeleted keeps an object away that another client deleted; false
// means that it is made again.
func (d *objectPlanner) keepDeleted() bool {
	if !d.item.Deleted || d.in.Options.Drift != ReportDrift || d.in.Options.AllowRecreate[d.item.Key] {
		return false
	}
	d.item.Op, d.item.Reason, d.item.Fix = Kept, "it was deleted outside git, and trueup leaves it so (--drift report)", d.item.recreateFix()
	return true
}

// recreateFix is what to do about an object that was deleted outside git.
func (it Item) recreateFix() string {
	return fmt.Sprintf("remove its manifest from git, or create it again with apply --accept recreate=%s", it.Key)
}

// undoOrKeepFix is what to do about what was changed outside git, or may have been. Replacing the manifest would lose
// what git changed.
func (it Item) undoOrKeepFix() string {
	undo, keep := "undo it", "keep it with trueup pull %[1]s --replace"
	for _, c := range it.Changes {
		cause := causeOf(c.Class)
		if cause == FromUnknown || cause == FromRefusal {
			undo = "send what git has"
		}
		if cause != FromDrift && cause != FromRefusal {
			keep = "put it into the manifest: trueup pull %[1]s --diff shows it"
		}
	}
	return fmt.Sprintf(undo+" with trueup apply --target %[1]s, or "+keep, it.Key)
}

// keepDrifted keeps an object that nothing is sent for, because everything that
// differs was changed outside git, or may have been.
func (d *objectPlanner) keepDrifted() {
	d.item.Op, d.item.Reason = Kept, "it was changed outside git, and trueup leaves it so (--drift report)"
	d.item.Fix = d.item.undoOrKeepFix()
	if areUnattributed(d.item.Changes) {
		d.item.Reason = "trueup can't tell who changed it, and leaves it as it is (--drift report)"
	}
	if d.item.Changes[0].Class == merge.UnknownBase {
		d.item.Fix = fmt.Sprintf("add what is live to git with trueup pull %[1]s --replace, or let git own the object with apply --accept take-over=%[1]s", d.item.Key)
	}
	// What git changed meanwhile is live already, and what a write without an
	// answer was to do is not: the ledger learns of that.
	d.item.Record = d.in.Ledger.Problem == "" && d.rec.Applied != nil && !d.isReplaced() && !d.isLastApplied()
}

// areUnattributed reports whether there are changes, and no record shows who made any of them.
func areUnattributed(changes []Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool {
		return c.Class != merge.UnknownBase && c.Class != ServerNormalised
	})
}

// blockOnDrift blocks everything that would be sent while anything drifted.
func (p *Planner) blockOnDrift(out *Plan) {
	if p.in.Options.Drift != FailOnDrift || !slices.ContainsFunc(out.Items, p.hasDrifted) {
		return
	}
	for i := range out.Items {
		it := &out.Items[i]
		send := it.Op.sendsRequest()
		what, fix := "live was changed outside git", it.undoOrKeepFix()
		switch {
		case !p.hasDrifted(*it) || !send && it.Op != None:
			what = ""
		case it.Deleted:
			what, fix = "it was deleted outside git", it.recreateFix()
		case areUnattributed(driftOf(*it)):
			what = "trueup can't tell whether live was changed outside git"
		}
		if what != "" {
			it.blockForPerson(what+", so --drift fail sends nothing", fix)
		} else if send {
			it.blockForNow("another object was changed outside git, so --drift fail sends nothing", "decide about that object first")
		}
		if send {
			it.After = nil
		}
	}
}

// hasDrifted reports whether anything was, or may have been, changed outside git. An object that a person wants made again
// is known to be gone, and nobody changed what the server only kept.
func (p *Planner) hasDrifted(it Item) bool {
	it.Deleted = it.Deleted && !p.in.Options.AllowRecreate[it.Key]
	it.Changes = slices.DeleteFunc(slices.Clone(it.Changes), func(c Change) bool { return c.KeptAt != nil })
	return len(driftOf(it)) > 0
}

// LeavesServerValues reports whether anything is left that the server may have made of what
// was sent.
func (it Item) LeavesServerValues() bool {
	return it.hasRefills() || slices.ContainsFunc(it.Changes, func(c Change) bool { return c.Left && c.Class == ServerNormalised })
}

// hasRefills reports whether the server put a value of its own where git has null.
func (it Item) hasRefills() bool {
	return slices.ContainsFunc(it.Notes, func(c Change) bool { return c.Left })
}

// LeavesDifference reports whether apply leaves live different from git.
func (it Item) LeavesDifference() bool { return it.hasRefills() || it.leavesChange() }

// leavesChange reports whether the plan leaves anything of the object as another client
// made it.
func (it Item) leavesChange() bool {
	return it.Op == Kept && it.Deleted || slices.ContainsFunc(it.Changes, func(c Change) bool { return c.Left })
}

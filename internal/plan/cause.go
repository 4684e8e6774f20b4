package plan

import "trueup/internal/merge"

// explained are the changes of a comparison with their causes.
func (d *decision) explained(found []merge.Change) []Change {
	changes := make([]Change, len(found))
	for i, c := range found {
		changes[i] = Change{Change: c, Cause: causeOf(c.Class)}
		if c.Desired != nil {
			changes[i].Line, changes[i].Column = d.manifest.Place("spec." + c.Path)
		}
	}
	return changes
}

// causeOf is the cause of a class, as far as the class alone tells it.
func causeOf(c Class) Cause {
	switch c {
	case merge.Changed, merge.Converged:
		return FromGit
	case merge.DriftOverwrite:
		return FromDrift
	case merge.Conflict, merge.RemovedConflict:
		return FromBoth
	case merge.TakeOver:
		return FromTakeOver
	case merge.Removed:
		return FromRemoval
	case merge.Unmanaged:
		return FromServer
	case ServerNormalised:
		return FromRefusal
	case merge.InSync, merge.AlreadyRemoved, merge.UnknownBase:
	}
	return FromUnknown
}

package plan

import "trueup/internal/merge"

// driftOf returns the changes of an item that another client made. An object that was
// deleted, or that the platform reports as failed, counts as one change.
func driftOf(it Item) []Change {
	var drift []Change
	for _, c := range it.Changes {
		switch c.Class {
		case merge.DriftOverwrite, merge.Conflict, merge.RemovedConflict, merge.UnknownBase, ServerNormalised:
			drift = append(drift, c)
		case merge.InSync, merge.Converged, merge.Changed, merge.TakeOver, merge.Removed,
			merge.AlreadyRemoved, merge.Unmanaged:
		}
	}
	if it.Deleted || it.Failed {
		drift = append(drift, Change{Change: merge.Change{Class: merge.DriftOverwrite}})
	}
	return drift
}

// Drift narrows a plan to what was changed outside git; what apply would do
// about it is left out.
func Drift(p *Plan) *Plan {
	d := *p
	d.Items, d.Digest, d.Advice, d.Silenced = nil, "", nil, nil
	for _, it := range p.Items {
		drift := driftOf(it)
		if len(drift) == 0 {
			continue
		}
		if !it.Deleted && !it.Failed {
			it.Changes = drift
		}
		it.Request, it.Lists, it.Preserved, it.Collateral = nil, nil, nil, nil
		d.Items = append(d.Items, it)
	}
	if !d.isExplained() {
		d.Blame = nil
	}
	d.Weigh()
	d.Summary = summarize(&d)
	return &d
}

package plan

import (
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
)

// Logged is an entry of the ledger's log with what it changed.
type Logged struct {
	ledger.LogEntry
	Changes []Change `json:"changes,omitempty"`
}

// ChangesOf returns what a write changed, with digests of sensitive values. Of a write whose live value before it is
// unknown, that is what git changed.
func ChangesOf(ws kind.Workspace, e ledger.LogEntry) Logged {
	k, ok := kind.FindKind(e.Kind)
	if !ok || e.Did != ledger.DidChange {
		return Logged{LogEntry: e}
	}
	before, rules := any(decodedObject(e.Applied)), RulesFor(k, nil)
	if e.Live != nil {
		before = patchToPast(e)
	}
	it := Item{Key: e.Key}
	for _, c := range merge.Compare(merge.Sides{Rules: rules, Applied: before, Desired: decodedObject(e.Sent), Live: before}).Changes {
		it.Changes = append(it.Changes, Change{Difference: c})
	}
	concealerOf(ws, e.Key).redactItem(&it)
	return Logged{e, it.Changes}
}

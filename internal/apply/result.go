// Package apply is the only package that changes the platform: it sends what a
// plan shows, re-checks right before every write and verifies after it.
package apply

import "trueup/internal/kind"

// Status is how an item of a plan ended.
type Status string

// The ends of an item. Done includes items that needed nothing by the time
// they were due.
const (
	Done    Status = "done"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Blocked Status = "blocked"
	// Deferred is a request that there is no room for today.
	Deferred Status = "deferred"
)

// Outcome is how one item ended.
type Outcome struct {
	kind.Key
	Status Status `json:"status"`
	// Sent says that a write was sent for the item.
	Sent bool `json:"sent"`
	// Message says what was done, or why not.
	Message string `json:"message,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Field is the field of the object that the platform said is wrong, Line and Column
	// its place in the manifest; Run leaves these to whoever has the manifest.
	Field  string `json:"field,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Verdict is the name of the exit code this outcome asks for.
	Verdict Verdict `json:"verdict"`
	// Mismatches are the paths that the server did not keep.
	Mismatches []Mismatch `json:"mismatches,omitempty"`

	// cause is what the platform answered where that ended the item.
	cause error
	// toRecord says that the ledger is still to learn that live is in sync.
	toRecord bool
}

// Mismatch is a path whose value, read back, is not the one that was sent.
type Mismatch struct {
	Path     string `json:"path"`
	Sent     any    `json:"sent"`
	Returned any    `json:"returned"`
	Hint     string `json:"hint,omitempty"`
}

// Verdict is what an outcome means for the run (docs/design.md 0.24).
type Verdict string

// The verdicts, by name as every machine-readable output has them.
const (
	OK           Verdict = "ok"
	Partial      Verdict = "partial"
	NeedsPerson  Verdict = "needs-person"
	NotConverged Verdict = "not-converged"
	Auth         Verdict = "auth"
	// Stale is an object that is not what the plan spoke of: nothing was sent
	// for it.
	Stale       Verdict = "stale"
	Interrupted Verdict = "interrupted"
)

// Result is how every item of a plan ended, in the plan's order.
type Result struct {
	Outcomes []Outcome `json:"outcomes"`
}

// Event is progress of one item, for whoever watches.
type Event struct {
	kind.Key
	// Phase is start, sent, verify, wait, end, PhaseRescue or PhaseStack.
	Phase   string
	Message string
}

// PhaseRescue is an event whose message is a record, as JSON, that the ledger
// should have and that could not be stored; that of PhaseStack is where in the
// program a mistake came to light, on many lines.
const (
	PhaseRescue = "rescue"
	PhaseStack  = "stack"
)

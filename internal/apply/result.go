// Package apply is the only package that changes the platform: it sends what a
// plan shows, re-checks right before every write and verifies after it.
package apply

import (
	"cmp"
	"context"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// Status is how an item of a plan ended.
type Status string

// The ends of an item. Done includes items that needed nothing by the time they were due.
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
	// its place in the manifest, which Run does not know.
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
	// Stale is an object that changed since the plan: nothing was sent for it.
	Stale       Verdict = "stale"
	Interrupted Verdict = "interrupted"
)

// Result is how every item of a plan ended, in the plan's order.
type Result struct {
	Outcomes []Outcome `json:"outcomes"`
}

// Event is progress of one item.
type Event struct {
	kind.Key
	// Phase is start, sent, verify, wait, end, PhaseRescue or PhaseStack.
	Phase   string
	Message string
}

// PhaseRescue is an event whose message is a record, as JSON, that the ledger
// should have and could not store; that of PhaseStack is the stack of a panic.
const (
	PhaseRescue = "rescue"
	PhaseStack  = "stack"
)

// The functions below make outcomes. A function that looks whether an item can go on
// returns nil if it can.

func done(message string) *Outcome { return &Outcome{Status: Done, Verdict: OK, Message: message} }

func skipped(v Verdict, message string) *Outcome {
	return &Outcome{Status: Skipped, Verdict: v, Message: message}
}

func failed(v Verdict, message, fix string) *Outcome {
	return &Outcome{Status: Failed, Verdict: v, Message: message, Fix: fix}
}

// fault is a failure with what the error says.
func fault(err error, prefix, fix string) *Outcome {
	end := failed(Partial, prefix+err.Error(), fix)
	if auth(err) {
		end.Verdict = Auth
	}
	end.cause, end.Field = err, ask(err, Answer.Field)
	return end
}

// broke is the outcome of an error before anything was sent.
func broke(ctx context.Context, err error, prefix string) *Outcome {
	return cmp.Or(late(ctx), fault(err, prefix, ""))
}

// unknown is the outcome of a write that may have happened.
func unknown(err error, why string) *Outcome {
	return fault(err, cmp.Or(why, "trueup can't tell whether it was written: "), "run apply again, which checks first")
}

// stale is the outcome of an object that changed since the plan.
func stale(why string) *Outcome {
	end := skipped(Stale, why+"; trueup left it unchanged")
	end.Fix = "run plan again and review what differs now"
	return end
}

// unread is the outcome of a write that was accepted and can't be read back.
func unread(err error) *Outcome {
	if notFound(err) {
		return failed(NotConverged, "the server answered that it was written, but does not have it", "")
	}
	return fault(err, "it was written, but can't be read back: ", "")
}

// unverified is the outcome of a write that was accepted just before the run ended.
func unverified(ctx context.Context, done string) *Outcome {
	why, verdict := ended(ctx)
	return failed(verdict, done+"; "+why+" before live showed it", "run plan to see whether anything is left")
}

// unclaimed is the outcome of an error of the ledger before anything was sent. Only a ledger
// that needs repair needs a person.
func unclaimed(err error) *Outcome {
	end := failed(Partial, "nothing was sent, because the ledger could not be written: "+err.Error(),
		"run apply again when the ledger can be written")
	if p := ledger.Problem(err); p != nil {
		end.Verdict, end.Fix = NeedsPerson, p.Fix
	}
	return end
}

// unrecorded adds that the ledger could not record how an item ended, if err says so.
func (o *Outcome) unrecorded(err error) {
	if err != nil {
		o.Message += " (and the ledger could not record it: " + err.Error() + ")"
	}
}

// unlearned is unrecorded for what live shows: the next run finds that too.
func (o *Outcome) unlearned(what string, err error) {
	if err == nil || o.Verdict != OK {
		o.unrecorded(err)
		return
	}
	o.Status, o.Verdict, o.Message = Failed, Partial, what+", but the ledger could not record it: "+err.Error()
	o.Fix = "run apply again, which finds that live equals git and records it"
}

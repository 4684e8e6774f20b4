// Package apply sends the requests of a plan. It checks live right before every write, and reads
// back after it. No other package changes the platform.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// Status is how an item of a plan ended.
type Status string

// The statuses. Done includes items that needed no request any more.
const (
	Done    Status = "done"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Blocked Status = "blocked"
	// Deferred is a request that exceeds a limit for now.
	Deferred Status = "deferred"
	// InFlight is a request that another run has claimed.
	InFlight Status = "in-flight"
)

// Effect is what a run did about an object that is done.
type Effect string

// The effects. Posted: the platform executes the request later. Deleting: the object is not gone yet.
const (
	Created   Effect = "created"
	Changed   Effect = "changed"
	Posted    Effect = "posted"
	Deleted   Effect = "deleted"
	Deleting  Effect = "deleting"
	Kept      Effect = "kept"
	Unchanged Effect = "unchanged"
)

// EffectOf returns what the request of an operation does; empty if it sends none.
func EffectOf(op plan.Op) Effect {
	return map[plan.Op]Effect{plan.Create: Created, plan.Patch: Changed, plan.Post: Posted, plan.Delete: Deleted}[op]
}

// ItemOutcome is how one item ended.
type ItemOutcome struct {
	kind.Key
	Status Status `json:"status"`
	// Did is empty unless the status is Done.
	Did     Effect `json:"did,omitempty"`
	Sent    bool   `json:"sent"`
	Message string `json:"message,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Field is the path of the field that the platform rejected. Line and Column are its position
	// in the manifest, from 1; the caller of Run sets them.
	Field      string           `json:"field,omitempty"`
	Line       int              `json:"line,omitempty"`
	Column     int              `json:"column,omitempty"`
	Verdict    Verdict          `json:"verdict"`              // the name of the exit code for this outcome
	Mismatches []merge.Mismatch `json:"mismatches,omitempty"` // where the object is not what the request makes of it
	// Filled are the values that the server filled in where neither the request nor the object before it had any.
	Filled []merge.PathValue `json:"-"`

	cause    error // the answer of the platform that ended the item, or nil
	toRecord bool  // toRecord: the ledger must still record that live is in sync
}

// Verdict is what an outcome means for the exit code of the run. Its text is the name of that exit code.
type Verdict string

// The verdicts.
const (
	OK           Verdict = "ok"
	Partial      Verdict = "partial"
	NeedsPerson  Verdict = "needs-person"
	NotConverged Verdict = "not-converged"
	Auth         Verdict = "auth"
	Stale        Verdict = "stale" // the object changed since the plan, and nothing was sent
	Interrupted  Verdict = "interrupted"
)

// EffectOrStatus returns the effect of an item that is done, and the status of every other item.
func (o ItemOutcome) EffectOrStatus() string { return cmp.Or(string(o.Did), string(o.Status)) }

// Result has the outcomes in the plan's order.
type Result struct {
	Outcomes []ItemOutcome `json:"outcomes"`
	// Summary counts the outcomes by EffectOrStatus.
	Summary map[string]int `json:"summary"`
}

// NewResult returns a result and counts its outcomes.
func NewResult(outcomes []ItemOutcome) Result {
	r := Result{outcomes, map[string]int{}}
	for _, o := range outcomes {
		r.Summary[o.EffectOrStatus()]++
	}
	return r
}

// Event reports progress of one item.
type Event struct {
	kind.Key
	Phase   string // start, sent, verify, wait, end, PhaseRescue or PhaseStack
	Message string
}

// The message of PhaseRescue is a record, as JSON, that the ledger could not store; that of
// PhaseStack is the stack of a panic.
const (
	PhaseRescue = "rescue"
	PhaseStack  = "stack"
)

// In this package, a function that checks whether an item can continue returns nil if it can,
// and the item's outcome if it can't.

func doneOutcome(message string) *ItemOutcome {
	return &ItemOutcome{Status: Done, Verdict: OK, Message: message}
}

func skippedOutcome(v Verdict, message string) *ItemOutcome {
	return &ItemOutcome{Status: Skipped, Verdict: v, Message: message}
}

func failedOutcome(v Verdict, message, fix string) *ItemOutcome {
	return &ItemOutcome{Status: Failed, Verdict: v, Message: message, Fix: fix}
}

// errorOutcome is the outcome of an item that failed with err.
func errorOutcome(err error, prefix, fix string) *ItemOutcome {
	end := failedOutcome(Partial, prefix+err.Error(), fix)
	if api.AsError(err).IsAuth() {
		end.Verdict = Auth
	}
	end.cause, end.Field = err, api.AsError(err).Field()
	return end
}

// unsentOutcome is the outcome of an error before anything was sent. If the run has ended, that
// is the reason instead.
func unsentOutcome(ctx context.Context, err error) *ItemOutcome {
	return cmp.Or(interruptedOutcome(ctx), errorOutcome(err, "", ""))
}

// unknownOutcome is the outcome of a write that may have happened.
func unknownOutcome(err error, why string) *ItemOutcome {
	return errorOutcome(err, cmp.Or(why, "trueup can't tell whether it was written: "), "run apply again, which checks first")
}

// renamedOutcome is the outcome of a creation if the platform answered with an object of another name. Sending it again could
// make one more.
func renamedOutcome(key kind.Key, other string) *ItemOutcome {
	made := kind.Key{Kind: key.Kind, Name: other}
	return failedOutcome(NeedsPerson, fmt.Sprintf("trueup asked for %s, and the platform answered that it made %s; nothing was sent again", key, made),
		fmt.Sprintf("if %[2]s is there, give the manifest that name, or remove it on the platform before the next apply of %[1]s", key, made))
}

// staleOutcome is the outcome of an object that changed since the plan.
func staleOutcome(why string) *ItemOutcome {
	end := skippedOutcome(Stale, why+"; trueup left it unchanged")
	end.Fix = "run plan again and review what differs now"
	return end
}

// unreadableOutcome is the outcome of an accepted write that can't be read back.
func unreadableOutcome(err error) *ItemOutcome {
	if isNotFound(err) {
		return failedOutcome(NotConverged, "the server answered that it was written, but does not have it", "")
	}
	return errorOutcome(err, "it was written, but can't be read back: ", "")
}

// unverifiedOutcome is the outcome of an accepted write if the run ended before live showed it.
func unverifiedOutcome(ctx context.Context, done string) *ItemOutcome {
	why, verdict := whyEnded(ctx)
	return failedOutcome(verdict, done+"; "+why+" before live showed it", "run plan to see whether anything is left")
}

// FixSuperseded is the fix of an outcome whose run must send nothing more, because a newer commit is being applied.
const FixSuperseded = "run plan again on the newest commit"

// stoppedOutcome is the outcome of an item whose run must send nothing more, or that a hold covers; nil for other errors.
func stoppedOutcome(err error) *ItemOutcome {
	if held, ok := errors.AsType[*ledger.HeldError](err); ok {
		return &ItemOutcome{Status: Blocked, Verdict: NeedsPerson, Message: held.String(), Fix: held.Fix()}
	}
	if newer, ok := errors.AsType[*ledger.SupersededError](err); ok {
		return &ItemOutcome{Status: Skipped, Verdict: Stale, Message: newer.Error() + "; trueup left it unchanged", Fix: FixSuperseded}
	}
	return nil
}

// ledgerErrorOutcome is the outcome of a ledger error before anything was sent. A person is needed
// only if the ledger needs repair.
func ledgerErrorOutcome(err error) *ItemOutcome {
	if end := stoppedOutcome(err); end != nil {
		return end
	}
	end := failedOutcome(Partial, "nothing was sent, because the ledger could not be written: "+err.Error(),
		"run apply again when the ledger can be written")
	if p := ledger.ProblemOf(err); p != nil {
		end.Verdict, end.Fix = NeedsPerson, p.Fix
	}
	return end
}

// addLedgerError adds to the message that the ledger could not record the outcome, unless err is nil.
func (o *ItemOutcome) addLedgerError(err error) {
	if err != nil {
		o.Message += " (and the ledger could not record it: " + err.Error() + ")"
	}
}

// failUnrecorded is addLedgerError for an object that is in sync: the item fails, and the next run
// records it.
func (o *ItemOutcome) failUnrecorded(what string, err error) {
	if err == nil || o.Verdict != OK {
		o.addLedgerError(err)
		return
	}
	o.Status, o.Did, o.Verdict, o.Message = Failed, "", Partial, what+", but the ledger could not record it: "+err.Error()
	o.Fix = "run apply again, which finds that live equals git and records it"
}

func isNotFound(err error) bool  { return api.AsError(err).NotFound() }
func isConflict(err error) bool  { return api.AsError(err).Class == api.Contended }
func isNameTaken(err error) bool { return isConflict(err) || api.AsError(err).Class == api.Taken }
func isNotSent(err error) bool   { return api.AsError(err).NotSent() }

// isUncertain reports whether a write that failed may have happened: an error that is no answer
// leaves that unknown.
func isUncertain(err error) bool {
	class := api.AsError(err).Class
	return class == "" || class == api.Unknown
}

// isTransient reports whether a retry may succeed: nothing was written, or the platform
// was unreachable or overloaded (docs/design.md C4).
func isTransient(err error) bool {
	a := api.AsError(err)
	switch {
	case err == nil || a.IsAuth() || a.Hopeless:
		return false
	case a.NotSent(), a.Class == api.Contended:
		return true
	case !isUncertain(err):
		return false
	}
	switch a.Status {
	case 0, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refusesVersion reports whether the server refused the resourceVersion of a PATCH: it is stale
// (409), or the server accepts none.
func refusesVersion(err error) bool {
	if err == nil || isUncertain(err) || api.AsError(err).IsAuth() {
		return false
	}
	return isConflict(err) || strings.Contains(err.Error(), "resourceVersion")
}

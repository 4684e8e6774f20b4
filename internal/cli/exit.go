package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"trueup/internal/apply"
	"trueup/internal/diag"
)

// The exit codes (docs/exit-codes.md; docs/design.md 0.24).
const (
	exitOK           = 0
	exitError        = 1
	exitChanges      = 2
	exitStale        = 3
	exitInvalid      = 4
	exitPartial      = 5
	exitNeedsPerson  = 6
	exitNotConverged = 7
	exitAuth         = 8
	exitInterrupted  = 130
)

// resultName is what machine-readable outputs call an exit code.
func resultName(code int) string { return resultNames()[code] }

func resultNames() map[int]string {
	return map[int]string{
		exitOK: "ok", exitError: "error", exitChanges: "changes", exitStale: "stale",
		exitInvalid: "invalid", exitPartial: "partial", exitNeedsPerson: "needs-person",
		exitNotConverged: "not-converged", exitAuth: "auth", exitInterrupted: "interrupted",
	}
}

// codeOf is the exit code that is written as a number or as its name, -1 for none.
func codeOf(result string) int {
	for code, name := range resultNames() {
		if result == name || result == strconv.Itoa(code) {
			return code
		}
	}
	return -1
}

// exitOf maps an error that stopped a run to its code.
func exitOf(err error) int {
	var coded *codedError
	var invalid *diag.InvalidError
	var auth interface{ Auth() bool }
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &invalid):
		return exitInvalid
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &auth) && auth.Auth():
		return exitAuth
	default:
		return exitError
	}
}

// codedError is an error that ends the run with a code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func withCode(code int, err error) error { return &codedError{code: code, err: err} }

// exitOfApply picks the code of an apply; if several things happened, the one
// that a person must know first (docs/design.md 0.24). Stale objects alone end with
// exitStale only if nothing was sent at all.
func exitOfApply(res apply.Result) int {
	seen := map[apply.Verdict]bool{}
	sent := false
	for _, o := range res.Outcomes {
		seen[o.Verdict] = true
		sent = sent || o.Sent
	}
	switch {
	case seen[apply.Interrupted]:
		return exitInterrupted
	case seen[apply.Auth]:
		return exitAuth
	case seen[apply.NeedsPerson]:
		return exitNeedsPerson
	case seen[apply.NotConverged]:
		return exitNotConverged
	case seen[apply.Stale] && !sent:
		return exitStale
	case seen[apply.Partial] || seen[apply.Stale]:
		return exitPartial
	default:
		return exitOK
	}
}

// orInterrupted is the code of a run that writes: an interruption counts,
// whatever else happened (docs/design.md 0.24).
func orInterrupted(ctx context.Context, code int) int {
	if errors.Is(ctx.Err(), context.Canceled) {
		return exitInterrupted
	}
	return code
}

// exitCodes are all codes, sorted.
func exitCodes() []int { return slices.Sorted(maps.Keys(resultNames())) }

// exitMeaning says of a code what happened.
func exitMeaning(code int) string {
	return map[int]string{
		exitOK:           "done, or nothing to do",
		exitError:        "wrong usage, or trueup could not run: an unreadable file, an unreachable address",
		exitChanges:      "changes are pending (plan --detailed-exitcode), or something drifted",
		exitStale:        "not the expected plan, or live changed since; nothing was sent",
		exitInvalid:      "manifests are invalid; nothing was sent",
		exitPartial:      "done in part; the rest failed, was not reached, is in flight elsewhere or is deferred",
		exitNeedsPerson:  "a person must decide",
		exitNotConverged: "the server accepted a change and did not keep it",
		exitAuth:         "a token is missing, wrong or lacks a role",
		exitInterrupted:  "interrupted by a signal",
	}[code]
}

package diag

import (
	"context"
	"errors"
	"slices"
	"strconv"
)

// The exit codes (docs/exit-codes.md).
const (
	ExitOK           = 0
	ExitError        = 1
	ExitChanges      = 2
	ExitStale        = 3
	ExitInvalid      = 4
	ExitPartial      = 5
	ExitNeedsPerson  = 6
	ExitNotConverged = 7
	ExitAuth         = 8
	ExitInterrupted  = 130
)

// ExitCode is an exit code, its name in machine-readable output, and its meaning.
type ExitCode struct {
	Number        int
	Name, Meaning string
}

// ExitCodes returns all exit codes, sorted.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitOK, "ok", "done, or nothing to do"},
		{ExitError, "error", "wrong usage, or trueup could not run: an unreadable file, an unreachable address"},
		{ExitChanges, "changes", "changes are pending (plan --detailed-exitcode), or live differs from git (drift)"},
		{ExitStale, "stale", "not the expected plan, an older commit, or live changed since; nothing was sent"},
		{ExitInvalid, "invalid", "manifests are invalid; nothing was sent"},
		{ExitPartial, "partial", "done in part; the rest failed, was not reached, is in flight elsewhere or is deferred"},
		{ExitNeedsPerson, "needs-person", "a person must decide"},
		{ExitNotConverged, "not-converged", "the server has something else than what was sent"},
		{ExitAuth, "auth", "a token is missing, wrong or lacks a role"},
		{ExitInterrupted, "interrupted", "interrupted by a signal"},
	}
}

// ExitName returns the name of an exit code.
func ExitName(number int) string {
	for _, code := range ExitCodes() {
		if code.Number == number {
			return code.Name
		}
	}
	return ""
}

// ParseExit returns the exit code with this number or name, -1 if there is none.
func ParseExit(text string) int {
	for _, code := range ExitCodes() {
		if text == code.Name || text == strconv.Itoa(code.Number) {
			return code.Number
		}
	}
	return -1
}

// ExitRank returns the place of a code among those that WorstExit compares, 0 for the worst: what only a person can
// change counts more than what may be right in the next run. An unknown code ranks as ExitError.
func ExitRank(code int) int {
	worstFirst := []int{ExitInterrupted, ExitAuth, ExitNeedsPerson, ExitNotConverged, ExitInvalid, ExitStale, ExitPartial, ExitError, ExitChanges, ExitOK}
	if i := slices.Index(worstFirst, code); i >= 0 {
		return i
	}
	return ExitRank(ExitError)
}

// WorstExit returns the code of a run that consists of others: the worst of theirs, ExitOK without any.
func WorstExit(codes ...int) int {
	worst := ExitOK
	for _, code := range codes {
		if ExitRank(code) < ExitRank(worst) {
			worst = code
		}
	}
	return worst
}

// CodedError is an error with an exit code.
type CodedError struct {
	error
	code int
}

func (e *CodedError) Unwrap() error { return e.error }

// WithExit returns an error with an exit code.
func WithExit(code int, err error) error { return &CodedError{err, code} }

// ExitOf returns the exit code of an error.
func ExitOf(err error) int {
	var coded *CodedError
	var auth interface{ IsAuth() bool }
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &auth) && auth.IsAuth():
		return ExitAuth
	}
	return ExitError
}

// OrInterrupted returns ExitInterrupted if ctx was cancelled, else code.
func OrInterrupted(ctx context.Context, code int) int {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ExitInterrupted
	}
	return code
}

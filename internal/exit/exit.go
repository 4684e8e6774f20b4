// Package exit has the exit codes of trueup (docs/exit-codes.md), and gives them to errors.
package exit

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"trueup/internal/diag"
)

// The exit codes.
const (
	OK           = 0
	Error        = 1
	Changes      = 2
	Stale        = 3
	Invalid      = 4
	Partial      = 5
	NeedsPerson  = 6
	NotConverged = 7
	Auth         = 8
	Interrupted  = 130
)

// Code is an exit code, its name in machine-readable output, and its meaning.
type Code struct {
	Number        int
	Name, Meaning string
}

// Codes returns all exit codes, sorted.
func Codes() []Code {
	return []Code{
		{OK, "ok", "done, or nothing to do"},
		{Error, "error", "wrong usage, or trueup could not run: an unreadable file, an unreachable address"},
		{Changes, "changes", "changes are pending (plan --detailed-exitcode), or live differs from git (drift)"},
		{Stale, "stale", "not the expected plan, an older commit, or live changed since; nothing was sent"},
		{Invalid, "invalid", "manifests are invalid; nothing was sent"},
		{Partial, "partial", "done in part; the rest failed, was not reached, is in flight elsewhere or is deferred"},
		{NeedsPerson, "needs-person", "a person must decide"},
		{NotConverged, "not-converged", "the server has something else than what was sent"},
		{Auth, "auth", "a token is missing, wrong or lacks a role"},
		{Interrupted, "interrupted", "interrupted by a signal"},
	}
}

// NameOf returns the name of an exit code.
func NameOf(number int) string {
	for _, code := range Codes() {
		if code.Number == number {
			return code.Name
		}
	}
	return ""
}

// Parse returns the exit code with this number or name, -1 if there is none.
func Parse(text string) int {
	for _, code := range Codes() {
		if text == code.Name || text == strconv.Itoa(code.Number) {
			return code.Number
		}
	}
	return -1
}

// worstFirst returns the codes of runs that end differently: what only a person can change counts more than
// what may be right in the next run.
func worstFirst() []int {
	return []int{Interrupted, Auth, NeedsPerson, NotConverged, Invalid, Stale, Partial, Error, Changes, OK}
}

// Rank returns the place of a code among those that Worst compares, 0 for the worst. An unknown code ranks as
// Error.
func Rank(code int) int {
	if i := slices.Index(worstFirst(), code); i >= 0 {
		return i
	}
	return Rank(Error)
}

// Worst returns the code of a run that consists of others: the worst of theirs, OK without any.
func Worst(codes ...int) int {
	worst := OK
	for _, code := range codes {
		if Rank(code) < Rank(worst) {
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

// WithCode returns an error with an exit code.
func WithCode(code int, err error) error { return &CodedError{err, code} }

// Of returns the exit code of an error.
func Of(err error) int {
	var coded *CodedError
	var invalid *diag.InvalidError
	var auth interface{ IsAuth() bool }
	switch {
	case err == nil:
		return OK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &invalid):
		return Invalid
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.As(err, &auth) && auth.IsAuth():
		return Auth
	}
	return Error
}

// OrInterrupted returns Interrupted if ctx was cancelled, else code.
func OrInterrupted(ctx context.Context, code int) int {
	if errors.Is(ctx.Err(), context.Canceled) {
		return Interrupted
	}
	return code
}

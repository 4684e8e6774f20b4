package plan

import (
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// A plan holds what a comparison found; views read it under these names.

// Change is one path whose live value differs from git's, and why it does.
type Change struct {
	merge.Change
	// Cause is what made the line, By which change of git did where that is told.
	Cause Cause `json:"cause,omitempty"`
	By    By    `json:"by,omitempty"`
	// Risk is the gravest of anything in the two values.
	Risk kind.Risk `json:"risk,omitempty"`
	// Line and Column are the place in the manifest, from 1; 0 where there is none.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Cause is why a line of a plan is there.
type Cause string

// The causes. FromGit is this change of git or an earlier one: no base could be read.
const (
	FromThisChange Cause = "this-change"
	FromPending    Cause = "pending"
	FromGit        Cause = "git"
	FromDrift      Cause = "drift"
	FromBoth       Cause = "conflict"
	FromTakeOver   Cause = "newly-managed"
	FromRemoval    Cause = "removed"
	FromServer     Cause = "server-default"
	FromRefusal    Cause = "server-normalised"
	FromUnknown    Cause = "unknown"
)

// By is the change of git that a line belongs to: the commits since the base, or an
// earlier change that was not applied. It is empty if no base was read, or git did not
// change.
type By string

// The values of By.
const (
	ByThisChange By = "this-change"
	ByEarlier    By = "earlier"
)

// Blame names the commits that were compared to find whose change a line is.
type Blame struct {
	// Ref is how the user knows the base, Base the id of the commit that was read
	// for it, the merge base with Head, which is the commit that is checked out.
	Ref  string `json:"ref,omitempty"`
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
	// Merge says that Head is a merge that the code host made for a pull request.
	Merge bool `json:"merge,omitempty"`
	// Problem is what trueup could not find out and why, and Fix what to do.
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// Class is the verdict on one path.
type Class = merge.Class

// IsShown reports whether every report shows a change of the class, whatever it was
// asked for. The others need no request.
func IsShown(c Class) bool {
	switch c {
	case InSync, Converged, AlreadyRemoved, Unmanaged:
		return false
	case Changed, DriftOverwrite, TakeOver, Conflict, Removed, RemovedConflict, UnknownBase, ServerNormalised:
	}
	return true
}

// Value is a path and its value.
type Value = merge.Value

// SentList is a list that a patch replaces whole.
type SentList = merge.SentList

// The classes of changes (docs/design.md B4).
const (
	InSync          = merge.InSync
	Converged       = merge.Converged
	Changed         = merge.Changed
	DriftOverwrite  = merge.DriftOverwrite
	TakeOver        = merge.TakeOver
	Conflict        = merge.Conflict
	Removed         = merge.Removed
	RemovedConflict = merge.RemovedConflict
	AlreadyRemoved  = merge.AlreadyRemoved
	Unmanaged       = merge.Unmanaged
	UnknownBase     = merge.UnknownBase
	// ServerNormalised is a value that the server did not keep when git's was
	// last sent, unless somebody changed it since (docs/design.md B8).
	ServerNormalised Class = "server-normalised"
)

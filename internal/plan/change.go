package plan

import "trueup/internal/merge"

// A plan holds what a comparison found; views read it under these names.

// Change is one path whose live value differs from git's.
type Change = merge.Change

// Class is the verdict on one path.
type Class = merge.Class

// Value is a path and what stands there.
type Value = merge.Value

// SentList is a list that a patch replaces whole.
type SentList = merge.SentList

// The classes of changes (design B4).
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
	// last sent, unless somebody changed it since (design B8).
	ServerNormalised Class = "server-normalised"
)

package plan

import "trueup/internal/merge"

// What a comparison found is part of a plan: views read it under these names.
type (
	Change   = merge.Change
	Class    = merge.Class
	Value    = merge.Value
	SentList = merge.SentList
)

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
)

package report

import (
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// label describes the cause of a change.
func label(c plan.Change) safe {
	switch c.Cause {
	case plan.FromThisChange, plan.FromPending, plan.FromGit:
		return clean(author(c.Cause))
	case plan.FromDrift:
		return safetext.F("drift: live was %s outside git%s", driftedHow(c), touches(c.By))
	case plan.FromBoth:
		return conflict(c)
	case plan.FromTakeOver:
		return safetext.F("newly managed%s%s", by(c.By), quoted(", live had ", c.Live, ""))
	case plan.FromRemoval:
		return safetext.F("removed from git%s", by(c.By))
	case plan.FromServer:
		return clean("server default, not in git")
	case plan.FromRefusal:
		return clean("the server did not keep it, or it changed since")
	case plan.FromUnknown:
	}
	return safetext.F("origin unknown (no record yet)%s", touches(c.By))
}

// author names who changed git, if nothing else happened.
func author(c plan.Cause) string {
	switch c { //nolint:exhaustive // the others are no changes of git
	case plan.FromThisChange:
		return "this change"
	case plan.FromPending:
		return "pending from an earlier merge"
	}
	return "changed in git"
}

// changer names who changed git, or "git" if unknown.
func changer(b plan.By) string {
	switch b {
	case plan.ByThisChange:
		return "this change"
	case plan.ByEarlier:
		return "an earlier merge"
	default:
		return "git"
	}
}

// by returns " by" and who changed git; empty if unknown.
func by(b plan.By) string {
	if who := changer(b); who != "git" {
		return " by " + who
	}
	return ""
}

// touches returns a remark if this change affects the value too.
func touches(b plan.By) string {
	if b == plan.ByThisChange {
		return "; this change affects it"
	}
	return ""
}

func driftedHow(c plan.Change) string {
	switch {
	case c.Moved:
		return "moved"
	case c.Desired == nil:
		return "added"
	case c.Live == nil:
		return "removed"
	}
	return "changed"
}

func conflict(c plan.Change) safe {
	was := quoted(" (was ", c.Base, ")")
	switch {
	case c.Desired == nil && !c.Moved:
		return safetext.F("conflict: removed from git%s, changed in live%s", by(c.By), was)
	case c.Live == nil && !c.Moved:
		return safetext.F("conflict: %s changed it, and live lacks it%s", changer(c.By), was)
	default:
		return safetext.F("conflict: %s and live both changed it%s", changer(c.By), was)
	}
}

// quoted returns the first characters of a value for a cause.
func quoted(before string, v any, after string) safe {
	if v == nil {
		return safe{}
	}
	return safetext.F("%s%s%s", before, literal(v).Cut(40), after)
}

// causeOf names who created, changed or removed the object in git; empty for other causes.
func causeOf(item plan.Item) string {
	switch item.Cause {
	case plan.FromThisChange, plan.FromPending:
		return author(item.Cause)
	case plan.FromRemoval:
		return "removed from git" + by(item.By)
	case plan.FromGit, plan.FromTakeOver, plan.FromDrift, plan.FromBoth, plan.FromServer, plan.FromRefusal, plan.FromUnknown:
	}
	return ""
}

package report

import "trueup/internal/plan"

// label is why a line is there, in the words of a reviewer (docs/design.md B1, B4).
func label(c plan.Change) safe {
	switch c.Cause {
	case plan.FromThisChange, plan.FromPending, plan.FromGit:
		return author(c.Cause)
	case plan.FromDrift:
		return outside(c)
	case plan.FromBoth:
		return conflict(c)
	case plan.FromTakeOver:
		return "newly managed" + by(c.By) + had(", live had ", c.Live, "")
	case plan.FromRemoval:
		return "removed from git" + by(c.By)
	case plan.FromServer:
		return "server default, not in git"
	case plan.FromRefusal:
		return "the server did not keep it, or it changed since"
	case plan.FromUnknown:
	}
	return "origin unknown (no record yet)" + touches(c.By)
}

// author says whose change of git it is, where nothing else happened.
func author(c plan.Cause) safe {
	if c == plan.FromThisChange {
		return "this change"
	}
	if c == plan.FromPending {
		return "pending from an earlier merge"
	}
	return "changed in git"
}

// by adds whose change of git it is to what it did, where that is known.
func by(b plan.By) safe {
	switch b {
	case plan.ByThisChange:
		return " by this change"
	case plan.ByEarlier:
		return " by an earlier merge"
	default:
		return ""
	}
}

// outside says what was done to the value outside git.
func outside(c plan.Change) safe {
	var text safe = "drift: live was changed outside git"
	switch {
	case c.Moved:
		text = "drift: live was moved outside git"
	case c.Desired == nil:
		text = "drift: live was added outside git"
	case c.Live == nil:
		text = "drift: live was removed outside git"
	}
	return text + touches(c.By)
}

// touches adds that this change speaks of the value, where something else is why
// the line is there.
func touches(b plan.By) safe {
	if b == plan.ByThisChange {
		return "; this change affects it"
	}
	return ""
}

// conflict says what git and somebody else did to the value that both changed.
func conflict(c plan.Change) safe {
	was := had(" (was ", c.Base, ")")
	switch {
	case c.Desired == nil && !c.Moved:
		return "conflict: removed from git" + by(c.By) + ", changed in live" + was
	case c.Live == nil && !c.Moved:
		return "conflict: " + changer(c.By) + " changed it, and live lacks it" + was
	default:
		return "conflict: " + changer(c.By) + " and live both changed it" + was
	}
}

// changer is who changed git.
func changer(b plan.By) safe {
	switch b {
	case plan.ByThisChange:
		return "this change"
	case plan.ByEarlier:
		return "an earlier merge"
	default:
		return "git"
	}
}

// causeOf is whose change of git an object as a whole is; empty where git did not
// bring it about, or no base tells.
func causeOf(item plan.Item) safe {
	switch item.Cause {
	case plan.FromThisChange, plan.FromPending:
		return author(item.Cause)
	case plan.FromRemoval:
		return "removed from git" + by(item.By)
	case plan.FromGit, plan.FromTakeOver, plan.FromDrift, plan.FromBoth, plan.FromServer, plan.FromRefusal, plan.FromUnknown:
	}
	return ""
}

package report

import (
	"time"

	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// label describes the cause of a change, or what happened to the value outside git.
func label(item plan.Item, c plan.Change, opts Options) safe {
	happened := item.Happened || c.Left
	switch c.Class {
	case plan.Added:
		return safe{}
	case plan.Lost:
		return clean("live only: would be lost")
	}
	switch c.Cause {
	case plan.FromThisChange:
		return clean("this change")
	case plan.FromPending:
		return pending(c.Commit, opts)
	case plan.FromDrift:
		return safetext.F("%s%s", driftCause(item, c, happened), touches(c.By))
	case plan.FromBoth:
		return conflict(item, c, happened, opts)
	case plan.FromTakeOver:
		return safetext.F("newly managed%s%s%s", by(c.By), since(c.Commit, opts), quoted(", live had ", c.Live, ""))
	case plan.FromRemoval:
		return removal(c.By, c.Commit, opts)
	case plan.FromLiveOnly:
		return clean("live only: it stays")
	case plan.FromRefusal:
		return refusal(c)
	case plan.FromUnknown:
	}
	return safetext.F("%s%s", unknownOrigin, touches(c.By))
}

const unknownOrigin = "origin unknown (no usable record)"

// refusal is the cause of what the server did not do.
func refusal(c plan.Change) safe {
	if c.KeptAt == nil {
		return clean("the server did not keep it, or it changed since")
	}
	return safetext.F("removed in git; the server kept it on %s", c.KeptAt.UTC().Format(time.DateOnly))
}

// pending is the cause of what git has and trueup did not apply last. Another branch may have replaced it.
func pending(c *plan.Commit, opts Options) safe {
	return safetext.F("pending%s", since(c, opts))
}

// removal is the cause of what trueup applied and git lacks.
func removal(b plan.By, c *plan.Commit, opts Options) safe {
	return safetext.F("%s, %s", string(plan.LeftGit), departure(b, c, opts))
}

// departure says which commit removed what trueup applied. Git need not have had it in one.
func departure(b plan.By, c *plan.Commit, opts Options) safe {
	switch {
	case b != "":
		return safetext.F("removed%s", by(b))
	case c != nil:
		return safetext.F("removed in %s", commit(*c, opts))
	}
	return clean("applied before")
}

// since names the commit that gave git its value; empty for none.
func since(c *plan.Commit, opts Options) safe {
	if c == nil {
		return safe{}
	}
	return safetext.F(", in git since %s", commit(*c, opts))
}

// commit names a commit as its author did, and says when that was: for files the day, because they are
// read later. Without a time it has only the ID.
func commit(c plan.Commit, opts Options) safe {
	if c.Time.IsZero() {
		return short(c.ID)
	}
	when := clean(c.Time.UTC().Format(time.DateOnly))
	if !opts.Now.IsZero() {
		when = ago(opts.Now.Sub(c.Time))
	}
	return safetext.F("%s \"%s\", %s", short(c.ID), clean(c.Subject).Cut(maxSubject), when)
}

// ago says how long something was ago, in its largest unit.
func ago(d time.Duration) safe {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / unit.length); n > 0 {
			return safetext.F("%s ago", safetext.Count(n, unit.name))
		}
	}
	return clean("just now")
}

// by returns " by this change", or nothing.
func by(b plan.By) string {
	if b == plan.ByThisChange {
		return " by this change"
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

// driftCause says what sending git's value does to a change outside git, what it would do to one of a blocked object, or
// what happened.
func driftCause(item plan.Item, c plan.Change, happened bool) string {
	i := oneIf(item.Op == plan.Blocked)
	if happened {
		i = 2
	}
	switch {
	case c.Desired == nil && !c.Moved:
		return [...]string{"removes what was added outside git", "would remove what was added outside git", "added outside git"}[i]
	case c.Live == nil && !c.Moved:
		return [...]string{"adds back what was removed outside git", "would add back what was removed outside git", "removed outside git"}[i]
	}
	return [...]string{"undoes a change outside git", "would undo a change outside git", "changed outside git"}[i]
}

func conflict(item plan.Item, c plan.Change, happened bool, opts Options) safe {
	was, since := quoted(" (was ", c.Base, ")"), since(c.Commit, opts)
	gone, missing, mine := c.Desired == nil && !c.Moved, c.Live == nil && !c.Moved, c.By == plan.ByThisChange
	wins := [...]string{"git wins", "git would win"}[oneIf(item.Op == plan.Blocked)]
	switch {
	case happened && gone:
		return safetext.F("conflict: changed outside git%s, and not in git now", was)
	case happened && missing:
		return safetext.F("conflict: removed outside git%s, and git has another value", was)
	case happened:
		return safetext.F("conflict: changed outside git%s, and git has another value", was)
	case gone:
		return safetext.F("conflict: %s, changed in live%s; %s", removal(c.By, c.Commit, opts), was, wins)
	case missing && mine:
		return safetext.F("conflict: this change changed it, and live lacks it%s%s; %s", was, since, wins)
	case missing:
		return safetext.F("conflict: git differs from the last apply, and live lacks it%s%s; %s", was, since, wins)
	case mine:
		return safetext.F("conflict: this change and live both changed it%s%s; %s", was, since, wins)
	}
	return safetext.F("conflict: git and live both differ from the last apply%s%s; %s", was, since, wins)
}

// quoted returns the first characters of a value for a cause.
func quoted(before string, v any, after string) safe {
	if v == nil {
		return safe{}
	}
	return safetext.F("%s%s%s", before, view.Literal(v).Cut(40), after)
}

// causeOf says which change of git created, changed or removed the object; empty for other causes.
func causeOf(item plan.Item, opts Options) safe {
	switch item.Cause {
	case plan.FromThisChange:
		return clean("this change")
	case plan.FromPending:
		return pending(item.Commit, opts)
	case plan.FromRemoval:
		return removal(item.By, item.Commit, opts)
	case plan.FromUnknown:
		return clean(unknownOrigin)
	case plan.FromTakeOver, plan.FromDrift, plan.FromBoth, plan.FromLiveOnly, plan.FromRefusal:
	}
	return safe{}
}

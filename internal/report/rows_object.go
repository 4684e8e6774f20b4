package report

import (
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// opRows returns the row about the object as a whole, if there is one.
func opRows(item plan.Item, opts Options) []row {
	op, reason := opOf(item), message(item.Reason)
	r := row{Why: causeSaid(item), Path: clean(op.title)}
	r.Mark = op.mark
	if item.Happened && !item.Failed {
		r.Alarm, r.Cause, r.stops = true, serving(item, safetext.Filled(clean(item.Unserved).Cut(maxPath))), item.Unserved != ""
		if item.Missing() {
			r.Cause = clean(unknownOrigin)
		}
		return []row{r}[:oneIf(item.Deleted || item.Missing())]
	}
	switch item.Op {
	case plan.Create:
		r.After, r.Alarm = making(item), isAgain(item)
		r.Cause = safetext.Join(safetext.Filled(risky(item, item.Risk), again(item, opts)), "; ")
	case plan.Post:
		r.After, r.Cause, r.Alarm = invalidated(item.Purge), afterwards(item, opts), item.Resend
		r.facts = factsOfAll(item)
	case plan.Delete:
		r.Before, r.Cause, r.Alarm = making(item), safetext.F("%s; this can't be undone", removal(item.By, item.Commit, opts)), true
	case plan.Deferred:
		r.After, r.Cause = invalidated(item.Purge), reason
	case plan.Blocked, plan.InFlight, plan.Kept:
		if mentioned(item) {
			return nil
		}
		r.Path, r.Alarm = safetext.F("%s%s", op.title, reason), item.Op != plan.InFlight
	case plan.None, plan.Patch:
		return nil
	}
	return []row{r}
}

// causeSaid returns the cause that the line of an object as a whole says; empty for none.
func causeSaid(item plan.Item) plan.Cause {
	again := item.Resend || item.Recreate && !item.Happened
	makes := !item.Happened && (item.Op == plan.Create || item.Op == plan.Post || item.Op == plan.Delete)
	if !again && (makes || item.Deleted || item.Missing() || mentioned(item)) {
		return item.Cause
	}
	return ""
}

func making(item plan.Item) safe {
	var parts []safe
	if item.Made != "" {
		parts = append(parts, safetext.F("created at %s", clean(item.Made).Cut(maxName)))
	}
	if item.Disk != "" {
		parts = append(parts, safetext.F("from disk %s", clean(item.Disk).Cut(maxPath)))
	}
	return safetext.Join(parts, " ")
}

func isAgain(item plan.Item) bool { return item.Resend || item.Recreate || item.Deleted }

// again returns why an object is created or sent, perhaps once more.
func again(item plan.Item, opts Options) safe {
	switch {
	case item.Resend:
		return clean("sent again: the platform rejects the name if it was executed")
	case item.Recreate:
		return clean("created again, as you allowed: it has other data")
	case item.Deleted:
		return clean("adds back what was deleted outside git")
	}
	return causeOf(item, opts)
}

// afterwards returns the cause of a purge, and the objects that it waits for.
func afterwards(item plan.Item, opts Options) safe {
	why := plan.Item{Cause: item.Cause, By: item.By, Commit: item.Commit, Resend: item.Resend}
	parts := safetext.Filled(again(why, opts))
	names := make([]safe, len(item.After))
	for i, k := range item.After {
		names[i] = titled(k)
	}
	if n := len(names); n > 0 {
		parts = append(parts, safetext.F("after %s %s verified", safetext.Join(names, ", "), [...]string{"are", "is"}[oneIf(n == 1)]))
	}
	return safetext.Join(parts, ", ")
}

package report

import (
	"trueup/internal/apply"
	"trueup/internal/plan"
)

// planTitle heads the summary with what was asked.
func planTitle(doc Document) safe {
	if doc.Command == "drift" {
		return "Drift"
	}
	return "Plan"
}

// applyTitle heads the summary with what was done.
func applyTitle(doc Document) safe {
	if doc.Command == "settle" {
		return "Settle"
	}
	return "Apply"
}

// planSummary counts what a plan would do and what it found.
func planSummary(doc Document) safe {
	s := doc.Plan.Summary
	if doc.Command == "drift" {
		return driftSummary(s) + found(s)
	}
	return todo(doc) + found(s)
}

// driftSummary counts what was changed outside git.
func driftSummary(s plan.Summary) safe {
	if s.Drifted == 0 {
		return "none."
	}
	return count(s.Drifted, "drifted field") + "."
}

// todo counts what apply would do, and what was changed outside git.
func todo(doc Document) safe {
	if s := doc.Plan.Summary; s.Drifted > 0 {
		return doing(doc) + " " + driftSummary(s)
	}
	return doing(doc)
}

// doing counts what apply would do.
func doing(doc Document) safe {
	s := doc.Plan.Summary
	var parts []safe
	for _, c := range []struct {
		n    int
		text safe
	}{{s.Create, " to create"}, {s.Change, " to change" + removing(s)}, {s.Purge, ""}, {s.Delete, " to delete"}, {s.Deferred, " deferred"}, {s.InFlight, " in flight elsewhere"}, {s.Blocked, " blocked"}} {
		switch {
		case c.n == 0:
		case c.text == "":
			parts = append(parts, count(c.n, "purge")+" to post")
		default:
			parts = append(parts, number(c.n)+c.text)
		}
	}
	if len(parts) == 0 {
		return idle(doc)
	}
	return join(parts, ", ") + "."
}

// idle says why there is nothing that apply would do.
func idle(doc Document) safe {
	if errs, _ := severities(doc.Findings); errs > 0 {
		return "trueup sends nothing while there are errors."
	}
	return "nothing to do."
}

// removing counts what changes take out of live.
func removing(s plan.Summary) safe {
	if s.Removed == 0 {
		return ""
	}
	return " (" + number(s.Removed) + " removed)"
}

// found counts what apply leaves alone.
func found(s plan.Summary) safe {
	var text safe
	if s.Unmanaged > 0 {
		text += " " + count(s.Unmanaged, "live object") + are(s.Unmanaged) + " not in git."
	}
	if s.Kept > 0 {
		text += " " + count(s.Kept, "object") + are(s.Kept) + " kept."
	}
	if s.Unchanged > 0 {
		text += " " + count(s.Unchanged, "object") + are(s.Unchanged) + " in sync."
	}
	return text
}

func are(n int) safe {
	if n == 1 {
		return " is"
	}
	return " are"
}

// findingsSummary closes a list of findings.
func findingsSummary(doc Document) safe {
	errs, warnings := severities(doc.Findings)
	switch {
	case errs+warnings == 0:
		return count(doc.Objects, "object") + ": no findings."
	case errs == 0:
		return count(doc.Objects, "object") + ": " + count(warnings, "warning") + "."
	case warnings == 0:
		return count(doc.Objects, "object") + ": " + count(errs, "error") + "."
	default:
		return count(doc.Objects, "object") + ": " + count(errs, "error") + ", " + count(warnings, "warning") + "."
	}
}

// statuses are the ends of an item in the order in which they are counted.
func statuses() []apply.Status {
	return []apply.Status{apply.Done, apply.Failed, apply.Skipped, apply.Blocked, apply.Deferred}
}

// byUrgency are the same in the order in which they are shown: what needs a
// person first.
func byUrgency() []apply.Status {
	return []apply.Status{apply.Failed, apply.Blocked, apply.Deferred, apply.Skipped, apply.Done}
}

// applySummary counts the outcomes.
func applySummary(r *apply.Result) safe {
	counts := map[apply.Status]int{}
	sent := 0
	for _, o := range r.Outcomes {
		counts[o.Status]++
		if o.Sent {
			sent++
		}
	}
	var parts []safe
	for _, s := range statuses() {
		if counts[s] > 0 {
			parts = append(parts, number(counts[s])+" "+clean(string(s)))
		}
	}
	if len(parts) == 0 {
		return "nothing to do."
	}
	return join(parts, ", ") + ". " + count(sent, "request") + " sent."
}

// nextSteps says what to do about each verdict, once.
func nextSteps(r *apply.Result) []safe {
	keys := map[apply.Verdict][]safe{}
	var deferred, unseen []safe
	for _, o := range r.Outcomes {
		switch {
		case o.Status == apply.Deferred:
			deferred = append(deferred, named(o.Key))
		case o.Verdict == apply.NotConverged && len(o.Mismatches) == 0:
			unseen = append(unseen, named(o.Key))
		default:
			keys[o.Verdict] = append(keys[o.Verdict], named(o.Key))
		}
	}
	var steps []safe
	for _, v := range []apply.Verdict{apply.Interrupted, apply.Auth, apply.NeedsPerson, apply.NotConverged, apply.Stale, apply.Partial} {
		if len(keys[v]) > 0 {
			steps = append(steps, step(v, limited(keys[v], ", ")))
		}
	}
	if len(unseen) > 0 {
		steps = append(steps, "live does not show what the server confirmed for "+limited(unseen, ", ")+": check again with plan")
	}
	if len(deferred) > 0 {
		steps = append(steps, "run apply again later for "+limited(deferred, ", "))
	}
	return steps
}

// step is the advice for a verdict (docs/design.md 0.24).
func step(v apply.Verdict, which safe) safe {
	switch v {
	case apply.Interrupted:
		return "interrupted before " + which + ": run apply again; it does not repeat what is done"
	case apply.Auth:
		return "not allowed: " + which + ": check the token and its roles, then run apply again"
	case apply.NeedsPerson:
		return "a person must decide about " + which
	case apply.NotConverged:
		return "the server did not keep what was sent for " + which + ": if it never does, say so in an override in trueup.yaml"
	case apply.Stale:
		return "live differs from the plan for " + which + ", so trueup sent nothing there: review a new plan"
	case apply.Partial:
		return "run apply again for " + which + " when the cause is fixed; it does not repeat what is done"
	case apply.OK:
	}
	return ""
}

// keyWidth is the width of the column of outcomes' objects.
func keyWidth(r *apply.Result) int {
	column := 0
	for _, o := range r.Outcomes {
		column = grow(column, width(named(o.Key)), maxAlign)
	}
	return column
}

// headlines are operations in a few words.
func headlines() map[plan.Op]safe {
	return map[plan.Op]safe{
		plan.Create: "to create", plan.Post: "to post once", plan.Delete: "to delete", plan.Blocked: "blocked",
		plan.InFlight: "in flight elsewhere", plan.Deferred: "deferred", plan.Kept: "kept",
	}
}

// headline is an item in a few words.
func headline(item plan.Item, rows []row) safe {
	if text, ok := headlines()[item.Op]; ok {
		return join(filled(text, causeOf(item)), ", ")
	}
	if len(rows) == 0 {
		return "in sync"
	}
	t := newCauses()
	for _, r := range rows {
		t.add(r.why)
	}
	return join(filled(count(len(rows), "change"), t.text()), ": ")
}

// hostsMerge is a commit that no branch has.
const hostsMerge safe = "the code host's merge of the pull request"

// blame says which commits told whose change a line is, or what could not be
// told and what to do about that; all are empty where nothing was compared.
func blame(b *plan.Blame) (base, problem, fix safe) {
	if b == nil {
		return "", "", ""
	}
	if b.Base != "" {
		base = "compared with " + join(filled(cut(clean(b.Ref), maxName), short(b.Base)), " at ")
		if b.Merge {
			base += "; what is checked out is " + hostsMerge
		}
	}
	return base, message(b.Problem), message(b.Fix)
}

// short is a commit as people write it.
func short(commit string) safe {
	const digits = 7
	return clean(commit[:min(digits, len(commit))])
}

package report

import (
	"slices"

	"trueup/internal/apply"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// withEarlier returns the result of a project's last try, with all that an earlier one sent.
func withEarlier(earlier, last Document) Document {
	planned := itemsByKey(earlier)
	var sent, outcomes []apply.Outcome
	if earlier.Apply != nil {
		sent = slices.DeleteFunc(slices.Clone(earlier.Apply.Outcomes), func(o apply.Outcome) bool { return !o.Sent })
	}
	if len(sent) == 0 {
		return last
	}
	if last.Apply != nil {
		outcomes = slices.Clone(last.Apply.Outcomes)
	}
	at, shown := map[kind.Key]int{}, map[kind.Key]bool{}
	for i, o := range outcomes {
		at[o.Key] = i
	}
	for _, before := range sent {
		i, again := at[before.Key]
		if !again {
			outcomes, shown[before.Key] = append(outcomes, before), true
			continue
		}
		outcomes[i], shown[before.Key] = ofBoth(before, outcomes[i], planned[before.Key].Op)
	}
	result := apply.NewResult(outcomes)
	last.Apply = &result
	last.Plan = withItems(last.Plan, earlier.Plan, shown)
	return last
}

// Unended returns the result that an apply in one of many projects has if its process is killed: it may have sent all of its plan.
func Unended(doc Document) Document {
	var outcomes []apply.Outcome
	for _, item := range doc.Plan.Items {
		if apply.EffectOf(item.Op) != "" {
			outcomes = append(outcomes, apply.Outcome{
				Key: item.Key, Status: apply.Failed, Sent: true, Verdict: apply.Partial, Message: unended, Fix: "run the shard again",
			})
		}
	}
	result := apply.NewResult(outcomes)
	doc.Apply, doc.ExitCode, doc.Result = &result, exit.Partial, exit.NameOf(exit.Partial)
	doc.Project.Result, doc.Project.ExitCode, doc.Project.Running = doc.Result, doc.ExitCode, true
	doc.Errors = append(slices.Clone(doc.Errors), "the apply of this project has not ended")
	return doc
}

// unended is the message about the requests of a run that did not end.
const unended = "a try that did not end may have sent it"

// ofBoth returns the outcome of an object in two tries. The earlier one sent something. shown reports whether the
// earlier plan shows what both did.
func ofBoth(before, last apply.Outcome, op plan.Op) (both apply.Outcome, shown bool) {
	switch {
	case before.Status == apply.Done && last.Status == apply.Done && (!last.Sent || before.Did == apply.Created):
		return before, true
	case before.Status == apply.Done && last.Status != apply.Done:
		last.Message = "an earlier try " + before.What() + " it; then: " + last.Message
	case last.Status != apply.Done || last.Sent:
	case before.Message == unended:
		// It differed from git before that try, and does no more.
		last.Did, last.Sent, last.Message = apply.EffectOf(op), true, "sent by a try that did not end"
		return last, true
	default:
		last.Message = "an earlier try sent a request, which failed: " + before.Message
	}
	return last, false
}

// withItems returns a plan with the items that an earlier one shows for some objects.
func withItems(last, earlier *plan.Plan, shown map[kind.Key]bool) *plan.Plan {
	if earlier == nil {
		return last
	}
	pl := *earlier
	if pl.Items, pl.Digest = nil, ""; last != nil {
		pl = *last
		pl.Items = slices.DeleteFunc(slices.Clone(last.Items), func(it plan.Item) bool { return shown[it.Key] })
	}
	for _, item := range earlier.Items {
		if shown[item.Key] {
			pl.Items = append(pl.Items, item)
		}
	}
	pl.Summary = pl.CountItems()
	return &pl
}

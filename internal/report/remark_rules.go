package report

import (
	"slices"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/view"
)

type level uint8

const (
	noteLevel level = iota
	warningLevel
	errorLevel
)

// levelNames has the names of the levels in SARIF, annotations and Code Climate.
var levelNames = [...]struct{ sarif, command, code string }{
	noteLevel:    {"note", "notice", "info"},
	warningLevel: {"warning", "warning", "major"},
	errorLevel:   {"error", "error", "critical"},
}

// SARIF returns the name of the level in SARIF.
func (l level) SARIF() string { return levelNames[l].sarif }

// remarkRule is a rule about a run or a plan, listed in docs/reports.md.
type remarkRule struct {
	id    string
	level level
	means string
}

// NotPosted is the rule of a comment that the code host did not accept.
const NotPosted = "run/not-posted"

// projectRule is the rule of a project that failed among many.
const projectRule = "run/project"

// remarkRules has the most important rule first.
var remarkRules = []remarkRule{
	{"run/failed", errorLevel, "The run stopped before its end."},
	{"run/check", errorLevel, "A check of doctor failed, or is a warning."},
	{projectRule, errorLevel, "The run of one of many projects failed or was not started."},
	{"apply/failed", errorLevel, "A request failed or was not sent."},
	{"apply/not-kept", errorLevel, "The server did not keep what was sent, or changed something else."},
	{"apply/blocked", errorLevel, "trueup sent nothing for an object, because a person must decide first."},
	{"plan/blocked", errorLevel, "trueup sends nothing for this object until you decide."},
	{requesttest.Rule, errorLevel, "A request test failed; in a plan it is a warning."},
	{NotPosted, warningLevel, "The code host did not accept a comment."},
	{"apply/altered", warningLevel, "The object changed in a place that was not sent."},
	{"plan/setting", warningLevel, "A setting of the project, or a comment that silences a rule, differs from the base."},
	{"plan/stops", warningLevel, "A CDN stops serving a hostname or a path."},
	{"plan/unserved", warningLevel, "Some requests for a CDN are no longer served."},
	{"plan/security", warningLevel, "A change may expose protected content."},
	{"plan/serves", warningLevel, "A change may serve other content, or none."},
	{"plan/delete", warningLevel, "An object that was removed from git is deleted, which can't be undone."},
	{"plan/lost", warningLevel, "A live list element that git does not have would be dropped."},
	{"plan/conflict", warningLevel, "Git and live both differ from what was applied last."},
	{"plan/gone", warningLevel, "An object that was created no longer exists on the platform."},
	{"plan/drift", warningLevel, "A value was changed outside git."},
	{"plan/not-kept", warningLevel, "The server did not keep a value when it was last sent, or it changed since."},
	{"plan/resent", warningLevel, "A request that may have been sent before is sent again under the same name."},
	{"pull/object", warningLevel, "pull wrote no manifest of an object, or the manifest in git differs from live."},
	{"fmt/file", warningLevel, "fmt --check found a file that fmt would change."},
	{"apply/skipped", warningLevel, "Nothing was sent for an object, because something before it failed or the run ended."},
	{"plan/availability", noteLevel, "A change may make something slow or unreachable."},
	{"plan/removed", noteLevel, "A value is removed: it was applied before, and is not in git now."},
	{"plan/purge", noteLevel, "A cache purge is posted, once."},
	{"plan/unknown", noteLevel, "Git and live differ, and no record says which of them changed."},
	{"plan/pending", noteLevel, "Git has a value that was not applied last, so apply sends it."},
	{"plan/requests", noteLevel, "A CDN answers requests in another way."},
	{"plan/deferred", noteLevel, "A limit of the platform defers a request."},
	{"apply/deferred", noteLevel, "A limit of the platform deferred a request."},
	{"apply/in-flight", noteLevel, "Another run is sending the request."},
	{"plan/in-flight", noteLevel, "Another run is sending the request."},
	{"plan/kept", noteLevel, "An object was applied before, is not in git now, and stays live."},
	{"run/note", noteLevel, "A note about the run."},
}

// ruleNamed returns a rule of remarkRules and its rank from 1, or 0 for any other rule, such as one about
// manifests.
func ruleNamed(id string) (rule remarkRule, rank int) {
	i := slices.IndexFunc(remarkRules, func(r remarkRule) bool { return r.id == id })
	if i < 0 {
		return rule, 0
	}
	return remarkRules[i], i + 1
}

// rankOfRule returns the rank of a rule. Those about manifests come after those about runs and plans.
func rankOfRule(id string) int {
	if _, rank := ruleNamed(id); rank > 0 {
		return rank
	}
	return len(remarkRules) + 1
}

// Rule returns the level of a rule about a run or a plan, and what it means.
func Rule(id string) (level, means string, ok bool) {
	rule, rank := ruleNamed(id)
	return levelNames[rule.level].sarif, rule.means, rank > 0
}

func levelOf(rule string) level {
	known, _ := ruleNamed(rule)
	return known.level
}

// outcomeRule returns the rule of an outcome; empty if it needs no remark.
func outcomeRule(o apply.Outcome) string {
	if len(o.Mismatches) > 0 {
		if o.Verdict == apply.OK {
			return "apply/altered"
		}
		return "apply/not-kept"
	}
	return outcomeKindOf(o).rule
}

// opRule returns the rule of an object as a whole; empty if it needs no remark.
func opRule(item plan.Item) string {
	rule := opOf(item).rule
	switch {
	case item.Op == plan.Blocked && !item.Happened || item.Op == plan.Delete:
		return rule
	case item.Waits && item.Op != plan.Patch:
		return "plan/pending"
	case item.Resend:
		return "plan/resent"
	case item.Deleted || item.Recreate:
		return "plan/gone"
	case item.Op == plan.Create && (item.Risk.Grave() || mustShow(factsOf(item))):
		return ruleOf(item.Risk)
	}
	return rule
}

var tableOfChangeRules = map[merge.Class]string{
	merge.DriftOverwrite: "plan/drift", merge.Conflict: "plan/conflict", merge.RemovedConflict: "plan/conflict",
	plan.ServerNormalised: "plan/not-kept", merge.Removed: "plan/removed", merge.UnknownBase: "plan/unknown",
	plan.Lost: "plan/lost",
}

// changeRule returns the rule of a change; empty if it needs no remark.
func changeRule(c plan.Change) string {
	if c.Cause == plan.FromPending && (c.Class == merge.Changed || c.Class == merge.TakeOver) {
		return "plan/pending"
	}
	return tableOfChangeRules[c.Class]
}

// riskRule returns the rule of a change. If the change must be shown, that is the rule of its risk, unless rule is of the same level
// or a worse one, or is about what is not sent.
func riskRule(item plan.Item, c plan.Change, rule string) string {
	sent := item.Op == plan.Patch && !c.Left
	if !view.MustShow(c.Risk) || !plan.IsShown(c.Class) || rule != "" && (!sent || levelOf(rule) >= levelOf(ruleOf(c.Risk))) {
		return rule
	}
	return ruleOf(c.Risk)
}

// ruleOf returns the rule of a risk that must be shown.
func ruleOf(risk kind.Risk) string { return "plan/" + risk.String() }

package view

import (
	"slices"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
)

// Level says how urgent a remark is.
type Level uint8

// The levels, the least urgent first.
const (
	NoteLevel Level = iota
	WarningLevel
	ErrorLevel
)

// LevelNames has the names of the levels in SARIF, annotations and Code Climate.
var LevelNames = [...]struct{ Sarif, Command, Code string }{
	NoteLevel:    {"note", "notice", "info"},
	WarningLevel: {"warning", "warning", "major"},
	ErrorLevel:   {"error", "error", "critical"},
}

// SARIF returns the name of the level in SARIF.
func (l Level) SARIF() string { return LevelNames[l].Sarif }

// RemarkRule is a rule about a run or a plan, listed in docs/reports.md.
type RemarkRule struct {
	ID    string
	Level Level
	Means string
}

// NotPosted is the rule of a comment that the code host did not accept.
const NotPosted = "run/not-posted"

// ProjectRule is the rule of a project that failed among many.
const ProjectRule = "run/project"

// RemarkRules has the most important rule first.
var RemarkRules = []RemarkRule{
	{"run/failed", ErrorLevel, "The run stopped before its end."},
	{"run/check", ErrorLevel, "A check of doctor failed, or is a warning."},
	{ProjectRule, ErrorLevel, "The run of one of many projects failed or was not started."},
	{"apply/failed", ErrorLevel, "A request failed or was not sent."},
	{"apply/not-kept", ErrorLevel, "The server did not keep what was sent, or changed something else."},
	{"apply/blocked", ErrorLevel, "trueup sent nothing for an object, because a person must decide first."},
	{"plan/blocked", ErrorLevel, "trueup sends nothing for this object until you decide."},
	{requesttest.Rule, ErrorLevel, "A request test failed; in a plan it is a warning."},
	{NotPosted, WarningLevel, "The code host did not accept a comment."},
	{"apply/altered", WarningLevel, "The object changed in a place that was not sent."},
	{"plan/setting", WarningLevel, "A setting of the project, or a comment that silences a rule, differs from the base."},
	{"plan/stops", WarningLevel, "A CDN stops serving a hostname or a path."},
	{"plan/unserved", WarningLevel, "Some requests for a CDN are no longer served."},
	{"plan/security", WarningLevel, "A change may expose protected content."},
	{"plan/serves", WarningLevel, "A change may serve other content, or none."},
	{"plan/delete", WarningLevel, "An object that was removed from git is deleted, which can't be undone."},
	{"plan/lost", WarningLevel, "A live list element that git does not have would be dropped."},
	{"plan/conflict", WarningLevel, "Git and live both differ from what was applied last."},
	{"plan/gone", WarningLevel, "An object that was created no longer exists on the platform."},
	{"plan/drift", WarningLevel, "A value was changed outside git."},
	{"plan/not-kept", WarningLevel, "The server did not keep a value when it was last sent, or it changed since."},
	{"plan/resent", WarningLevel, "A request that may have been sent before is sent again under the same name."},
	{"pull/object", WarningLevel, "pull wrote no manifest of an object, or the manifest in git differs from live."},
	{"fmt/file", WarningLevel, "fmt --check found a file that fmt would change."},
	{"apply/skipped", WarningLevel, "Nothing was sent for an object, because something before it failed or the run ended."},
	{"plan/availability", NoteLevel, "A change may make something slow or unreachable."},
	{"plan/removed", NoteLevel, "A value is removed: it was applied before, and is not in git now."},
	{"plan/purge", NoteLevel, "A cache purge is posted, once."},
	{"plan/unknown", NoteLevel, "Git and live differ, and no record says which of them changed."},
	{"plan/pending", NoteLevel, "Git has a value that was not applied last, so apply sends it."},
	{"plan/requests", NoteLevel, "A CDN answers requests in another way."},
	{"plan/deferred", NoteLevel, "A limit of the platform defers a request."},
	{"apply/deferred", NoteLevel, "A limit of the platform deferred a request."},
	{"apply/in-flight", NoteLevel, "Another run is sending the request."},
	{"plan/in-flight", NoteLevel, "Another run is sending the request."},
	{"plan/kept", NoteLevel, "An object was applied before, is not in git now, and stays live."},
	{"run/note", NoteLevel, "A note about the run."},
}

// RuleNamed returns a rule of remarkRules and its rank from 1, or 0 for any other rule, such as one about
// manifests.
func RuleNamed(id string) (rule RemarkRule, rank int) {
	i := slices.IndexFunc(RemarkRules, func(r RemarkRule) bool { return r.ID == id })
	if i < 0 {
		return rule, 0
	}
	return RemarkRules[i], i + 1
}

// RankOfRule returns the rank of a rule. Those about manifests come after those about runs and plans.
func RankOfRule(id string) int {
	if _, rank := RuleNamed(id); rank > 0 {
		return rank
	}
	return len(RemarkRules) + 1
}

// Rule returns the level of a rule about a run or a plan, and what it means.
func Rule(id string) (level, means string, ok bool) {
	rule, rank := RuleNamed(id)
	return LevelNames[rule.Level].Sarif, rule.Means, rank > 0
}

// LevelOf returns the level of a rule.
func LevelOf(rule string) Level {
	known, _ := RuleNamed(rule)
	return known.Level
}

// OutcomeRule returns the rule of an outcome; empty if it needs no remark.
func OutcomeRule(o apply.ItemOutcome) string {
	if len(o.Mismatches) > 0 {
		if o.Verdict == apply.OK {
			return "apply/altered"
		}
		return "apply/not-kept"
	}
	return OutcomeKindOf(o).rule
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
	case item.Op == plan.Create && (item.Risk.IsGrave() || MustShowOneOf(factsOf(item))):
		return ruleOf(item.Risk)
	}
	return rule
}

var tableOfChangeRules = map[merge.ChangeKind]string{
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
	if !MustShow(c.Risk) || !plan.IsShown(c.Class) || rule != "" && (!sent || LevelOf(rule) >= LevelOf(ruleOf(c.Risk))) {
		return rule
	}
	return ruleOf(c.Risk)
}

// ruleOf returns the rule of a risk that must be shown.
func ruleOf(risk kind.Risk) string { return "plan/" + risk.String() }

package view

import (
	_ "embed"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// Level says how urgent a remark is.
type Level uint8

// The levels, the least urgent first.
const (
	NoteLevel Level = iota
	WarningLevel
	ErrorLevel
)

// Names returns those of the level in SARIF, annotations and Code Climate.
func (l Level) Names() struct{ SARIF, Command, Code string } { return tableOfLevels[l] }

var tableOfLevels = [...]struct{ SARIF, Command, Code string }{
	NoteLevel:    {"note", "notice", "info"},
	WarningLevel: {"warning", "warning", "major"},
	ErrorLevel:   {"error", "error", "critical"},
}

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

// remarkRules has a line for each rule: its level, its ID and what it means.
//
//go:embed remark_rules.txt
var remarkRules string

// RemarkRules has the most important rule first.
var RemarkRules = parseRemarkRules(remarkRules)

func parseRemarkRules(table string) (list []RemarkRule) {
	levels := map[string]Level{"note": NoteLevel, "warning": WarningLevel, "error": ErrorLevel}
	for line := range strings.Lines(table) {
		level, rest, _ := strings.Cut(line, " ")
		id, means, _ := strings.Cut(strings.TrimSpace(rest), " ")
		list = append(list, RemarkRule{id, levels[level], strings.TrimSpace(means)})
	}
	return list
}

// RuleByID returns a rule of RemarkRules and its rank. Any other rule, such as one about manifests, comes after them and has no ID.
func RuleByID(id string) (rule RemarkRule, rank int) {
	i := slices.IndexFunc(RemarkRules, func(r RemarkRule) bool { return r.ID == id })
	if i < 0 {
		return rule, len(RemarkRules)
	}
	return RemarkRules[i], i
}

// LevelOf returns the level of a rule.
func LevelOf(id string) Level {
	rule, _ := RuleByID(id)
	return rule.Level
}

// OutcomeRule returns the rule of an outcome; empty if it needs no remark.
func OutcomeRule(o apply.ItemOutcome) string {
	if len(o.Mismatches) > 0 {
		if o.Verdict == apply.OK {
			return "apply/altered"
		}
		return "apply/not-kept"
	}
	k, _ := OutcomeKindOf(o)
	return k.rule
}

// opRule returns the rule of an object as a whole; empty if it needs no remark.
func opRule(item plan.Item) string {
	rule := opLookOf(item).rule
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

package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// level is how loud a remark is.
type level uint8

const (
	noteLevel level = iota
	warningLevel
	errorLevel
)

// remark is a part of a Document that a code host can show beside a line of a
// file: SARIF, code quality and annotations are made of these.
type remark struct {
	level level
	rule  safe
	// about is the object, empty where it is none.
	about safe
	// text is a sentence, more are lines below it.
	text safe
	more []safe
	// file is the path from the top of the repository, empty where there is none;
	// line and column count from 1, 0 is unknown.
	file         string
	line, column int
	// source is the whole line of the file, where it is known.
	source string
	// named says that a host which has no room for the remark is given its lines with
	// the count of the others: it is about a setting or a change of the first two risks.
	named bool
	// field is the place inside the object, which stays when lines shift.
	field string
	// fingerprint is the same in every run that makes the same remark.
	fingerprint string
}

// remarks are what is worth a reader's look, the most important first.
func remarks(doc Document) []remark {
	var found []remark
	for _, e := range doc.Errors {
		found = append(found, runRemark(ruleFailed, message(e)))
	}
	for _, f := range doc.Findings {
		found = append(found, findingRemark(f, doc.Place))
	}
	if doc.Apply != nil {
		found = append(found, applyRemarks(doc)...)
	}
	if doc.Plan != nil {
		found = append(found, planRemarks(doc)...)
	}
	for i := range found {
		found[i].text = cmp.Or(found[i].text, "the rest is not shown") // no host takes what has no text
	}
	slices.SortStableFunc(found, func(a, b remark) int {
		return cmp.Or(-cmp.Compare(a.level, b.level), first(b.named)-first(a.named), cmp.Compare(ruleRank(a.rule), ruleRank(b.rule)),
			cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	identify(found)
	return found
}

// first is 1 for what stands in front of all else that is as loud: a host that has no
// room for every remark drops the others.
func first(named bool) int {
	if named {
		return 1
	}
	return 0
}

// identify gives each remark a fingerprint of its rule, file, object and field:
// lines shift, and texts hold values. Those that are alike in these are counted.
func identify(found []remark) {
	seen := map[string]int{}
	for i := range found {
		r := &found[i]
		parts := []string{string(r.rule), r.file, string(r.about), r.field}
		for j, p := range parts {
			parts[j] = strconv.Quote(p)
		}
		id := strings.Join(parts, " ")
		seen[id]++
		sum := sha256.Sum256([]byte(id + " " + strconv.Itoa(seen[id])))
		r.fingerprint = fmt.Sprintf("%x", sum)
	}
}

// ofRun reports whether a remark is about the run as a whole, and about no file.
func (r remark) ofRun() bool { return r.rule == ruleFailed || r.rule == ruleNote }

// lines are the text of a remark.
func (r remark) lines() []safe { return append([]safe{r.text}, r.more...) }

// runSummary is what the run came to, in a line.
func runSummary(doc Document) safe {
	var text safe
	switch {
	case doc.Apply != nil:
		text = applyTitle(doc) + ": " + applySummary(doc.Apply)
	case doc.Plan != nil:
		text = planTitle(doc) + ": " + planSummary(doc)
	case len(doc.Errors) > 0:
		text = "The run stopped: " + count(len(doc.Errors), "error") + "."
	default:
		text = findingsSummary(doc)
	}
	if doc.Plan != nil && doc.Plan.Offline {
		text += " Offline: git was compared with git."
	}
	if doc.Plan != nil && doc.Plan.Digest != "" {
		text += " Digest " + cut(clean(doc.Plan.Digest), maxPath) + "."
	}
	if doc.Sandbox {
		text += " " + banner + "."
	}
	return text
}

// runRemark is about the run as a whole.
func runRemark(rule safe, text safe) remark {
	return remark{level: levelOf(rule), rule: rule, text: text}
}

func findingRemark(f diag.Finding, at Place) remark {
	r := remark{rule: cut(clean(f.Rule), maxPath), text: message(f.Message), field: f.Field, line: max(f.Line, 0), column: max(f.Column, 0), source: f.Source}
	switch f.Severity {
	case diag.Error:
		r.level = errorLevel
	case diag.Warning:
		r.level = warningLevel
	case diag.Advice:
	}
	file, ok := at.inRepository(f.Path)
	if r.file = file; !ok {
		r.text, r.file, r.line, r.column, r.source = place(f)+r.text, "", 0, 0, ""
	}
	if f.Fix != "" {
		r.more = []safe{"fix: " + message(f.Fix)}
	}
	return r
}

// applyRemarks are the outcomes that are not simply done.
func applyRemarks(doc Document) []remark {
	items := itemsByKey(doc)
	var found []remark
	for _, o := range doc.Apply.Outcomes {
		rule := outcomeRule(o)
		if rule == "" {
			continue
		}
		item := items[o.Key]
		item.Key = o.Key
		r := itemRemark(item, rule, doc.Place)
		r.text += message(o.Message)
		if r.file != "" && o.Line > 0 {
			r.line, r.column, r.field = o.Line, max(o.Column, 0), o.Field
		}
		for _, m := range o.Mismatches {
			sent, returned := sentAndReturned(m)
			r.more = append(r.more, cut(clean(m.Path), maxPath)+": sent "+sent+", returned "+returned)
			if m.Hint != "" {
				r.more = append(r.more, "hint: "+message(m.Hint))
			}
		}
		if o.Fix != "" {
			r.more = append(r.more, "fix: "+message(o.Fix))
		}
		found = append(found, r)
	}
	return found
}

// itemsByKey are the plan's items, for outcomes that belong to them.
func itemsByKey(doc Document) map[kind.Key]plan.Item {
	items := map[kind.Key]plan.Item{}
	if doc.Plan != nil {
		for _, item := range doc.Plan.Items {
			items[item.Key] = item
		}
	}
	return items
}

// outcomeRule is what is to be said of an outcome, or nothing.
func outcomeRule(o apply.Outcome) safe {
	switch o.Status {
	case apply.Failed:
		return ruleNotApplied
	case apply.Blocked:
		return ruleNotDecided
	case apply.Skipped:
		return ruleSkipped
	case apply.Deferred:
		return ruleNoRoom
	case apply.Done:
		if o.Verdict == apply.NotConverged {
			return ruleNotConverged
		}
	}
	return ""
}

// planRemarks are the advice of a plan, what could not be told, and the lines
// that a reader must not miss. Those lines are of the past once they are applied.
func planRemarks(doc Document) []remark {
	var found []remark
	for _, s := range doc.Plan.Settings {
		found = append(found, settingRemark(doc, s))
	}
	for _, f := range doc.Plan.Advice {
		found = append(found, findingRemark(f, doc.Place))
	}
	found = append(found, noteRemarks(doc.Plan)...)
	if doc.Apply != nil {
		return found
	}
	for _, item := range doc.Plan.Items {
		found = append(found, opRemarks(item, doc.Place)...)
		found = append(found, changeRemarks(item, doc.Place)...)
	}
	return found
}

// settingRemark is about a setting that differs from the base.
func settingRemark(doc Document, s plan.Setting) remark {
	r := runRemark(ruleSetting, sentence(settingRow(s)))
	r.named = true
	for _, n := range settingNotes(doc.Plan, s) {
		r.more = append(r.more, n.text)
	}
	if file, ok := doc.Place.inRepository(s.Path); ok {
		r.file, r.line, r.field = file, max(s.Line, 0), s.Field
	}
	return r
}

// noteRemarks are what could not be told.
func noteRemarks(pl *plan.Plan) []remark {
	var found []remark
	for _, n := range pl.Notes {
		found = append(found, runRemark(ruleNote, message(n)))
	}
	if _, problem, fix := blame(pl.Blame); problem != "" {
		r := runRemark(ruleNote, "base: "+problem)
		if fix != "" {
			r.more = []safe{"fix: " + fix}
		}
		found = append(found, r)
	}
	return found
}

// itemRemark is a remark at the object's place, whose text is begun.
func itemRemark(item plan.Item, rule safe, at Place) remark {
	r := remark{level: levelOf(rule), rule: rule, about: named(item.Key), text: named(item.Key) + ": "}
	if file, ok := at.inRepository(item.Path); ok {
		r.file, r.line = file, max(item.Line, 0)
	}
	return r
}

// opRemarks are about an object as a whole.
func opRemarks(item plan.Item, at Place) []remark {
	rule := opRule(item)
	if rule == "" {
		return nil
	}
	r := itemRemark(item, rule, at)
	switch rows := opRows(item); {
	case len(rows) > 0:
		r.text += sentence(rows[0])
	case item.Op == plan.Kept:
		r.text += mention(item)
	default:
		r.text += again(item)
	}
	if rule == ruleBlocked && !item.NeedsPerson {
		r.level = warningLevel
	}
	for _, c := range item.Added() {
		if c.Risk.Grave() {
			r.more, r.named = append(r.more, wholeSentence(addedRow(item.Kind, c))), true
		}
	}
	for _, n := range itemNotes(item) {
		if n.fix && item.Op != plan.Kept {
			r.more = append(r.more, n.text)
		}
	}
	return []remark{r}
}

// opRule is what is to be said of an object as a whole, or nothing.
func opRule(item plan.Item) safe {
	switch {
	case item.Op == plan.Blocked:
		return ruleBlocked
	case item.Op == plan.Delete:
		return ruleDelete
	case item.Resend:
		return ruleResent
	case item.Deleted || item.Recreate:
		return ruleGone
	case item.Op == plan.Create && item.Risk.Grave():
		return ruleOf(item.Risk)
	case item.Op == plan.Post:
		return rulePurge
	case item.Op == plan.Deferred:
		return ruleDeferred
	case item.Op == plan.InFlight:
		return ruleInFlight
	case item.Op == plan.Kept:
		return ruleKept
	}
	return ""
}

// changeRemarks are the lines of an object that are more than what this change
// of git does.
func changeRemarks(item plan.Item, at Place) []remark {
	list := remarkList{item: item, at: at, together: map[safe]int{}}
	lost := lossesOf(item)
	for _, c := range item.Changes {
		if rule := riskRule(item, c, changeRule(c)); rule != "" && !lost.have(c) {
			list.add(rule, wholeSentence(changeRow(item.Kind, c)), c)
		}
	}
	for _, v := range item.Collateral {
		if risk := riskOf(item, v); risk.Grave() {
			list.add(ruleOf(risk), clean(v.Path)+" = "+literal(v.Value)+" is removed with its parent", plan.Change{Risk: risk})
		}
	}
	for _, v := range item.FirstContact {
		list.add(ruleLost, clean(v.Path)+" is only live, and would be lost", plan.Change{Risk: riskOf(item, v)})
	}
	for i := range list.found {
		r := &list.found[i]
		if len(r.more) > maxParts && !item.Risk.Grave() {
			r.more = append(r.more[:maxParts:maxParts], "and "+count(len(r.more)-maxParts, "more field"))
		}
	}
	return list.found
}

// remarkList are remarks about lines of an object. Those of one rule without a line
// of their own make one remark.
type remarkList struct {
	item     plan.Item
	at       Place
	found    []remark
	together map[safe]int
}

func (l *remarkList) add(rule, text safe, c plan.Change) {
	i, ok := l.together[rule]
	if own := c.Line > 0; own || !ok {
		r := itemRemark(l.item, rule, l.at)
		r.text, r.named = r.text+text, c.Risk.Grave()
		if r.field = c.Path; own && r.file != "" {
			r.line, r.column = c.Line, max(c.Column, 0)
		}
		if l.found = append(l.found, r); !own {
			l.together[rule] = len(l.found) - 1
		}
		return
	}
	l.found[i].more = append(l.found[i].more, text)
	l.found[i].named = l.found[i].named || c.Risk.Grave()
}

// changeRule is what is to be said of a change, or nothing.
func changeRule(c plan.Change) safe {
	switch c.Class {
	case plan.DriftOverwrite:
		return ruleDrift
	case plan.Conflict, plan.RemovedConflict:
		return ruleConflict
	case plan.ServerNormalised:
		return ruleNotKept
	case plan.Removed:
		return ruleRemoved
	case plan.UnknownBase:
		return ruleUnknown
	case plan.Changed, plan.TakeOver:
		if c.Cause == plan.FromPending {
			return rulePending
		}
	case plan.InSync, plan.Converged, plan.AlreadyRemoved, plan.Unmanaged:
	}
	return ""
}

// riskRule is the rule of a change that may serve other content or open what is
// guarded, unless it has one that is as loud.
func riskRule(item plan.Item, c plan.Change, rule safe) safe {
	sent := item.Op == plan.Patch && !c.Left && visible(c.Class, Options{})
	if !sent || !c.Risk.Grave() || rule != "" && levelOf(rule) >= warningLevel {
		return rule
	}
	return ruleOf(c.Risk)
}

// ruleOf is the rule of one of the first two risks.
func ruleOf(risk kind.Risk) safe {
	if risk == kind.RiskServes {
		return ruleServes
	}
	return ruleSecurity
}

// wholeSentence is a row in words, with all of a value that is to be shown whole.
func wholeSentence(r row) safe {
	if r.whole() && len(r.details) > 0 {
		r.cause = join(filled(join(r.details, " "), r.cause), "; ")
	}
	return sentence(r)
}

// sentence is a row in words.
func sentence(r row) safe {
	text := r.path
	switch {
	case r.before != "" && r.after != "":
		text += ": " + r.before + " → " + r.after
	case r.before != "" || r.after != "":
		text += ": " + r.before + r.after
	}
	if r.cause != "" {
		text += " (" + r.cause + ")"
	}
	return text
}

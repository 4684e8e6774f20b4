package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// remark is a part of a Document that a code host shows beside a line of a file: in SARIF,
// code quality reports and annotations.
type remark struct {
	Level level
	rule  string
	// About is the object, or empty.
	About safe
	// text is a sentence, and more has lines below it.
	text safe
	more []safe
	// file is a path from the top of the repository, or empty; Line and Column are 0 if unknown.
	file         string
	Line, Column int
	// source is the line of the file, if known.
	source string
	// named is true for settings and grave changes, which annotations never omit.
	named bool
	// field is the path in the object. Unlike Line, it is the same after edits elsewhere in the file.
	field string
	// Fingerprint is the same in every run with the same remark.
	Fingerprint string
}

// remarks returns the remarks about a run, the most important first.
func remarks(doc Document) []remark {
	var found []remark
	for _, e := range doc.Errors {
		found = append(found, runRemark("run/failed", message(e)))
	}
	for _, f := range slices.Concat(doc.Findings, doc.Annotations) {
		found = append(found, findingRemark(f, doc.Place))
	}
	if doc.Apply != nil {
		found = append(found, applyRemarks(doc)...)
	}
	if doc.Plan != nil {
		found = append(found, planRemarks(doc)...)
	}
	for i := range found {
		found[i].text = cmp.Or(found[i].text, clean("the rest is not shown")) // no code host accepts an empty text
	}
	slices.SortStableFunc(found, func(a, b remark) int {
		_, rankA := ruleNamed(a.rule)
		_, rankB := ruleNamed(b.rule)
		return cmp.Or(cmp.Compare(b.Level, a.Level), oneIf(b.named)-oneIf(a.named), rankA-rankB,
			cmp.Compare(a.file, b.file), cmp.Compare(a.Line, b.Line))
	})
	identify(found)
	return found
}

// identify sets the fingerprints. They do not depend on lines, so edits elsewhere in the file don't
// change them. It numbers equal remarks.
func identify(found []remark) {
	seen := map[string]int{}
	for i := range found {
		r := &found[i]
		id := fmt.Sprintf("%q %q %q %q", r.rule, r.file, r.About.String(), r.field)
		seen[id]++
		r.Fingerprint = fmt.Sprintf("%x", sha256.Sum256([]byte(id+" "+strconv.Itoa(seen[id]))))
	}
}

// ofRun reports whether a remark is about the whole run, not about a file.
func (r remark) ofRun() bool { return strings.HasPrefix(r.rule, "run/") }

func (r remark) lines() []safe { return append([]safe{r.text}, r.more...) }

// Join returns the lines of a remark as one text.
func (r remark) Join(sep string) safe { return safetext.Join(r.lines(), sep) }

// ID returns the rule for code hosts, which reject an empty one.
func (r remark) ID() safe { return clean(cmp.Or(r.rule, "unnamed")).Cut(maxPath) }

func runRemark(rule string, text safe) remark {
	return remark{Level: levelOf(rule), rule: rule, text: text}
}

func findingRemark(f diag.Finding, at Place) remark {
	r := remark{rule: clean(f.Rule).Cut(maxPath).String(), text: message(f.Message), field: f.Field}
	switch f.Severity {
	case diag.Error:
		r.Level = errorLevel
	case diag.Warning:
		r.Level = warningLevel
	case diag.Advice:
	}
	if file, ok := at.inRepository(f.Path); ok {
		r.file, r.Line, r.Column, r.source = file, max(f.Line, 0), max(f.Column, 0), f.Source
	} else {
		r.text = safetext.F("%s%s", place(f), r.text)
	}
	if f.Fix != "" {
		r.more = []safe{safetext.F("fix: %s", message(f.Fix))}
	}
	return r
}

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
		r := itemRemark(item, rule, doc.Place, message(o.Message))
		if r.file != "" && o.Line > 0 {
			r.Line, r.Column, r.field = o.Line, max(o.Column, 0), o.Field
		}
		for _, m := range o.Mismatches {
			sent, returned := sentAndReturned(m)
			r.more = append(r.more, safetext.F("%s: sent %s, returned %s", clean(m.Path).Cut(maxPath), sent, returned))
			if m.Hint != "" {
				r.more = append(r.more, safetext.F("hint: %s", message(m.Hint)))
			}
		}
		if o.Fix != "" {
			r.more = append(r.more, safetext.F("fix: %s", message(o.Fix)))
		}
		found = append(found, r)
	}
	return found
}

func itemsByKey(doc Document) map[kind.Key]plan.Item {
	items := map[kind.Key]plan.Item{}
	if doc.Plan != nil {
		for _, item := range doc.Plan.Items {
			items[item.Key] = item
		}
	}
	return items
}

// settingRemarks returns a remark for each setting that differs from the base.
func settingRemarks(doc Document) []remark {
	var found []remark
	for _, s := range settingsOf(doc.Plan) {
		r := runRemark("plan/setting", sentence(s.Row))
		r.named, r.field = true, s.Field
		for _, n := range s.Notes {
			r.more = append(r.more, n.Text)
		}
		if file, ok := doc.Place.inRepository(s.Path); ok {
			r.file, r.Line = file, max(s.Line, 0)
		}
		found = append(found, r)
	}
	return found
}

// planRemarks returns the settings, advice and notes of a plan. Without a result of apply, it also
// returns the important changes.
func planRemarks(doc Document) []remark {
	found := settingRemarks(doc)
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
		found = append(found, requestRemarks(item, doc.Plan, doc.Place)...)
	}
	return found
}

func noteRemarks(pl *plan.Plan) []remark {
	var found []remark
	for _, n := range pl.Notes {
		found = append(found, runRemark("run/note", message(n)))
	}
	if _, problem, fix := blame(pl.Blame); !problem.Empty() {
		r := runRemark("run/note", safetext.F("base: %s", problem))
		if !fix.Empty() {
			r.more = []safe{safetext.F("fix: %s", fix)}
		}
		found = append(found, r)
	}
	return found
}

func itemRemark(item plan.Item, rule string, at Place, text safe) remark {
	r := runRemark(rule, safetext.F("%s: %s", named(item.Key), text))
	r.About = named(item.Key)
	if file, ok := at.inRepository(item.Path); ok {
		r.file, r.Line = file, max(item.Line, 0)
	}
	return r
}

func opRemarks(item plan.Item, at Place) []remark {
	rule := opRule(item)
	if rule == "" {
		return nil
	}
	text := again(item, Options{})
	if rows := opRows(item, Options{}); len(rows) > 0 {
		text = sentence(rows[0])
	} else if item.Op == plan.Kept {
		text = mention(item, Options{})
	}
	r := itemRemark(item, rule, at, text)
	if rule == "plan/blocked" && !item.NeedsPerson {
		r.Level = warningLevel
	}
	for _, added := range addedRows(item) {
		if added.risk.Grave() {
			r.more, r.named = append(r.more, wholeSentence(added)), true
		}
	}
	for _, n := range effects(item, Options{}) {
		if n.Fix && item.Op != plan.Kept {
			r.more = append(r.more, n.Text)
		}
	}
	return []remark{r}
}

// changeRemarks returns remarks about grave changes, removed values, and differences that the current edit
// in git did not make.
func changeRemarks(item plan.Item, at Place) []remark {
	list := lineRemarks{item: item, at: at, together: map[string]int{}}
	lost := lossesOf(item)
	for _, l := range item.ServedLines() {
		rule := riskRule(item, l.Change, changeRule(l.Change))
		if len(l.Unserved) > 0 {
			rule = "plan/stops"
		}
		if rule != "" && (l.Desired != nil || !lost[l.Path]) {
			list.add(rule, wholeSentence(lineRow(item, l, Options{})), l.Change)
		}
	}
	for _, v := range item.Collateral {
		if risk := riskAt(item.Kind, v.Path, v.Value); risk.Grave() {
			list.add(ruleOf(risk), safetext.F("%s = %s is not in git: it is lost unless the platform sets it itself", v.Path, literal(v.Value)), plan.Change{Risk: risk})
		}
	}
	for _, v := range item.FirstContact {
		list.add("plan/lost", safetext.F("%s is only live, and would be lost", v.Path), plan.Change{Risk: riskAt(item.Kind, v.Path, v.Value)})
	}
	for i := range list.found {
		if r := &list.found[i]; len(r.more) > maxParts && !item.Risk.Grave() {
			rest := safetext.Count(len(r.more)-maxParts, "more field")
			r.more = append(r.more[:maxParts:maxParts], safetext.F("and %s", rest))
		}
	}
	return list.found
}

// lineRemarks merges the remarks of a rule that have no line of their own.
type lineRemarks struct {
	item     plan.Item
	at       Place
	found    []remark
	together map[string]int
}

func (l *lineRemarks) add(rule string, text safe, c plan.Change) {
	own := c.Line > 0
	if i, ok := l.together[rule]; ok && !own {
		first := &l.found[i]
		first.more, first.named = append(first.more, text), first.named || c.Risk.Grave()
		return
	}
	r := itemRemark(l.item, rule, l.at, text)
	r.field, r.named = c.Path, c.Risk.Grave()
	if own && r.file != "" {
		r.Line, r.Column = c.Line, max(c.Column, 0)
	}
	if l.found = append(l.found, r); !own {
		l.together[rule] = len(l.found) - 1
	}
}

// wholeSentence returns a row as a sentence, with the details of a grave value.
func wholeSentence(r row) safe {
	if r.whole() && len(r.details) > 0 {
		r.Cause = safetext.Join(safetext.Filled(safetext.Join(r.details, " "), r.Cause), "; ")
	}
	return sentence(r)
}

func sentence(r row) safe {
	text := safetext.Join(safetext.Filled(r.Path, safetext.Join(safetext.Filled(r.Before, r.After), " → ")), ": ")
	if r.Cause.Empty() {
		return text
	}
	return safetext.F("%s (%s)", text, r.Cause)
}

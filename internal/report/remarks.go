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
	"trueup/internal/view"
)

// remark is a part of a Document that a code host shows beside a line of a file: in SARIF,
// code quality reports and annotations.
type remark struct {
	Level view.Level
	rule  string
	// About is the object, or empty.
	About safeText
	// text is a sentence, and more has lines below it.
	text safeText
	more []safeText
	// file is a path from the top of the repository, or empty; Line and Column are 0 if unknown.
	file         string
	Line, Column int
	// facts are what the remark shows. Annotations never omit a remark with one that must be shown, nor a named one.
	facts []view.ChangeFact
	named bool
	// field is the path in the object. Unlike Line, it is the same after edits elsewhere in the file.
	field string
	// Fingerprint is the same in every run with the same remark.
	Fingerprint string
}

// remarks returns the remarks about a run, the most important first.
func remarks(doc Document) []remark {
	found := diag.MapList(doc.Errors, func(e string) remark { return runRemark("run/failed", view.CleanMessage(e)) })
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
		_, rankA := view.RuleByID(a.rule)
		_, rankB := view.RuleByID(b.rule)
		return cmp.Or(cmp.Compare(b.Level, a.Level), view.OneIf(b.isMandatory())-view.OneIf(a.isMandatory()), rankA-rankB,
			cmp.Compare(a.file, b.file), cmp.Compare(a.Line, b.Line))
	})
	// A fingerprint does not depend on the line, so edits elsewhere in the file don't change it. Equal remarks are numbered.
	seen := map[string]int{}
	for i := range found {
		r := &found[i]
		id := fmt.Sprintf("%q %q %q %q", r.rule, r.file, r.About.String(), r.field)
		seen[id]++
		r.Fingerprint = fmt.Sprintf("%x", sha256.Sum256([]byte(id+" "+strconv.Itoa(seen[id]))))
	}
	return found
}

// ofRun begins the rules about a whole run.
const ofRun = "run/"

// isAboutRun reports whether a remark is about the whole run, not about a file.
func (r remark) isAboutRun() bool { return strings.HasPrefix(r.rule, ofRun) }

// lines returns the lines of a remark. One that shows facts has no line that a reader does not see whole.
func (r remark) lines() (lines []safeText) {
	all := append([]safeText{r.text}, r.more...)
	if len(r.facts) == 0 {
		return all
	}
	for _, text := range all {
		lines = append(lines, wrapLines(text.EscapeCommands(), maxSeen, 0)...)
	}
	return lines
}

// Join returns a remark as one text.
func (r remark) Join(sep string) safeText {
	return safetext.Join(append([]safeText{r.text}, r.more...), sep)
}

// ID returns the rule for code hosts, which reject an empty one.
func (r remark) ID() safeText { return clean(cmp.Or(r.rule, "unnamed")).Truncate(view.MaxPath) }

func runRemark(rule string, text safeText) remark {
	return remark{Level: view.LevelOf(rule), rule: rule, text: text}
}

func findingRemark(f diag.Finding, at FolderInRepo) remark {
	r := remark{rule: clean(f.Rule).Truncate(view.MaxPath).String(), text: view.CleanMessage(f.Message), field: f.Field}
	switch f.Severity {
	case diag.Error:
		r.Level = view.ErrorLevel
	case diag.Warning:
		r.Level = view.WarningLevel
	case diag.Advice:
	}
	if file, ok := at.inRepository(f.Path); ok {
		r.file, r.Line, r.Column = file, max(f.Line, 0), max(f.Column, 0)
	} else {
		r.text = safetext.F("%s%s", view.LocationPrefix(f), r.text)
	}
	if f.Fix != "" {
		r.more = []safeText{safetext.F("fix: %s", view.CleanMessage(f.Fix))}
	}
	return r
}

func applyRemarks(doc Document) []remark {
	items := map[kind.Key]plan.Item{}
	if doc.Plan != nil {
		for _, item := range doc.Plan.Items {
			items[item.Key] = item
		}
	}
	var found []remark
	for _, o := range doc.Apply.Outcomes {
		rule := view.OutcomeRule(o)
		if rule == "" {
			continue
		}
		item := items[o.Key]
		of := view.ObjectView{Key: o.Key, Path: item.Path, Line: item.Line, Waits: item.Waits}
		r := remarkOf(of, rule, doc.Place, view.CleanMessage(o.Message))
		if r.file != "" && o.Line > 0 {
			r.Line, r.Column, r.field = o.Line, max(o.Column, 0), o.Field
		}
		r.more = mismatchLines(o)
		if o.Fix != "" {
			r.more = append(r.more, safetext.F("fix: %s", view.CleanMessage(o.Fix)))
		}
		found = append(found, r)
	}
	return found
}

// settingRemarks returns a remark for each setting that differs from the base.
func settingRemarks(doc Document) []remark {
	var found []remark
	for _, s := range view.SettingsOf(doc.Plan) {
		r := runRemark("plan/setting", view.RowSentence(s.Changes[0]))
		r.named, r.field, r.facts = true, s.Changes[0].Field, view.FactsOfRows(s.Lines())
		r.more = diag.MapList(s.Notes, view.FullRowSentence)
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
	for _, n := range view.NotesOf(doc.Plan, view.TextOptions{}) {
		found = append(found, runRemark("run/note", n))
	}
	if doc.Apply != nil {
		return found
	}
	for _, o := range view.EveryObject(doc.Plan, view.TextOptions{}) {
		found = slices.Concat(found, objectRemarks(o, doc.Place), changeRemarks(o, doc.Place), requestRemarks(o, doc.Place))
	}
	return found
}

// remarkOf returns a remark about an object.
func remarkOf(o view.ObjectView, rule string, at FolderInRepo, text safeText) remark {
	if o.Waits {
		text = safetext.F("not applied: %s", text)
	}
	r := runRemark(rule, safetext.F("%s: %s", view.FormatKey(o.Key), text))
	r.About = view.FormatKey(o.Key)
	if file, ok := at.inRepository(o.Path); ok {
		r.file, r.Line = file, max(o.Line, 0)
	}
	return r
}

// objectRemarks returns a remark about an object as a whole, with what a creation brings and what to do.
func objectRemarks(o view.ObjectView, at FolderInRepo) []remark {
	if o.Rule == "" {
		return nil
	}
	r := remarkOf(o, o.Rule, at, o.Headline)
	if len(o.Leads) > 0 {
		r.text, r.facts = remarkOf(o, o.Rule, at, view.RowSentence(o.Leads[0])).text, view.FactsOfRows(o.Leads)
	}
	r.Level = o.Level
	for _, below := range slices.Concat(o.Changes, o.Notes) {
		switch {
		case below.Rule == "" && view.MustShowOneOf(below.Facts) || !below.Text.Empty() && len(below.Facts) > 0:
			r.more, r.facts = append(r.more, view.FullRowSentence(below)), append(r.facts, below.Facts...)
		case below.Fix:
			r.more = append(r.more, below.Text)
		}
	}
	return []remark{r}
}

// changeRemarks returns remarks about grave changes, removed values, and differences that the current edit
// in git did not make. Those of a rule without lines of their own are one.
func changeRemarks(o view.ObjectView, at FolderInRepo) (found []remark) {
	together := map[string]int{}
	for _, of := range slices.Concat(o.Changes, o.Notes) {
		if of.Rule == "" || !of.Text.Empty() && !view.MustShowOneOf(of.Facts) && o.Rule != "" {
			continue
		}
		if i, ok := together[of.Rule]; ok && of.Line == 0 {
			found[i].more, found[i].facts = append(found[i].more, view.FullRowSentence(of)), append(found[i].facts, of.Facts...)
			continue
		}
		r := remarkOf(o, of.Rule, at, view.FullRowSentence(of))
		r.facts, r.field = of.Facts, of.Field
		if of.Line == 0 {
			together[of.Rule] = len(found)
		} else if r.file != "" {
			r.Line, r.Column = of.Line, max(of.Column, 0)
		}
		found = append(found, r)
	}
	for i := range found {
		r := &found[i]
		if rest := len(r.more) - view.MaxParts; rest > 0 && !r.isMandatory() {
			r.more = append(r.more[:view.MaxParts:view.MaxParts], safetext.F("and %s", safetext.Count(rest, "more field")))
		}
	}
	return found
}

// requestRemarks returns a remark about the requests that an object is the first to change, at the first location that
// differs.
func requestRemarks(o view.ObjectView, at FolderInRepo) []remark {
	if len(o.Requests) == 0 || o.Mark == view.MarkAdd && !o.Dark {
		return nil
	}
	rule := "plan/requests"
	if o.Dark {
		rule = "plan/unserved"
	}
	r := remarkOf(o, rule, at, safetext.F("requests: %s", o.Requests[0]))
	r.named = o.Dark
	r.more = o.Requests[1:min(len(o.Requests), view.MaxParts)]
	if rest := len(o.Requests) - view.MaxParts; rest > 0 {
		r.more = append(slices.Clip(r.more), safetext.F("and %s", safetext.Count(rest, "more line")))
	}
	i := slices.IndexFunc(o.Changes, func(c view.Row) bool { return c.Line > 0 && strings.HasPrefix(c.Field, "locations[") })
	if i >= 0 && r.file != "" {
		r.Line, r.Column = o.Changes[i].Line, max(o.Changes[i].Column, 0)
	}
	return []remark{r}
}

// isMandatory reports whether no report may omit a remark.
func (r remark) isMandatory() bool {
	return r.named || view.MustShowOneOf(r.facts)
}

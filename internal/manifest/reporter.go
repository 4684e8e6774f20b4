package manifest

import (
	"strconv"
	"strings"

	"trueup/internal/diag"
)

// reporter collects what the running rule finds; the loader sets the rule, so
// that a rule names only the place, the message and the fix.
type reporter struct {
	rule     string
	severity diag.Severity
	// file takes the findings of object rules, while its text is at hand; it is
	// nil for set rules, whose findings carry no source line.
	file     *file
	findings diag.List
	silenced diag.List
	// limit bounds the findings of one rule, because to place one takes as long as
	// its object is large; 0 is none. said counts those of the running rule.
	limit, said int
}

// run points the reporter at the rule whose findings come next.
func (r *reporter) run(rule *Rule) { r.rule, r.severity, r.said = rule.Name, rule.Severity, 0 }

// reportOn adds a finding of the running rule at a field of o, such as
// "spec.locations[2].cache.edgeTTL" (see child and element); an empty field is
// the object itself. A field that is not there gets the place of its nearest
// parent. Set rules call it; object rules have subject.report.
func (r *reporter) reportOn(o *Object, field, message, fix string) {
	if r.file != nil {
		if !r.full() {
			line, column := o.Place(field)
			r.file.add(line, column, r.rule, r.severity, field, message, fix)
		}
		return
	}
	if r.said++; r.limit > 0 && r.said > r.limit {
		return
	}
	line, column := o.Place(field)
	shown, silenced := o.Sift(diag.List{{
		Path: o.Path, Line: line, Column: column, Field: clip(field),
		Rule: r.rule, Severity: r.severity, Message: clip(message), Fix: clip(fix),
	}})
	r.findings, r.silenced = append(r.findings, shown...), append(r.silenced, silenced...)
}

// full reports whether there is no room for another finding of the running rule, and
// counts it then. A rule asks before it composes an expensive message.
func (r *reporter) full() bool { return r.file != nil && r.file.full(r.severity) }

// report adds a finding of the running rule at a field of the subject.
func (s *subject) report(field, message, fix string) { s.reportOn(s.Object, field, message, fix) }

// child returns the path of a field of a mapping. A name that would be
// mistaken for two is quoted: metadata.labels["a.b"].
func child(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\"\\ ") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// element returns the path of the i-th element of a list, from 0.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Advise returns the advice that needs only the manifest, and what comments in the
// manifest silence of it.
func Advise(o *Object) (advice, silenced diag.List) {
	return advise(subject{Object: o, Tree: o.Tree()})
}

// advise runs the rules of objects that give advice, and so never stop a run.
func advise(own subject) (advice, silenced diag.List) {
	own.reporter = &reporter{limit: maxFindings}
	for i := range Rules() {
		if rule := &Rules()[i]; rule.Severity == diag.Advice && rule.object != nil {
			own.run(rule)
			rule.object(&own)
		}
	}
	return own.findings, own.silenced
}

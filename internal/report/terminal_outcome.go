package report

import (
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
)

func severities(l diag.List) (errs, warnings int) {
	return l.Count(diag.Error), l.Count(diag.Warning)
}

// textFindings writes what is wrong with the manifests. The count is written
// where it is news: not at the head of a plan that has none.
func textFindings(p *printer, doc Document, opts Options) {
	for _, f := range shownFindings(doc, opts) {
		p.gap()
		textFinding(p, f)
	}
	if len(doc.Findings) > 0 || doc.Command == "validate" {
		p.gap()
		p.line(span{findingsSummary(doc), strong})
	}
}

// place is in front of a finding, where it is known where that is.
func place(f diag.Finding) safe {
	if text := location(f); text != "" {
		return text + ": "
	}
	return ""
}

// location is file:line:column, as far as it is known.
func location(f diag.Finding) safe {
	text := cut(clean(f.Path), maxPath)
	if f.Line > 0 {
		text += ":" + number(f.Line)
		if f.Column > 0 {
			text += ":" + number(f.Column)
		}
	}
	return text
}

// alike are findings that say the same of several places; the first stands for all.
type alike struct {
	diag.Finding
	others []diag.Finding
}

// alikeFindings puts findings together that say the same.
func alikeFindings(found diag.List) []alike {
	var all []alike
	type said struct{ rule, message string }
	at := map[said]int{}
	for _, f := range found {
		text := said{f.Rule, f.Message}
		i, known := at[text]
		if !known {
			at[text] = len(all)
			all = append(all, alike{Finding: f})
			continue
		}
		all[i].others = append(all[i].others, f)
	}
	return all
}

// singly makes each finding one of its own.
func singly(found diag.List) []alike {
	all := make([]alike, len(found))
	for i, f := range found {
		all[i].Finding = f
	}
	return all
}

// also names the other places, empty where there are none.
func (a alike) also() safe {
	if len(a.others) == 0 {
		return ""
	}
	places := make([]safe, len(a.others))
	for i, f := range a.others {
		places[i] = location(f)
	}
	return "also at " + limited(places, ", ")
}

// fixes leads to the fix, which may be that of the first place alone.
func (a alike) fixes() safe {
	if slices.ContainsFunc(a.others, func(f diag.Finding) bool { return f.Fix != a.Fix }) {
		return "fix of the first: "
	}
	return "fix: "
}

func textFinding(p *printer, f alike) {
	s := changed
	if f.Severity == diag.Error {
		s = alarm
	}
	p.wrapped(indent, span{place(f.Finding), strong}, span{safe(f.Severity.String()) + ": ", s},
		span{message(f.Message), plain}, span{" [" + cut(clean(f.Rule), maxPath) + "]", faint})
	if f.Source != "" {
		code, caret := excerpt(f.Source, f.Column, p.width-2*indent)
		p.line(span{pad("", indent) + code, faint})
		if f.Column > 0 {
			p.line(span{pad("", indent+caret), plain}, span{"^", s})
		}
	}
	if also := f.also(); also != "" {
		p.wrapped(indent+2, span{"  " + also, plain})
	}
	if f.Fix != "" {
		p.wrapped(indent+2, span{"  " + f.fixes() + message(f.Fix), plain})
	}
}

// The columns that a tab of a manifest takes.
const tabWidth = 4

// excerpt is the source line in so many columns, and where its column stands
// in it: wide characters, tabs and escapes are counted as they are shown, and
// what is far left of the place is left out.
func excerpt(line string, column, columns int) (safe, int) {
	runes := []rune(line)
	at := min(max(column-1, 0), len(runes))
	before, after := shownSource(runes[:at]), shownSource(runes[at:])
	if width(before) > columns-columns/3 {
		keep := []rune(string(before))
		keep = keep[max(0, len(keep)-4*columns):] // more than that has no width
		for len(keep) > 0 && width(safe(keep)) > columns/2 {
			keep = keep[1:]
		}
		before = "…" + safe(keep)
	}
	return cut(before+after, columns), width(before)
}

func shownSource(runes []rune) safe {
	parts := strings.Split(string(runes), "\t")
	shown := make([]safe, len(parts))
	for i, s := range parts {
		shown[i] = clean(s)
	}
	return join(shown, safe(strings.Repeat(" ", tabWidth)))
}

// textApply writes how every item ended and what comes next; items for which
// there was nothing to do are only counted.
func textApply(p *printer, doc Document, opts Options) {
	r := doc.Apply
	p.gap()
	column, shown := keyWidth(r), false
	for _, o := range r.Outcomes {
		if untouched(o) && !opts.Verbose {
			continue
		}
		textOutcome(p, o, column)
		shown = true
	}
	if shown {
		p.gap()
	}
	p.line(span{applyTitle(doc) + ": ", strong}, span{applySummary(r), plain})
	for _, s := range nextSteps(r) {
		p.wrapped(indent, span{"Next: ", changed}, span{s, plain})
	}
}

// untouched reports whether there is nothing to say of an item.
func untouched(o apply.Outcome) bool {
	return o.Status == apply.Done && !o.Sent && o.Message == "" && o.Fix == "" && len(o.Mismatches) == 0
}

func statusStyle(s apply.Status) style {
	switch s {
	case apply.Done:
		return added
	case apply.Failed:
		return alarm
	case apply.Blocked, apply.Deferred:
		return changed
	case apply.Skipped:
	}
	return faint
}

// The columns of an outcome: its status, and the one below which its lines go
// on.
const (
	statusWidth = len(apply.Deferred)
	outcomeHang = statusWidth + 4
)

func textOutcome(p *printer, o apply.Outcome, column int) {
	p.wrapped(outcomeHang, span{pad(clean(string(o.Status)), statusWidth) + "  ", statusStyle(o.Status)},
		span{pad(named(o.Key), column) + "  ", plain}, span{message(o.Message), plain})
	for _, m := range o.Mismatches {
		sent, returned := sentAndReturned(m)
		p.wrapped(outcomeHang+2, span{pad("", outcomeHang-2) + cut(clean(m.Path), maxPath) + "  sent ", plain}, span{sent, added},
			span{", returned ", plain}, span{returned, removed})
		if m.Hint != "" {
			p.wrapped(outcomeHang+4, span{pad("", outcomeHang) + "hint: " + message(m.Hint), plain})
		}
	}
	if o.Fix != "" {
		p.wrapped(outcomeHang+2, span{pad("", outcomeHang-2) + "fix: " + message(o.Fix), plain})
	}
}

// sentAndReturned are the two values that differ.
func sentAndReturned(m apply.Mismatch) (sent, returned safe) {
	sent, returned = pair(m.Sent, m.Returned, false)
	if m.Returned == nil {
		returned = value(nil, false)
	}
	return sent, returned
}

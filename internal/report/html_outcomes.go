package report

import (
	"cmp"
	"slices"
	"unicode"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// findings adds what is wrong with the manifests.
func (p *htmlPage) findings(doc Document) {
	errs, warnings := severities(doc.Findings)
	p.FindingsOf = findingsSummary(doc)
	for _, f := range doc.Findings {
		p.Findings = append(p.Findings, findingView(f, ""))
	}
	if doc.Plan != nil {
		return
	}
	p.Heading, p.Lede = "Manifests", p.FindingsOf
	if len(doc.Errors) > 0 && len(doc.Findings) == 0 && doc.Objects == 0 {
		p.Heading, p.Lede = "Stopped", count(len(doc.Errors), "error")+"."
	}
	p.CountsOf = "Findings"
	p.Counts = zeroes([]htmlCount{{"cut", "errors", errs + len(doc.Errors)}, {"edit", "warnings", warnings}, {"plain", "objects", doc.Objects}})
}

// htmlOutcomes is how a run ended.
type htmlOutcomes struct {
	Of        safe
	Next      []safe
	List      []htmlOutcome
	Untouched safe
}

type htmlOutcome struct {
	Class, Sign, Status, Link, Name, Message, Fix safe
	Mismatch                                      *htmlDiff
}

// outcomes adds how each object ended, what needs a person first.
func (p *htmlPage) outcomes(doc Document, links map[kind.Key]safe) {
	out := &htmlOutcomes{Of: applySummary(doc.Apply), Next: nextSteps(doc.Apply)}
	p.Heading, p.Lede, p.Sub, p.Outcomes = applyTitle(doc), out.Of, "", out
	p.CountsOf, p.Counts = "Outcomes", nil
	order := byUrgency()
	counts, untouchedOnes := map[apply.Status]int{}, 0
	for _, o := range slices.SortedStableFunc(slices.Values(doc.Apply.Outcomes), func(a, b apply.Outcome) int {
		return cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status))
	}) {
		counts[o.Status]++
		if untouched(o) {
			untouchedOnes++
			continue
		}
		out.List = append(out.List, outcomeView(o, links[o.Key]))
	}
	for _, s := range statuses() {
		class, _ := statusLook(s)
		p.Counts = append(p.Counts, htmlCount{map[safe]safe{"good": "add", "bad": "cut", "wait": "edit"}[class], clean(string(s)), counts[s]})
	}
	p.Counts = zeroes(p.Counts)
	if untouchedOnes > 0 {
		out.Untouched = count(untouchedOnes, "object") + are(untouchedOnes) + " equal to git: nothing was sent."
	}
}

func outcomeView(o apply.Outcome, link safe) htmlOutcome {
	class, sign := statusLook(o.Status)
	v := htmlOutcome{
		Class: class, Sign: sign, Status: message(string(o.Status)), Link: link, Name: named(o.Key),
		Message: message(o.Message), Fix: message(o.Fix),
	}
	if len(o.Mismatches) == 0 {
		return v
	}
	v.Mismatch = &htmlDiff{Caption: "What the server did not keep of " + v.Name, Columns: htmlColumns{"sent", "Field", "Sent", "Returned", "Hint"}}
	for _, m := range o.Mismatches {
		r := htmlRow{Mark: lookOf(markDrift), Path: breakable(cut(clean(m.Path), maxPath)), Cause: message(m.Hint)}
		r.Before, r.After = sides(m.Sent, m.Returned, row{}.room())
		v.Mismatch.Rows = append(v.Mismatch.Rows, r)
	}
	return v
}

func statusLook(s apply.Status) (class, sign safe) {
	switch s {
	case apply.Done:
		return "good", "✓"
	case apply.Failed, apply.Blocked:
		return "bad", "✗"
	case apply.Skipped, apply.Deferred:
	}
	return "wait", "●"
}

// htmlFinding is one finding, with the word that its column points at.
type htmlFinding struct {
	Class, Severity, Message, Rule, Link, Place, Also, Field, Fix safe
	Source                                                        *htmlSource
}

type htmlSource struct{ Before, At, After safe }

func findingView(f diag.Finding, link safe) htmlFinding {
	v := htmlFinding{
		Class: "wait", Severity: clean(f.Severity.String()), Message: message(f.Message), Rule: cut(clean(f.Rule), maxPath),
		Link: link, Place: location(f), Field: cut(clean(f.Field), maxPath), Fix: message(f.Fix),
	}
	switch f.Severity {
	case diag.Error:
		v.Class = "bad"
	case diag.Advice:
		v.Class = "hint"
	case diag.Warning:
	}
	if f.Source != "" {
		v.Source = sourceView(f)
	}
	return v
}

// The columns of a line of source in front of the word that is pointed at, and
// from there.
const (
	sourceBefore = 80
	sourceAfter  = 160
)

// sourceView is a line of a file, and the word at the finding's column in it.
func sourceView(f diag.Finding) *htmlSource {
	runes := []rune(f.Source)
	at := min(max(f.Column-1, 0), len(runes))
	v := &htmlSource{Before: cutLeft(shownSource(runes[:at]), sourceBefore)}
	end := at
	if f.Column > 0 {
		for end < len(runes) && end < at+sourceBefore && (unicode.IsLetter(runes[end]) || unicode.IsDigit(runes[end]) || runes[end] == '_') {
			end++
		}
		end = min(max(end, at+1), len(runes))
	}
	v.At, v.After = shownSource(runes[at:end]), cut(shownSource(runes[end:]), sourceAfter)
	return v
}

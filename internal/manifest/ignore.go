package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/lithammer/fuzzysearch/fuzzy"

	"trueup/internal/diag"
)

// ignore is a comment "# trueup:ignore RULE REASON" and the lines that it
// governs.
type ignore struct {
	rule, reason string
	// line and column are the comment's own.
	line, column int
	from, to     int
}

// governs reports whether the comment silences a finding of the rule in the line.
func (i ignore) governs(f diag.Finding) bool {
	return i.rule == f.Rule && i.from <= f.Line && f.Line <= i.to
}

// Sift parts findings of the object from those that its comments silence. An
// error is never silenced.
func (o *Object) Sift(found diag.List) (shown, silenced diag.List) {
	if len(o.ignores) == 0 {
		return found, nil
	}
	for _, f := range found {
		at := slices.IndexFunc(o.ignores, func(i ignore) bool { return i.governs(f) })
		if at < 0 || f.Severity == diag.Error {
			shown = append(shown, f)
			continue
		}
		f.Silenced = o.ignores[at].reason
		silenced = append(silenced, f)
	}
	return shown, silenced
}

// ignores makes out what the comments of a document say. Those that can't be
// what their author meant are reported, and silence nothing.
func (w *worker) ignores(g *ground, marks []mark) []ignore {
	var out []ignore
	for _, m := range g.comments(marks) {
		if m.word == "" {
			continue
		}
		i := ignore{rule: m.rule, reason: m.reason, line: m.line, column: m.column}
		var found bool
		i.from, i.to, found = g.governed(m)
		message, fix := w.odd(m)
		if message == "" && !found {
			message, fix = "the comment belongs to no field", "write it above a field, or after one on the same line"
		}
		if message != "" {
			w.file.add(m.line, m.column, ruleIgnoreOdd, diag.Warning, "", message, fix)
			continue
		}
		out = append(out, i)
	}
	return out
}

// odd says why a comment can't be what its author meant; "" where it can.
func (w *worker) odd(m mark) (message, fix string) {
	const form = "write # trueup:ignore RULE REASON"
	if m.word != "ignore" {
		return "trueup:" + short(m.word) + " means nothing", form
	}
	rule := w.byName[m.rule]
	switch {
	case m.rule == "":
		return "the comment names no rule", form
	case rule == nil:
		fix = "see the list in docs/rules, or trueup explain NAME"
		if meant := Nearest(m.rule, w.names); meant != "" {
			fix = fmt.Sprintf("did you mean %s?", meant)
		}
		return "there is no rule " + quoteName(m.rule), fix
	case rule.Severity == diag.Error:
		return m.rule + " is an error, and errors can't be silenced", "fix what it finds, and remove the comment"
	case !rule.silenceable():
		return "no comment silences " + m.rule, "fix what it finds, and remove the comment"
	case m.reason == "":
		return "the comment has no reason", "say why: # trueup:ignore " + m.rule + " REASON"
	}
	return "", ""
}

// silenceable reports whether a comment can silence the rule: one of file names has no
// place for it, and of the comments themselves the last must be seen.
func (r *Rule) silenceable() bool {
	return r.Severity != diag.Error && r.Bad != "" && r.Name != ruleIgnoreOdd && r.Name != ruleIgnoreUnused
}

// silence takes out what comments silence, once all rules have seen the object.
func (w *worker) silence(s *subject) {
	own := w.file.findings[w.file.from:]
	shown, silenced := s.Sift(slices.Clone(own))
	w.file.findings = append(w.file.findings[:w.file.from], shown...)
	w.silenced = append(w.silenced, silenced...)
	w.reportUnused(s, append(shown, silenced...))
}

// reportUnused reports comments that silence nothing. That is told by what the
// document alone shows, so that nobody is told one thing today and another
// tomorrow; and not while there are errors, which may hide other findings.
func (w *worker) reportUnused(s *subject, found diag.List) {
	if found.HasErrors() || w.file.dropped > 0 || w.file.more {
		return
	}
	advice, hidden := advise(*s)
	found = slices.Concat(found, advice, hidden)
	for _, i := range s.ignores {
		if w.byName[i.rule].certain(w.options) && !slices.ContainsFunc(found, i.governs) {
			w.file.add(i.line, i.column, ruleIgnoreUnused, diag.Warning, "",
				i.rule+" finds nothing here, so the comment has no effect", "remove the comment")
		}
	}
}

// certain reports whether a document alone shows what the rule finds in it.
func (r *Rule) certain(opts Options) bool {
	return r.set == nil && !r.NeedsLive && (r.idle == nil || !r.idle(opts))
}

// nearIgnore reports whether the word was to be ignore.
func nearIgnore(word string) bool {
	const slips = 2
	return fuzzy.LevenshteinDistance(strings.ToLower(strings.TrimSpace(word)), "ignore") <= slips
}

// findMarks returns where in the data something stands that may be a mark; most
// files have none.
func findMarks(data []byte) [][]int {
	if !bytes.Contains(data, []byte(markName)) {
		return nil
	}
	return markHead().FindAllIndex(data, maxMarks)
}

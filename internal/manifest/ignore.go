package manifest

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/rules"
)

// HasSilences reports whether a comment of any manifest silences a rule.
func (s *Set) HasSilences() bool {
	return slices.ContainsFunc(s.Objects, func(o *Object) bool { return len(o.Silences) > 0 })
}

// SplitSilenced separates findings of the object from those that its comments silence. No comment silences an error.
func (o *Object) SplitSilenced(found diag.List) (shown, silenced diag.List) {
	if len(o.Silences) == 0 {
		return found, nil
	}
	for _, f := range found {
		at := slices.IndexFunc(o.Silences, func(s CommentMark) bool { return s.Governs(f) })
		if at < 0 || f.Severity == diag.Error {
			shown = append(shown, f)
			continue
		}
		f.Silenced = o.Silences[at].Reason
		silenced = append(silenced, f)
	}
	return shown, silenced
}

// readSilences reads the comments of a document. It reports those that can't work, which silence nothing.
func (w *worker) readSilences(root *yaml.Node, marks []CommentMark) []CommentMark {
	var out []CommentMark
	for _, m := range CommentsWithLines(root, marks) {
		if m.Word == "" {
			continue
		}
		message, fix := commentProblem(m)
		if m.From == 0 && message == "" {
			message, fix = "the comment belongs to no field", "write it above a field, or after one on the same line"
		}
		if message == "" {
			out = append(out, m)
		} else {
			w.file.AddFinding(m.Line, m.Column, rules.IgnoreOdd, diag.Warning, "", message, fix)
		}
	}
	return out
}

// commentProblem returns why a comment can't work, or "".
func commentProblem(m CommentMark) (message, fix string) {
	const form = "write # trueup:ignore RULE REASON"
	rule := rules.ByName(m.Rule)
	switch {
	case m.Word != "ignore":
		return "trueup:" + diag.Shorten(m.Word) + " means nothing", form
	case m.Rule == "":
		return "the comment names no rule", form
	case rule == nil:
		var names []string
		for _, r := range rules.All() {
			if r.CanBeSilenced() {
				names = append(names, r.Name)
			}
		}
		fix = diag.Suggest(m.Rule, names, "did you mean %s?", "write the name that a finding shows in brackets")
		return "there is no rule " + diag.Quote(m.Rule), fix
	case rule.Severity == diag.Error:
		return m.Rule + " is an error, and errors can't be silenced", "fix what it finds, and remove the comment"
	case !rule.CanBeSilenced():
		return "no comment silences " + m.Rule, "fix what it finds, and remove the comment"
	case m.Reason == "":
		return "the comment has no reason", "say why: # trueup:ignore " + m.Rule + " REASON"
	}
	return "", ""
}

// applySilences removes the findings that comments silence, after all rules ran. It reports comments that
// silence nothing, but not for rules that need more than this document, and not if there are errors,
// which may hide other findings.
func (w *worker) applySilences(o *Object) {
	f := w.file
	shown, silenced := o.SplitSilenced(slices.Clone(f.DocumentFindings()))
	f.SetCurrentDocumentFindings(shown)
	w.silenced = append(w.silenced, silenced...)
	if shown.HasErrors() || f.HasDroppedFindings() {
		return
	}
	advice, hidden := Advise(o, o.Tree(), w.options)
	found := slices.Concat(shown, silenced, advice, hidden)
	for _, silence := range o.Silences {
		if rules.ByName(silence.Rule).NeedsOnlyDocument(w.options.ruleSettings()) && !slices.ContainsFunc(found, silence.Governs) {
			f.AddFinding(silence.Line, silence.Column, rules.IgnoreUnused, diag.Warning, "",
				silence.Rule+" finds nothing here, so the comment has no effect", "remove the comment")
		}
	}
}

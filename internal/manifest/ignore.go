package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
)

// Silence is a comment that keeps findings of a rule from being shown: # trueup:ignore RULE REASON.
type Silence struct {
	Rule, Reason string
	// Line and column, from 1, are where the comment is; before is what else is on its line.
	Line, column int
	before       string
	// word follows trueup: in the comment; it is empty for one that is only prose or part of a text.
	word string
	// from and to are the lines that it covers.
	from, to int
}

// Governs reports whether the comment silences a finding of the same file.
func (m Silence) Governs(f diag.Finding) bool {
	return m.Rule == f.Rule && m.from <= f.Line && f.Line <= m.to
}

// HasSilences reports whether a comment of any manifest silences a rule.
func (s *Set) HasSilences() bool {
	return slices.ContainsFunc(s.Objects, func(o *Object) bool { return len(o.Silences) > 0 })
}

// Sift separates findings of the object from those that its comments silence. No comment silences an error.
func (o *Object) Sift(found diag.List) (shown, silenced diag.List) {
	if len(o.Silences) == 0 {
		return found, nil
	}
	for _, f := range found {
		at := slices.IndexFunc(o.Silences, func(s Silence) bool { return s.Governs(f) })
		if at < 0 || f.Severity == diag.Error {
			shown = append(shown, f)
			continue
		}
		f.Silenced = o.Silences[at].Reason
		silenced = append(silenced, f)
	}
	return shown, silenced
}

// silences reads the comments of a document. It reports those that can't work, which silence nothing.
func (w *worker) silences(root *yaml.Node, marks []Silence) []Silence {
	var out []Silence
	l := newFieldLines(root)
	for _, m := range l.comments(marks) {
		if m.word == "" {
			continue
		}
		message, fix := m.problem()
		found := false
		if m.from, m.to, found = l.covered(m); !found && message == "" {
			message, fix = "the comment belongs to no field", "write it above a field, or after one on the same line"
		}
		if message == "" {
			out = append(out, m)
		} else {
			w.file.add(m.Line, m.column, ruleIgnoreOdd, diag.Warning, "", message, fix)
		}
	}
	return out
}

// problem returns why a comment can't work, or "".
func (m Silence) problem() (message, fix string) {
	const form = "write # trueup:ignore RULE REASON"
	rule := rulesByName()[m.Rule]
	switch {
	case m.word != "ignore":
		return "trueup:" + short(m.word) + " means nothing", form
	case m.Rule == "":
		return "the comment names no rule", form
	case rule == nil:
		var names []string
		for _, r := range Rules() {
			if r.canBeSilenced() {
				names = append(names, r.Name)
			}
		}
		fix = diag.Suggest(m.Rule, names, "did you mean %s?", "write the name that a finding shows in brackets")
		return "there is no rule " + quoteName(m.Rule), fix
	case rule.Severity == diag.Error:
		return m.Rule + " is an error, and errors can't be silenced", "fix what it finds, and remove the comment"
	case !rule.canBeSilenced():
		return "no comment silences " + m.Rule, "fix what it finds, and remove the comment"
	case m.Reason == "":
		return "the comment has no reason", "say why: # trueup:ignore " + m.Rule + " REASON"
	}
	return "", ""
}

// canBeSilenced reports whether a comment can silence the rule. Rules about file names have no line for
// a comment, and rules about comments must stay visible.
func (r *Rule) canBeSilenced() bool {
	return r.Severity != diag.Error && r.Bad != "" && r.Name != ruleIgnoreOdd && r.Name != ruleIgnoreUnused
}

// silence removes the findings that comments silence, after all rules ran. It reports comments that
// silence nothing, but not for rules that need more than this document, and not if there are errors,
// which may hide other findings.
func (w *worker) silence(o *Object) {
	f := w.file
	shown, silenced := o.Sift(slices.Clone(f.findings[f.from:]))
	f.findings = append(f.findings[:f.from], shown...)
	w.silenced = append(w.silenced, silenced...)
	if shown.HasErrors() || f.ofDocument.count+f.ofFile.count > 0 {
		return
	}
	advice, hidden := Advise(o, o.Tree(), w.options)
	found := slices.Concat(shown, silenced, advice, hidden)
	for _, silence := range o.Silences {
		rule := rulesByName()[silence.Rule]
		needsMore := rule.set != nil || rule.NeedsLive || rule.idle != nil && rule.idle(w.options)
		if !needsMore && !slices.ContainsFunc(found, silence.Governs) {
			f.add(silence.Line, silence.column, ruleIgnoreUnused, diag.Warning, "",
				silence.Rule+" finds nothing here, so the comment has no effect", "remove the comment")
		}
	}
}

// markName begins a mark, which is a comment for trueup: # trueup:WORD RULE REASON.
const markName = "trueup:"

var (
	// markHead also matches in quoted texts; fieldLines.comments removes these.
	markHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#[ \t]*` + markName) })
	markForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^#[ \t]*` + markName + `([ \t]*[^ \t]*)[ \t]*([^ \t]*)[ \t]*(.*?)[ \t]*$`)
	})
	// documentLine is a line between two documents.
	documentLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(---|\.\.\.)([ \t]|$)`) })
)

// maxMarks limits the marks that are read in one file.
const maxMarks = 10_000

// findMarks returns the offsets of possible marks.
func findMarks(data []byte) [][]int {
	if !bytes.Contains(data, []byte(markName)) {
		return nil
	}
	return markHead().FindAllIndex(data, maxMarks)
}

// takeMarks removes the marks before a line from the file, and returns them.
func (f *file) takeMarks(until int) []Silence {
	var out []Silence
	for len(f.marks) > 0 {
		offset := f.marks[0][0]
		line, column := f.lines.position(offset)
		if line >= until {
			break
		}
		f.marks = f.marks[1:]
		end := f.lines.endOf(line)
		if len(f.marks) > 0 {
			end = min(end, f.marks[0][0])
		}
		before := string(f.lines.data[f.lines.offset(line):offset])
		m := Silence{Line: line, column: column, before: strings.TrimLeft(before, " \t")}
		if strings.HasPrefix(m.before, "#") {
			m.before = ""
		}
		if before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t") {
			m.read(string(f.lines.data[offset:end]))
		}
		out = append(out, m)
	}
	return out
}

// read reads the text of a comment, unless that is only prose.
func (m *Silence) read(text string) {
	const slips = 2 // in the word ignore
	form := markForm().FindStringSubmatch(text)
	if form == nil {
		return
	}
	word := strings.TrimSpace(form[1])
	if isProse := word != form[1] || word == ""; !isProse || diag.Distance(strings.ToLower(word), "ignore") <= slips {
		m.word, m.Rule, m.Reason = form[1], strings.TrimRight(form[2], ":,;"), clip(form[3])
	}
}

// endOf returns the line at which the document at a line ends.
func (f *file) endOf(line int) int {
	if len(f.marks) == 0 {
		return line
	}
	for line++; line <= f.lines.count() && !documentLine().Match(f.lines.bytes(line)); {
		line++
	}
	return line
}

// fieldLines has the lines of the fields and elements of a document.
type fieldLines struct {
	root *yaml.Node
	// spans have a line on which fields or elements start, and the last line of these. last is the last
	// line of the document.
	spans []span
	last  int
	// texts are the scalars that contain what looks like a mark, in order.
	texts []*yaml.Node
}

type span struct{ from, to int }

func newFieldLines(root *yaml.Node) *fieldLines {
	l := &fieldLines{root: root}
	l.last = l.walk(root)
	return l
}

// walk adds everything below a node, and returns its last line.
func (l *fieldLines) walk(n *yaml.Node) int {
	last, size := n.Line, 1
	if n.Kind == yaml.MappingNode {
		size = 2
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, markName) {
		l.texts = append(l.texts, n)
	}
	for parts := range slices.Chunk(n.Content, size) { // a key and a value, or an element
		line := parts[0].Line
		if n := len(l.spans); n == 0 || l.spans[n-1].from < line {
			l.spans = append(l.spans, span{line, line})
		}
		at, end := len(l.spans)-1, line
		for _, p := range parts {
			end = max(end, l.walk(p))
		}
		l.spans[at].to = max(l.spans[at].to, end)
		last = max(last, end)
	}
	return last
}

// comments returns the marks without those inside texts.
func (l *fieldLines) comments(marks []Silence) []Silence {
	var out []Silence
	for _, t := range l.texts {
		before := sort.Search(len(marks), func(i int) bool {
			return marks[i].Line > t.Line || marks[i].Line == t.Line && marks[i].column >= t.Column
		})
		out = append(out, marks[:before]...)
		inside := len(markHead().FindAllStringIndex(t.Value, -1))
		marks = marks[min(before+inside, len(marks)):]
	}
	return append(out, marks...)
}

// covered returns the lines that a comment covers. After a field, it covers what starts on its line.
// Alone on a line, it covers what starts next, or the whole document if it is above that.
func (l *fieldLines) covered(m Silence) (from, to int, ok bool) {
	at := sort.Search(len(l.spans), func(i int) bool { return l.spans[i].from >= m.Line })
	switch {
	case at == len(l.spans):
		return 0, 0, false
	case l.spans[at].from == m.Line:
	case strings.Trim(m.before, " -") != "":
		return 0, 0, false // after a bracket, or a text of several lines
	case m.Line < l.root.Line:
		return l.root.Line, l.last, true
	}
	return l.spans[at].from, l.spans[at].to, true
}

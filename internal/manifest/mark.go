package manifest

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
	"trueup/internal/rules"
)

// CommentMark is a comment for trueup, such as one that keeps findings of a rule from being shown: # trueup:ignore RULE REASON.
type CommentMark struct {
	Rule, Reason string
	// Line and Column, from 1, are where the comment is; before is what else is on its line.
	Line, Column int
	before       string
	// Word follows trueup: in the comment; it is empty for one that is only prose or part of a text.
	Word string
	// From and To are the lines that it covers.
	From, To int
}

// Governs reports whether the comment silences a finding of the same file.
func (m CommentMark) Governs(f diag.Finding) bool {
	return m.Rule == f.Rule && m.From <= f.Line && f.Line <= m.To
}

// MarkName begins a mark: # trueup:WORD RULE REASON.
const MarkName = "trueup:"

var (
	// markHead also matches in quoted texts; fieldLines.comments removes these.
	markHead = diag.Pattern(`#[ \t]*` + MarkName)
	markForm = diag.Pattern(`^#[ \t]*` + MarkName + `([ \t]*[^ \t]*)[ \t]*([^ \t]*)[ \t]*(.*?)[ \t]*$`)
)

// maxMarks limits the marks that are read in one file.
const maxMarks = 10_000

// findMarks returns the offsets of possible marks.
func findMarks(data []byte) [][]int {
	if !bytes.Contains(data, []byte(MarkName)) {
		return nil
	}
	return markHead().FindAllIndex(data, maxMarks)
}

// takeMarks removes the marks before a line from the file, and returns them.
func (f *FileState) takeMarks(until int) []CommentMark {
	var out []CommentMark
	for len(f.marks) > 0 {
		offset := f.marks[0][0]
		line, column := f.Lines.Position(offset)
		if line >= until {
			break
		}
		f.marks = f.marks[1:]
		end := f.Lines.LineEnd(line)
		if len(f.marks) > 0 {
			end = min(end, f.marks[0][0])
		}
		before := string(f.Lines.Data[f.Lines.LineStart(line):offset])
		m := CommentMark{Line: line, Column: column, before: strings.TrimLeft(before, " \t")}
		if strings.HasPrefix(m.before, "#") {
			m.before = ""
		}
		if before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t") {
			m.readComment(string(f.Lines.Data[offset:end]))
		}
		out = append(out, m)
	}
	return out
}

// readComment reads the text of a comment, unless that is only prose.
func (m *CommentMark) readComment(text string) {
	const slips = 2 // in the word ignore
	form := markForm().FindStringSubmatch(text)
	if form == nil {
		return
	}
	word := strings.TrimSpace(form[1])
	if isProse := word != form[1] || word == ""; !isProse || diag.EditDistance(strings.ToLower(word), "ignore") <= slips {
		m.Word, m.Rule, m.Reason = form[1], strings.TrimRight(form[2], ":,;"), clip(form[3])
	}
}

// documentEnd returns the line at which the document at a line ends.
func (f *FileState) documentEnd(line int) int {
	if len(f.marks) == 0 {
		return line
	}
	for line++; line <= f.Lines.Count() && !BetweenDocuments().Match(f.Lines.Bytes(line)); {
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

// commentsWithLines returns those of the marks of a document that are comments, with the lines that they cover: From is 0 if
// one belongs to no field.
func commentsWithLines(root *yaml.Node, marks []CommentMark) []CommentMark {
	l := &fieldLines{root: root}
	l.last = l.addLines(root)
	placed := l.commentsOnly(marks)
	for i := range placed {
		placed[i].From, placed[i].To = l.coveredLines(placed[i])
	}
	return placed
}

// addLines adds everything below a node, and returns its last line.
func (l *fieldLines) addLines(n *yaml.Node) int {
	last, size := n.Line, 1
	if n.Kind == yaml.MappingNode {
		size = 2
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, MarkName) {
		l.texts = append(l.texts, n)
	}
	for parts := range slices.Chunk(n.Content, size) { // a key and a value, or an element
		line := parts[0].Line
		if n := len(l.spans); n == 0 || l.spans[n-1].from < line {
			l.spans = append(l.spans, span{line, line})
		}
		at, end := len(l.spans)-1, line
		for _, p := range parts {
			end = max(end, l.addLines(p))
		}
		l.spans[at].to = max(l.spans[at].to, end)
		last = max(last, end)
	}
	return last
}

// commentsOnly returns the marks without those inside texts.
func (l *fieldLines) commentsOnly(marks []CommentMark) []CommentMark {
	var out []CommentMark
	for _, t := range l.texts {
		before := sort.Search(len(marks), func(i int) bool {
			return marks[i].Line > t.Line || marks[i].Line == t.Line && marks[i].Column >= t.Column
		})
		out = append(out, marks[:before]...)
		inside := len(markHead().FindAllStringIndex(t.Value, -1))
		marks = marks[min(before+inside, len(marks)):]
	}
	return append(out, marks...)
}

// coveredLines returns the lines that a comment covers. After a field, it covers what starts on its line.
// Alone on a line, it covers what starts next, or the whole document if it is above that.
func (l *fieldLines) coveredLines(m CommentMark) (from, to int) {
	at := sort.Search(len(l.spans), func(i int) bool { return l.spans[i].from >= m.Line })
	switch {
	case at == len(l.spans):
		return 0, 0
	case l.spans[at].from == m.Line:
	case strings.Trim(m.before, " -") != "":
		return 0, 0 // after a bracket, or a text of several lines
	case m.Line < l.root.Line:
		return l.root.Line, l.last
	}
	return l.spans[at].from, l.spans[at].to
}

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
	if len(marks) == 0 {
		return nil
	}
	var out []CommentMark
	for _, m := range commentsWithLines(root, marks) {
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

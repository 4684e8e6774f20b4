package manifest

import (
	"regexp"
	"sort"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// mark is a comment that speaks to this program: # trueup:WORD RULE REASON.
type mark struct {
	line, column int
	// before is what else stands on its line.
	before             string
	word, rule, reason string
}

const markName = "trueup:"

var (
	// markHead matches in a quoted text too: which of them are comments, the
	// parsed document tells.
	markHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#[ \t]*` + markName) })
	markForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^#[ \t]*` + markName + `([ \t]*[^ \t]*)[ \t]*([^ \t]*)[ \t]*(.*?)[ \t]*$`)
	})
	// documentLine is a line between two documents.
	documentLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(---|\.\.\.)([ \t]|$)`) })
)

// maxMarks bounds the marks that are read in one file.
const maxMarks = 10_000

// takeMarks returns the marks before a line that were not taken yet: those
// above a document's first line are its own.
func (f *file) takeMarks(until int) []mark {
	var out []mark
	for len(f.marks) > 0 {
		offset := f.marks[0][0]
		line, column := f.lines.position(offset)
		if line >= until {
			break
		}
		f.marks = f.marks[1:]
		start := f.lines.offset(line)
		end := start + len(f.lines.bytes(line))
		if len(f.marks) > 0 {
			end = min(end, f.marks[0][0])
		}
		m := newMark(string(f.lines.data[start:offset]), string(f.lines.data[offset:end]))
		m.line, m.column = line, column
		out = append(out, m)
	}
	return out
}

// newMark reads what stands before a mark, and the mark. It has no word where
// it is none, but prose of a comment or a part of a text.
func newMark(before, text string) mark {
	m := mark{before: strings.TrimLeft(before, " \t")}
	if strings.HasPrefix(m.before, "#") {
		m.before = ""
	}
	form := markForm().FindStringSubmatch(text)
	apart := before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t")
	if form == nil || !apart {
		return m
	}
	prose := strings.TrimLeft(form[1], " \t") != form[1] || form[1] == ""
	if prose && !nearIgnore(form[1]) {
		return m
	}
	m.word, m.rule, m.reason = form[1], strings.TrimRight(form[2], ":,;"), clip(form[3])
	return m
}

// endOf returns the line at which the document ends that has something in the
// given line.
func (f *file) endOf(line int) int {
	if len(f.marks) == 0 {
		return line
	}
	for line++; line <= f.lines.count(); line++ {
		if documentLine().Match(f.lines.bytes(line)) {
			break
		}
	}
	return line
}

// ground is where the fields and elements of a document stand.
type ground struct {
	root *yaml.Node
	// spans are the lines in which fields and elements begin, each up to the last
	// line of those; last is the document's.
	spans []span
	last  int
	// texts are scalars that hold what looks like a mark, in their order.
	texts []*yaml.Node
}

type span struct{ from, to int }

func newGround(root *yaml.Node) *ground {
	g := &ground{root: root}
	g.last = g.walk(root)
	return g
}

// walk notes what is below a node, and returns its last line.
func (g *ground) walk(n *yaml.Node) int {
	last := n.Line
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			last = max(last, g.note(n.Content[i], n.Content[i+1]))
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			last = max(last, g.note(e))
		}
	case yaml.ScalarNode:
		if strings.Contains(n.Value, markName) {
			g.texts = append(g.texts, n)
		}
	case yaml.AliasNode, yaml.DocumentNode:
	}
	return last
}

// note notes a field, which is a key and a value, or an element.
func (g *ground) note(parts ...*yaml.Node) int {
	line := parts[0].Line
	if n := len(g.spans); n == 0 || g.spans[n-1].from < line {
		g.spans = append(g.spans, span{line, line})
	}
	at, last := len(g.spans)-1, line
	for _, p := range parts {
		last = max(last, g.walk(p))
	}
	g.spans[at].to = max(g.spans[at].to, last)
	return last
}

// comments leaves out the marks that are part of a text: as many as the text
// holds, from where it begins.
func (g *ground) comments(marks []mark) []mark {
	var out []mark
	for _, t := range g.texts {
		before := sort.Search(len(marks), func(i int) bool {
			return marks[i].line > t.Line || marks[i].line == t.Line && marks[i].column >= t.Column
		})
		out = append(out, marks[:before]...)
		inside := len(markHead().FindAllStringIndex(t.Value, -1))
		marks = marks[min(before+inside, len(marks)):]
	}
	return append(out, marks...)
}

// governed returns the lines of what a comment stands at: behind something, all
// fields and elements that begin in its line; alone, those that begin next, or
// the whole document where it stands above that.
func (g *ground) governed(m mark) (from, to int, ok bool) {
	at := sort.Search(len(g.spans), func(i int) bool { return g.spans[i].from >= m.line })
	switch {
	case at == len(g.spans):
		return 0, 0, false
	case g.spans[at].from == m.line:
	case strings.Trim(m.before, " -") != "":
		return 0, 0, false // behind a bracket, or a text of several lines
	case m.line < g.root.Line:
		return g.root.Line, g.last, true
	}
	return g.spans[at].from, g.spans[at].to, true
}

package manifest

import (
	"math"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"trueup/internal/kind"
)

// levelIndent is what each level is indented by.
const levelIndent = 2

// lineKind is what a line is for the layout.
type lineKind uint8

const (
	// otherLine has not been seen in the nodes.
	otherLine lineKind = iota
	emptyLine
	commentLine
	// markerLine is --- or ..., perhaps with something behind it.
	markerLine
	// tokenLine begins with a key, a hyphen or a value.
	tokenLine
	// innerLine goes on with a value that began above: its own text.
	innerLine
)

// token is where a key, a hyphen or a value begins in a line: the column in the
// file and in the layout, from 0 and in characters.
type token struct{ from, to int }

// noToken is left of all.
func noToken() token { return token{-1, 0} }

// goesOn is right of all: a value of several lines, below which no comment
// stands, because it would be a line of it.
func goesOn() token { return token{math.MaxInt, math.MaxInt} }

// sheet is a text while it is laid out, line by line; lines count from 0.
type sheet struct {
	in, out []string
	kinds   []lineKind
	// tokens are those of a line from left to right.
	tokens [][]token
	// values are the columns at which the value behind the last token of a line
	// begins, or 0.
	values []int
	// shifts are by how much inner lines move, levels where comments go.
	shifts, levels []int
	// open says that the end of the line is inside a value in quotes or brackets.
	open []bool
	// order is the order of lines in the end.
	order    []int
	mappings []ordering
	// ended says that the last line has an end, unended that an end would be a
	// part of the text in that line.
	ended, unended bool
	depth          int
}

func newSheet(text []byte) *sheet {
	body, ended := strings.CutSuffix(string(text), "\n")
	l := &sheet{in: strings.Split(body, "\n"), ended: ended}
	n := len(l.in)
	l.out, l.kinds, l.tokens = make([]string, n), make([]lineKind, n), make([][]token, n)
	l.values, l.shifts, l.levels, l.open = make([]int, n), make([]int, n), make([]int, n), make([]bool, n)
	for i, line := range l.in {
		l.order = append(l.order, i)
		switch trimmed := strings.TrimLeft(line, " \t"); {
		case trimmed == "":
			l.kinds[i] = emptyLine
		case trimmed[0] == '#':
			l.kinds[i] = commentLine
		case documentLine().MatchString(line):
			l.kinds[i] = markerLine
		}
	}
	return l
}

// document notes where everything in a document goes.
func (l *sheet) document(doc *yaml.Node, ordered bool) error {
	root := rootOf(doc)
	if root == nil {
		return nil
	}
	if !isBlock(root) || root.Kind != yaml.MappingNode {
		return l.asItIs(root)
	}
	var field *kind.Field
	if k, _, ok := kind.ForEnvelope(peekText(peek(root, "apiVersion")), peekText(peek(root, "kind"))); ok && ordered && !hasAnchor(root) {
		field = k.Root()
	}
	if at := root.Line - 1; l.kinds[at] == markerLine {
		return left(root.Line, "a mapping starts on the line of ---")
	}
	return l.mapping(root, 0, field)
}

// asItIs keeps the lines of a document that is no mapping of lines.
func (l *sheet) asItIs(root *yaml.Node) error {
	end := len(l.in)
	if root.Kind != yaml.SequenceNode || root.Style&yaml.FlowStyle != 0 {
		last, err := l.end(root, -1)
		if err != nil {
			return err
		}
		end = last + 1
	}
	for at := root.Line - 1; at < end; at++ {
		if l.kinds[at] == markerLine && at > root.Line-1 {
			break
		}
		if l.kinds[at] != markerLine {
			l.kinds[at], l.open[at] = innerLine, true
		}
	}
	return nil
}

// isBlock reports whether a node is a mapping or list of lines and not of brackets.
func isBlock(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// hasAnchor reports whether anything at or below the node has a name: then the
// order of fields matters.
func hasAnchor(n *yaml.Node) bool {
	if n.Anchor != "" {
		return true
	}
	for _, below := range n.Content {
		if hasAnchor(below) {
			return true
		}
	}
	return false
}

// mark notes that something begins at a place, which goes to a column.
func (l *sheet) mark(at, from, to int) {
	l.tokens[at] = append(l.tokens[at], token{from, to})
	l.kinds[at] = tokenLine
}

// mapping notes a mapping whose keys go to a column.
func (l *sheet) mapping(n *yaml.Node, to int, field *kind.Field) error {
	if l.depth++; l.depth > maxDepth {
		return left(n.Line, "it is nested too deeply")
	}
	defer func() { l.depth-- }()
	from := n.Content[0].Column - 1
	own := ordering{column: to, root: l.depth == 1, field: field}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := key.Line - 1
		if key.Column-1 != from || !l.beginsHere(at, from) || isBlock(key) {
			return left(key.Line, "the key is not written as KEY:")
		}
		l.mark(at, from, to)
		own.entries = append(own.entries, entry{line: at, name: key.Value})
		if err := l.value(value, at, token{from, to}, member(field, key.Value)); err != nil {
			return err
		}
	}
	l.mappings = append(l.mappings, own)
	return nil
}

// beginsHere reports whether nothing but spaces and hyphens stands before a place.
func (l *sheet) beginsHere(at, column int) bool {
	return strings.Trim(l.in[at][:offset(l.in[at], column)], " -") == ""
}

// sequence notes a list whose hyphens go to a column.
func (l *sheet) sequence(n *yaml.Node, owner, to int, item *kind.Field) error {
	if l.depth++; l.depth > maxDepth {
		return left(n.Line, "it is nested too deeply")
	}
	defer func() { l.depth-- }()
	from := -1
	for _, e := range n.Content {
		at, column, ok := l.hyphen(e, owner, from)
		if !ok || from >= 0 && column != from || !l.beginsHere(at, column) {
			return left(e.Line, "the element does not follow a hyphen of its list")
		}
		from = column
		l.mark(at, from, to)
		if err := l.value(e, at, token{from, to}, item); err != nil {
			return err
		}
	}
	return nil
}

// hyphen finds the hyphen of an element: before it in its line, or alone in a
// line above. The column is known from the second element on.
func (l *sheet) hyphen(e *yaml.Node, owner, known int) (at, column int, ok bool) {
	at = e.Line - 1
	before := l.in[at][:offset(l.in[at], e.Column-1)]
	if known >= 0 && known < len(before) && before[known] == '-' {
		return at, known, true
	}
	if known < 0 {
		if trimmed := strings.TrimRight(before, " \t"); strings.HasSuffix(trimmed, "-") {
			return at, len(trimmed) - 1, strings.Trim(trimmed, " -") == ""
		}
	}
	for at--; at > owner; at-- {
		if l.kinds[at] == emptyLine || l.kinds[at] == commentLine {
			continue
		}
		text, _, _ := strings.Cut(l.in[at], "#")
		text = strings.TrimRight(text, " \t")
		return at, len(text) - 1, strings.Trim(text, " -") == "" && text != ""
	}
	return 0, 0, false
}

// value notes the value behind a key or a hyphen that stands in a line.
func (l *sheet) value(v *yaml.Node, at int, owner token, field *kind.Field) error {
	start := v.Line - 1
	hasText := v.Kind != yaml.ScalarNode || v.Anchor != "" || !isPlain(v) || v.Value != ""
	named := v.Anchor != "" || v.Style&yaml.TaggedStyle != 0
	below := owner.to + levelIndent
	switch {
	case !hasText:
		return nil
	case isBlock(v) && !named:
	case start > at:
		l.mark(start, v.Column-1, below)
	default:
		l.values[at] = v.Column - 1
	}
	switch {
	case !isBlock(v):
		return l.leaf(v, at, owner)
	case v.Kind == yaml.SequenceNode:
		return l.sequence(v, at-1, below, itemOf(field))
	}
	return l.mapping(v, below, field)
}

func itemOf(f *kind.Field) *kind.Field {
	if f == nil {
		return nil
	}
	return f.Item
}

// offset returns where a column, from 0 and in characters, is in a line.
func offset(line string, column int) int {
	at := 0
	for ; column > 0 && at < len(line); column-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// lines makes the new lines of what was noted.
func (l *sheet) lines() error {
	var open []token
	below, spare := l.below(), -1
	for at, line := range l.in {
		switch l.kinds[at] {
		case otherLine:
			return left(at+1, "trueup does not know how to format a line")
		case markerLine:
			open = nil
			l.out[at] = strings.TrimRight(line, " \t")
			if l.open[at] {
				l.out[at] = line
			}
		case commentLine:
			if at > 0 && l.isComment(at-1) {
				spare = stillSpare(line, spare)
			} else {
				spare = spareHyphen(line)
			}
			l.levels[at] = commentLevel(line, spare >= 0, below[at], open)
			l.out[at] = strings.Repeat(" ", l.levels[at]) + strings.Trim(line, " \t")
		case innerLine:
			open = enter(open, []token{goesOn()})
			l.out[at] = l.shifted(at)
		case tokenLine:
			open = enter(open, l.tokens[at])
			if err := l.tokenLine(at); err != nil {
				return err
			}
		case emptyLine:
		}
	}
	return nil
}

// enter adds the tokens of a line to those that are open above it, without those
// that end there.
func enter(open, tokens []token) []token {
	for _, t := range tokens {
		for len(open) > 0 && open[len(open)-1].to >= t.to {
			open = open[:len(open)-1]
		}
		open = append(open, t)
	}
	return open
}

// below are, for each line, the first of the next line of the document in which
// something begins, or noToken.
func (l *sheet) below() []token {
	all, next := make([]token, len(l.in)), noToken()
	for at := len(l.in) - 1; at >= 0; at-- {
		all[at] = next
		switch l.kinds[at] {
		case tokenLine:
			next = l.tokens[at][0]
		case markerLine:
			next = noToken()
		case otherLine, emptyLine, commentLine, innerLine:
		}
	}
	return all
}

// tokenLine makes a line in which something begins.
func (l *sheet) tokenLine(at int) error {
	line, tokens := l.in[at], l.tokens[at]
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", tokens[0].to))
	if strings.Trim(line[:offset(line, tokens[0].from)], " ") != "" {
		return left(at+1, "there is something before the field")
	}
	for i, t := range tokens[1:] {
		if strings.TrimRight(line[offset(line, tokens[i].from):offset(line, t.from)], " \t") != "-" {
			return left(at+1, "there is something between the hyphen and the field")
		}
		b.WriteString("-" + strings.Repeat(" ", t.to-tokens[i].to-1))
	}
	rest := offset(line, tokens[len(tokens)-1].from)
	if value := offset(line, l.values[at]); value > rest {
		b.WriteString(strings.TrimRight(line[rest:value], " \t") + " ")
		rest = value
	}
	b.WriteString(line[rest:])
	l.out[at] = b.String()
	if !l.open[at] {
		l.out[at] = strings.TrimRight(l.out[at], " \t")
	}
	return nil
}

// shifted moves a line of a value with what the value belongs to.
func (l *sheet) shifted(at int) string {
	line := l.in[at]
	if !l.open[at] {
		line = strings.TrimRight(line, " \t")
	}
	by := l.shifts[at]
	if by >= 0 && line != "" {
		return strings.Repeat(" ", by) + line
	}
	room := len(line) - len(strings.TrimLeft(line, " "))
	return line[min(room, max(0, -by)):]
}

package yamledit

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/manifest"
)

const levelIndent = 2

type lineKind uint8

const (
	// otherLine belongs to no node yet.
	otherLine lineKind = iota
	emptyLine
	commentLine
	// markerLine is --- or ..., perhaps with something after it.
	markerLine
	// tokenLine starts with a key, a hyphen or a value.
	tokenLine
	// innerLine continues a value that starts above.
	innerLine
)

// token is a key, a hyphen or a value: its columns in the file and in the layout, from 0 and in
// characters.
type token struct{ from, to int }

// noToken is left of all tokens.
func noToken() token { return token{-1, 0} }

// layoutLine is a line while it is laid out.
type layoutLine struct {
	in, out string
	kind    lineKind
	tokens  []token // from left to right
	// value is the column of the value after the last token, or 0.
	value int
	shift int // how far an inner line moves to the right
	// open reports whether a value in quotes or brackets continues on the next line.
	open bool
}

// textLayout is a text while it is laid out; lines count from 0.
type textLayout struct {
	text  manifest.LineIndex
	lines []layoutLine
	// ended reports whether the last line has a line break, and unended whether adding one would change
	// the value on that line.
	ended, unended bool
	depth          int
}

func newSheet(text []byte) *textLayout {
	body, ended := strings.CutSuffix(string(text), "\n")
	l := &textLayout{text: manifest.LineIndex{Data: text}, ended: ended, lines: make([]layoutLine, 0, strings.Count(body, "\n")+1)}
	for line := range strings.SplitSeq(body, "\n") {
		next := layoutLine{in: line}
		switch trimmed := strings.TrimLeft(line, " \t"); {
		case trimmed == "":
			next.kind = emptyLine
		case trimmed[0] == '#':
			next.kind = commentLine
		case (line[0] == '-' || line[0] == '.') && manifest.BetweenDocuments().MatchString(line):
			next.kind = markerLine
		}
		l.lines = append(l.lines, next)
	}
	return l
}

// layOutDocument sets the columns of everything in a document.
func (l *textLayout) layOutDocument(doc *yaml.Node) error {
	root := manifest.RootNode(doc)
	if root == nil {
		return nil
	}
	if !isBlockCollection(root) || root.Kind != yaml.MappingNode {
		return l.keepLines(root)
	}
	if l.lines[root.Line-1].kind == markerLine {
		return leftError(root.Line, "a mapping starts on the line of ---")
	}
	return l.layOutMapping(root, 0)
}

// keepLines leaves a document unchanged that is not a block mapping.
func (l *textLayout) keepLines(root *yaml.Node) error {
	end := len(l.lines)
	if !isBlockCollection(root) {
		last, err := l.lastLine(root)
		if err != nil {
			return err
		}
		end = last + 1
	}
	for at := root.Line - 1; at < end && (at < root.Line || l.lines[at].kind != markerLine); at++ {
		if line := &l.lines[at]; line.kind != markerLine {
			line.kind, line.open = innerLine, true
		}
	}
	return nil
}

// isBlockCollection reports whether a node is a mapping or list in block style, without brackets.
func isBlockCollection(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// hasAnchor reports whether a node has an anchor at or below it: aliases may stand for it.
func hasAnchor(n *yaml.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, hasAnchor)
}

// addToken adds a token to a line.
func (l *textLayout) addToken(at, from, to int) {
	l.lines[at].tokens = append(l.lines[at].tokens, token{from, to})
	l.lines[at].kind = tokenLine
}

// layOutMapping lays out a mapping with its keys at column to.
func (l *textLayout) layOutMapping(n *yaml.Node, to int) error {
	from := n.Content[0].Column - 1
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := key.Line - 1
		if key.Column-1 != from || !l.startsLine(at, from, "") || isBlockCollection(key) {
			return leftError(key.Line, "the key is not written as KEY:")
		}
		l.addToken(at, from, to)
		if err := l.layOutValue(value, at, token{from, to}); err != nil {
			return err
		}
	}
	return nil
}

// startsLine reports whether a text is at a place, with only spaces and hyphens before it.
func (l *textLayout) startsLine(at, column int, text string) bool {
	line := l.lines[at].in
	start := manifest.ColumnOffset(line, column)
	return strings.Trim(line[:start], " -") == "" && strings.HasPrefix(line[start:], text)
}

// layOutSequence lays out a list, which is below the line owner, with its hyphens at column to.
func (l *textLayout) layOutSequence(n *yaml.Node, owner, to int) error {
	_, column := l.text.Position(l.text.ValueOffset(n))
	from := column - 1 // of the first hyphen
	for _, e := range n.Content {
		at := e.Line - 1
		for at > owner && !l.startsLine(at, from, "-") {
			at-- // the hyphen is alone on a line above
		}
		if at <= owner {
			return leftError(e.Line, "the element does not follow a hyphen of its list")
		}
		l.addToken(at, from, to)
		if err := l.layOutValue(e, at, token{from, to}); err != nil {
			return err
		}
	}
	return nil
}

// layOutValue lays out the value after a key or a hyphen.
func (l *textLayout) layOutValue(v *yaml.Node, at int, owner token) error {
	start, below := v.Line-1, owner.to+levelIndent
	switch {
	case manifest.IsEmpty(v) && v.Anchor == "":
		return nil
	case isBlockCollection(v) && v.Anchor == "" && v.Style&yaml.TaggedStyle == 0:
	case start > at:
		l.addToken(start, v.Column-1, below)
	default:
		l.lines[at].value = v.Column - 1
	}
	if !isBlockCollection(v) {
		return l.layOutLeaf(v, at, owner)
	}
	if l.depth++; l.depth >= manifest.MaxDepth {
		return leftError(v.Line, tooDeep)
	}
	defer func() { l.depth-- }()
	if v.Kind == yaml.SequenceNode {
		return l.layOutSequence(v, at-1, below)
	}
	return l.layOutMapping(v, below)
}

func (l *textLayout) layOutLines() error {
	var open []token
	below, spare := l.tokensBelow(), -1
	for at := range l.lines {
		line := &l.lines[at]
		switch line.kind {
		case otherLine:
			return leftError(at+1, "trueup does not know how to format a line")
		case markerLine:
			open, line.out = nil, line.in
		case commentLine:
			spare = commentedHyphen(line.in, at > 0 && l.lines[at-1].kind == commentLine, spare)
			line.out = strings.Repeat(" ", commentLevel(line.in, spare >= 0, below[at], open)) + strings.Trim(line.in, " \t")
		case innerLine:
			// A comment below a value of several lines would be a line of the value.
			open = openTokens(open, []token{{math.MaxInt, math.MaxInt}})
			line.out = line.shifted()
		case tokenLine:
			open = openTokens(open, line.tokens)
			line.layOutTokens()
		case emptyLine:
		}
	}
	return nil
}

// openTokens adds the tokens of a line to the open ones above it, and removes those that end there.
func openTokens(open, tokens []token) []token {
	for _, t := range tokens {
		for len(open) > 0 && open[len(open)-1].to >= t.to {
			open = open[:len(open)-1]
		}
		open = append(open, t)
	}
	return open
}

// tokensBelow returns for each line the first token below it in the same document, or noToken.
func (l *textLayout) tokensBelow() []token {
	all, next := make([]token, len(l.lines)), noToken()
	for at, line := range slices.Backward(l.lines) {
		all[at] = next
		if len(line.tokens) > 0 {
			next = line.tokens[0]
		} else if line.kind == markerLine {
			next = noToken()
		}
	}
	return all
}

// layOutTokens writes the hyphens, the key and the value of a line.
func (line *layoutLine) layOutTokens() {
	var out strings.Builder
	out.WriteString(strings.Repeat(" ", line.tokens[0].to))
	for i, t := range line.tokens[1:] {
		out.WriteString("-" + strings.Repeat(" ", t.to-line.tokens[i].to-1))
	}
	rest := manifest.ColumnOffset(line.in, line.tokens[len(line.tokens)-1].from)
	if value := manifest.ColumnOffset(line.in, line.value); value > rest {
		out.WriteString(strings.TrimRight(line.in[rest:value], " \t") + " ")
		rest = value
	}
	line.out = out.String() + line.in[rest:]
}

// shifted returns an inner line, moved by its shift.
func (line *layoutLine) shifted() string {
	if line.shift >= 0 {
		return strings.Repeat(" ", line.shift) + line.in
	}
	spaces := len(line.in) - len(strings.TrimLeft(line.in, " "))
	return line.in[min(spaces, -line.shift):]
}

// commentLevel returns the new column of a comment: that of the field below or of an open one above,
// whichever it was aligned with. A comment deeper than all of these stays deeper. A commented-out element
// (spare) belongs to the list above.
func commentLevel(line string, spare bool, best token, open []token) int {
	column := len(line) - len(strings.TrimLeft(line, " \t"))
	below := best
	if best.from == column && !spare {
		return best.to
	}
	if best.from > column {
		best = noToken()
	}
	for i, t := range open {
		if t.from > column || t.from < best.from || t.from == best.from && t.from == column && !spare {
			continue
		}
		best = t
		if i == len(open)-1 && t.from < column {
			best.to += levelIndent
		}
	}
	if below.from == column {
		return max(best.to, below.to) // it may be of the list that begins below
	}
	return best.to
}

// commentedHyphen returns the column of the hyphen of a commented-out element, or -1. A comment below another
// one may continue its element.
func commentedHyphen(line string, goesOn bool, above int) int {
	text := strings.TrimLeft(line, " \t#")
	at, hyphen := len(line)-len(text), strings.HasPrefix(text, "- ")
	switch {
	case goesOn && (at > above || at == above && hyphen):
		return above
	case !goesOn && hyphen:
		return at
	}
	return -1
}

// layOutLeaf lays out a scalar, an alias, or a collection in brackets.
func (l *textLayout) layOutLeaf(v *yaml.Node, at int, owner token) error {
	if isBlockScalar(v) {
		return l.layOutBlock(v, owner)
	}
	start, by := v.Line-1, owner.to-owner.from
	last, err := l.lastLine(v)
	if err != nil {
		return err
	}
	if start > at {
		by = owner.to + levelIndent - (v.Column - 1)
	}
	plain := v.Kind == yaml.ScalarNode && manifest.IsPlain(v)
	for i := start; i <= last; i++ {
		l.lines[i].open = i < last && !plain
		if i == start {
			continue
		}
		l.lines[i].kind, l.lines[i].shift = innerLine, by
		text := strings.TrimLeft(l.lines[i].in, " \t")
		switch column := len(l.lines[i].in) - len(text); {
		case text == "":
			l.lines[i].shift = 0
		case v.Kind == yaml.ScalarNode || column > owner.from: // it goes on below its owner
			l.lines[i].shift = max(by, owner.to+1-column)
		}
	}
	return nil
}

// lastLine returns the last line of a scalar, an alias, or a collection in brackets.
func (l *textLayout) lastLine(v *yaml.Node) (int, error) {
	if isBlockScalar(v) {
		b, err := l.findBlock(v, noToken().from)
		return b.last, err
	}
	end, ok := l.text.NodeEnd(v)
	if !ok {
		return 0, leftError(v.Line, "trueup can't tell where the value ends")
	}
	return v.Line - 1 + bytes.Count(l.text.Data[l.text.NodeOffset(v):end], []byte("\n")), nil
}

func isBlockScalar(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// block is a block scalar: its lines, its header (| or > with indicators), and the column of its text.
type block struct {
	header, last, column int
	sign                 string
}

func (l *textLayout) layOutBlock(v *yaml.Node, owner token) error {
	b, err := l.findBlock(v, owner.from)
	if err != nil {
		return err
	}
	by := owner.to - owner.from
	if !strings.ContainsAny(b.sign, "123456789") {
		by = owner.to + levelIndent - b.column
	}
	for i := b.header + 1; i <= b.last; i++ {
		line := &l.lines[i]
		line.kind, line.open, line.shift = innerLine, true, by
		if strings.Trim(line.in, " ") == "" && len(line.in) <= b.column {
			line.shift = -len(line.in)
		}
	}
	l.unended = l.unended || !l.ended && b.last == len(l.lines)-1 && !strings.Contains(b.sign, "-")
	return nil
}

// findBlock finds the lines of a block scalar; owner is the column of its key or hyphen.
func (l *textLayout) findBlock(v *yaml.Node, owner int) (b block, err error) {
	at := l.text.ValueOffset(v)
	b.header = v.Line - 1 + bytes.Count(l.text.Data[l.text.NodeOffset(v):at], []byte("\n"))
	b.sign, _, _ = strings.Cut(l.lines[b.header].in[at-l.text.LineStart(b.header+1):], " ")
	if b.sign == "" || b.sign[0] != '|' && b.sign[0] != '>' {
		return b, leftError(b.header+1, "the text does not start where the parser says")
	}
	b.last, b.column = b.header, l.blockColumn(b, owner)
	for i := b.header + 1; i < len(l.lines); i++ {
		text := strings.TrimLeft(l.lines[i].in, " ")
		if text != "" && len(l.lines[i].in)-len(text) < b.column {
			break
		}
		if text != "" || strings.Contains(b.sign, "+") || len(l.lines[i].in) > b.column {
			b.last = i
		}
	}
	return b, nil
}

// blockColumn returns the column of the text of a block scalar.
func (l *textLayout) blockColumn(b block, owner int) int {
	if i := strings.IndexAny(b.sign, "123456789"); i >= 0 {
		return max(owner, 0) + int(b.sign[i]-'0')
	}
	for _, line := range l.lines[b.header+1:] {
		if text := strings.TrimLeft(line.in, " "); text != "" {
			return max(len(line.in)-len(text), owner+1)
		}
	}
	return owner + 1
}

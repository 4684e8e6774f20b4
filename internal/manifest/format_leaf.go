package manifest

import (
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// behind returns the offset and the line of a value after its anchor and tag.
func (l *sheet) behind(v *yaml.Node) (at, line int) {
	line = v.Line - 1
	at = l.starts[line] + offset(l.lines[line].in, v.Column-1)
	if at < len(l.text) && (l.text[at] == '&' || l.text[at] == '!') {
		before := properties().FindString(l.text[at:])
		at, line = at+len(before), line+strings.Count(before, "\n")
	}
	return at, line
}

// leaf lays out a scalar, an alias, or a collection in brackets.
func (l *sheet) leaf(v *yaml.Node, at int, owner token) error {
	if isBlockText(v) {
		return l.blockText(v, owner)
	}
	start, by := v.Line-1, owner.to-owner.from
	last, err := l.end(v)
	if err != nil {
		return err
	}
	if start > at {
		by = owner.to + levelIndent - (v.Column - 1)
	}
	plain := v.Kind == yaml.ScalarNode && isPlain(v)
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

// end returns the last line of a scalar, an alias, or a collection in brackets.
func (l *sheet) end(v *yaml.Node) (int, error) {
	if isBlockText(v) {
		b, err := l.block(v, noToken().from)
		return b.last, err
	}
	if v.Kind == yaml.AliasNode || isEmpty(v) {
		return v.Line - 1, nil
	}
	at, line := l.behind(v)
	size := 0
	switch rest := l.text[at:]; {
	case v.Kind != yaml.ScalarNode:
		size = flowSize(rest)
	case v.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		size = quotedSize(rest)
	default:
		size = plainSize(rest, strings.FieldsFunc(v.Value, func(r rune) bool { return strings.ContainsRune(yamlSpace, r) }))
	}
	if size == 0 {
		return 0, left(v.Line, "trueup can't tell where the value ends")
	}
	return line + strings.Count(l.text[at:at+size], "\n"), nil
}

func isBlockText(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// block is a block scalar: its lines, its header (| or > with indicators), and the column of its text.
type block struct {
	header, last, column int
	sign                 string
}

func (l *sheet) blockText(v *yaml.Node, owner token) error {
	b, err := l.block(v, owner.from)
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

// block finds the lines of a block scalar; owner is the column of its key or hyphen.
func (l *sheet) block(v *yaml.Node, owner int) (b block, err error) {
	at := 0
	at, b.header = l.behind(v)
	b.sign, _, _ = strings.Cut(l.lines[b.header].in[at-l.starts[b.header]:], " ")
	if b.sign == "" || b.sign[0] != '|' && b.sign[0] != '>' {
		return b, left(b.header+1, "the text does not start where the parser says")
	}
	b.last, b.column = b.header, l.column(b, owner)
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

// column returns the column of the text of a block scalar.
func (l *sheet) column(b block, owner int) int {
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

var (
	// space matches white space and comments, properties an anchor and a tag.
	space      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\s+(?:#.*)?)+`) })
	properties = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[&!]\S*(?:\s+(?:#.*)?)*)*`) })
)

// quotedSize returns the size of the quoted scalar at the start of a text, or 0.
func quotedSize[T string | []byte](text T) int {
	for i := 1; i < len(text) && (text[0] == '"' || text[0] == '\''); i++ {
		switch c := text[i]; {
		case c == '\\' && text[0] == '"', c == '\'' && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case c == text[0]:
			return i + 1
		}
	}
	return 0
}

// yamlSpace separates the words of a plain scalar.
const yamlSpace = " \t\r\n"

// plainSize returns the size of the plain scalar with the words at the start of a text, or 0.
func plainSize(text string, words []string) int {
	at := 0
	for _, word := range words {
		at = len(text) - len(strings.TrimLeft(text[at:], yamlSpace))
		if !strings.HasPrefix(text[at:], word) {
			return 0
		}
		at += len(word)
	}
	return at
}

// flowSize returns the size of the collection in brackets at the start of a text, or 0.
func flowSize(text string) int {
	f := flow{}
	for at := 0; at < len(text); {
		rest := text[at:]
		if !f.plain && (rest[0] == '"' || rest[0] == '\'') {
			size := quotedSize(rest)
			if f.closed = size > 0; !f.closed {
				return 0
			}
			at += size
			continue
		}
		if size := len(space().FindString(rest)); size > 0 {
			at += size
			continue
		}
		f.next(rest)
		if at++; f.depth == 0 && f.closed {
			return at
		}
	}
	return 0
}

// flow is the state of reading a collection in brackets: its depth, whether in a plain scalar, and
// whether after a closing quote or bracket, where a colon ends a key.
type flow struct {
	depth         int
	plain, closed bool
}

// next reads one character that is not a quote.
func (f *flow) next(rest string) {
	const separators = " \t\n,[]{}"
	switch ch := rest[0]; {
	case ch == '{' || ch == '[':
		f.depth, f.plain, f.closed = f.depth+1, false, false
	case ch == '}' || ch == ']':
		f.depth, f.plain, f.closed = f.depth-1, false, true
	case ch == ',', ch == ':' && (f.closed || len(rest) == 1 || strings.IndexByte(separators, rest[1]) >= 0):
		f.plain, f.closed = false, false
	default:
		f.plain, f.closed = true, false
	}
}

package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// leaf notes the lines of a value that is no block: a text, an alias, or what
// stands in brackets.
func (l *sheet) leaf(v *yaml.Node, at int, owner token) error {
	last, err := l.end(v, owner.from)
	if err != nil {
		return err
	}
	start, by := v.Line-1, owner.to-owner.from
	if start > at {
		by = owner.to + levelIndent - (v.Column - 1)
	}
	if isBlockText(v) {
		return l.blockText(v, last, owner)
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

func isBlockText(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// blockText notes the lines of a text behind | or >.
func (l *sheet) blockText(v *yaml.Node, last int, owner token) error {
	header, text, err := l.header(v)
	if err != nil {
		return err
	}
	inner, by := l.inner(header, owner.from), owner.to-owner.from
	if !strings.ContainsAny(text, "123456789") {
		by = owner.to + levelIndent - inner
	}
	for i := header + 1; i <= last; i++ {
		l.lines[i].kind, l.lines[i].open, l.lines[i].shift = innerLine, true, by
		if strings.Trim(l.lines[i].in, " ") == "" && len(l.lines[i].in) <= inner {
			l.lines[i].shift = -len(l.lines[i].in)
		}
	}
	l.unended = l.unended || !l.ended && last == len(l.lines)-1 && !strings.Contains(text, "-")
	return nil
}

// header finds the line of a block text's | or >, and returns what stands there.
func (l *sheet) header(v *yaml.Node) (at int, text string, err error) {
	c := cursor{l: l, line: v.Line - 1, at: offset(l.lines[v.Line-1].in, v.Column-1)}
	c.skipProperties()
	rest := c.rest()
	if rest == "" || rest[0] != '|' && rest[0] != '>' {
		return 0, "", left(c.line+1, "the text does not start where the parser says")
	}
	text, _, _ = strings.Cut(rest, " ")
	return c.line, text, nil
}

// inner is the column at which the lines of a block text begin, whose owner
// begins at another.
func (l *sheet) inner(header, owner int) int {
	text, _, _ := strings.Cut(l.lines[header].in[strings.LastIndexAny(l.lines[header].in, "|>")+1:], " ")
	if i := strings.IndexAny(text, "123456789"); i >= 0 {
		return max(owner, 0) + int(text[i]-'0')
	}
	for _, line := range l.lines[header+1:] {
		if trimmed := strings.TrimLeft(line.in, " "); trimmed != "" {
			return max(len(line.in)-len(trimmed), owner+1)
		}
	}
	return owner + 1
}

// end returns the line in which a value ends whose owner begins at a column.
func (l *sheet) end(v *yaml.Node, owner int) (int, error) {
	c := cursor{l: l, line: v.Line - 1, at: offset(l.lines[v.Line-1].in, v.Column-1)}
	if v.Kind == yaml.AliasNode {
		return c.line, nil
	}
	if isBlockText(v) {
		return l.blockEnd(v, owner)
	}
	c.skipProperties()
	var ok bool
	switch {
	case v.Kind != yaml.ScalarNode:
		ok = c.brackets()
	case v.Style&yaml.DoubleQuotedStyle != 0:
		ok = c.quoted('"')
	case v.Style&yaml.SingleQuotedStyle != 0:
		ok = c.quoted('\'')
	default:
		ok = c.words(strings.Fields(v.Value))
	}
	if !ok {
		return 0, left(v.Line, "trueup can't tell where the value ends")
	}
	return c.line, nil
}

// blockEnd returns the last line of a block text.
func (l *sheet) blockEnd(v *yaml.Node, owner int) (int, error) {
	header, text, err := l.header(v)
	if err != nil {
		return 0, err
	}
	inner, last := l.inner(header, owner), header
	for i := header + 1; i < len(l.lines); i++ {
		trimmed := strings.TrimLeft(l.lines[i].in, " ")
		if trimmed == "" {
			if strings.Contains(text, "+") || len(l.lines[i].in) > inner {
				last = i
			}
			continue
		}
		if len(l.lines[i].in)-len(trimmed) < inner {
			break
		}
		last = i
	}
	return last, nil
}

// cursor moves over the text of values.
type cursor struct {
	l        *sheet
	line, at int
}

// rest is what stands behind the cursor in its line.
func (c *cursor) rest() string { return c.l.lines[c.line].in[min(c.at, len(c.l.lines[c.line].in)):] }

// next goes to the next line, if there is one.
func (c *cursor) next() bool {
	c.line++
	c.at = 0
	return c.line < len(c.l.lines)
}

// skipSpace moves to what comes next, over line ends and comments.
func (c *cursor) skipSpace() bool {
	for {
		rest := c.rest()
		trimmed := strings.TrimLeft(rest, " \t")
		apart := c.at == 0 || len(trimmed) < len(rest)
		c.at += len(rest) - len(trimmed)
		if trimmed != "" && (trimmed[0] != '#' || !apart) {
			return true
		}
		if !c.next() {
			return false
		}
	}
}

// skipProperties moves over an anchor and a tag.
func (c *cursor) skipProperties() {
	for {
		rest := c.rest()
		if rest == "" || rest[0] != '&' && rest[0] != '!' {
			return
		}
		if end := strings.IndexAny(rest, " \t"); end >= 0 {
			c.at += end
		} else {
			c.at += len(rest)
		}
		if !c.skipSpace() {
			c.line = len(c.l.lines) - 1
			return
		}
	}
}

// quoted moves behind a text in quotes.
func (c *cursor) quoted(quote byte) bool {
	if rest := c.rest(); rest == "" || rest[0] != quote {
		return false
	}
	c.at++
	for {
		rest := c.rest()
		for i := 0; i < len(rest); i++ {
			switch {
			case quote == '"' && rest[i] == '\\', quote == '\'' && strings.HasPrefix(rest[i:], "''"):
				i++
			case rest[i] == quote:
				c.at += i + 1
				return true
			}
		}
		if !c.next() {
			return false
		}
	}
}

// words moves over an unquoted text, which may go on in the next lines.
func (c *cursor) words(words []string) bool {
	for {
		text, _, _ := strings.Cut(c.rest(), " #")
		text, _, _ = strings.Cut(text, "\t#")
		has := strings.Fields(text)
		if c.at == 0 && len(has) > 0 && has[0][0] == '#' || len(has) > len(words) {
			return false
		}
		for i, word := range has {
			if word != words[i] {
				return false
			}
		}
		if words = words[len(has):]; len(words) == 0 {
			return true
		}
		if !c.next() {
			return false
		}
	}
}

// brackets moves behind a mapping or list in brackets.
func (c *cursor) brackets() bool {
	f := flow{}
	for c.skipSpace() {
		rest := c.rest()
		if ch := rest[0]; (ch == '"' || ch == '\'') && !f.plain {
			if f.closed = c.quoted(ch); !f.closed {
				return false
			}
			continue
		}
		f.next(rest)
		c.at++
		if f.depth == 0 {
			return f.closed
		}
	}
	return false
}

// flow is where a cursor is in brackets: how deep, in an unquoted text or not, and
// whether right behind a quote or a bracket, where a colon ends a key.
type flow struct {
	depth         int
	plain, closed bool
}

// next goes on by one character that is no quote.
func (f *flow) next(rest string) {
	const separators = " \t,[]{}"
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

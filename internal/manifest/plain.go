package manifest

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// plainDocuments calls each with the documents of a text that diag.FindMisread accepts, as package yaml would decode
// them: equal nodes at equal places, but without their comments. With a pool, their nodes are
// reused as soon as each returns.
//
// It stops at a document that it declines. It returns the offset of the first document
// that each has not had, or len(text) if there is none.
// The document before a declined one is left as well, because the parser that takes over
// may find a mistake beyond it first.
func plainDocuments(text []byte, pool *NodePool, each func(*yaml.Node)) (offset int) {
	p := &parser{text: text, pool: pool}
	if !p.nextLine() {
		return 0
	}
	var held *yaml.Node
	for !p.ended || p.marker {
		from := p.begin
		doc := p.parseDocument()
		if doc == nil {
			return offset
		}
		if held != nil {
			each(held)
		}
		held, offset = doc, from
	}
	if held != nil {
		each(held)
	}
	return len(text)
}

// NodePool has nodes to use again. It serves one text at a time. The zero value is ready.
type NodePool struct {
	// nodes are for two documents, because one is read before the last is let go.
	nodes [2][]yaml.Node
	turn  int
}

// maxPlainDepth limits the indentation, and brackets in brackets; maxKey limits the bytes of a
// key. Package yaml has limits beyond them.
const maxPlainDepth, maxKey = 100, 1000

// parser is at a line that is neither empty nor a comment.
type parser struct {
	text []byte
	// begin and end are the offsets of the line without its line break, and after of the next.
	begin, end, after int
	line              int // from 1
	// column, from 1, is that of the offset counted.
	column, counted int
	pos             int // the offset of what is read next
	// ended reports that the document has no more lines; marker, that the next starts with ---.
	ended, marker bool
	unquoted      []byte // the value of a scalar in quotes
	pool          *NodePool
	nodes         []yaml.Node  // not used yet
	open          []*yaml.Node // the members of all collections that are not complete
}

// nextLine goes to the first character of the next line of the document. It reports whether
// what it skipped, and the start of the line, is plain.
func (p *parser) nextLine() bool {
	p.ended, p.marker = false, false
	for begin := p.after; begin < len(p.text); begin = p.after {
		line, _, _ := bytes.Cut(p.text[begin:], []byte("\n"))
		p.after = begin + len(line) + 1
		line = bytes.TrimSuffix(line, []byte("\r"))
		p.line, p.begin, p.end = p.line+1, begin, begin+len(line)
		p.pos, p.counted, p.column = begin, begin, 1
		switch p.skipBlanks(); {
		case p.pos == p.end, p.text[p.pos] == '#':
		case p.text[p.pos] == '\t', bytes.HasPrefix(line, []byte("...")), line[0] == '%':
			return false
		default:
			p.marker = bytes.HasPrefix(line, []byte("---")) && p.isBlank(begin+3)
			p.ended = p.marker
			return true
		}
	}
	p.ended = true
	return true
}

// skipBlanks skips spaces.
func (p *parser) skipBlanks() {
	for p.pos < p.end && p.text[p.pos] == ' ' {
		p.pos++
	}
}

// isBlank reports whether a space or the end of the line is at an offset.
func (p *parser) isBlank(at int) bool { return at >= p.end || p.text[at] == ' ' }

// isItem reports whether an item of a block sequence comes next.
func (p *parser) isItem() bool { return p.text[p.pos] == '-' && p.isBlank(p.pos+1) }

// indent is the number of bytes before pos; between lines, these are spaces and hyphens.
func (p *parser) indent() int { return p.pos - p.begin }

// finishLine goes from the end of a value, or from what has its value below, to the next line.
// It reports whether nothing or a comment is between.
func (p *parser) finishLine() bool {
	p.skipBlanks()
	return (p.pos == p.end || p.text[p.pos] == '#' && p.text[p.pos-1] == ' ') && p.nextLine()
}

// newNode makes a node at an offset of the line, which is not before that of the last one.
func (p *parser) newNode(kind yaml.Kind, tag string, at int) *yaml.Node {
	p.column += utf8.RuneCount(p.text[p.counted:at])
	p.counted = at
	if len(p.nodes) == 0 {
		p.nodes = make([]yaml.Node, 64)
	}
	n := &p.nodes[0]
	p.nodes = p.nodes[1:]
	*n = yaml.Node{Kind: kind, Tag: tag, Line: p.line, Column: p.column}
	return n
}

// newNull is the null that stands at pos for a value that is left out.
func (p *parser) newNull() *yaml.Node { return p.newNode(yaml.ScalarNode, "!!null", p.pos) }

// closeNode makes the nodes that were opened since a mark the content of n.
func (p *parser) closeNode(n *yaml.Node, mark int) *yaml.Node {
	n.Content = append([]*yaml.Node(nil), p.open[mark:]...)
	p.open = p.open[:mark]
	return n
}

// parseDocument reads a document, and goes to the start of the next. It returns nil if it declines.
func (p *parser) parseDocument() *yaml.Node {
	p.open = p.open[:0]
	if pool := p.pool; pool != nil {
		if pool.turn = 1 - pool.turn; pool.nodes[pool.turn] == nil {
			pool.nodes[pool.turn] = make([]yaml.Node, 2048) // a large manifest
		}
		p.nodes = pool.nodes[pool.turn]
	}
	doc := p.newNode(yaml.DocumentNode, "", p.pos)
	if p.marker {
		if p.pos += len("---"); !p.finishLine() {
			return nil
		}
	}
	var root *yaml.Node
	if !p.ended {
		root = p.parseBlock()
	} else if p.skipEmptyDocument() {
		root = p.newNull()
	}
	// A line that no collection takes is declined.
	if root == nil || !p.ended {
		return nil
	}
	doc.Content = []*yaml.Node{root}
	return doc
}

// skipEmptyDocument goes to where an empty document ends. Only the last may be empty: package yaml sees two ahead else.
func (p *parser) skipEmptyDocument() bool {
	p.line++
	p.pos, p.counted, p.column = len(p.text), len(p.text), 1
	return !p.marker && p.text[len(p.text)-1] == '\n'
}

// parseBlock reads a block collection that starts at pos, and everything that belongs to it.
func (p *parser) parseBlock() *yaml.Node {
	if p.isItem() {
		return p.parseSequence(p.indent(), false)
	}
	if key := p.parseScalar(false); key != nil && p.isKey() {
		return p.parseMapping(key)
	}
	return nil
}

// parseSequence reads the items at an indentation. One that is the value of a key may have the
// indentation of that key, and ends before the next key.
func (p *parser) parseSequence(indent int, ofKey bool) *yaml.Node {
	n, mark := p.newNode(yaml.SequenceNode, "!!seq", p.pos), len(p.open)
	for indent <= maxPlainDepth {
		if !p.parseValue(indent, false) {
			return nil
		}
		if p.ended || p.indent() < indent || ofKey && p.indent() == indent && !p.isItem() {
			return p.closeNode(n, mark)
		}
		if p.indent() > indent || !p.isItem() {
			return nil
		}
	}
	return nil
}

// parseMapping reads the members that start where key starts. pos is at the colon of key.
func (p *parser) parseMapping(key *yaml.Node) *yaml.Node {
	indent := key.Column - 1
	n, mark := p.newNode(yaml.MappingNode, "!!map", p.begin+indent), len(p.open)
	for indent <= maxPlainDepth {
		p.open = append(p.open, key)
		if !p.parseValue(indent, true) {
			return nil
		}
		if p.ended || p.indent() < indent {
			return p.closeNode(n, mark)
		}
		if p.indent() > indent || p.isItem() {
			return nil
		}
		if key = p.parseScalar(false); key == nil || !p.isKey() {
			return nil
		}
	}
	return nil
}

// parseValue reads what follows a hyphen or the colon of a key, goes to the next line, and opens it.
func (p *parser) parseValue(indent int, ofKey bool) bool {
	var n *yaml.Node
	p.pos++
	none := p.pos
	switch p.skipBlanks(); {
	case p.pos == p.end, p.text[p.pos] == '#':
		p.pos = none
		n = p.parseBelow(indent, ofKey)
	case !ofKey && p.isItem():
		n = p.parseSequence(p.indent(), false)
	default:
		n = p.parseFlow(0, false)
		if !ofKey && n != nil && n.Kind == yaml.ScalarNode && p.isKey() {
			n = p.parseMapping(n)
		} else if n == nil || !p.finishLine() {
			return false
		}
	}
	p.open = append(p.open, n)
	return n != nil
}

// parseBelow reads the value that starts on a line below, which may be nothing.
func (p *parser) parseBelow(indent int, ofKey bool) *yaml.Node {
	nothing := p.newNull()
	switch {
	case !p.finishLine():
		return nil
	case p.ended || p.indent() < indent:
		return nothing
	case p.indent() > indent:
		return p.parseBlock()
	case ofKey && p.isItem():
		return p.parseSequence(indent, true)
	}
	return nothing
}

// isKey reports whether the scalar that ends here is a key.
func (p *parser) isKey() bool {
	return p.pos < p.end && p.text[p.pos] == ':' && p.isBlank(p.pos+1)
}

// parseFlow reads a value on one line, in brackets or not, that may itself be in brackets.
func (p *parser) parseFlow(depth int, inFlow bool) *yaml.Node {
	switch {
	case p.pos == p.end || depth == maxPlainDepth:
		return nil
	case p.text[p.pos] == '[':
		return p.parseMembers(p.newNode(yaml.SequenceNode, "!!seq", p.pos), ']', depth)
	case p.text[p.pos] == '{':
		return p.parseMembers(p.newNode(yaml.MappingNode, "!!map", p.pos), '}', depth)
	}
	return p.parseScalar(inFlow)
}

// parseMembers reads the values or members of n, up to the bracket that ends them.
func (p *parser) parseMembers(n *yaml.Node, bracket byte, depth int) *yaml.Node {
	n.Style = yaml.FlowStyle
	mark := len(p.open)
	for {
		p.pos++
		p.skipBlanks()
		if p.pos < p.end && p.text[p.pos] == bracket {
			break
		}
		if n.Kind == yaml.MappingNode && !p.parseFlowKey(depth) {
			return nil
		}
		value := p.parseFlow(depth+1, true)
		if value == nil {
			return nil
		}
		p.open = append(p.open, value)
		p.skipBlanks()
		if p.pos < p.end && p.text[p.pos] == bracket {
			break
		}
		if p.pos == p.end || p.text[p.pos] != ',' {
			return nil
		}
	}
	p.pos++
	return p.closeNode(n, mark)
}

// parseFlowKey reads a key in braces, its colon, and the spaces after it. Only a key in quotes
// needs no space.
func (p *parser) parseFlowKey(depth int) bool {
	key := p.parseFlow(depth+1, true)
	if key == nil || key.Kind != yaml.ScalarNode || p.pos == p.end || p.text[p.pos] != ':' {
		return false
	}
	p.open = append(p.open, key)
	p.pos++
	p.skipBlanks()
	return true
}

// parseScalar reads a scalar on one line, in brackets or not. pos is then at what follows.
func (p *parser) parseScalar(inFlow bool) *yaml.Node {
	if c := p.text[p.pos]; c == '"' || c == '\'' {
		return p.parseQuoted(c)
	}
	from := p.pos
	if !p.startsPlain(inFlow) || !p.toScalarEnd(inFlow) {
		return nil
	}
	text := bytes.TrimRight(p.text[from:p.pos], " ")
	if len(text) < p.pos-from && p.pos < p.end && p.text[p.pos] == ':' || p.pos-from > maxKey {
		return nil
	}
	p.pos = from + len(text)
	value, tag := string(text), "!!str"
	if isWord := len(value) <= len("false") && strings.IndexByte("yYnNtTfFoO", value[0]) >= 0; isWord || strings.IndexByte("+-.0123456789~<", value[0]) >= 0 {
		tag = plainTag(value) // it may be a number, a time, or a word that package yaml knows
	}
	if tag == "" {
		return nil
	}
	n := p.newNode(yaml.ScalarNode, tag, from)
	n.Value = value
	return n
}

// plainTag returns the tag that package yaml gives to a plain scalar, or "" if that is not certain.
func plainTag(s string) string {
	const text, ofNumbers = "!!str", "0123456789abcdefABCDEFxXoOTtZz_+-.: " // and of times
	switch ResolveScalar(s) {
	case PlainBool:
		return "!!bool"
	case PlainNull, PlainEmpty:
		return "!!null"
	case PlainNumber:
		switch isInt := !strings.ContainsAny(s, ".eE"); {
		case s == "-0", len(s) > len("123456789012345678"):
			return ""
		case isInt:
			return "!!int"
		}
		return "!!float"
	case LooseBool:
		if word := strings.ToLower(s); word == "true" || word == "false" {
			return "!!bool"
		}
	case LooseNumber:
		return ""
	case PlainText:
		switch {
		case s == "<<":
			return "!!merge"
		case strings.IndexByte("+-.0123456789", s[0]) >= 0 && strings.Trim(s, ofNumbers) == "" && strings.Count(s, ".") < 2:
			return ""
		}
	}
	return text
}

// startsPlain reports whether the character at pos starts a plain scalar. A hyphen may,
// where something follows it.
func (p *parser) startsPlain(inFlow bool) bool {
	c := p.text[p.pos]
	if c == '-' && p.pos+1 < p.end {
		next := p.text[p.pos+1]
		return next != ' ' && next != '\t' && (!inFlow || strings.IndexByte(",[]{}:?", next) < 0)
	}
	return strings.IndexByte("-?:,[]{}#&*!|>'\"%@`\t ", c) < 0
}

// toScalarEnd goes to the end of a plain scalar, and reports whether that is certain.
func (p *parser) toScalarEnd(inFlow bool) bool {
	for ; p.pos < p.end; p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\t':
			return false
		case c == '#' && p.text[p.pos-1] == ' ':
			return !inFlow
		case inFlow && c == ':' && p.pos+1 < p.end && strings.IndexByte(",[]{}", p.text[p.pos+1]) >= 0:
			return false
		case c == ':' && p.isBlank(p.pos+1), inFlow && strings.IndexByte(",]}", c) >= 0:
			return true
		case inFlow && strings.IndexByte("[{?", c) >= 0:
			return false
		}
	}
	return true
}

// parseQuoted reads a scalar in quotes, with the escapes that people write.
func (p *parser) parseQuoted(quote byte) *yaml.Node {
	from := p.pos
	p.unquoted = p.unquoted[:0]
	for p.pos++; p.pos < p.end; p.pos++ {
		c := p.text[p.pos]
		switch {
		case c == '\\' && quote == '"':
			if c = p.parseEscape(); c == 0 {
				return nil
			}
		case c == quote && quote == '\'' && p.pos+1 < p.end && p.text[p.pos+1] == quote:
			p.pos++
		case c == quote:
			if p.pos++; p.pos-from > maxKey {
				return nil
			}
			n := p.newNode(yaml.ScalarNode, "!!str", from)
			n.Value, n.Style = string(p.unquoted), yaml.SingleQuotedStyle
			if quote == '"' {
				n.Style = yaml.DoubleQuotedStyle
			}
			return n
		}
		p.unquoted = append(p.unquoted, c)
	}
	return nil
}

// parseEscape goes to the character behind a backslash, and returns what it stands for, or 0.
func (p *parser) parseEscape() byte {
	if p.pos+1 == p.end {
		return 0
	}
	p.pos++
	switch c := p.text[p.pos]; c {
	case '"', '\\':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	}
	return 0
}

package manifest

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
	tag := ""
	if strings.IndexByte("+-.0123456789~<", text[0]) < 0 && (len(text) > len("false") || strings.IndexByte("yYnNtTfFoO", text[0]) < 0) {
		tag = "!!str" // neither a number, nor a time, nor a word that package yaml knows
	}
	n := p.newNode(yaml.ScalarNode, tag, from)
	n.Value = string(text)
	n.Tag = n.ShortTag()
	return n
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

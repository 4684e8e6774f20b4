package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

var (
	// properties match an anchor and a tag, space white space and comments, and closing what may be
	// between the last value in brackets and the end of these.
	properties = sync.OnceValue(func() *regexp.Regexp {
		const one = `(?:!<[^>]*>|[&!][^\s,\[\]{}]*)`
		return regexp.MustCompile(`^` + one + `(?:(?:\s+(?:#.*)?)+` + one + `)?`)
	})
	space   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\s+(?:#.*)?)*`) })
	closing = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[\s,:?]|#.*)*[\]}]`) })
)

// yamlSpace separates the words of a plain scalar.
const yamlSpace = " \t\r\n"

// NodeOffset returns the offset of a node. It searches from where it looked last, because a file may be one long
// line.
func (l *LineIndex) NodeOffset(n *yaml.Node) int {
	if l.near.line != n.Line {
		l.near = textPosition{n.Line, 1, l.LineStart(n.Line)}
	}
	for ; l.near.column < n.Column; l.near.column++ {
		_, size := utf8.DecodeRune(l.Data[l.near.at:])
		l.near.at += size
	}
	for ; l.near.column > n.Column; l.near.column-- {
		_, size := utf8.DecodeLastRune(l.Data[:l.near.at])
		l.near.at -= size
	}
	return l.near.at
}

// ValueOffset returns the offset of a value after its anchor and tag.
func (l *LineIndex) ValueOffset(n *yaml.Node) int {
	at := l.NodeOffset(n)
	if at == len(l.Data) || l.Data[at] != '&' && l.Data[at] != '!' {
		return at
	}
	nothing := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0
	if size := len(properties().Find(l.Data[at:])); size > 0 {
		at += size
		if !nothing {
			at += len(space().Find(l.Data[at:]))
		}
	}
	return at
}

// NodeEnd returns the offset after a scalar that is no block, an alias, or a collection in brackets, and
// reports whether it found that.
func (l *LineIndex) NodeEnd(n *yaml.Node) (int, bool) {
	at := l.ValueOffset(n)
	switch {
	case n.Kind == yaml.AliasNode:
		return at + len("*") + len(n.Value), true
	case n.Kind != yaml.ScalarNode:
		return l.flowEnd(n, at)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		size := quotedSize(l.Data[at:])
		return at + size, size > 0
	}
	if bytes.HasPrefix(l.Data[at:], []byte(n.Value)) {
		return at + len(n.Value), true
	}
	for _, word := range bytes.FieldsFunc([]byte(n.Value), func(r rune) bool { return strings.ContainsRune(yamlSpace, r) }) {
		at = len(l.Data) - len(bytes.TrimLeft(l.Data[at:], yamlSpace))
		if !bytes.HasPrefix(l.Data[at:], word) {
			return 0, false
		}
		at += len(word)
	}
	return at, true
}

// flowEnd returns the end of a collection in brackets at an offset. A single pair in a list may have no
// brackets; it starts where its key or the question mark before it does.
func (l *LineIndex) flowEnd(n *yaml.Node, at int) (int, bool) {
	isPair := len(n.Content) == 2 && (l.Data[at] == '?' || n.Content[0].Line == n.Line && n.Content[0].Column == n.Column)
	if !isPair {
		at++
	}
	ok := true
	for _, last := range slices.Backward(n.Content) {
		if !IsEmpty(last) || last.Anchor != "" { // others are before a comma, a colon or the end
			at, ok = l.NodeEnd(last)
			break
		}
	}
	if !ok || isPair {
		return at, ok
	}
	size := len(closing().Find(l.Data[at:]))
	return at + size, size > 0
}

// quotedSize returns the size of the quoted scalar at the start of a text, or 0.
func quotedSize(text []byte) int {
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

package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
)

// maxSourceLine bounds the line that a finding carries: JSON may be one line.
const maxSourceLine = 2000

// LineIndex finds the lines of a file. It builds its index on first use, because most files have no finding.
type LineIndex struct {
	Data   []byte
	starts []int
	near   textPosition // where at looked last
}

// textPosition is a line, a column, and their offset in the text.
type textPosition struct{ line, column, at int }

// Text returns a line, from 1, without its line break, or "" if it is too long to show or may have a password.
func (l *LineIndex) Text(line int) string {
	if b := l.Bytes(line); len(b) <= maxSourceLine && (bytes.IndexByte(b, '@') < 0 || !login().Match(b)) {
		return string(b)
	}
	return ""
}

// Bytes returns a line, from 1, without its line break.
func (l *LineIndex) Bytes(line int) []byte {
	if l == nil || line < 1 || line > l.Count() {
		return nil
	}
	return bytes.TrimRight(l.Data[l.LineStart(line):l.LineStart(line+1)], "\r\n")
}

// LineStart returns where a line starts, or the end of the file.
func (l *LineIndex) LineStart(line int) int {
	if line > l.Count() {
		return len(l.Data)
	}
	return l.starts[max(line, 1)-1]
}

// LineEnd returns where the text of a line ends, before its line break.
func (l *LineIndex) LineEnd(line int) int { return l.LineStart(line) + len(l.Bytes(line)) }

// Count counts the lines, as git and editors do.
func (l *LineIndex) Count() int {
	if l.starts == nil {
		l.starts = make([]int, 1, bytes.Count(l.Data, []byte("\n"))+2)
		for i, c := range l.Data {
			if c == '\n' {
				l.starts = append(l.starts, i+1)
			}
		}
	}
	return len(l.starts)
}

// Position returns the line and column of an offset.
func (l *LineIndex) Position(offset int) (line, column int) {
	line = min(sort.Search(l.Count(), func(i int) bool { return l.starts[i] > offset }), l.Count())
	return line, utf8.RuneCount(l.Data[l.starts[line-1]:offset]) + 1
}

// ColumnOffset returns the byte offset of a column, from 0 and in characters, in a line.
func ColumnOffset(line string, column int) int {
	at := 0
	for ; column > 0 && at < len(line); column-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// RootNode returns the value of a document, or nil for one that holds only comments.
func RootNode(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	if n := doc.Content[0]; !IsEmpty(n) {
		return n
	}
	return nil
}

// IsEmpty reports whether a node is a value that is left out.
func IsEmpty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && IsPlain(n) && n.Value == "" }

// IsPlain reports whether a scalar has neither quotes nor a tag, and is no block.
func IsPlain(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	return n.Style&quoted == 0
}

// IsMerge reports whether a key is <<.
func IsMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

// MemberPair returns the key and the value of a member, or nil.
func MemberPair(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; mapping != nil && mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if key := mapping.Content[i]; key.Kind == yaml.ScalarNode && key.Value == name {
			return key, mapping.Content[i+1]
		}
	}
	return nil, nil
}

// MemberValue returns the value of a member, or nil.
func MemberValue(mapping *yaml.Node, name string) *yaml.Node {
	_, value := MemberPair(mapping, name)
	return value
}

// ScalarText returns the text of a scalar, "" for anything else and nil.
func ScalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

var (
	// properties match an anchor and a tag, space white space and comments, and closing what may be
	// between the last value in brackets and the end of these.
	properties = sync.OnceValue(func() *regexp.Regexp {
		const one = `(?:!<[^>]*>|[&!][^\s,\[\]{}]*)`
		return regexp.MustCompile(`^` + one + `(?:(?:\s+(?:#.*)?)+` + one + `)?`)
	})
	space   = diag.Pattern(`^(?:\s+(?:#.*)?)*`)
	closing = diag.Pattern(`^(?:[\s,:?]|#.*)*[\]}]`)
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

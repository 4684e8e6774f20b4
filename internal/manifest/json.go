package manifest

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// jsonDocument returns a text as a document if it is JSON with a backslash, or nil.
// The parser of YAML rejects two escapes that encoders of JSON write: \/, and the
// two halves of a character beyond U+FFFF. What is half a character is left to it.
func jsonDocument(data []byte) *yaml.Node {
	if bytes.IndexByte(data, '\\') < 0 || !json.Valid(data) {
		return nil
	}
	r := &jsonReader{data: data, Decoder: json.NewDecoder(bytes.NewReader(data)), next: spot{1, 1, 0}}
	r.UseNumber()
	root := r.node()
	if r.replaced {
		return nil
	}
	return &yaml.Node{Kind: yaml.DocumentNode, Line: root.Line, Column: root.Column, Content: []*yaml.Node{root}}
}

// jsonReader reads valid JSON as the nodes that a parser of YAML makes of it.
type jsonReader struct {
	*json.Decoder
	data []byte
	next spot
	// replaced is whether a text has the character that stands for half a character.
	replaced bool
}

// move moves to the next token.
func (r *jsonReader) move() {
	start := int(r.InputOffset())
	start = len(r.data) - len(bytes.TrimLeft(r.data[start:], " \t\r\n,:"))
	for r.next.at < start {
		if n := lineBreak(r.data[r.next.at:]); n > 0 {
			r.next = spot{r.next.line + 1, 1, r.next.at + n}
			continue
		}
		_, size := utf8.DecodeRune(r.data[r.next.at:])
		r.next = spot{r.next.line, r.next.column + 1, r.next.at + size}
	}
}

func (r *jsonReader) node() *yaml.Node {
	r.move()
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.next.line, Column: r.next.column}
	token, _ := r.Token() // the text is valid
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
		if t == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for r.More() {
			n.Content = append(n.Content, r.node())
		}
		_, _ = r.Token() // the closing bracket
	case string:
		n.Tag, n.Value, n.Style = "!!str", t, yaml.DoubleQuotedStyle
		r.replaced = r.replaced || strings.ContainsRune(t, utf8.RuneError)
	default:
		end := r.InputOffset()
		n.Value = string(r.data[r.next.at:end])
		n.Tag = n.ShortTag()
	}
	return n
}

package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
)

// spot is a place and its offset in the source.
type spot struct{ line, column, at int }

// offset returns where in the source a node starts. It looks from where it looked
// last, because all of a file may stand in one line.
func (e *editor) offset(n *yaml.Node) int {
	if e.near.line != n.Line {
		e.near = spot{n.Line, 1, e.file.lines.offset(n.Line)}
	}
	data := e.file.lines.data
	for ; e.near.column < n.Column; e.near.column++ {
		_, size := utf8.DecodeRune(data[e.near.at:])
		e.near.at += size
	}
	for ; e.near.column > n.Column; e.near.column-- {
		_, size := utf8.DecodeLastRune(data[:e.near.at])
		e.near.at -= size
	}
	return e.near.at
}

// token returns where the text of a scalar starts and ends, with its quotes. One
// that is written in another way than plainly or in quotes has no such place.
func (e *editor) token(n *yaml.Node) (from, to int, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" {
		return 0, 0, false
	}
	from = e.offset(n)
	text := e.file.lines.data[from:]
	switch n.Style {
	case yaml.DoubleQuotedStyle:
		for i := 1; i < len(text) && text[0] == '"'; i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return from, from + i + 1, true
			}
		}
	case yaml.SingleQuotedStyle:
		quoted := "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
		return from, from + len(quoted), bytes.HasPrefix(text, []byte(quoted))
	case 0:
		return from, from + len(n.Value), bytes.HasPrefix(text, []byte(n.Value))
	case yaml.TaggedStyle, yaml.LiteralStyle, yaml.FoldedStyle, yaml.FlowStyle:
	}
	return 0, 0, false
}

// requote writes a text in the quotes that another had.
func requote(old []byte, text string) string {
	if c := old[0]; c == '"' || c == '\'' {
		return string(c) + text + string(c)
	}
	return text
}

// setVersion gives a document another apiVersion.
func (e *editor) setVersion(version *yaml.Node, done Rerouted) bool {
	from, to, ok := e.token(version)
	if !ok {
		e.file.fail(version.Line, version.Column, "", "apiVersion", "apiVersion is not written as plain text", "write apiVersion: "+done.From)
		return false
	}
	e.edits = append(e.edits, edit{from: from, to: to, text: requote(e.file.lines.data[from:to], done.To), cuts: -1})
	return true
}

// addNamespace writes metadata.namespace behind the name, as the name is written.
func (e *editor) addNamespace(metadata *yaml.Node) bool {
	key, value := pairOf(metadata, "name")
	if e.route.Workspace == "" {
		e.file.fail(metadata.Line, metadata.Column, namespaceRule, "metadata.namespace", "the command-line route needs the workspace",
			"name it: --namespace, or the workspace of trueup.yaml")
		return false
	}
	from, keyEnd, isKey := e.token(key)
	valueAt, to, isText := e.token(value)
	if !isKey || !isText {
		e.file.fail(value.Line, value.Column, "", "metadata.name", "the name is not written as plain text", "write name: "+value.Value)
		return false
	}
	data := e.file.lines.data
	word, name := requote(data[from:keyEnd], "namespace"), e.route.Workspace
	if data[from] == '"' || resolve(name) != plainText {
		name = string(canon.Append(nil, name))
	}
	if metadata.Style&yaml.FlowStyle != 0 {
		e.edits = append(e.edits, edit{from: to, to: to, cuts: -1, text: "," + e.gapBefore(from, keyEnd) + word + string(data[keyEnd:valueAt]) + name})
		return true
	}
	start := e.file.lines.offset(key.Line)
	end := e.file.lines.offset(value.Line) + len(e.file.lines.bytes(value.Line))
	e.edits = append(e.edits, edit{from: end, to: end, cuts: -1, text: e.lineBreak(key.Line) + string(data[start:from]) + word + ": " + name})
	return true
}

// pairOf returns the key and the value of a member.
func pairOf(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// gapBefore is what to write between a comma and the member that follows one of a
// flow mapping: what stands before that one's key, but behind an opening bracket
// on the same line a space where the colons have one.
func (e *editor) gapBefore(from, keyEnd int) string {
	data := e.file.lines.data
	before := bytes.TrimRight(data[:from], " \t\r\n")
	gap := string(data[len(before):from])
	if bytes.HasSuffix(before, []byte(",")) || strings.Contains(gap, "\n") {
		return gap
	}
	if bytes.HasPrefix(data[keyEnd:], []byte(": ")) {
		return " "
	}
	return ""
}

// lineBreak is how the line ends, or else one before it, or else the usual way.
func (e *editor) lineBreak(line int) string {
	for l := &e.file.lines; line > 0; line-- {
		end := l.offset(line) + len(l.bytes(line))
		if text := string(l.data[end:l.offset(line+1)]); text != "" {
			return text
		}
	}
	return "\n"
}

// cutNamespace takes metadata.namespace out, where nothing else stands with it.
func (e *editor) cutNamespace(metadata *yaml.Node) (edit, bool) {
	key, value := pairOf(metadata, "namespace")
	from, _, isKey := e.token(key)
	_, to, isText := e.token(value)
	if !isKey || !isText {
		return edit{}, false
	}
	data := e.file.lines.data
	if metadata.Style&yaml.FlowStyle != 0 {
		after := bytes.TrimLeft(data[to:], " \t\r\n")
		if bytes.HasPrefix(after, []byte(",")) {
			after = bytes.TrimLeft(after[1:], " \t\r\n")
			return edit{from: from, to: len(data) - len(after)}, true
		}
		before := bytes.TrimRight(data[:from], " \t\r\n")
		return edit{from: len(before) - 1, to: to}, bytes.HasSuffix(before, []byte(","))
	}
	l := &e.file.lines
	start, end := l.offset(key.Line), l.offset(value.Line+1)
	alone := len(bytes.TrimSpace(data[start:from])) == 0 && len(bytes.TrimSpace(data[to:end])) == 0
	if end == len(data) && end == l.offset(value.Line)+len(l.bytes(value.Line)) { // the last line has no end
		start = l.offset(key.Line-1) + len(l.bytes(key.Line-1))
	}
	return edit{from: start, to: end}, alone
}

// apply returns the source with the edits.
func (e *editor) apply() []byte {
	slices.SortFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	for _, x := range e.edits {
		if x.from < at {
			continue // two in one place: what is read again tells
		}
		out.Write(e.file.lines.data[at:x.from])
		out.WriteString(x.text)
		at = x.to
	}
	out.Write(e.file.lines.data[at:])
	return out.Bytes()
}

package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// editor edits the text of a file of manifests, so that comments, quotes and layout stay. It parses the
// result and compares it with the file.
type editor struct {
	file *file
	docs []*yaml.Node
	bom  []byte // the byte order mark, or nothing
}

// edit replaces a part of a text, which turns the nodes was into the nodes is.
type edit struct {
	from, to int
	text     string
	was, is  []*yaml.Node
}

// newEditor parses a file. Its findings say if that failed.
func newEditor(path string, data []byte) *editor {
	e := &editor{file: fileOf(path, data)}
	e.file.comments = true
	e.docs = e.file.read()
	e.bom = data[:len(data)-len(e.file.lines.data)]
	return e
}

// fileOf returns a file with the default limits.
func fileOf(path string, data []byte) *file {
	return &file{path: path, lines: lines{data: data}, maxValues: Limits{}.orDefault().Values}
}

// read returns the documents of the file.
func (f *file) read() (docs []*yaml.Node) {
	f.documents(func(doc *yaml.Node) { docs = append(docs, doc) })
	return docs
}

// token returns where a scalar starts and ends in the text, with its quotes. It supports quoted scalars,
// and plain ones on one line, without anchor or tag.
func (e *editor) token(n *yaml.Node) (from, to int, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&^(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return 0, 0, false
	}
	from = e.file.lines.at(n)
	to, ok = e.file.lines.end(n)
	return from, to, ok && from < to && (n.Style != 0 || to-from == len(n.Value))
}

func (e *editor) text(from, to int) string { return string(e.file.lines.data[from:to]) }

// write returns the edit that writes another value in place of a scalar.
func write(n *yaml.Node, from, to int, text, value string) edit {
	is := yaml.Node{Kind: yaml.ScalarNode, Value: value}
	return edit{from, to, text, []*yaml.Node{n}, []*yaml.Node{&is}}
}

// cut returns the edit that removes a member or element, whose scalars it gets, and reports whether that
// removes nothing else. In brackets it also removes a comma: that after the one that leads, or that
// before. Otherwise, it removes whole lines.
func (e *editor) cut(in *yaml.Node, leads bool, scalars ...*yaml.Node) (edit, bool) {
	const space = " \t\r\n"
	from, _, ok := e.token(scalars[0])
	_, to, alsoOK := e.token(scalars[len(scalars)-1])
	data := e.file.lines.data
	switch {
	case !ok || !alsoOK:
		return edit{}, false
	case in.Style&yaml.FlowStyle != 0 && leads:
		var after []byte
		after, ok = bytes.CutPrefix(bytes.TrimLeft(data[to:], space), []byte(","))
		after = bytes.TrimLeft(after, space)
		to, ok = len(data)-len(after), ok && !bytes.HasPrefix(after, []byte("#"))
	case in.Style&yaml.FlowStyle != 0:
		before, found := bytes.CutSuffix(bytes.TrimRight(data[:from], space), []byte(","))
		from, ok = len(before), found
	default:
		from, to, ok = e.wholeLines(from, to)
	}
	return edit{from: from, to: to, was: scalars}, ok
}

// wholeLines returns the lines of a part, and reports whether these hold nothing else but a hyphen.
func (e *editor) wholeLines(from, to int) (start, end int, alone bool) {
	l := &e.file.lines
	first, _ := l.position(from)
	last, _ := l.position(to)
	start, end = l.offset(first), l.offset(last+1)
	alone = strings.Trim(e.text(start, from), " -") == "" && strings.TrimSpace(e.text(to, end)) == ""
	if end == len(l.data) && end == l.endOf(last) && first > 1 { // the last line has no line break
		start = l.endOf(first - 1)
	}
	return start, end, alone
}

// apply returns the file with the edits, and reports whether they change nothing else.
func (e *editor) apply(edits []edit) ([]byte, bool) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	out := bytes.Clone(e.bom)
	at, becomes := 0, map[*yaml.Node][]*yaml.Node{}
	for _, x := range edits {
		if x.from < at {
			return nil, false // two edits of one place
		}
		out = append(append(out, e.file.lines.data[at:x.from]...), x.text...)
		at = x.to
		for _, n := range x.was {
			becomes[n] = nil
		}
		if len(x.is) > 0 {
			becomes[x.was[0]] = x.is
		}
	}
	out = append(out, e.file.lines.data[at:]...)
	after := newEditor("", out)
	return out, !after.file.findings.HasErrors() && slices.EqualFunc(e.docs, after.docs, func(was, is *yaml.Node) bool {
		return same(was, is, becomes) && slices.Equal(commentLines(was), commentLines(is))
	})
}

// commentLines are the lines of all comments at or below a node, sorted.
func commentLines(n *yaml.Node) []string {
	all := strings.FieldsFunc(n.HeadComment+"\n"+n.LineComment+"\n"+n.FootComment, func(r rune) bool { return r == '\n' })
	for _, below := range n.Content {
		all = append(all, commentLines(below)...)
	}
	slices.Sort(all)
	return all
}

// pairOf returns the key and the value of a member, or nil.
func pairOf(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; mapping != nil && mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if key := mapping.Content[i]; key.Kind == yaml.ScalarNode && key.Value == name {
			return key, mapping.Content[i+1]
		}
	}
	return nil, nil
}

// peek returns the value of a member, or nil.
func peek(mapping *yaml.Node, name string) *yaml.Node {
	_, value := pairOf(mapping, name)
	return value
}

func peekText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// ReplaceIn returns the file with another document in place of the object; data is the file as it was
// loaded. Other documents and the style of line breaks stay.
func (o *Object) ReplaceIn(data, text []byte) []byte {
	in := lines{data: data}
	first, last := o.document(&in)
	if documentLine().Match(in.bytes(first)) && !documentLine().Match(text) {
		text = slices.Concat([]byte("---\n"), text)
	}
	return slices.Concat(data[:in.offset(first)], newSource(data).broken(text), data[in.offset(last+1):])
}

// document returns the first and the last line of the object's document: without the line of ---, unless it starts
// there.
func (o *Object) document(in *lines) (first, last int) {
	first, last = o.Line, o.Line
	for first > 0 && !documentLine().Match(in.bytes(first)) {
		first--
	}
	if first != o.Line {
		first++
	}
	for last < in.count() && !documentLine().Match(in.bytes(last+1)) {
		last++
	}
	return first, last
}

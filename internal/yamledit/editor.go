// Package yamledit writes manifests, and edits those of people: only what changes, so that comments, quotes and layout
// stay. It compares each result with what it edited, and refuses an edit that would change more.
package yamledit

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/manifest"
	"trueup/internal/yamltext"
)

// editor edits the text of a file of manifests, so that comments, quotes and layout stay. It parses the
// result and compares it with the file.
type editor struct {
	file *yamltext.File
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
	e := &editor{file: yamltext.NewFile(path, data)}
	e.file.Comments = true
	e.docs = e.file.Nodes()
	e.bom = data[:len(data)-len(e.file.Lines.Data)]
	return e
}

// token returns where a scalar starts and ends in the text, with its quotes. It supports quoted scalars,
// and plain ones on one line, without anchor or tag.
func (e *editor) token(n *yaml.Node) (from, to int, ok bool) {
	if n == nil || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return 0, 0, false
	}
	return e.anchoredToken(n)
}

// anchoredToken is token for a scalar that may have an anchor and a tag, which are not a part of it.
func (e *editor) anchoredToken(n *yaml.Node) (from, to int, ok bool) {
	style := n.Style &^ yaml.TaggedStyle
	if n.Kind != yaml.ScalarNode || style&^(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return 0, 0, false
	}
	from = e.file.Lines.Behind(n)
	to, ok = e.file.Lines.End(n)
	return from, to, ok && from < to && (style != 0 || to-from == len(n.Value))
}

func (e *editor) text(from, to int) string { return string(e.file.Lines.Data[from:to]) }

// writeScalar returns the edit that writes another value in place of a scalar.
func writeScalar(n *yaml.Node, from, to int, text, value string) edit {
	is := yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if n.Kind == yaml.ScalarNode {
		is.Anchor = n.Anchor
	}
	return edit{from, to, text, []*yaml.Node{n}, []*yaml.Node{&is}}
}

// cutElement returns the edit that removes a member or element, whose scalars it gets, and reports whether that
// removes nothing else. In brackets it also removes a comma: that after the one that leads, or that
// before. Otherwise, it removes whole lines.
func (e *editor) cutElement(in *yaml.Node, leads bool, scalars ...*yaml.Node) (edit, bool) {
	const space = " \t\r\n"
	from, _, ok := e.token(scalars[0])
	_, to, alsoOK := e.token(scalars[len(scalars)-1])
	data := e.file.Lines.Data
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
	l := &e.file.Lines
	first, _ := l.Position(from)
	last, _ := l.Position(to)
	start, end = l.Offset(first), l.Offset(last+1)
	alone = strings.Trim(e.text(start, from), " -") == "" && strings.TrimSpace(e.text(to, end)) == ""
	if end == len(l.Data) && end == l.EndOf(last) && first > 1 { // the last line has no line break
		start = l.EndOf(first - 1)
	}
	return start, end, alone
}

// applyEdits returns the file with the edits, and reports whether they change nothing else.
func (e *editor) applyEdits(edits []edit) ([]byte, bool) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	out := bytes.Clone(e.bom)
	at, becomes := 0, map[*yaml.Node][]*yaml.Node{}
	for _, x := range edits {
		if x.from < at {
			return nil, false // two edits of one place
		}
		out = append(append(out, e.file.Lines.Data[at:x.from]...), x.text...)
		at = x.to
		for _, n := range x.was {
			becomes[n] = nil
		}
		if len(x.is) > 0 {
			becomes[x.was[0]] = x.is
		}
	}
	out = append(out, e.file.Lines.Data[at:]...)
	after := newEditor("", out)
	return out, !after.file.Findings.HasErrors() && slices.EqualFunc(e.docs, after.docs, func(was, is *yaml.Node) bool {
		return sameNodes(was, is, becomes) && slices.Equal(commentLines(was), commentLines(is))
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

// Replace returns the file with other documents in place of objects; in has the file as these were loaded from it.
// Other documents and the style of line breaks stay.
func Replace(in *yamltext.Lines, documents map[*manifest.Object][]byte) []byte {
	style := newSource(in.Data)
	byLine := func(a, b *manifest.Object) int { return a.Line - b.Line }
	var out []byte
	at := 0
	for _, o := range slices.SortedFunc(maps.Keys(documents), byLine) {
		text := documents[o]
		first, last := documentOf(o, in)
		if yamltext.BetweenDocuments().Match(in.Bytes(first)) && !yamltext.BetweenDocuments().Match(text) {
			text = slices.Concat([]byte("---\n"), text)
		}
		out = append(append(out, in.Data[at:in.Offset(first)]...), style.breakLines(text)...)
		at = in.Offset(last + 1)
	}
	return append(out, in.Data[at:]...)
}

// documentOf returns the first and the last line of the object's document: without the line of ---, unless it starts
// there.
func documentOf(o *manifest.Object, in *yamltext.Lines) (first, last int) {
	first, last = o.Line, o.Line
	for first > 0 && !yamltext.BetweenDocuments().Match(in.Bytes(first)) {
		first--
	}
	if first != o.Line {
		first++
	}
	for last < in.Count() && !yamltext.BetweenDocuments().Match(in.Bytes(last+1)) {
		last++
	}
	return first, last
}

package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor edits the text of a file of manifests, so that comments, quotes and layout stay. It parses the
// result and compares it with the file.
type editor struct {
	file  *file
	docs  []*yaml.Node
	edits []edit
	bom   []byte // the byte order mark, or nothing
	near  spot   // where offset looked last
}

// spot is a line, a column, and their offset in the text.
type spot struct{ line, column, at int }

type edit struct {
	from, to int
	text     string
}

// newEditor parses a file. Its findings say if that failed.
func newEditor(path string, data []byte) *editor {
	e := &editor{file: fileOf(path, data)}
	e.docs = e.file.read()
	e.bom = data[:len(data)-len(e.file.lines.data)]
	return e
}

// fileOf returns a file with the default limits.
func fileOf(path string, data []byte) *file {
	return &file{path: path, lines: lines{data: data}, maxValues: Limits{}.orDefault().Values}
}

// read returns the documents of the file that are not empty.
func (f *file) read() []*yaml.Node {
	var docs []*yaml.Node
	f.documents(func(doc *yaml.Node) {
		f.start()
		if root := rootOf(doc); root != nil {
			docs = append(docs, root)
		}
	})
	return docs
}

// offset returns the offset of a node. It searches from where it looked last, because a file may be one
// long line.
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

// token returns where a scalar starts and ends in the text, with its quotes. It supports quoted scalars,
// and plain ones on one line, without anchor or tag.
func (e *editor) token(n *yaml.Node) (from, to int, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.Anchor != "" {
		return 0, 0, false
	}
	from = e.offset(n)
	text := e.file.lines.data[from:]
	if n.Style == yaml.DoubleQuotedStyle || n.Style == yaml.SingleQuotedStyle {
		size := quotedSize(text)
		return from, from + size, size > 0
	}
	return from, from + len(n.Value), n.Style == 0 && bytes.HasPrefix(text, []byte(n.Value))
}

func (e *editor) text(from, to int) string { return string(e.file.lines.data[from:to]) }

func (e *editor) replace(from, to int, text string) {
	e.edits = append(e.edits, edit{from, to, text})
}

// cutLines returns the edit that removes the lines of a member or element. It reports whether these have
// nothing else but the text before, such as a hyphen.
func (e *editor) cutLines(from, to int, before string) (edit, bool) {
	l := &e.file.lines
	first, _ := l.position(from)
	last, _ := l.position(to)
	start, end := l.offset(first), l.offset(last+1)
	alone := strings.TrimSpace(e.text(start, from)) == before && strings.TrimSpace(e.text(to, end)) == ""
	if end == len(l.data) && end == l.endOf(last) && first > 1 { // the last line has no line break
		start = l.endOf(first - 1)
	}
	return edit{from: start, to: end}, alone
}

// cutItem returns the edit that removes a member or element in brackets: with the comma after it, or
// with the one before it.
func (e *editor) cutItem(from, to int, commaAfter bool) (edit, bool) {
	const space = " \t\r\n"
	data := e.file.lines.data
	if !commaAfter {
		before := bytes.TrimRight(data[:from], space)
		return edit{from: len(before) - 1, to: to}, bytes.HasSuffix(before, []byte(","))
	}
	after, ok := bytes.CutPrefix(bytes.TrimLeft(data[to:], space), []byte(","))
	return edit{from: from, to: len(data) - len(bytes.TrimLeft(after, space))}, ok
}

func (e *editor) applied() []byte {
	slices.SortFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	for _, x := range e.edits {
		if x.from < at {
			continue // two edits of one place: the comparison finds it
		}
		out.Write(e.file.lines.data[at:x.from])
		out.WriteString(x.text)
		at = x.to
	}
	out.Write(e.file.lines.data[at:])
	return out.Bytes()
}

// edited returns the file with the edits, and reports whether only the expected differences result.
func (e *editor) edited(expected difference) ([]byte, bool) {
	out := e.applied()
	after := fileOf("", out)
	docs := after.read()
	if after.findings.HasErrors() || len(docs) != len(e.docs) {
		return nil, false
	}
	for i, doc := range docs {
		if !expected.isAll(e.docs[i], doc) {
			return nil, false
		}
	}
	return append(bytes.Clone(e.bom), out...), true
}

// difference lists how two versions of a file may differ; values, styles and anchors are otherwise the
// same.
type difference struct {
	// values are the new values of scalars, dropped the removed elements, keys and values, and added the
	// values of the member namespace that mappings gain.
	values  map[*yaml.Node]string
	dropped map[*yaml.Node]bool
	added   map[*yaml.Node]string
	// order allows another order of members. comments requires the same comments, at any node.
	order, comments bool
}

func newDifference() difference {
	return difference{values: map[*yaml.Node]string{}, dropped: map[*yaml.Node]bool{}, added: map[*yaml.Node]string{}}
}

// isAll reports whether two documents differ in nothing else.
func (d difference) isAll(was, is *yaml.Node) bool {
	return d.same(was, is) && (!d.comments || slices.Equal(commentLines(was), commentLines(is)))
}

func (d difference) same(was, is *yaml.Node) bool {
	if want, ok := d.values[was]; ok {
		return is.Kind == yaml.ScalarNode && is.Value == want && is.Anchor == was.Anchor
	}
	if !alike(was, is) {
		return false
	}
	one, other := was.Content, is.Content
	if len(d.dropped) > 0 {
		one = slices.DeleteFunc(slices.Clone(one), func(n *yaml.Node) bool { return d.dropped[n] })
	}
	if namespace, ok := d.added[was]; ok {
		key, value := pairOf(is, "namespace")
		if peekText(value) != namespace {
			return false
		}
		other = slices.DeleteFunc(slices.Clone(other), func(n *yaml.Node) bool { return n == key || n == value })
	}
	if d.order && was.Kind == yaml.MappingNode {
		one, other = byName(one), byName(other)
	}
	return slices.EqualFunc(one, other, d.same)
}

// alike reports whether two nodes are the same, regardless of their content.
func alike(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Style == b.Style && a.Tag == b.Tag && a.Value == b.Value && a.Anchor == b.Anchor
}

func byName(content []*yaml.Node) []*yaml.Node {
	pairs := slices.Collect(slices.Chunk(content, 2))
	slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	return slices.Concat(pairs...)
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
// loaded. Other documents and the style of line breaks stay; comments of the object do not.
func (o *Object) ReplaceIn(data, text []byte) []byte {
	in := lines{data: data}
	first, last := o.Line, o.Line
	for first > 0 && !documentLine().Match(in.bytes(first)) {
		first--
	}
	if first == o.Line {
		text = slices.Concat([]byte("---\n"), text) // the document starts on the line of ---
	} else {
		first++
	}
	for last < in.count() && !documentLine().Match(in.bytes(last+1)) {
		last++
	}
	if newSource(data).crlf {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return slices.Concat(data[:in.offset(first)], text, data[in.offset(last+1):])
}

// Package yamledit writes manifests, and edits those of people: only what changes, so that comments, quotes and layout
// stay. It compares each result with what it edited, and refuses an edit that would change more.
package yamledit

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// editor edits the text of a file of manifests, so that comments, quotes and layout stay. It parses the
// result and compares it with the file.
type editor struct {
	source
	file *manifest.FileState
	docs []*yaml.Node
}

// textEdit replaces a part of a text, which turns the nodes was into the nodes is.
type textEdit struct {
	from, to int
	text     string
	was, is  []*yaml.Node
}

// newEditor parses a file. Its findings say if that failed.
func newEditor(path string, data []byte) *editor {
	e := &editor{source: newSource(data), file: manifest.NewFileState(path, data)}
	e.file.Comments = true
	e.docs = e.file.DocumentNodes()
	return e
}

// scalarRange returns where a scalar starts and ends in the text, with its quotes. It supports quoted scalars,
// and plain ones on one line, without anchor or tag.
func (e *editor) scalarRange(n *yaml.Node) (from, to int, ok bool) {
	if n == nil || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return 0, 0, false
	}
	return e.anchoredScalarRange(n)
}

// anchoredScalarRange is scalarRange for a scalar that may have an anchor and a tag, which are not a part of it.
func (e *editor) anchoredScalarRange(n *yaml.Node) (from, to int, ok bool) {
	style := n.Style &^ yaml.TaggedStyle
	if n.Kind != yaml.ScalarNode || style&^(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return 0, 0, false
	}
	from = e.file.Lines.ValueOffset(n)
	to, ok = e.file.Lines.NodeEnd(n)
	return from, to, ok && from < to && (style != 0 || to-from == len(n.Value))
}

func (e *editor) text(from, to int) string { return string(e.file.Lines.Data[from:to]) }

// scalarEdit returns the edit that writes another value in place of a scalar.
func scalarEdit(n *yaml.Node, from, to int, text, value string) textEdit {
	is := yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if n.Kind == yaml.ScalarNode {
		is.Anchor = n.Anchor
	}
	return textEdit{from, to, text, []*yaml.Node{n}, []*yaml.Node{&is}}
}

// applyEdits returns the file with the edits, and reports whether they change nothing else.
func (e *editor) applyEdits(edits []textEdit) ([]byte, bool) {
	slices.SortFunc(edits, func(a, b textEdit) int { return cmp.Compare(a.from, b.from) })
	out := bytes.Clone(e.mark)
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

// ReplaceDocuments returns the file with other documents in place of objects; in has the file as these were loaded from it.
// Other documents and the style of line breaks stay.
func ReplaceDocuments(in *manifest.LineIndex, documents map[*manifest.Object][]byte) []byte {
	style := newSource(in.Data)
	byLine := func(a, b *manifest.Object) int { return a.Line - b.Line }
	var out []byte
	at := 0
	for _, o := range slices.SortedFunc(maps.Keys(documents), byLine) {
		text := documents[o]
		first, last := documentLines(o, in)
		if manifest.BetweenDocuments().Match(in.Bytes(first)) && !manifest.BetweenDocuments().Match(text) {
			text = slices.Concat([]byte("---\n"), text)
		}
		out = append(append(out, in.Data[at:in.LineStart(first)]...), style.breakLines(text)...)
		at = in.LineStart(last + 1)
	}
	return append(out, in.Data[at:]...)
}

// documentLines returns the first and the last line of the object's document: without the line of ---, unless it starts
// there.
func documentLines(o *manifest.Object, in *manifest.LineIndex) (first, last int) {
	first, last = o.Line, o.Line
	for first > 0 && !manifest.BetweenDocuments().Match(in.Bytes(first)) {
		first--
	}
	if first != o.Line {
		first++
	}
	for last < in.Count() && !manifest.BetweenDocuments().Match(in.Bytes(last+1)) {
		last++
	}
	return first, last
}

// WithValues returns the object's document, and the same with the values of a spec, canonical JSON, in place of its own;
// nil if there are none. It neither adds nor removes fields and elements, so comments and layout stay, and the result may
// still differ from the spec. in has the file as it was loaded.
func WithValues(o *manifest.Object, in *manifest.LineIndex, spec []byte) (was, is []byte) {
	first, last := documentLines(o, in)
	was = bytes.Clone(in.Data[in.LineStart(first):in.LineStart(last+1)]) // the file may be large
	t := valueEditor{editor: newEditor(o.Path, was), now: map[*yaml.Node]string{}}
	for _, doc := range t.docs {
		t.replaceValue(manifest.MemberValue(manifest.RootNode(doc), "spec"), 0, canon.MustDecode(spec), o.Kind.Spec())
	}
	if out, ok := t.applyEdits(t.edits); ok && len(t.edits) > 0 {
		return was, out
	}
	return was, nil
}

// FindLost returns what a document has that is no longer in another: comments, labels and annotations.
func FindLost(was, is []byte) (lost []string) {
	for _, doc := range newEditor("", was).docs {
		if slices.ContainsFunc(commentLines(doc), func(line string) bool { return !bytes.Contains(is, []byte(line)) }) {
			lost = append(lost, "comments")
		}
		for _, name := range []string{"labels", "annotations"} {
			if manifest.MemberValue(manifest.MemberValue(manifest.RootNode(doc), "metadata"), name) != nil {
				lost = append(lost, name)
			}
		}
	}
	return lost
}

// valueEditor collects the edits that write other values.
type valueEditor struct {
	*editor
	edits []textEdit
	// now has the new values of scalars that aliases repeat.
	now map[*yaml.Node]string
}

// replaceValue takes a value in place of a node; owner is the column, from 0, of the key or hyphen before that.
func (t *valueEditor) replaceValue(n *yaml.Node, owner int, v any, f *kind.Field) {
	switch v := v.(type) {
	case map[string]any:
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 { // anchors before their aliases
			key := n.Content[i]
			if below, has := v[key.Value]; has {
				t.replaceValue(n.Content[i+1], key.Column-1, below, kind.DocumentedMember(f, key.Value))
			}
		}
	case []any:
		for i, e := range matchElements(n, v, f) {
			t.replaceValue(e, n.Column-1, v[i], kind.DocumentedItem(f))
		}
	case string:
		t.replaceScalar(n, owner, v, true)
	case nil:
	default:
		t.replaceScalar(n, owner, fmt.Sprint(v), false)
	}
}

// matchElements returns the nodes of the elements of a list, or none if it has another length: those with the same key
// or, for a key that is new, at the same position.
func matchElements(n *yaml.Node, list []any, f *kind.Field) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) != len(list) {
		return nil
	}
	if f == nil || f.List == nil || len(f.List.Key) == 0 {
		return n.Content
	}
	at, keys := map[string]*yaml.Node{}, make([]string, len(list))
	for _, e := range n.Content {
		at[joinKeyFields(f, func(name string) string { return manifest.ScalarText(manifest.MemberValue(e, name)) })] = e
	}
	for i, e := range list {
		keys[i] = joinKeyFields(f, func(name string) string { return canon.TextAt(e, name) })
	}
	nodes := make([]*yaml.Node, len(list))
	for i, key := range keys {
		nodes[i] = cmp.Or(at[key], n.Content[i])
	}
	return nodes
}

// joinKeyFields joins the fields that identify an element.
func joinKeyFields(f *kind.Field, text func(name string) string) (key string) {
	for _, name := range f.List.Key {
		key += text(name) + "\n"
	}
	return key
}

// replaceScalar takes a value, which may be text, in place of a scalar or an alias.
func (t *valueEditor) replaceScalar(n *yaml.Node, owner int, value string, isText bool) {
	if n == nil {
		return
	}
	from, to, ok := t.anchoredScalarRange(n)
	was, text := n.Value, formatInStyle(n, value, isText)
	switch {
	case n.Kind == yaml.AliasNode && n.Alias.Kind == yaml.ScalarNode:
		var changes bool
		if was, changes = t.now[n.Alias]; !changes {
			was = n.Alias.Value
		}
		from = t.file.Lines.NodeOffset(n)
		to, ok = t.file.Lines.NodeEnd(n)
	case n.Kind == yaml.ScalarNode && isBlockScalar(n):
		from, to, text, ok = t.blockReplacement(n, owner, value, text)
	}
	if !ok || was == value {
		return
	}
	t.now[n] = value
	t.edits = append(t.edits, scalarEdit(n, from, to, text, value))
}

// blockReplacement returns where a block scalar is, and the text that takes its place: a block for lines, or else text.
func (t *valueEditor) blockReplacement(n *yaml.Node, owner int, value, text string) (from, to int, out string, ok bool) {
	b, err := newSheet(t.body).findBlock(n, owner)
	if err != nil {
		return 0, 0, "", false
	}
	if lines, isBlock := strings.CutSuffix(value, "\n"); isBlock && inBlock().MatchString(lines) {
		margin := "\n" + strings.Repeat(" ", b.column)
		text = string(t.breakLines([]byte("|" + margin + strings.ReplaceAll(lines, "\n", margin))))
	}
	return t.file.Lines.ValueOffset(n), t.file.Lines.LineEnd(b.last + 1), text, true
}

// formatInStyle returns a value as YAML has it in place of a scalar: in its quotes where these suffice.
func formatInStyle(n *yaml.Node, value string, isText bool) string {
	switch {
	case !isText:
		return value
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && needsNoQuotes().MatchString(value) && manifest.ResolveScalar(value) == manifest.PlainText:
		return value
	case n.Style&yaml.SingleQuotedStyle != 0 && !strings.ContainsFunc(value, func(r rune) bool { return r == '\n' || diag.IsInvisible(r) }):
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strconv.Quote(value)
}

var (
	// needsNoQuotes matches texts that need no quotes anywhere.
	needsNoQuotes = diag.Pattern(`^[A-Za-z_][A-Za-z0-9_./-]*$`)
	// inBlock matches lines that a block scalar has as they are.
	inBlock = diag.Pattern(`^[^\s][^\n]*(\n[ -~]*)*$`)
)

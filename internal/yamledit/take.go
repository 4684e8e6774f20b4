package yamledit

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/yamltext"
)

// WithValues returns the object's document, and the same with the values of a spec, canonical JSON, in place of its own;
// nil if there are none. It neither adds nor removes fields and elements, so comments and layout stay, and the result may
// still differ from the spec. in has the file as it was loaded.
func WithValues(o *manifest.Object, in *yamltext.Lines, spec []byte) (was, is []byte) {
	first, last := documentOf(o, in)
	was = bytes.Clone(in.Data[in.Offset(first):in.Offset(last+1)]) // the file may be large
	t := taking{editor: newEditor(o.Path, was), now: map[*yaml.Node]string{}}
	for _, doc := range t.docs {
		t.value(yamltext.Member(yamltext.Root(doc), "spec"), 0, canon.MustDecode(spec), o.Kind.Spec())
	}
	if out, ok := t.applyEdits(t.edits); ok && len(t.edits) > 0 {
		return was, out
	}
	return was, nil
}

// Lost returns what a document has that is no longer in another: comments, labels and annotations.
func Lost(was, is []byte) (lost []string) {
	for _, doc := range newEditor("", was).docs {
		if slices.ContainsFunc(commentLines(doc), func(line string) bool { return !bytes.Contains(is, []byte(line)) }) {
			lost = append(lost, "comments")
		}
		for _, name := range []string{"labels", "annotations"} {
			if yamltext.Member(yamltext.Member(yamltext.Root(doc), "metadata"), name) != nil {
				lost = append(lost, name)
			}
		}
	}
	return lost
}

// taking collects the edits that write other values.
type taking struct {
	*editor
	edits []edit
	// now has the new values of scalars that aliases repeat.
	now map[*yaml.Node]string
}

// value takes a value in place of a node; owner is the column, from 0, of the key or hyphen before that.
func (t *taking) value(n *yaml.Node, owner int, v any, f *kind.Field) {
	switch v := v.(type) {
	case map[string]any:
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 { // anchors before their aliases
			key := n.Content[i]
			if below, has := v[key.Value]; has {
				t.value(n.Content[i+1], key.Column-1, below, kind.Member(f, key.Value))
			}
		}
	case []any:
		for i, e := range elementsFor(n, v, f) {
			t.value(e, n.Column-1, v[i], kind.ItemOf(f))
		}
	case string:
		t.scalar(n, owner, v, true)
	case nil:
	default:
		t.scalar(n, owner, fmt.Sprint(v), false)
	}
}

// elementsFor returns the nodes of the elements of a list, or none if it has another length: those with the same key
// or, for a key that is new, at the same position.
func elementsFor(n *yaml.Node, list []any, f *kind.Field) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) != len(list) {
		return nil
	}
	if f == nil || f.List == nil || len(f.List.Key) == 0 {
		return n.Content
	}
	at, keys := map[string]*yaml.Node{}, make([]string, len(list))
	for _, e := range n.Content {
		at[keyOf(f, func(name string) string { return yamltext.Text(yamltext.Member(e, name)) })] = e
	}
	for i, e := range list {
		members, _ := e.(map[string]any)
		keys[i] = keyOf(f, func(name string) string { text, _ := members[name].(string); return text })
	}
	nodes := make([]*yaml.Node, len(list))
	for i, key := range keys {
		nodes[i] = cmp.Or(at[key], n.Content[i])
	}
	return nodes
}

// keyOf joins the fields that identify an element.
func keyOf(f *kind.Field, text func(name string) string) (key string) {
	for _, name := range f.List.Key {
		key += text(name) + "\n"
	}
	return key
}

// scalar takes a value, which may be text, in place of a scalar or an alias.
func (t *taking) scalar(n *yaml.Node, owner int, value string, isText bool) {
	if n == nil {
		return
	}
	from, to, ok := t.anchoredToken(n)
	was, text := n.Value, inStyle(n, value, isText)
	switch {
	case n.Kind == yaml.AliasNode && n.Alias.Kind == yaml.ScalarNode:
		var changes bool
		if was, changes = t.now[n.Alias]; !changes {
			was = n.Alias.Value
		}
		from = t.file.Lines.At(n)
		to, ok = t.file.Lines.End(n)
	case n.Kind == yaml.ScalarNode && isBlockText(n):
		from, to, text, ok = t.block(n, owner, value, text)
	}
	if !ok || was == value {
		return
	}
	t.now[n] = value
	t.edits = append(t.edits, writeScalar(n, from, to, text, value))
}

// block returns where a block scalar is, and the text that takes its place: a block for lines, or else text.
func (t *taking) block(n *yaml.Node, owner int, value, text string) (from, to int, out string, ok bool) {
	style := newSource(t.file.Lines.Data)
	b, err := newSheet(style.body).block(n, owner)
	if err != nil {
		return 0, 0, "", false
	}
	if lines, isBlock := strings.CutSuffix(value, "\n"); isBlock && inBlock().MatchString(lines) {
		margin := "\n" + strings.Repeat(" ", b.column)
		text = string(style.breakLines([]byte("|" + margin + strings.ReplaceAll(lines, "\n", margin))))
	}
	return t.file.Lines.Behind(n), t.file.Lines.EndOf(b.last + 1), text, true
}

// inStyle returns a value as YAML has it in place of a scalar: in its quotes where these suffice.
func inStyle(n *yaml.Node, value string, isText bool) string {
	switch {
	case !isText:
		return value
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && needsNoQuotes().MatchString(value) && yamltext.Resolve(value) == yamltext.PlainText:
		return value
	case n.Style&yaml.SingleQuotedStyle != 0 && !strings.ContainsFunc(value, func(r rune) bool { return r == '\n' || diag.Unseen(r) }):
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strconv.Quote(value)
}

var (
	// needsNoQuotes matches texts that need no quotes anywhere.
	needsNoQuotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`) })
	// inBlock matches lines that a block scalar has as they are.
	inBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s][^\n]*(\n[ -~]*)*$`) })
)

package yamledit

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/yamltext"
)

// WithValues returns the object's document, and the same with the values of a spec, canonical JSON, in place of its own;
// nil if there are none. It neither adds nor removes fields and elements, so comments and layout stay, and the result may
// still differ from the spec. data is the file as it was loaded.
func WithValues(o *manifest.Object, data, spec []byte) (was, is []byte) {
	in := yamltext.Lines{Data: data}
	first, last := documentOf(o, &in)
	was = bytes.Clone(data[in.Offset(first):in.Offset(last+1)]) // the file may be large
	t := taking{editor: newEditor(o.Path, was)}
	for _, doc := range t.docs {
		t.value(yamltext.Member(yamltext.Root(doc), "spec"), canon.MustDecode(spec), o.Kind.Spec())
	}
	if out, ok := t.apply(t.edits); ok && len(t.edits) > 0 {
		return was, out
	}
	return was, nil
}

// taking collects the edits that write other values.
type taking struct {
	*editor
	edits []edit
}

func (t *taking) value(n *yaml.Node, v any, f *kind.Field) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if at := yamltext.Member(n, name); at != nil {
				t.value(at, below, kind.Member(f, name))
			}
		}
	case []any:
		for i, e := range elementsFor(n, v, f) {
			t.value(e, v[i], kind.ItemOf(f))
		}
	case string:
		t.scalar(n, v, strconv.Quote(v))
	case nil:
	default:
		t.scalar(n, fmt.Sprint(v), fmt.Sprint(v))
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

// scalar writes a value, which is text in YAML, in the quotes of the old one.
func (t *taking) scalar(n *yaml.Node, value, text string) {
	from, to, ok := t.token(n)
	if !ok || n.Value == value {
		return
	}
	t.edits = append(t.edits, write(n, from, to, inQuotesOf(n, text), value))
}

// inQuotesOf returns a text of YAML, which may be in double quotes, in the quotes of a scalar where these suffice.
func inQuotesOf(n *yaml.Node, text string) string {
	value := strings.Trim(text, `"`)
	switch {
	case text == value:
	case n.Style == 0 && needsNoQuotes().MatchString(value) && yamltext.Resolve(value) == yamltext.PlainText:
		return value
	case n.Style&yaml.SingleQuotedStyle != 0:
		return "'" + value + "'"
	}
	return text
}

// needsNoQuotes matches texts that need no quotes anywhere.
var needsNoQuotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`) })

package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Draft is a manifest for Write.
type Draft struct {
	Kind *kind.Kind
	// APIVersion is an alias of the kind's, or empty.
	APIVersion string
	Name       string
	// Namespace may be empty.
	Namespace string
	// Spec is JSON.
	Spec []byte
	// Schema is the JSON Schema for editors, relative to the file, or empty.
	Schema string
	// Head are the lines of a comment above the manifest.
	Head []string
	// Silence is the reason in the comments that silence warnings about fields and values that the
	// schema does not know; empty writes no comments.
	Silence string
}

// Write returns the text of manifests as documents of one file, in the layout of Format: fields in the
// order of the schema, and quotes only where needed.
func Write(drafts ...Draft) ([]byte, error) {
	var out bytes.Buffer
	for i, d := range drafts {
		if i > 0 {
			out.WriteString("---\n")
		}
		if err := d.write(&out); err != nil {
			return nil, fmt.Errorf("write %s/%s: %w", d.Kind.Name, d.Name, err)
		}
	}
	return out.Bytes(), nil
}

func (d Draft) write(out *bytes.Buffer) error {
	if d.Schema != "" {
		fmt.Fprintf(out, "# yaml-language-server: $schema=%s\n", d.Schema)
	}
	for _, line := range d.Head {
		out.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	spec, err := canon.Decode(d.Spec)
	if err != nil {
		return err
	}
	metadata := map[string]any{"name": d.Name}
	if d.Namespace != "" {
		metadata["namespace"] = d.Namespace
	}
	root := node(map[string]any{
		"apiVersion": cmp.Or(d.APIVersion, d.Kind.APIVersion), "kind": d.Kind.Name, "metadata": metadata, "spec": spec,
	}, d.Kind.Root())
	if d.Silence != "" {
		silenceUnknown(root, root, d.Kind.Root(), d.Silence)
	}
	return encode(out, root)
}

// Snippet returns a JSON value as YAML in the layout of Write. f is the field of the value, or nil.
func Snippet(value any, f *kind.Field) (string, error) {
	var out bytes.Buffer
	if err := encode(&out, node(value, f)); err != nil {
		return "", fmt.Errorf("write a part of a manifest: %w", err)
	}
	return out.String(), nil
}

func encode(out *bytes.Buffer, n *yaml.Node) error {
	enc := yaml.NewEncoder(out)
	enc.SetIndent(levelIndent)
	if err := enc.Encode(n); err != nil {
		return err
	}
	return enc.Close()
}

// node converts a JSON value to YAML.
func node(v any, f *kind.Field) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		names := slices.Sorted(maps.Keys(v))
		if f != nil {
			slices.SortStableFunc(names, func(a, b string) int { return inOrder(f, a) - inOrder(f, b) })
		}
		for _, name := range names {
			n.Content = append(n.Content, textNode(name), node(v[name], member(f, name)))
		}
		return inLines(n)
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v {
			n.Content = append(n.Content, node(e, itemOf(f)))
		}
		return inLines(n)
	case string:
		return textNode(v)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)} // a boolean or number
}

// inLines sets the style of a collection: brackets if it is empty.
func inLines(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// silenceUnknown adds a comment at each field and value that the schema does not have: after a scalar of
// one line, above anything else. at is the node that a comment above belongs to.
func silenceUnknown(at, n *yaml.Node, f *kind.Field, reason string) {
	if f == nil {
		return
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if len(f.Seen) > 0 && !slices.Contains(f.Seen, n.Value) {
			silence(at, n, ruleUnknownValue, reason)
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			silenceUnknown(e, e, f.Item, reason)
		}
	case yaml.MappingNode:
		silenceMembers(n, f, reason)
	case yaml.AliasNode, yaml.DocumentNode: // a draft has none
	}
}

func silenceMembers(n *yaml.Node, f *kind.Field, reason string) {
	if f.Fields == nil {
		return
	}
	object := map[string]any{f.Discriminator: peekText(peek(n, f.Discriminator))}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if f.Knows(key.Value, object) {
			silenceUnknown(key, value, f.Fields[key.Value], reason)
		} else {
			silence(key, value, ruleUnknownField, reason)
		}
	}
}

func silence(at, n *yaml.Node, rule, reason string) {
	comment := "# " + markName + "ignore " + rule + " " + reason
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		n.LineComment = comment
	} else {
		at.HeadComment = comment
	}
}

// textNode is a text, in quotes if some YAML parser would read it as something else.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if resolve(s) != plainText || s == "=" || strings.ContainsAny(s, "\u2028\u2029") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// inOrder returns the position of a field in the schema. Unknown fields come last.
func inOrder(f *kind.Field, name string) int {
	if at := slices.Index(f.Names, name); at >= 0 {
		return at
	}
	return len(f.Names)
}

func member(f *kind.Field, name string) *kind.Field {
	if f == nil {
		return nil
	}
	return f.Fields[name]
}

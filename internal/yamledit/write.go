package yamledit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// Draft is a manifest for WriteManifest.
type Draft struct {
	Kind *kind.Kind
	Name string
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

// WriteManifest returns the text of a manifest, in the layout of Format: fields in the order of the schema, and quotes only
// where needed.
func WriteManifest(d Draft) ([]byte, error) {
	var out bytes.Buffer
	if err := d.write(&out); err != nil {
		return nil, fmt.Errorf("write %s/%s: %w", d.Kind.Name, d.Name, err)
	}
	return bytes.Clone(out.Bytes()), nil // without spare room: there may be many
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
	return encodeValue(out, map[string]any{
		"apiVersion": d.Kind.APIVersion, "kind": d.Kind.Name, "metadata": metadata, "spec": spec,
	}, d.Kind.Root(), d.Silence)
}

// EncodeSnippet returns a JSON value as YAML in the layout of WriteManifest. f is the field of the value, or nil.
func EncodeSnippet(value any, f *kind.Field) (string, error) {
	var out bytes.Buffer
	if err := encodeValue(&out, value, f, ""); err != nil {
		return "", fmt.Errorf("write a part of a manifest: %w", err)
	}
	return out.String(), nil
}

// encodeValue writes a JSON value as YAML. With a reason, it silences warnings about fields and values that f
// does not have.
func encodeValue(out *bytes.Buffer, value any, f *kind.Field, reason string) error {
	enc := yaml.NewEncoder(out)
	enc.SetIndent(levelIndent)
	if err := enc.Encode(nodeBuilder{reason}.valueNode(value, f)); err != nil {
		return err
	}
	return enc.Close()
}

// nodeBuilder converts JSON values to YAML. silence is the reason of its comments, or empty for none.
type nodeBuilder struct{ silence string }

func (d nodeBuilder) valueNode(v any, f *kind.Field) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := v.(type) {
	case map[string]any:
		n.Kind, n.Content = yaml.MappingNode, d.memberNodes(v, f)
	case []any:
		n.Kind = yaml.SequenceNode
		for _, e := range v {
			item := d.valueNode(e, kind.DocumentedItem(f))
			d.silenceUnseen(item, item, kind.DocumentedItem(f))
			n.Content = append(n.Content, item)
		}
	case string:
		return textNode(v)
	case nil:
		n.Value = "null"
	default:
		n.Value = fmt.Sprint(v) // a boolean or number
	}
	if n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func (d nodeBuilder) memberNodes(v map[string]any, f *kind.Field) (all []*yaml.Node) {
	names := slices.Sorted(maps.Keys(v))
	if f != nil {
		slices.SortStableFunc(names, func(a, b string) int { return schemaPosition(f, a) - schemaPosition(f, b) })
	}
	for _, name := range names {
		key, below := textNode(name), kind.DocumentedMember(f, name)
		value := d.valueNode(v[name], below)
		if f != nil && f.Fields != nil && !f.KnowsMember(name, v) {
			d.silenceRule(key, value, manifest.RuleUnknownField)
		}
		d.silenceUnseen(key, value, below)
		all = append(all, key, value)
	}
	return all
}

// silenceUnseen silences the warning about a value that the schema does not show. at is the node that a
// comment above belongs to.
func (d nodeBuilder) silenceUnseen(at, n *yaml.Node, f *kind.Field) {
	if n.Kind == yaml.ScalarNode && f != nil && len(f.Seen) > 0 && !slices.Contains(f.Seen, n.Value) {
		d.silenceRule(at, n, manifest.RuleUnknownValue)
	}
}

// silenceRule silences a rule: after a scalar of one line, above anything else.
func (d nodeBuilder) silenceRule(at, n *yaml.Node, rule string) {
	comment := "# " + manifest.MarkName + "ignore " + rule + " " + d.silence
	switch {
	case d.silence == "":
	case n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n"):
		n.LineComment = comment
	default:
		at.HeadComment = comment
	}
}

// textNode is a text, in quotes if some YAML parser would read it as something else, or not at all: a block must not
// start with a tab.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if manifest.ResolveScalar(s) != manifest.PlainText || s == "=" || strings.ContainsAny(s, "\u2028\u2029") || strings.HasPrefix(strings.TrimLeft(s, " \n"), "\t") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// schemaPosition returns the position of a field in the schema. Unknown fields come last.
func schemaPosition(f *kind.Field, name string) int {
	if at := slices.Index(f.Names, name); at >= 0 {
		return at
	}
	return len(f.Names)
}

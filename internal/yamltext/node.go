package yamltext

import (
	"go.yaml.in/yaml/v3"
)

// Root returns the value of a document, or nil for one that holds only comments.
func Root(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	if n := doc.Content[0]; !IsEmpty(n) {
		return n
	}
	return nil
}

// IsEmpty reports whether a node is a value that is left out.
func IsEmpty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && IsPlain(n) && n.Value == "" }

// IsPlain reports whether a scalar has neither quotes nor a tag, and is no block.
func IsPlain(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	return n.Style&quoted == 0
}

// IsMerge reports whether a key is <<.
func IsMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

// Pair returns the key and the value of a member, or nil.
func Pair(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; mapping != nil && mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if key := mapping.Content[i]; key.Kind == yaml.ScalarNode && key.Value == name {
			return key, mapping.Content[i+1]
		}
	}
	return nil, nil
}

// Member returns the value of a member, or nil.
func Member(mapping *yaml.Node, name string) *yaml.Node {
	_, value := Pair(mapping, name)
	return value
}

// Text returns the text of a scalar, "" for anything else and nil.
func Text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

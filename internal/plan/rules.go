package plan

import (
	"strings"

	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Rules returns how specs of the kind are compared: what the schema says, and
// above it what the project's overrides say.
func Rules(k *kind.Kind, overrides []Override) *merge.Rules {
	rules := fromField(k.Spec())
	for _, o := range overrides {
		if strings.EqualFold(o.Kind, k.Name) {
			override(rules, o)
		}
	}
	return rules
}

func fromField(f *kind.Field) *merge.Rules {
	r := &merge.Rules{ReadOnly: f.ReadOnly, Discriminator: f.Discriminator}
	switch f.Type {
	case kind.Text:
		r.Type = merge.Text
	case kind.Bool:
		r.Type = merge.Bool
	case kind.Number:
		r.Type = merge.Number
	case kind.AnyType, kind.ObjectType, kind.ListType:
	}
	if f.List != nil {
		r.Key, r.Join, r.Set = f.List.Key, f.List.Join, !f.List.Ordered
	}
	if len(f.Fields) > 0 {
		r.Fields = make(map[string]*merge.Rules, len(f.Fields))
		for name, child := range f.Fields {
			r.Fields[name] = fromField(child)
		}
	}
	if f.Item != nil {
		r.Item = fromField(f.Item)
	}
	return r
}

// override lays an override over what stands at its path.
func override(root *merge.Rules, o Override) {
	node := nodeAt(root, o.Path)
	node.Ignore = node.Ignore || o.Ignore
	node.ReadOnly = node.ReadOnly || o.ReadOnly
	if o.Order != "" {
		node.Set = o.Order == "set"
	}
	if len(o.Key) > 0 {
		node.Key = o.Key
		if node.Join == "" {
			node.Join = ":"
		}
	}
	switch o.Type {
	case "text":
		node.Type = merge.Text
	case "boolean":
		node.Type = merge.Bool
	case "number":
		node.Type = merge.Number
	}
}

// nodeAt walks to a path, making nodes that the schema does not have. Lists are
// stepped through: the path of a server's weight is spec.upstreams.servers.weight.
func nodeAt(root *merge.Rules, path string) *merge.Rules {
	node := root
	path = strings.NewReplacer("[]", "", "[*]", "").Replace(path)
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "spec."), ".") {
		for node.Item != nil {
			node = node.Item
		}
		if node.Fields == nil {
			node.Fields = map[string]*merge.Rules{}
		}
		if node.Fields[step] == nil {
			node.Fields[step] = &merge.Rules{}
		}
		node = node.Fields[step]
	}
	return node
}

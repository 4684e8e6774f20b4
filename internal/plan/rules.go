package plan

import (
	"strings"

	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Rules returns how specs of the kind are compared, by the schema and the project's overrides.
func Rules(k *kind.Kind, overrides []Override) *merge.Rules {
	rules := fromField(k.Spec())
	for _, o := range overrides {
		if strings.EqualFold(o.Kind, k.Name) && len(o.Undocumented) == 0 {
			override(rules, o)
		}
	}
	return rules
}

// tableOfTypes and tableOfTypeNames are the types of scalars in the schema and in overrides.
var (
	tableOfTypes     = map[kind.Type]merge.Type{kind.Text: merge.Text, kind.Bool: merge.Bool, kind.Number: merge.Number}
	tableOfTypeNames = map[string]merge.Type{"text": merge.Text, "boolean": merge.Bool, "number": merge.Number}
)

func fromField(f *kind.Field) *merge.Rules {
	r := &merge.Rules{Type: tableOfTypes[f.Type], ReadOnly: f.ReadOnly, Discriminator: f.Discriminator}
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
	node.Omit = node.Omit || o.Omit
	if o.Order != "" {
		node.Set = o.Order == "set"
	}
	if o.Key != nil {
		node.Key = o.Key
		// By position means that the order counts.
		node.Set = node.Set && len(o.Key) > 0
		if node.Join == "" {
			node.Join = ":"
		}
	}
	if t, ok := tableOfTypeNames[o.Type]; ok {
		node.Type = t
	}
}

// nodeAt walks to a path, through lists, and makes nodes that the schema does not have.
func nodeAt(root *merge.Rules, path string) *merge.Rules {
	node := root
	for _, step := range pathSteps(path) {
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

// pathSteps are the fields that the path of an override goes through.
func pathSteps(path string) []string {
	path = strings.NewReplacer("[]", "", "[*]", "").Replace(path)
	return strings.Split(strings.TrimPrefix(path, "spec."), ".")
}

// Place returns the place of the override in its canonical form: CDN spec.tls.
func (o Override) Place() string {
	name := o.Kind
	if k, ok := kind.Named(o.Kind); ok {
		name = k.Name
	}
	return name + " spec." + strings.Join(pathSteps(o.Path), ".")
}

// HidesDocumented reports whether an override leaves out a field that the platform's document
// describes and that git can set, also a key that the user names, such as a header.
func (o Override) HidesDocumented() bool {
	k, ok := kind.Named(o.Kind)
	if !ok || !o.Ignore && !o.ReadOnly && !o.Omit {
		return false
	}
	field := k.Spec()
	for _, step := range pathSteps(o.Path) {
		for field.Item != nil {
			field = field.Item
		}
		next := field.Fields[step]
		if next == nil {
			return field.Open || field.Any != nil
		}
		field = next
	}
	return !field.ReadOnly
}

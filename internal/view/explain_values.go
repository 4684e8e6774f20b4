package view

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// ObjectValues is what an object has at a path.
type ObjectValues struct {
	Key string `json:"object"`
	// Git is FILE:LINE of the manifest, empty if there is none. Live says whether the object is live; it
	// is nil if nobody looked.
	Git    string       `json:"git,omitempty"`
	Live   *bool        `json:"live,omitempty"`
	Values []FieldValue `json:"values"`
}

// FieldValue has what git and live have at a path. It is nil for a field that is absent or null.
type FieldValue struct {
	Path string `json:"path"`
	// Place is FILE:LINE of git's value.
	Place string `json:"place,omitempty"`
	Git   any    `json:"git"`
	Live  any    `json:"live"`
	// Field gives the order of fields below.
	Field *kind.Field `json:"-"`
}

// valueAtPath is a value of a tree. The elements of lists in its path are names in shown, and indices in at.
type valueAtPath struct {
	shown, at string
	value     any
	field     *kind.Field
}

// IsPattern reports whether the name stands for several objects.
func (t Topic) IsPattern() bool { return strings.Contains(t.Name, "*") }

// ReadValues returns what the topic's object, or each one that matches its pattern, has in git, and in live if it is not nil.
// Sensitive values are hidden.
func (t Topic) ReadValues(set *manifest.Set, ws kind.Workspace, live map[string]kind.LiveObject) (all []*ObjectValues, err error) {
	wanted, known := kind.Key{Kind: t.Kind.Name, Name: t.Name}, kind.KeysOf(set.Objects)
	if t.IsPattern() && t.IsWhole() {
		return nil, fmt.Errorf("%s names no field: write one, such as %s.spec", wanted, t.asked)
	}
	keys := slices.Clone(known)
	for name := range live {
		keys = append(keys, kind.Key{Kind: t.Kind.Name, Name: name})
	}
	slices.SortFunc(keys, func(a, b kind.Key) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range slices.Compact(keys) {
		matches, _ := path.Match(t.Name, key.Name)
		if key != wanted && (key.Kind != wanted.Kind || !t.IsPattern() || !matches) {
			continue
		}
		all = append(all, t.readObject(key, set.Find(key), ws, live))
	}
	switch hint := diag.DidYouMean(wanted.String(), diag.MapList(known, kind.Key.String)); {
	case all != nil:
		return all, nil
	case t.IsPattern():
		return nil, fmt.Errorf("there is no manifest of %s", wanted)
	case live == nil:
		return nil, fmt.Errorf("there is no manifest of %s%s", wanted, hint)
	default:
		return nil, fmt.Errorf("%s is neither in git nor live%s", wanted, hint)
	}
}

// readObject returns what one object has. o is its manifest, or nil.
func (t Topic) readObject(key kind.Key, o *manifest.Object, ws kind.Workspace, live map[string]kind.LiveObject) *ObjectValues {
	out := &ObjectValues{Key: key.String()}
	shown := func(f valueAtPath) any {
		return kind.NewRedactor(ws, key).RedactAt(strings.TrimPrefix(f.shown, "spec."), f.value)
	}
	if o != nil {
		out.Git = diag.Place(o.Path, o.Line)
		out.addValues(t, o.Spec, nil, func(v *FieldValue, f valueAtPath) {
			v.Place, v.Git = o.At(f.at), shown(f)
		})
	}
	object, isLive := live[key.Name]
	if live != nil {
		out.Live = &isLive
	}
	out.addValues(t, object.Spec, object.Status, func(v *FieldValue, f valueAtPath) { v.Live = shown(f) })
	return out
}

// addValues adds the values of an object, which is canonical JSON, to those that are there.
func (o *ObjectValues) addValues(t Topic, spec, status []byte, set func(*FieldValue, valueAtPath)) {
	if t.IsWhole() {
		return
	}
	object := map[string]any{}
	for name, text := range map[string][]byte{"spec": spec, "status": status} {
		if text != nil {
			object[name] = canon.MustDecode(text)
		}
	}
	steps, _ := kind.SplitPath(t.path)
	for _, f := range followSteps(valueAtPath{value: object, field: t.root}, steps) {
		i := slices.IndexFunc(o.Values, func(other FieldValue) bool { return other.Path == f.shown })
		if i < 0 {
			i = len(o.Values)
			o.Values = append(o.Values, FieldValue{Path: f.shown, Field: f.field})
		}
		set(&o.Values[i], f)
	}
}

// followSteps follows steps from a value. Where a step names no element of a list, it follows all of them.
func followSteps(from valueAtPath, steps []string) []valueAtPath {
	if len(steps) == 0 {
		return []valueAtPath{from}
	}
	from.field = cmp.Or(from.field, &kind.Field{})
	switch v := from.value.(type) {
	case []any:
		return followElements(from, v, steps)
	case map[string]any:
		name, _ := kind.StepName(steps[0])
		if value, ok := v[name]; ok {
			return followSteps(valueAtPath{kind.JoinField(from.shown, name), kind.JoinField(from.at, name), value, from.field.Fields[name]}, steps[1:])
		}
	}
	return nil
}

func followElements(from valueAtPath, list []any, steps []string) (found []valueAtPath) {
	wanted, isNamed := kind.StepName(steps[0])
	if isNamed {
		steps = steps[1:]
	}
	for i, e := range list {
		index := strconv.Itoa(i)
		name, last := from.field.List.NameOf(e)
		if isNamed && !slices.Contains([]string{"", name, last, index}, wanted) {
			continue
		}
		if name = cmp.Or(name, index); from.field.List != nil {
			name = kind.QuoteElement(from.field.List.Key, name)
		}
		found = append(found, followSteps(valueAtPath{from.shown + "[" + name + "]", from.at + "[" + index + "]", e, from.field.Item}, steps)...)
	}
	return found
}

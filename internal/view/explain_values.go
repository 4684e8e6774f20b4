package view

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// ReadAllValues returns what each object that matches the topic's pattern has in git, and in live if it is not nil.
func (t Topic) ReadAllValues(set *manifest.Set, ws kind.Workspace, live map[string]kind.LiveObject) (all []*ObjectValues, err error) {
	pattern := kind.Key{Kind: t.Kind.Name, Name: t.Name}
	if t.IsWhole() {
		return nil, fmt.Errorf("%s names no field: write one, such as %s.spec", pattern, t.asked)
	}
	names := slices.Collect(maps.Keys(live))
	for _, o := range set.Objects {
		if o.Kind == t.Kind {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if is, err := path.Match(t.Name, name); err != nil || !is {
			continue
		}
		var get func() (kind.LiveObject, error)
		if live != nil {
			get = func() (kind.LiveObject, error) {
				if o, is := live[name]; is {
					return o, nil
				}
				return kind.LiveObject{}, notLiveError{}
			}
		}
		one := t
		one.Name = name
		o, err := one.ReadValues(set, ws, get)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	if all == nil {
		err = fmt.Errorf("there is no manifest of %s", pattern)
	}
	return all, err
}

// notLiveError is the error for an object that a list of live objects lacks.
type notLiveError struct{}

func (notLiveError) Error() string  { return "it is not live" }
func (notLiveError) NotFound() bool { return true }

// ReadValues returns what the topic's object has in git, and in live if get is not nil. Sensitive values are
// hidden.
func (t Topic) ReadValues(set *manifest.Set, ws kind.Workspace, get func() (kind.LiveObject, error)) (*ObjectValues, error) {
	key := kind.Key{Kind: t.Kind.Name, Name: t.Name}
	out := &ObjectValues{Key: key.String()}
	shown := func(f valueAtPath) any {
		return kind.NewRedactor(ws, key).RedactAt(strings.TrimPrefix(f.shown, "spec."), f.value)
	}
	o := set.Find(key)
	names := diag.MapList(kind.KeysOf(set.Objects), kind.Key.String)
	if o != nil {
		out.Git = fmt.Sprintf("%s:%d", o.Path, o.Line)
		if err := out.addValues(t, o.Spec, nil, func(v *FieldValue, f valueAtPath) {
			line, _ := o.Position(f.at)
			v.Place, v.Git = fmt.Sprintf("%s:%d", o.Path, line), shown(f)
		}); err != nil {
			return nil, err
		}
	}
	if get == nil {
		if o == nil {
			return nil, fmt.Errorf("there is no manifest of %s%s", key, diag.DidYouMean(out.Key, names))
		}
		return out, nil
	}
	if !t.Kind.Documents(kind.Get) {
		return nil, fmt.Errorf("the platform has no way to read a %s", t.Kind.Name)
	}
	object, err := get()
	isLive := err == nil
	out.Live = &isLive
	var missing interface{ NotFound() bool }
	switch notFound := errors.As(err, &missing) && missing.NotFound(); {
	case notFound && o == nil:
		return nil, fmt.Errorf("%s is neither in git nor live%s", key, diag.DidYouMean(out.Key, names))
	case notFound:
		return out, nil
	case err != nil:
		return nil, err
	}
	return out, out.addValues(t, object.Spec, object.Status, func(v *FieldValue, f valueAtPath) { v.Live = shown(f) })
}

// addValues adds the values of an object, which is canonical JSON, to those that are there.
func (o *ObjectValues) addValues(t Topic, spec, status []byte, set func(*FieldValue, valueAtPath)) error {
	if t.path == "" {
		return nil
	}
	object := map[string]any{}
	for name, text := range map[string][]byte{"spec": spec, "status": status} {
		if text == nil {
			continue
		}
		tree, err := canon.Decode(text)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
		object[name] = tree
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
	return nil
}

// followSteps follows steps from a value. Where a step names no element of a list, it follows all of them.
func followSteps(from valueAtPath, steps []string) []valueAtPath {
	if len(steps) == 0 {
		return []valueAtPath{from}
	}
	if from.field == nil {
		from.field = &kind.Field{}
	}
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

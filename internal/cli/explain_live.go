package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// objectValues is what an object has at a path.
type objectValues struct {
	Object string `json:"object"`
	// Git is FILE:LINE of the manifest, empty where git has none; Live says
	// whether it is live, and is absent where that was not looked at.
	Git    string       `json:"git,omitempty"`
	Live   *bool        `json:"live,omitempty"`
	Values []pathValues `json:"values"`
}

// pathValues are the two values of a path. One that is not there is nil, as a null
// is.
type pathValues struct {
	Path string `json:"path"`
	// Place is FILE:LINE of git's value.
	Place string `json:"place,omitempty"`
	Git   any    `json:"git"`
	Live  any    `json:"live"`
	// field is that of the path, for the order of what is below it.
	field *kind.Field
}

// placed is a value of a tree: shown is its path with the names of elements, and at
// the one with their indices.
type placed struct {
	shown, at string
	value     any
	field     *kind.Field
}

// valuesOf looks the path up in the object's manifest, and in what is live.
func (a *app) valuesOf(ctx context.Context, t topic, live bool) (*objectValues, error) {
	key := kind.Key{Kind: t.kind.Name, Name: t.name}
	out := &objectValues{Object: key.String()}
	o := t.l.Set.Find(key)
	var names []string
	for _, other := range t.l.Set.Objects {
		names = append(names, other.Key().String())
	}
	if o == nil && !live {
		return nil, fmt.Errorf("there is no manifest of %s%s", key, manifest.DidYouMean(key.String(), names))
	}
	ws := t.l.Project.Workspace
	if o != nil {
		out.Git = fmt.Sprintf("%s:%d", o.Path, o.Line)
		if err := out.add(t, o.Spec, nil, func(v *pathValues, f placed) {
			line, _ := o.Place(f.at)
			v.Place, v.Git = fmt.Sprintf("%s:%d", o.Path, line), conceal(ws, key, f)
		}); err != nil {
			return nil, err
		}
	}
	if !live {
		return out, nil
	}
	obj, err := a.getLive(ctx, t)
	is := err == nil
	out.Live = &is
	var missing interface{ NotFound() bool }
	switch {
	case !errors.As(err, &missing) || !missing.NotFound():
	case o == nil:
		return nil, fmt.Errorf("%s is neither in git nor live%s", key, manifest.DidYouMean(key.String(), names))
	default:
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return out, out.add(t, obj.Spec, obj.Status, func(v *pathValues, f placed) { v.Live = conceal(ws, key, f) })
}

// conceal is the value as it may be shown.
func conceal(ws kind.Workspace, key kind.Key, f placed) any {
	return plan.Conceal(ws, key, strings.TrimPrefix(f.shown, "spec."), f.value)
}

// getLive reads one object, and can do nothing else.
func (a *app) getLive(ctx context.Context, t topic) (kind.Object, error) {
	if !t.kind.Can(kind.Get) {
		return kind.Object{}, fmt.Errorf("the platform has no way to read a %s", t.kind.Name)
	}
	w, err := a.enter(ctx, t.l.Project, t.l.Set)
	if err != nil {
		return kind.Object{}, err
	}
	defer w.Close()
	reader := api.NewReader(w.API)
	defer reader.Close()
	return reader.Get(ctx, t.kind, t.name)
}

// add puts the values of an object, which is canonical JSON, beside what is there.
func (v *objectValues) add(t topic, spec, status []byte, set func(*pathValues, placed)) error {
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
			return fmt.Errorf("%s: %w", v.Object, err)
		}
		object[name] = tree
	}
	for _, f := range lookUp(placed{value: object, field: t.root}, stepsOf(t.path)) {
		i := slices.IndexFunc(v.Values, func(other pathValues) bool { return other.Path == f.shown })
		if i < 0 {
			i = len(v.Values)
			v.Values = append(v.Values, pathValues{Path: f.shown, field: f.field})
		}
		set(&v.Values[i], f)
	}
	return nil
}

// stepsOf takes a path apart: names, and what is in brackets with its bracket.
func stepsOf(path string) []string {
	var steps []string
	for _, part := range kind.PathParts(path) {
		name, brackets, indexed := strings.Cut(part, "[")
		if name != "" {
			steps = append(steps, name)
		}
		if indexed {
			for inside := range strings.SplitSeq(strings.TrimSuffix(brackets, "]"), "][") {
				steps = append(steps, "["+inside)
			}
		}
	}
	return steps
}

// lookUp follows steps from a value. A list that is passed without saying which
// element stands for all of them.
func lookUp(from placed, steps []string) []placed {
	if len(steps) == 0 {
		return []placed{from}
	}
	if from.field == nil {
		from.field = &kind.Field{}
	}
	switch v := from.value.(type) {
	case []any:
		return lookUpElements(from, v, steps)
	case map[string]any:
		step := steps[0]
		if name, err := strconv.Unquote(strings.TrimPrefix(step, "[")); err == nil {
			step = name
		}
		if value, ok := v[step]; ok {
			return lookUp(placed{joinField(from.shown, step), joinField(from.at, step), value, from.field.Fields[step]}, steps[1:])
		}
	}
	return nil
}

func lookUpElements(from placed, list []any, steps []string) (out []placed) {
	wanted, said := strings.CutPrefix(steps[0], "[")
	if said {
		steps = steps[1:]
	}
	for i, e := range list {
		name, index := elementName(from.field.List, e, i), strconv.Itoa(i)
		if !said || wanted == "" || wanted == name || wanted == index {
			out = append(out, lookUp(placed{from.shown + "[" + name + "]", from.at + "[" + index + "]", e, from.field.Item}, steps)...)
		}
	}
	return out
}

func joinField(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// elementName is how plans name an element of a list: by its key, or by its index.
func elementName(rule *kind.ListRule, element any, index int) string {
	object, ok := element.(map[string]any)
	var parts []string
	if ok && rule != nil {
		for _, field := range rule.Key {
			if s := fmt.Sprint(object[field]); object[field] != nil && s != "" {
				parts = append(parts, s)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, rule.Join)
		}
	}
	return strconv.Itoa(index)
}

// showValues writes what an object has there, or where to look if it is about all
// of it; its texts are anybody's.
func (a *app) showValues(v *objectValues, whole bool) error {
	if v == nil {
		return nil
	}
	live := ""
	if v.Live != nil {
		live = map[bool]string{true: ", live", false: ", not live"}[*v.Live]
	}
	git := "not in git"
	if v.Git != "" {
		git = v.Git
	}
	err := a.out.Printf("\n%s  (%s%s)\n", v.Object, git, live)
	switch {
	case whole:
		err = errors.Join(err, a.out.Printf("  to see a value, add a field: %s.spec\n", v.Object))
	case len(v.Values) == 0 && v.Git != "":
		err = errors.Join(err, a.out.Printf("  not mentioned\n"))
	}
	for _, p := range v.Values {
		err = errors.Join(err, a.out.Printf("  %s\n", p.Path), a.showValue("git", p.Git, p))
		if v.Live != nil {
			err = errors.Join(err, a.showValue("live", p.Live, pathValues{field: p.field}))
		}
	}
	return err
}

// maxValueLines is how many lines of a value are shown.
const maxValueLines = 40

// showValue writes one side: a scalar in the line, a structure below it.
func (a *app) showValue(side string, value any, of pathValues) error {
	if value == nil {
		return a.out.Printf("    %-5s not there\n", side)
	}
	text, err := manifest.Snippet(value, of.field)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	switch value.(type) {
	case map[string]any, []any:
		err = a.out.Table("    ", [][]string{{side, of.Place}})
	default:
		if s, ok := value.(string); ok {
			lines[0] = strconv.Quote(s)
		}
		return a.out.Table("    ", [][]string{{fmt.Sprintf("%-4s", side), lines[0], of.Place}})
	}
	for i, line := range lines {
		if i == maxValueLines {
			return errors.Join(err, a.out.Printf("          and %d more lines\n", len(lines)-i))
		}
		err = errors.Join(err, a.out.Printf("          %s\n", line))
	}
	return err
}

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// Topic is a field of a kind, of an object or of one of trueup's own files.
type Topic struct {
	// Kind is nil for a file, and Name is empty unless an object is named.
	Kind *kind.Kind
	Name string
	// asked is what the user wrote. path starts at root, the fields of the kind or file.
	asked, path string
	root        *kind.Field
}

// ParseTopic reads KIND, KIND.PATH, KIND/NAME, KIND/NAME.PATH, FILE and FILE.PATH. It calls manifests only
// for the name of an object.
func ParseTopic(asked string, manifests func() (*manifest.Set, error)) (t Topic, err error) {
	end := strings.IndexAny(asked+".", "./[")
	t = Topic{asked: asked, path: strings.TrimPrefix(asked[end:], ".")}
	if root, ok := kind.OwnFileFields(asked[:end]); ok {
		t.root = root
		return t, nil
	}
	k, ok := kind.FindKind(asked[:end])
	if !ok {
		var all []string
		for _, s := range AllSubjects() {
			all = append(append(all, s.Name), s.Labels...)
		}
		if paths := topicsEndingIn(asked); len(paths) > 0 {
			return t, fmt.Errorf("there is no topic %q: did you mean %s?", asked, strings.Join(paths[:min(len(paths), 4)], ", "))
		}
		return t, fmt.Errorf("there is no topic %q%s", asked[:end], cmp.Or(diag.DidYouMean(asked, all), ": trueup explain lists all"))
	}
	t.Kind, t.root = k, k.Root()
	if rest, ok := strings.CutPrefix(t.path, "/"); ok {
		set, err := manifests()
		if err != nil {
			return t, err
		}
		if t.splitName(rest, set); t.Name == "" {
			return t, fmt.Errorf("%q does not name an object: write KIND/NAME, such as cdn/shop", asked)
		}
	}
	return t, nil
}

// topicsEndingIn returns the topics of fields whose path ends in a text, such as tls.forced or edgeTTL.
func topicsEndingIn(text string) (paths []string) {
	var look func(f *kind.Field, path string)
	look = func(f *kind.Field, path string) {
		if strings.HasSuffix(path, "."+text) {
			paths = append(paths, path)
		}
		f = listElement(f)
		for _, name := range f.Names {
			look(f.Fields[name], path+"."+name)
		}
	}
	for _, k := range kind.AllKinds() {
		look(k.Spec(), strings.ToLower(k.Name))
	}
	return paths
}

// splitName separates the name of an object from the path behind it; both may have dots. It takes the
// longest name in git, or else all before spec or another field of the envelope.
func (t *Topic) splitName(rest string, set *manifest.Set) {
	if t.Name, t.path = t.splitKnownName(rest, set); t.Name != "" {
		return
	}
	t.Name = rest
	fields := t.root.Names
	if strings.Contains(rest, "*") { // a pattern, whose path may leave out spec
		fields = slices.Concat(fields, t.Kind.Spec().Names)
	}
	for _, field := range fields {
		i := strings.Index(rest, "."+field)
		end := i + 1 + len(field)
		if i > 0 && i < len(t.Name) && (end == len(rest) || strings.IndexByte(".[", rest[end]) >= 0) {
			t.Name, t.path = rest[:i], rest[i+1:]
		}
	}
}

// splitKnownName splits behind the longest name in git; empty for none.
func (t *Topic) splitKnownName(rest string, set *manifest.Set) (name, path string) {
	for _, o := range set.Objects {
		below, is := strings.CutPrefix(rest, o.Name)
		if is && o.Kind == t.Kind && (below == "" || below[0] == '.') && len(o.Name) > len(name) {
			name, path = o.Name, strings.TrimPrefix(below, ".")
		}
	}
	return name, path
}

// rootNames returns what a field can start with: the kinds and trueup's own files.
func rootNames() (names []string) {
	for _, k := range kind.AllKinds() {
		names = append(names, strings.ToLower(k.Name))
	}
	return append(names, kind.OwnFiles()...)
}

// FieldsBelow returns the fields below a topic, but not those with names that users choose.
func (t Topic) FieldsBelow() []FieldBelow {
	f, _, ok := t.findField()
	if !ok {
		return nil
	}
	fields := FactsOf(f).Fields
	return fields[:len(listElement(f).Names)]
}

// IsWhole reports whether the topic is a whole object, and no field of it.
func (t Topic) IsWhole() bool { return t.path == "" }

// findField returns the field that the path names. The path may leave out spec, as in plans.
func (t *Topic) findField() (f *kind.Field, parts []string, ok bool) {
	parts = kind.SplitAtDots(t.path)
	first, _, _ := strings.Cut(parts[0], "[")
	if t.Kind != nil && t.root.Fields[first] == nil && t.Kind.Spec().Fields[first] != nil {
		t.path = "spec." + t.path
		parts = append([]string{"spec"}, parts...)
	}
	f, ok = t.root.FieldAt(parts)
	return f, parts, ok
}

// titleOf returns the kind or the file that has the field.
func (t *Topic) titleOf() string {
	if t.Kind != nil {
		return t.Kind.Name
	}
	name, _, _ := strings.Cut(t.asked, ".")
	return name
}

// noField is the error for a field that is unknown. It offers the nearest name.
func (t *Topic) noField(parts []string) error {
	of, hint := "trueup's schema of it", ""
	if t.Kind != nil {
		of = "the platform's documentation"
	}
	for i := range parts {
		if _, ok := t.root.FieldAt(parts[:i+1]); ok {
			continue
		}
		parent, _ := t.root.FieldAt(parts[:i])
		parent = listElement(parent)
		known := slices.Clone(parent.Names)
		if spec := parent.Fields["spec"]; spec != nil && i == 0 {
			known = append(known, spec.Names...)
		}
		name, _, _ := strings.Cut(parts[i], "[")
		hint = diag.DidYouMean(name, known)
		break
	}
	return fmt.Errorf("%s has no field %q in %s%s", t.titleOf(), t.path, of, hint)
}

// listElement returns the element of a list, or of lists in it, and any other field itself.
func listElement(f *kind.Field) *kind.Field {
	for f.Item != nil {
		f = f.Item
	}
	return f
}

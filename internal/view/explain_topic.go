package view

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/rules"
	"trueup/internal/yamledit"
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

// splitName separates the name of an object from the path behind it; both may have dots. It takes the
// longest name in git, or else all before spec or another field of the envelope.
func (t *Topic) splitName(rest string, set *manifest.Set) {
	for _, o := range set.Objects {
		below, is := strings.CutPrefix(rest, o.Name)
		if is && o.Kind == t.Kind && (below == "" || below[0] == '.') && len(o.Name) > len(t.Name) {
			t.Name, t.path = o.Name, strings.TrimPrefix(below, ".")
		}
	}
	if t.Name != "" {
		return
	}
	t.Name, t.path = rest, ""
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

// FieldFacts is what is known of a field.
type FieldFacts struct {
	Format      string `json:"format"`
	Path        string `json:"path"`
	Type        string `json:"type"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	// Values are all allowed values if OnlyThese, else examples from the platform's document.
	Values    []string `json:"values,omitempty"`
	OnlyThese bool     `json:"onlyThese,omitempty"`
	// List says how the elements of a list are compared, and Sent whether trueup sends the field.
	// Both are empty for trueup's own files, as Risk is.
	List      string       `json:"list,omitempty"`
	Sent      string       `json:"sent,omitempty"`
	Sensitive bool         `json:"sensitive,omitempty"`
	Risk      kind.Risk    `json:"risk,omitempty"`
	Section   string       `json:"section,omitempty"`
	Example   any          `json:"example,omitempty"`
	Fields    []FieldBelow `json:"fields,omitempty"`
	// Object has the values of an object, if one was named, and Objects those of all that match a pattern.
	Object  *ObjectValues   `json:"object,omitempty"`
	Objects []*ObjectValues `json:"objects,omitempty"`
	// Text is the example as YAML.
	Text string `json:"-"`
}

// FieldBelow is a field below.
type FieldBelow struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Title    string `json:"title,omitempty"`
	Required bool   `json:"required"`
}

// FindFacts returns what is known of the topic's field.
func (t *Topic) FindFacts() (FieldFacts, error) {
	f, parts, ok := t.findField()
	if !ok {
		return FieldFacts{}, t.noField(parts)
	}
	facts := FactsOf(f)
	facts.Path, facts.Example = strings.TrimSuffix(t.titleOf()+"."+t.path, "."), exampleAt(t.root, parts)
	if t.Kind == nil {
		facts.List, facts.Sent = "", ""
	} else if facts.Sent == "yes" && f.Immutable && t.Kind.IsSendOnce() {
		facts.Sent = "only when the object is created; a change needs a new name"
	}
	var err error
	facts.Text, err = yamledit.EncodeSnippet(facts.Example, t.root)
	return facts, err
}

// FactsOf returns what a schema says about a field of any kind.
func FactsOf(f *kind.Field) FieldFacts {
	facts := FieldFacts{
		Format: "trueup.explain/v1", Type: f.Type.String(), Title: f.Title, Description: f.Description, Required: f.Required,
		Values: f.Seen, List: describeListMatching(f), Sent: "yes", Section: f.Section, Sensitive: f.Sensitive, Risk: f.Risk,
	}
	if len(f.Enum) > 0 {
		facts.Values, facts.OnlyThese = f.Enum, true
	}
	switch {
	case f.ReadOnly:
		facts.Sent = "no: it belongs to the server"
	case f.NotSent:
		facts.Sent = "no: it stays in git"
	}
	add := func(name string, f *kind.Field) {
		facts.Fields = append(facts.Fields, FieldBelow{Name: name, Type: f.Type.String(), Title: f.Title, Required: f.Required})
	}
	below := listElement(f)
	for _, name := range below.Names {
		add(name, below.Fields[name])
	}
	if below.Any != nil {
		add("NAME", below.Any)
	}
	return facts
}

// ValuesInWords returns the values with what they mean.
func (f FieldFacts) ValuesInWords() string {
	quoted := diag.MapList(f.Values, strconv.Quote)
	words := strings.Join(quoted, ", ")
	switch {
	case words == "":
		return ""
	case f.OnlyThese:
		return words + ", and no others"
	}
	return words + ", as documented; there may be others"
}

// describeListMatching says how the elements of a list are compared.
func describeListMatching(f *kind.Field) string {
	if f.Type != kind.ListType {
		return ""
	}
	words := "owned as a whole: if a manifest has this list, trueup sends it as it is in git"
	if f.List == nil {
		return words
	}
	by, order := "value", "does not matter"
	if f.List.Ordered {
		by, order = "position", "matters"
	}
	if key := f.List.Key; len(key) > 0 {
		by = strings.Join(key, " and ")
	}
	return words + "; its elements are matched by " + by + "; their order " + order
}

// exampleAt returns an example of the field at a path, inside its parents. Elements of lists have their
// required fields.
func exampleAt(f *kind.Field, parts []string) any {
	switch {
	case f.Type == kind.ListType:
		return []any{withRequired(exampleAt(f.Item, parts), f.Item)}
	case len(parts) == 0 || parts[0] == "" && len(parts) == 1:
		return f.ExampleValue(false)
	}
	name, _, indexed := strings.Cut(parts[0], "[")
	child := f.Fields[name]
	if child == nil && name != "" {
		child = f.Any
	}
	switch {
	case child == nil: // an index: the element is here
		return exampleAt(f, parts[1:])
	case len(parts) == 1 && !indexed:
		return map[string]any{name: child.ExampleValue(false)}
	}
	return map[string]any{name: exampleAt(child, parts[1:])}
}

// withRequired adds the required fields of an element of a list.
func withRequired(e any, f *kind.Field) any {
	if object, ok := e.(map[string]any); ok {
		for _, name := range f.Names {
			if _, there := object[name]; !there && f.Fields[name].Required {
				object[name] = f.Fields[name].ExampleValue(false)
			}
		}
	}
	return e
}

//go:embed explain_words.txtar
var wordTexts []byte

// Subject is what explain can explain: a word of plans, the fields of a kind or file, or a rule.
type Subject struct {
	Is      string `json:"is"` // word, fields or rule
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Text is that of a word, and Labels are what plans say of that word.
	Text   string   `json:"text,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

// FindWord returns the word that has this name or label.
func FindWord(name string) (s Subject, ok bool) {
	for _, s := range AllSubjects() {
		if s.Is == "word" && (s.Name == name || slices.Contains(s.Labels, name)) {
			return s, true
		}
	}
	return s, false
}

// AllSubjects returns all words, kinds, files and rules.
func AllSubjects() (all []Subject) {
	for _, f := range txtar.Parse(wordTexts).Files {
		summary, _, _ := strings.Cut(string(f.Data), "\n")
		names := strings.Split(f.Name, "; ")
		all = append(all, Subject{Is: "word", Name: names[0], Summary: summary, Text: string(f.Data), Labels: names[1:]})
	}
	add := func(name string, root *kind.Field) {
		summary, _, _ := strings.Cut(root.Description, ". ")
		all = append(all, Subject{Is: "fields", Name: name, Summary: summary + "."})
	}
	for _, k := range kind.AllKinds() {
		add(strings.ToLower(k.Name), k.Root())
	}
	for _, name := range kind.OwnFiles() {
		root, _ := kind.OwnFileFields(name)
		add(name, root)
	}
	for _, r := range rules.All() {
		all = append(all, Subject{Is: "rule", Name: r.Name, Summary: r.Summary})
	}
	return all
}

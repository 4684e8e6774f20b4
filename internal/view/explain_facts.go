package view

import (
	"strconv"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/yamledit"
)

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
	quoted := make([]string, len(f.Values))
	for i, v := range f.Values {
		quoted[i] = strconv.Quote(v)
	}
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

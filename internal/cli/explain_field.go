package cli

import (
	"fmt"
	"strconv"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

// fieldFacts is what explain shows about a field.
type fieldFacts struct {
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
	List      string      `json:"list,omitempty"`
	Sent      string      `json:"sent,omitempty"`
	Sensitive bool        `json:"sensitive,omitempty"`
	Risk      kind.Risk   `json:"risk,omitempty"`
	Section   string      `json:"section,omitempty"`
	Example   any         `json:"example,omitempty"`
	Fields    []fieldLine `json:"fields,omitempty"`
	// Object has the values of an object, if one was named.
	Object *objectValues `json:"object,omitempty"`
}

// fieldLine is a field below.
type fieldLine struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Title    string `json:"title,omitempty"`
	Required bool   `json:"required"`
}

func factsOf(t topic, f *kind.Field, parts []string) fieldFacts {
	facts := fieldFacts{
		Path: strings.TrimSuffix(t.title()+"."+t.path, "."), Type: f.Type.String(), Title: f.Title, Description: f.Description,
		Required: f.Required, Values: f.Seen, Section: f.Section, Sensitive: f.Sensitive, Risk: f.Risk,
		Example: sampleAt(t.root, parts),
	}
	if len(f.Enum) > 0 {
		facts.Values, facts.OnlyThese = f.Enum, true
	}
	if t.kind != nil {
		facts.Sent, facts.List = sentInWords(t.kind, f), listInWords(f)
	}
	below := elementOf(f)
	for _, name := range below.Names {
		facts.Fields = append(facts.Fields, lineOf(name, below.Fields[name]))
	}
	if below.Any != nil {
		facts.Fields = append(facts.Fields, lineOf("NAME", below.Any))
	}
	return facts
}

func lineOf(name string, f *kind.Field) fieldLine {
	return fieldLine{Name: name, Type: f.Type.String(), Title: f.Title, Required: f.Required}
}

// listInWords says how the elements of a list are compared.
func listInWords(f *kind.Field) string {
	if f.Type != kind.ListType {
		return ""
	}
	words := "owned as a whole: if a manifest has this list, trueup sends it as it is in git"
	if f.List == nil {
		return words
	}
	switch key := f.List.Key; {
	case len(key) > 0:
		words += "; its elements are matched by " + strings.Join(key, " and ")
	case f.List.Ordered:
		words += "; its elements are matched by position"
	default:
		words += "; its elements are matched by value"
	}
	if f.List.Ordered {
		return words + "; their order matters"
	}
	return words + "; their order does not matter"
}

func sentInWords(k *kind.Kind, f *kind.Field) string {
	switch {
	case f.ReadOnly:
		return "no: it belongs to the server"
	case f.NotSent:
		return "no: it stays in git"
	case f.Immutable && k.SentOnce():
		return "only when the object is created; a change needs a new name"
	}
	return "yes"
}

// riskInWords names a risk and says what it means; it is empty for none.
func riskInWords(r kind.Risk) string {
	if r == kind.NoRisk {
		return ""
	}
	return r.String() + ": a change " + r.Meaning()
}

// sampleAt is an example of the field in its place. Elements of lists have their required fields.
func sampleAt(root *kind.Field, parts []string) any {
	if len(parts) == 1 && parts[0] == "" {
		return sampleOf(root)
	}
	return nest(root, parts)
}

func nest(f *kind.Field, parts []string) any {
	if f.Type == kind.ListType {
		element := nest(f.Item, parts)
		if object, ok := element.(map[string]any); ok {
			addRequired(object, f.Item)
		}
		return []any{element}
	}
	if len(parts) == 0 {
		return sampleOf(f)
	}
	name, _, indexed := strings.Cut(parts[0], "[")
	child := f.Fields[name]
	if child == nil && name != "" {
		child = f.Any
	}
	if child == nil { // an index: the element is here
		return nest(f, parts[1:])
	}
	if len(parts) == 1 && !indexed {
		return map[string]any{name: sampleOf(child)}
	}
	return map[string]any{name: nest(child, parts[1:])}
}

// addRequired adds the required fields of an element of a list.
func addRequired(object map[string]any, f *kind.Field) {
	for _, name := range f.Names {
		if _, there := object[name]; !there && f.Fields[name].Required {
			object[name] = sampleOf(f.Fields[name])
		}
	}
}

// sampleOf is an example of a field: its own, or one of its required fields, or of all its fields.
func sampleOf(f *kind.Field) any {
	switch {
	case len(f.Examples) > 0:
		return f.Examples[0]
	case len(f.Enum) > 0 && f.Type == kind.Text:
		return f.Enum[0]
	case f.Item != nil:
		return []any{sampleOf(f.Item)}
	case f.Type == kind.Bool:
		return true
	case f.Type != kind.ObjectType:
		return "..."
	}
	all, required := map[string]any{}, map[string]any{}
	for name, child := range f.Fields {
		if child.ReadOnly {
			continue
		}
		all[name] = sampleOf(child)
		if child.Required {
			required[name] = all[name]
		}
	}
	if len(required) > 0 {
		return required
	}
	return all
}

// text is everything but the values of an object, for a person.
func (f fieldFacts) text(root *kind.Field) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s%s)\n", report.Clean(f.Path), f.Type, map[bool]string{true: ", required"}[f.Required])
	for _, line := range []string{f.Title, f.Description} {
		if line != "" {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	between := "\n"
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s  %-11s %s\n", between, name, text)
			between = ""
		}
	}
	row("values", f.valuesInWords())
	row("list", f.List)
	row("sent", f.Sent)
	row("sensitive", map[bool]string{true: "yes: trueup shows a digest instead"}[f.Sensitive])
	row("at stake", riskInWords(f.Risk))
	row("documented", f.Section)
	example, err := manifest.Snippet(f.Example, root)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\nExample:\n\n%s", indent(example))
	if len(f.Fields) > 0 {
		b.WriteString("\nFields:\n\n")
	}
	widest := 0
	for _, line := range f.Fields {
		widest = max(widest, len(line.Name))
	}
	for _, line := range f.Fields {
		required := map[bool]string{true: "  required"}[line.Required]
		fmt.Fprintf(&b, "  .%-*s  %-8s %s%s\n", widest, line.Name, line.Type, line.Title, required)
	}
	return b.String(), nil
}

func (f fieldFacts) valuesInWords() string {
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
	return words + ", which the platform's document shows; there may be others"
}

package kind

import (
	"cmp"
	"fmt"
)

// FieldType is the type of a field in the platform's document (docs/platform.md 2).
type FieldType uint8

// The types. AnyType is that of a field without a documented type.
const (
	AnyType FieldType = iota
	Text
	Bool
	Number
	ObjectType
	ListType
)

// String returns the type for people.
func (t FieldType) String() string {
	return [...]string{"any", "text", "boolean", "number", "object", "list"}[t]
}

// UnmarshalText reads the name that schemas use.
func (t *FieldType) UnmarshalText(name []byte) error {
	types := map[string]FieldType{
		"string": Text, "boolean": Bool, "number": Number, "integer": Number, "object": ObjectType, "array": ListType,
	}
	known, ok := types[string(name)]
	if !ok {
		return fmt.Errorf("unknown type %q", name)
	}
	*t = known
	return nil
}

// ListRule is a schema's x-trueup-list (docs/design.md B3).
type ListRule struct {
	// Key names the fields that identify an element. If empty, elements pair by position.
	Key     []string `json:"key"`
	Ordered bool     `json:"-"`    // true if the order of elements has a meaning
	Join    string   `json:"join"` // Join separates the parts of a key when it is shown
}

// Field is one node of a kind's schema.
type Field struct {
	Name        string    `json:"-"`
	Type        FieldType `json:"type"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Section     string    `json:"x-trueup-section"` // the section of the platform's document
	Examples    []any     `json:"examples"`
	Seen        []string  `json:"x-trueup-seen"` // the documented values, if there may be others
	// Observed are undocumented values that such platforms have, and that resemble those of Seen.
	Observed []string `json:"x-trueup-observed"`
	// Enum are the only allowed values, empty if any is; text that is "true" or "false" has both.
	Enum     []string `json:"enum"`
	Required bool     `json:"-"`
	// MinLength is that of a text, MinItems that of a list; both are 0 or 1.
	MinLength int `json:"minLength"`
	MinItems  int `json:"minItems"`
	// Range has the least number of a text that is a number, and optionally the greatest.
	Range []uint64 `json:"x-trueup-range"`
	inherited
	// Unit is the field next to this number that has its unit of time, or "".
	Unit string `json:"x-trueup-unit"`
	// Discriminator is the field of this object whose value names the only sibling that may be present, or "".
	Discriminator string `json:"x-trueup-discriminator"`
	// Summary names the words that describe an object of this field in reports, or is "".
	Summary string `json:"x-trueup-summary"`
	// Open reports that unknown fields of this object need no warning, and Closed that they are errors.
	Open   bool              `json:"x-trueup-open"`
	Closed bool              `json:"x-trueup-closed"`
	List   *ListRule         `json:"-"`
	Fields map[string]*Field `json:"-"`
	// Names are the keys of Fields in the order of the schema and of canonical manifests.
	Names []string `json:"-"`
	Any   *Field   `json:"-"` // the field of an object with names that users choose, or nil
	Item  *Field   `json:"-"` // the element of a list, or nil
	// Risk is that of the last row of the field in the table of risks. rows are all of them, none for a field without
	// documentation, and belowRows those of fields with names that users choose.
	Risk            Risk `json:"-"`
	rows, belowRows []RiskRow
}

// ExampleValue returns an example of the field. That of an object without its own has the required fields, or all fields if
// none is required. With lists, every object has its required fields and its lists.
func (f *Field) ExampleValue(lists bool) any {
	switch {
	case len(f.Examples) > 0 && (!lists || f.Type != ObjectType):
		return f.Examples[0]
	case len(f.Enum) > 0 && f.Type == Text:
		return f.Enum[0]
	case f.Item != nil:
		return []any{f.Item.ExampleValue(lists)}
	case f.Type == Bool:
		return true
	case f.Type != ObjectType:
		return "..."
	}
	return f.exampleObject(lists)
}

func (f *Field) exampleObject(lists bool) any {
	out, optional := map[string]any{}, map[string]any{}
	for _, name := range f.Names {
		switch below := f.Fields[name]; {
		case below.Required || lists && below.Type == ListType:
			out[name] = below.ExampleValue(lists)
		case !below.ReadOnly && !lists:
			optional[name] = below.ExampleValue(lists)
		}
	}
	if len(out) == 0 {
		return optional
	}
	return out
}

// inherited is what a field passes on to all fields below it.
type inherited struct {
	ReadOnly  bool `json:"x-trueup-readonly"`
	Sensitive bool `json:"x-trueup-sensitive"`
	Immutable bool `json:"x-trueup-immutable"`
	NotSent   bool `json:"x-trueup-not-sent"` // the field stays in git
}

// Risk is the harm that a change of a field can do; a greater one is more severe.
type Risk uint8

// The risks; tableOfRisks has their meaning. NoRisk is that of names, and of fields that no schema has.
const (
	NoRisk Risk = iota
	RiskCost
	RiskAvailability
	RiskServes
	RiskSecurity
)

var tableOfRisks = [...]struct{ name, meaning string }{
	NoRisk:           {},
	RiskCost:         {"cost", "may cost more"},
	RiskAvailability: {"availability", "may make something slow or unreachable"},
	RiskSecurity:     {"security", "may expose protected content"},
	RiskServes:       {"serves", "may serve other content, or none"},
}

// Risks returns all risks but NoRisk in the order of reports: what may be exposed can't be taken back, and comes first.
func Risks() []Risk { return []Risk{RiskSecurity, RiskServes, RiskAvailability, RiskCost} }

// Class returns the name of a risk for people and workflows: "none" for NoRisk.
func (r Risk) Class() string { return cmp.Or(r.String(), "none") }

// ParseRiskClass returns the risk with a name that Class returns.
func ParseRiskClass(name string) (r Risk, err error) {
	if name != NoRisk.Class() {
		err = r.UnmarshalText([]byte(name))
	}
	return r, err
}

// String returns the name that schemas use, such as "cost", or "" for NoRisk.
func (r Risk) String() string { return tableOfRisks[r].name }

// IsGrave reports whether the risk is RiskServes or RiskSecurity: reports show such values in full.
func (r Risk) IsGrave() bool { return r >= RiskServes }

// Meaning returns a short text for people, such as "may cost more".
func (r Risk) Meaning() string { return tableOfRisks[r].meaning }

// MarshalText writes the risk as its name.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of a risk.
func (r *Risk) UnmarshalText(b []byte) error {
	for i, row := range tableOfRisks {
		if string(b) == row.name {
			*r = Risk(i)
			return nil
		}
	}
	return fmt.Errorf("unknown risk %q", b)
}

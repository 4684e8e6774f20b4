package kind

import "fmt"

// Type is the type that the platform's document gives a field (docs/platform.md 2).
type Type uint8

// The types of fields. AnyType is a field on which the document is silent.
const (
	AnyType Type = iota
	Text
	Bool
	Number
	ObjectType
	ListType
)

// String returns the type as people read it.
func (t Type) String() string {
	return [...]string{"any", "text", "boolean", "number", "object", "list"}[t]
}

// UnmarshalText reads the name that schemas use.
func (t *Type) UnmarshalText(name []byte) error {
	types := map[string]Type{
		"string": Text, "boolean": Bool, "number": Number, "integer": Number, "object": ObjectType, "array": ListType,
	}
	known, ok := types[string(name)]
	if !ok {
		return fmt.Errorf("unknown type %q", name)
	}
	*t = known
	return nil
}

// ListRule is what the schema's x-trueup-list says of a list (docs/design.md B3).
type ListRule struct {
	// Key names the fields that identify an element; empty pairs by position.
	Key []string `json:"key"`
	// Ordered says that the order of elements means something.
	Ordered bool `json:"-"`
	// Join is put between the parts of a key where it is shown.
	Join string `json:"join"`
}

// Field is one node of a kind's schema.
type Field struct {
	Name        string `json:"-"`
	Type        Type   `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Section is the place in the platform's document.
	Section  string `json:"x-trueup-section"`
	Examples []any  `json:"examples"`
	// Seen are the values that the document shows, where it does not say that there are no others.
	Seen []string `json:"x-trueup-seen"`
	// Observed are values that platforms of this family have although the document
	// does not show them, and that resemble those of Seen.
	Observed []string `json:"x-trueup-observed"`
	// Enum are the only values that the document allows, empty where it sets
	// no bounds; a text that is "true" or "false" has both.
	Enum     []string `json:"enum"`
	Required bool     `json:"-"`
	// MinLength is the least length of a text, MinItems the least number of elements of a
	// list; both are 0 or 1.
	MinLength int `json:"minLength"`
	MinItems  int `json:"minItems"`
	// Range has the least and, if there is one, the greatest number that a text may be.
	Range []uint64 `json:"x-trueup-range"`
	inherited
	// Discriminator names the field of this object whose value names the one
	// sibling that may be present, or "".
	Discriminator string `json:"x-trueup-discriminator"`
	// Summary says in a few words what an object of this field is: text with
	// the paths of its fields in braces, "{host}:{port}", or "". A path through
	// a list stands for that field of all its elements.
	Summary string `json:"x-trueup-summary"`
	// Open says that unknown fields of this object need no warning.
	Open   bool              `json:"x-trueup-open"`
	List   *ListRule         `json:"-"`
	Fields map[string]*Field `json:"-"`
	// Names are those of Fields in the order of the schema, which is that of canonical manifests.
	Names []string `json:"-"`
	// Any is the field of an object whose names are the user's own, or nil.
	Any *Field `json:"-"`
	// Item is the element of a list.
	Item *Field `json:"-"`
	// unknown says that the schema does not have the field.
	unknown bool
}

// inherited is what a schema says of a field and of all below it. Only the risk may be
// another one further down.
type inherited struct {
	ReadOnly  bool `json:"x-trueup-readonly"`
	Sensitive bool `json:"x-trueup-sensitive"`
	Immutable bool `json:"x-trueup-immutable"`
	// NotSent says that the field stays in git.
	NotSent bool `json:"x-trueup-not-sent"`
	// Risk is what a change of the field can do.
	Risk Risk `json:"x-trueup-risk"`
}

package kind

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
	Name        string
	Type        Type
	Title       string
	Description string
	// Section is the place in the platform's document.
	Section  string
	Examples []any
	// Seen are the values that the document shows, where it does not say that
	// there are no others.
	Seen []string
	// Observed are values that platforms of this family have although the document
	// does not show them, and that resemble those of Seen.
	Observed []string
	// Enum are the only values that the document allows, empty where it sets
	// no bounds; a text that is "true" or "false" has both.
	Enum     []string
	Required bool
	// ReadOnly, Sensitive and Immutable are the x-trueup-* keywords, and NotSent
	// says that the field stays in git; each holds for all that is below.
	ReadOnly  bool
	Sensitive bool
	Immutable bool
	NotSent   bool
	// Risk is what is at stake where the field changes, as x-trueup-risk says of it
	// or of the nearest field above it.
	Risk Risk
	// Discriminator names the field of this object whose value names the one
	// sibling that may be present, or "".
	Discriminator string
	// Summary says in a few words what an object of this field is: text with
	// the paths of its fields in braces, "{host}:{port}", or "". A path through
	// a list stands for that field of all its elements.
	Summary string
	// Open says that unknown fields of this object need no warning.
	Open   bool
	List   *ListRule
	Fields map[string]*Field
	// Names are those of Fields in the order of the schema, which is that of
	// canonical manifests.
	Names []string
	// Any stands for the fields of an object whose names are the user's own, or is
	// nil.
	Any *Field
	// Item is the element of a list.
	Item *Field
	// unknown says that the schema does not have the field.
	unknown bool
}

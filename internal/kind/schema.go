package kind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"trueup/schemas"
)

// Schema returns the kind's JSON Schema (2020-12) as it is published.
func (k *Kind) Schema() []byte {
	b, err := schemas.FS.ReadFile(k.SchemaFile)
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", k.Name, err))
	}
	return b
}

// Root returns the field tree of the whole envelope: apiVersion, kind,
// metadata, spec and status. It is built once and must not be changed.
//
// A schema that can't be read is a fault of this program and not of any input,
// so Root panics.
func (k *Kind) Root() *Field {
	return k.tree.root(k)
}

// Spec returns the field tree of the kind's spec; see Root.
func (k *Kind) Spec() *Field { return k.Root().Fields["spec"] }

// lazyTree is a field tree that is built when it is first asked for.
type lazyTree struct {
	once  sync.Once
	field *Field
}

func (l *lazyTree) root(k *Kind) *Field {
	l.once.Do(func() {
		field, err := parseSchema(k.Schema())
		if err != nil {
			panic(fmt.Sprintf("schema of %s: %v", k.Name, err))
		}
		l.field = field
	})
	return l.field
}

// keywords is what a schema says of one field.
type keywords struct {
	Ref         string          `json:"$ref"`
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Examples    []any           `json:"examples"`
	Const       string          `json:"const"`
	Enum        []string        `json:"enum"`
	Required    []string        `json:"required"`
	Properties  properties      `json:"properties"`
	Items       json.RawMessage `json:"items"`
	// Additional is a schema, or says whether there may be other fields.
	Additional json.RawMessage `json:"additionalProperties"`

	Section       string   `json:"x-trueup-section"`
	Seen          []string `json:"x-trueup-seen"`
	Observed      []string `json:"x-trueup-observed"`
	Discriminator string   `json:"x-trueup-discriminator"`
	Summary       string   `json:"x-trueup-summary"`
	Open          bool     `json:"x-trueup-open"`
	Risk          Risk     `json:"x-trueup-risk"`
	List          *struct {
		Key   []string `json:"key"`
		Order string   `json:"order"`
		Join  string   `json:"join"`
	} `json:"x-trueup-list"`
	flags
}

// properties are the members of an object, and their names in the order of the
// schema.
type properties struct {
	names []string
	raw   map[string]json.RawMessage
}

// UnmarshalJSON keeps the order.
func (p *properties) UnmarshalJSON(data []byte) error {
	*p = properties{}
	if err := json.Unmarshal(data, &p.raw); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		p.names = append(p.names, fmt.Sprint(name))
		if err := dec.Decode(&json.RawMessage{}); err != nil {
			return err
		}
	}
	return nil
}

// inherited is what holds for everything below a field too; only the risk may be
// another one further down.
type inherited struct {
	flags
	risk Risk
}

// below returns what holds below a field with those keywords.
func (i inherited) below(kw keywords) inherited {
	return inherited{i.or(kw.flags), cmp.Or(kw.Risk, i.risk)}
}

// flags are the keywords that nothing further down takes back.
type flags struct {
	ReadOnly  bool `json:"x-trueup-readonly"`
	Sensitive bool `json:"x-trueup-sensitive"`
	Immutable bool `json:"x-trueup-immutable"`
	NotSent   bool `json:"x-trueup-not-sent"`
}

func (f flags) or(g flags) flags {
	return flags{
		ReadOnly:  f.ReadOnly || g.ReadOnly,
		Sensitive: f.Sensitive || g.Sensitive,
		Immutable: f.Immutable || g.Immutable,
		NotSent:   f.NotSent || g.NotSent,
	}
}

// fieldType maps a schema's "type" to ours; a field without one may be anything.
func fieldType(name string) (Type, error) {
	switch name {
	case "":
		return AnyType, nil
	case "string":
		return Text, nil
	case "boolean":
		return Bool, nil
	case "number", "integer":
		return Number, nil
	case "object":
		return ObjectType, nil
	case "array":
		return ListType, nil
	}
	return AnyType, fmt.Errorf("unknown type %q", name)
}

// parser resolves references inside one document.
type parser struct {
	defs map[string]json.RawMessage
}

func parseSchema(doc []byte) (*Field, error) {
	var p struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		return nil, err
	}
	return (&parser{defs: p.Defs}).field("", doc, inherited{})
}

// decode reads the keywords of a node. Those beside a $ref go over those of
// the definition, so that a shared definition gets a title of its own.
func (p *parser) decode(raw json.RawMessage, into *keywords) error {
	var own keywords
	if err := json.Unmarshal(raw, &own); err != nil {
		return err
	}
	if own.Ref != "" {
		name, _ := strings.CutPrefix(own.Ref, "#/$defs/")
		def, ok := p.defs[name]
		if !ok {
			return fmt.Errorf("$ref %q is not a definition of this document", own.Ref)
		}
		if err := p.decode(def, into); err != nil {
			return err
		}
	}
	return json.Unmarshal(raw, into)
}

func (p *parser) field(name string, raw json.RawMessage, above inherited) (*Field, error) {
	var kw keywords
	if err := p.decode(raw, &kw); err != nil {
		return nil, fmt.Errorf("field %q: %w", name, err)
	}
	typ, err := fieldType(kw.Type)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", name, err)
	}
	below := above.below(kw)
	f := &Field{
		Name: name, Type: typ, Title: kw.Title, Description: kw.Description,
		Section: kw.Section, Examples: kw.Examples, Seen: kw.Seen, Observed: kw.Observed, Enum: kw.Enum,
		ReadOnly: below.ReadOnly, Sensitive: below.Sensitive, Immutable: below.Immutable, NotSent: below.NotSent,
		Discriminator: kw.Discriminator, Summary: kw.Summary, Open: kw.Open, Risk: below.risk,
	}
	if kw.Const != "" {
		f.Enum = []string{kw.Const}
	}
	if kw.List != nil {
		f.List = &ListRule{Key: kw.List.Key, Ordered: kw.List.Order != "set", Join: kw.List.Join}
	}
	return f, p.below(f, kw, below)
}

// below builds the fields of an object and the element of a list.
func (p *parser) below(f *Field, kw keywords, above inherited) (err error) {
	if kw.Items != nil {
		if f.Item, err = p.field("", kw.Items, above); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	if bytes.HasPrefix(kw.Additional, []byte("{")) {
		if f.Any, err = p.field("", kw.Additional, above); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	if kw.Properties.raw == nil {
		return nil
	}
	f.Fields = make(map[string]*Field, len(kw.Properties.names))
	f.Names = kw.Properties.names
	for _, name := range f.Names {
		child, err := p.field(name, kw.Properties.raw[name], above)
		if err != nil {
			return err
		}
		child.Required = slices.Contains(kw.Required, name)
		f.Fields[name] = child
	}
	return nil
}

// At finds a field by the parts of its path: spec, locations, cache, edgeTTL.
// A list is entered without being named; the parts "[]", "[3]" and "3" and a
// bracket behind a name are tolerated where they are written. The path of a
// list, without a bracket behind it, is the list itself.
func (f *Field) At(path []string) (*Field, bool) {
	for _, part := range path {
		name, bracket, indexed := strings.Cut(part, "[")
		f = f.child(name)
		if indexed {
			for range strings.Count(bracket, "][") + 1 {
				f = f.item()
			}
		}
	}
	return f, f != nil
}

func (f *Field) child(name string) *Field {
	switch {
	case f == nil || name == "":
		return f
	case f.Type == ListType && isIndex(name):
		return f.Item
	case f.Type == ListType:
		return f.Item.child(name)
	}
	if known := f.Fields[name]; known != nil {
		return known
	}
	return f.Any
}

func (f *Field) item() *Field {
	if f == nil {
		return nil
	}
	return f.Item
}

func isIndex(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Knows reports whether a field of an object needs no warning: the schema has
// it, the object is open, or it is the one that the object's discriminator
// names (docs/platform.md 2.2: "an object named like the type").
func (f *Field) Knows(name string, object map[string]any) bool {
	if f.Fields[name] != nil || f.Open {
		return true
	}
	return f.Discriminator != "" && object[f.Discriminator] == name
}

package kind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/schemas"
)

const schemaEnding = ".schema.json"

// schemaFile returns the file of the schema with a name, in any case: that of a kind, or one of SchemaNames.
func schemaFile(name string) string { return strings.ToLower(name) + schemaEnding }

// readSchema and mustParseSchema panic on an error, because schemas are part of the program.
func readSchema(name string) []byte {
	b, err := schemas.FS.ReadFile(schemaFile(name))
	if err != nil {
		panic(fmt.Sprintf("schema %s: %v", name, err))
	}
	return b
}

func mustParseSchema(name string) *Field {
	field, err := parseSchema(readSchema(name))
	if err != nil {
		panic(fmt.Sprintf("schema %s: %v", name, err))
	}
	return field
}

// Root returns the fields of the whole envelope: apiVersion, kind, metadata, spec and status. It is
// built once; do not change it.
func (k *Kind) Root() *Field {
	k.once.Do(func() {
		k.root = mustParseSchema(k.Name)
		k.addRisks()
	})
	return k.root
}

// Spec returns the fields of the spec; see Root.
func (k *Kind) Spec() *Field { return k.Root().Fields["spec"] }

// SchemaNames returns the names of all schemas, of kinds and of trueup's own formats, sorted: cdn,
// config, doctor, ...
func SchemaNames() []string {
	files, err := schemas.FS.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("schemas: %v", err))
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), schemaEnding))
	}
	slices.Sort(names)
	return names
}

// SchemaNamed returns the JSON Schema of a kind, by any name that FindKind accepts, or of one of SchemaNames.
func SchemaNamed(name string) (schema []byte, ok bool) {
	if k, known := FindKind(name); known {
		name = k.Name
	}
	schema, err := schemas.FS.ReadFile(schemaFile(name))
	return schema, err == nil
}

// tableOfOwnFiles have the fields of the files that users write for trueup.
var tableOfOwnFiles = map[string]func() *Field{"config": ownFile("config"), "project": ownFile("project"), "requesttest": ownFile("requesttest")}

func ownFile(name string) func() *Field {
	return sync.OnceValue(func() *Field { return mustParseSchema(name) })
}

// OwnFiles returns the names of the formats of files that users write for trueup.
func OwnFiles() []string { return slices.Sorted(maps.Keys(tableOfOwnFiles)) }

// OwnFileFields returns the fields of one of OwnFiles; do not change them.
func OwnFileFields(name string) (*Field, bool) {
	fields, ok := tableOfOwnFiles[name]
	if !ok {
		return nil, false
	}
	return fields(), true
}

// definitions are the $defs of a schema.
type definitions map[string]json.RawMessage

func parseSchema(doc []byte) (*Field, error) {
	var top struct {
		Defs definitions `json:"$defs"`
	}
	if err := json.Unmarshal(doc, &top); err != nil {
		return nil, err
	}
	return top.Defs.makeField("", doc, inherited{})
}

// parsedSchema is the schema of a field.
type parsedSchema struct {
	Field
	Ref      string   `json:"$ref"`
	Const    string   `json:"const"`
	Required []string `json:"required"`
	List     *struct {
		ListRule
		Order string `json:"order"`
	} `json:"x-trueup-list"`
	Properties orderedMembers  `json:"properties"`
	Items      json.RawMessage `json:"items"`
	More       json.RawMessage `json:"additionalProperties"` // a schema, true or false
}

// orderedMembers are those of a JSON object, in their order.
type orderedMembers struct {
	names  []string
	values map[string]json.RawMessage
}

// UnmarshalJSON reads an object.
func (m *orderedMembers) UnmarshalJSON(text []byte) error {
	*m = orderedMembers{values: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(text))
	_, err := dec.Token()
	for err == nil && dec.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
		}
		m.names = append(m.names, fmt.Sprint(name))
		m.values[fmt.Sprint(name)] = value
	}
	return err
}

// decodeSchema decodes a schema. Members beside a $ref override those of the definition.
func (d definitions) decodeSchema(text json.RawMessage, into *parsedSchema) error {
	alone := *into
	err := json.Unmarshal(text, into)
	if err != nil || into.Ref == "" {
		return err
	}
	def, ok := d[strings.TrimPrefix(into.Ref, "#/$defs/")]
	if !ok {
		return fmt.Errorf("$ref %q is not a definition of this document", into.Ref)
	}
	*into = alone
	if err := d.decodeSchema(def, into); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (d definitions) makeField(name string, text json.RawMessage, above inherited) (f *Field, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("field %q: %w", name, err)
		}
	}()
	own := parsedSchema{Field: Field{Name: name, inherited: above}}
	if err = d.decodeSchema(text, &own); err != nil {
		return nil, err
	}
	field := own.Field // alone, because the schema is not needed any more
	f = &field
	if own.Const != "" {
		f.Enum = []string{own.Const}
	}
	if own.List != nil {
		f.List = &own.List.ListRule
		f.List.Ordered = own.List.Order != "set"
	}
	return f, d.addChildFields(f, own)
}

// addChildFields adds to a field those below it.
func (d definitions) addChildFields(f *Field, own parsedSchema) (err error) {
	if own.Items != nil {
		f.Item, err = d.makeField("", own.Items, f.inherited)
	}
	if err == nil && bytes.HasPrefix(own.More, []byte("{")) {
		f.Any, err = d.makeField("", own.More, f.inherited)
	}
	if f.Names = own.Properties.names; len(f.Names) > 0 {
		f.Fields = make(map[string]*Field, len(f.Names))
	}
	for _, name := range f.Names {
		if err != nil {
			return err
		}
		if f.Fields[name], err = d.makeField(name, own.Properties.values[name], f.inherited); err == nil && slices.Contains(own.Required, name) {
			f.Fields[name].Required = true
		}
	}
	return err
}

// FieldAt finds a field by the parts of its path, such as spec, locations, cache, edgeTTL. Lists need no part
// of their own: "[]", "[3]", "3" and a bracket after a name are optional. A path that ends at a list,
// without a bracket, is the list itself.
func (f *Field) FieldAt(path []string) (*Field, bool) {
	for _, part := range path {
		name, _, indexed := strings.Cut(part, "[")
		isIndex := strings.Trim(name, "0123456789") == ""
		for f != nil && f.Type == ListType && name != "" {
			if f = f.Item; isIndex {
				name = ""
			}
		}
		if f != nil && name != "" {
			f = cmp.Or(f.Fields[name], f.Any)
		}
		for n := strings.Count(part, "]["); f != nil && indexed && n >= 0; n-- {
			f = f.Item
		}
	}
	return f, f != nil
}

// KnowsMember reports whether a field of an object needs no warning: the schema has it, the object is open,
// or the object's discriminator names it (docs/platform.md 2.2).
func (f *Field) KnowsMember(name string, object map[string]any) bool {
	if f.Fields[name] != nil || f.Open {
		return true
	}
	return f.Discriminator != "" && object[f.Discriminator] == name
}

// projectKind is the kind of trueup.yaml.
const projectKind = "Project"

// editorNote precedes the digest in the schema for editors.
const editorNote = "trueup init wrote this file and updates it unless it was edited: "

// EditorSchema returns one JSON Schema for every file of a repository, because editors choose a schema by file
// name: the kind of a document selects the definition. It is draft-07, which every editor knows, and refers to
// nothing outside itself. A null says that a field must be absent, so every optional field may be null.
func EditorSchema() []byte {
	names := []string{projectKind}
	for _, k := range AllDocumentKinds() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	definitions, branches, kinds, snippets := map[string]any{}, []any{}, []any{}, []any{}
	for _, name := range names {
		schema := canon.Object(canon.MustDecode(readSchema(name)))
		definition := forEditor(schema, canon.Object(schema["$defs"]))
		definitions[name] = definition
		kinds = append(kinds, name)
		snippets = append(snippets, map[string]any{
			"label": name, "description": definition["description"], "body": mustParseSchema(name).ExampleValue(false),
		})
		branches = append(branches, map[string]any{
			"if": map[string]any{
				"required":   []any{"kind"},
				"properties": map[string]any{"kind": map[string]any{"const": name}},
			},
			"then": map[string]any{"$ref": "#/definitions/" + name},
		})
	}
	doc := map[string]any{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"description": "A manifest, a test of requests, or the project file. Its fields depend on kind.",
		"type":        "object",
		"required":    []any{"apiVersion", "kind"},
		"properties": map[string]any{
			"kind": map[string]any{"title": "Kind", "description": "What the document describes.", "enum": kinds},
		},
		"allOf":           branches,
		"definitions":     definitions,
		"defaultSnippets": snippets,
	}
	doc["$comment"] = editorNote + canon.Digest(canon.Encode(doc)).String()
	var out bytes.Buffer
	if err := json.Indent(&out, canon.Encode(doc), "", "  "); err != nil {
		panic(fmt.Sprintf("schema for editors: %v", err))
	}
	return append(out.Bytes(), '\n')
}

// CheckEditorSchema reports whether a text was written by EditorSchema of any version and not edited, and whether it
// equals that of this version apart from layout.
func CheckEditorSchema(text []byte) (unedited, current bool) {
	v, err := canon.Decode(text)
	doc, ok := v.(map[string]any)
	if err != nil || !ok {
		return false, false
	}
	current = bytes.Equal(canon.Encode(doc), canon.Encode(canon.MustDecode(EditorSchema())))
	note := doc["$comment"]
	delete(doc, "$comment")
	return note == editorNote+canon.Digest(canon.Encode(doc)).String(), current
}

// EditorSchemaFile is the schema's file beside trueup.yaml. It is committed, so that it works in a
// clone, offline and without trueup.
const EditorSchemaFile = ".trueup.schema.json"

// EditorSchemaPath returns the relative path to the schema from a file, whose name starts from the
// project's directory, with slashes.
func EditorSchemaPath(name string) string {
	return strings.Repeat("../", strings.Count(path.Clean(name), "/")) + EditorSchemaFile
}

// forEditor converts a schema for editors. It writes references out, because draft-07 ignores what is
// beside one, and omits what only trueup reads.
func forEditor(schema, defs map[string]any) map[string]any {
	out := map[string]any{}
	if ref, ok := schema["$ref"].(string); ok {
		out = forEditor(canon.Object(defs[strings.TrimPrefix(ref, "#/$defs/")]), defs)
	}
	for name, v := range schema {
		below := canon.Object(v)
		switch {
		case strings.HasPrefix(name, "$"), strings.HasPrefix(name, "x-trueup-"):
		case name == "properties":
			required, _ := schema["required"].([]any)
			fields := map[string]any{}
			for name, v := range below {
				field := forEditor(canon.Object(v), defs)
				if fields[name] = field; !slices.Contains(required, any(name)) {
					allowNull(field)
				}
			}
			out[name] = fields
		case name == "items":
			out[name] = forEditor(below, defs)
		default:
			out[name] = v
		}
	}
	if seen, ok := schema["x-trueup-seen"].([]any); ok {
		out["examples"] = seen
	}
	if schema["x-trueup-readonly"] == true {
		out["doNotSuggest"] = true
	}
	return out
}

// allowNull lets a field be null.
func allowNull(field map[string]any) {
	if t, ok := field["type"].(string); ok {
		field["type"] = []any{t, "null"}
	}
	if values, ok := field["enum"].([]any); ok {
		field["enum"] = append(slices.Clone(values), nil)
	}
}

package kind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/canon"
)

// projectKind is the kind of trueup.yaml.
const projectKind = "Project"

// editorNote precedes the digest in the schema for editors.
const editorNote = "trueup init wrote this file and updates it unless it was edited: "

// EditorSchema returns one JSON Schema for every file of a repository, because editors choose a schema by file
// name: the kind of a document selects the definition. It is draft-07, which every editor knows, and refers to
// nothing outside itself. A null says that a field must be absent, so every optional field may be null.
func EditorSchema() []byte {
	files := map[string]string{projectKind: "project.schema.json"}
	for _, k := range table {
		files[k.Name] = k.SchemaFile
	}
	definitions, branches, kinds, snippets := map[string]any{}, []any{}, []any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		schema := canon.MustDecode(readSchema(files[name])).(map[string]any)
		defs, _ := schema["$defs"].(map[string]any)
		definition := forEditor(schema, defs)
		definitions[name] = definition
		kinds = append(kinds, name)
		snippets = append(snippets, map[string]any{
			"label": name, "description": definition["description"], "body": mustParse(files[name]).Example(false),
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
		"description": "A manifest, or the project file. Its fields depend on kind.",
		"type":        "object",
		"required":    []any{"apiVersion", "kind"},
		"properties": map[string]any{
			"kind": map[string]any{"title": "Kind", "description": "What the document describes.", "enum": kinds},
		},
		"allOf":           branches,
		"definitions":     definitions,
		"defaultSnippets": snippets,
	}
	doc["$comment"] = editorNote + canon.Digest(canon.Bytes(doc)).String()
	var out bytes.Buffer
	if err := json.Indent(&out, canon.Bytes(doc), "", "  "); err != nil {
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
	current = bytes.Equal(canon.Bytes(doc), canon.Bytes(canon.MustDecode(EditorSchema())))
	note := doc["$comment"]
	delete(doc, "$comment")
	return note == editorNote+canon.Digest(canon.Bytes(doc)).String(), current
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
		def, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		out = forEditor(def, defs)
	}
	for name, v := range schema {
		below, _ := v.(map[string]any)
		switch {
		case strings.HasPrefix(name, "$"), strings.HasPrefix(name, "x-trueup-"):
		case name == "properties":
			required, _ := schema["required"].([]any)
			fields := map[string]any{}
			for name, v := range below {
				field, _ := v.(map[string]any)
				field = forEditor(field, defs)
				if fields[name] = field; !slices.Contains(required, any(name)) {
					orNull(field)
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

// orNull lets a field be null.
func orNull(field map[string]any) {
	if t, ok := field["type"].(string); ok {
		field["type"] = []any{t, "null"}
	}
	if values, ok := field["enum"].([]any); ok {
		field["enum"] = append(slices.Clone(values), nil)
	}
}

package kind

import (
	"fmt"
	"slices"
	"strings"

	"trueup/schemas"
)

// schemaEnding is that of the names of all schemas.
const schemaEnding = ".schema.json"

// SchemaNames are the schemas that there are, of the kinds and of this program's
// own formats, sorted: cdn, config, doctor, ...
func SchemaNames() []string {
	files, err := schemas.FS.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("schemas: %v", err)) // they are in the program
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), schemaEnding))
	}
	slices.Sort(names)
	return names
}

// SchemaNamed returns the JSON Schema of a kind, which may be named as Named
// takes it, or of one of SchemaNames, and its file's name.
func SchemaNamed(name string) (file string, schema []byte, ok bool) {
	file = strings.ToLower(name) + schemaEnding
	if k, known := Named(name); known {
		file = k.SchemaFile
	}
	schema, err := schemas.FS.ReadFile(file)
	return file, schema, err == nil
}

// OwnFiles are the formats of files that users write for this program itself.
func OwnFiles() []string { return []string{"config", "project"} }

// OwnFile returns the fields of one of OwnFiles. It panics as Root does.
func OwnFile(name string) (*Field, bool) {
	if !slices.Contains(OwnFiles(), name) {
		return nil, false
	}
	_, schema, _ := SchemaNamed(name)
	field, err := parseSchema(schema)
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", name, err))
	}
	return field, true
}

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/report"
)

// schema is what help shows of a schema.
type schema struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func allSchemas() []schema {
	var all []schema
	for _, name := range kind.SchemaNames() {
		_, text, _ := kind.SchemaNamed(name)
		var s schema
		_ = json.Unmarshal(text, &s) // schemas are part of the program
		s.Name = name
		all = append(all, s)
	}
	return all
}

// listSchemas lists the names of all schemas.
func listSchemas() report.Document {
	all := allSchemas()
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.Name, s.Description}
	}
	return table("trueup.schemas/v1", "schemas", all, rows)
}

// printSchema prints the schema of a kind, of a file or of an output.
func printSchema(name string) (report.Document, error) {
	_, text, ok := kind.SchemaNamed(name)
	if !ok {
		return report.Document{}, fmt.Errorf("there is no schema %q%s", name,
			cmp.Or(diag.DidYouMean(name, kind.SchemaNames()), ": trueup explain --schema lists them"))
	}
	doc := sourceText(text)
	doc.Data = json.RawMessage(text)
	return doc, nil
}

package cli

import (
	"os"
	"path/filepath"

	"trueup/internal/kind"
)

// schemaAt is the schema that a file of the project names in its first line, for editors. It is empty
// if the project has no schema, or the file is outside.
func (p project) schemaAt(full string) string {
	inside, err := filepath.Rel(p.dir, full)
	if err != nil || !p.exists() || !filepath.IsLocal(inside) {
		return ""
	}
	if info, err := os.Lstat(filepath.Join(p.dir, kind.EditorSchemaFile)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return kind.EditorSchemaPath(filepath.ToSlash(inside))
}

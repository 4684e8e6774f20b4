package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"trueup/internal/files"
	"trueup/internal/kind"
)

// schemaFile is the schema by which editors complete and check the files of a
// project. It stands beside trueup.yaml and is committed, so that it works in a
// clone, offline and for who has no trueup; it is hidden from who reads manifests.
const schemaFile = ".trueup.schema.json"

// schemaFor is the schema as a manifest names it for editors in its first line
// (manifest.Draft.Schema). The manifest's name starts from the project's folder,
// with slashes. It is "" where the project has no schema, or the file is outside.
func (p project) schemaFor(name string) string {
	if !p.exists() || !filepath.IsLocal(filepath.FromSlash(name)) {
		return ""
	}
	if info, err := os.Lstat(filepath.Join(p.dir, schemaFile)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return schemaPath(name)
}

// schemaAt is schemaFor of a file wherever it is.
func (p project) schemaAt(full string) string {
	inside, err := filepath.Rel(p.dir, full)
	if err != nil {
		return ""
	}
	return p.schemaFor(filepath.ToSlash(inside))
}

// schemaPath is the way from a file of a project to its schema.
func schemaPath(name string) string {
	return strings.Repeat("../", strings.Count(path.Clean(name), "/")) + schemaFile
}

// checkEditor tells of a schema for editors that is not this version's.
func (d *doctoring) checkEditor(context.Context) finding {
	p := d.project
	if !p.exists() {
		return finding{Status: skipped, Says: "no trueup.yaml", follows: true}
	}
	text, _, err := files.Read(filepath.Join(p.dir, schemaFile), maxProject)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{Status: skipped, Says: "no schema for editors; trueup init writes one"}
	case err != nil:
		return finding{Status: warned, Says: schemaFile + ": " + files.WithoutPath(err).Error(), Fix: "remove it, and run trueup init"}
	case sameJSON(text, kind.EditorSchema()):
		return finding{Status: good, Says: schemaFile}
	case kind.IsEditorSchema(text):
		return finding{Status: warned, Says: schemaFile + " was written by another version of trueup", Fix: "run trueup init, and commit it"}
	}
	return finding{Status: skipped, Says: schemaFile + " was edited by hand"}
}

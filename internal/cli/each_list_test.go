package cli

import (
	"testing"

	"trueup/internal/diag"
)

// TestProjectsHaveTheirSchema: with and without what can't be read.
func TestProjectsHaveTheirSchema(t *testing.T) {
	s := newStage(t)
	list := func(code int) []any {
		t.Helper()
		doc := decoded(t, s.must(code, "each", "--list", "-o", "json"))
		if err := publishedSchema(t, "projects.schema.json").Validate(doc); err != nil {
			t.Errorf("%#v", err)
		}
		return doc["projects"].([]any)
	}
	s.write("manifests/shop.yaml", purgeShop)
	if all := list(diag.ExitOK); len(all) != 1 || all[0].(map[string]any)["workspace"] == nil {
		t.Error(all)
	}
	s.write("trueup.yaml", "apiVersion: trueup/v1\nkind: Project\n")
	if all := list(diag.ExitInvalid); len(all) != 1 || all[0].(map[string]any)["error"] == nil {
		t.Error(all)
	}
}

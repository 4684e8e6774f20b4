package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"trueup/internal/diag"
)

const untidyPurge = "apiVersion: delivery/v2.1\nkind: Purge\nmetadata:\n    name: rel-42\nspec:\n    hostname: shop.example.com\n    paths: [/a]\n"

// TestFmtAsJSON: what machines read names each file that changes, and how the
// run ended.
func TestFmtAsJSON(t *testing.T) {
	s := newStage(t)
	s.write("manifests/a.yaml", untidyPurge)
	s.write("manifests/b.yaml", onePurge("rel-43"))
	text := s.must(diag.ExitChanges, "fmt", "--check", "-o", "json")
	if err := publishedSchema(t, "fmt.schema.json").Validate(decoded(t, text)); err != nil {
		t.Errorf("%#v", err)
	}
	var doc struct {
		Result   string
		ExitCode int
		Files    []struct {
			Path    string
			Changed bool
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Result != "changes" || doc.ExitCode != diag.ExitChanges || len(doc.Files) == 0 || doc.Files[0].Path != "manifests/a.yaml" || !doc.Files[0].Changed {
		t.Errorf("%+v", doc)
	}
	s.must(diag.ExitOK, "fmt")
	if text := s.must(diag.ExitOK, "fmt", "--check", "-o", "json"); !strings.Contains(text, `"files": []`) || !strings.Contains(text, `"findings": []`) {
		t.Error(text)
	}
}

// TestFmtOnATerminal: a manifest that is shown can't obey its own text.
func TestFmtOnATerminal(t *testing.T) {
	s := newStage(t)
	s.write("manifests/a.yaml", untidyPurge+"#   \u200b::error::x\n")
	text := s.must(diag.ExitChanges, "fmt", "--diff")
	if strings.Contains(text, "\u200b") || !strings.Contains(text, `\u200b::error::x`) || !strings.Contains(text, "\n+  name: rel-42\n") {
		t.Error(text)
	}
}

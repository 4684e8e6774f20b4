package cli

import (
	"testing"

	"trueup/internal/diag"
)

// TestRequestIsAsItsSchemaSays: of git alone, and with live.
func TestRequestIsAsItsSchemaSays(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	s.write("manifests/b.yaml", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: b}\nspec: {hostname: b.example.com, locations: [{path: /b, host: shop.example.com}]}\n")
	schema := publishedSchema(t, "request.schema.json")
	for _, args := range [][]string{{}, {"--live"}} {
		doc := decoded(t, s.must(diag.ExitOK, append([]string{"request", "-o", "json", "http://shop.example.com/a/../b", "https://shop.example.com"}, args...)...))
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%#v", err)
		}
		if n := len(doc["requests"].([]any)); n != 2 {
			t.Errorf("%d requests", n)
		}
	}
}

package cli

import (
	"testing"

	"trueup/internal/exit"
)

// TestStatusFitsItsSchema: -o json is what the published schema allows, for objects of every state that a
// fresh sandbox has.
func TestStatusFitsItsSchema(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	s.write("manifests/rel.yaml", aPurge("rel-1", "/a"))
	doc := decoded(t, s.must(exit.OK, "status", "-o", "json"))
	if err := publishedSchema(t, "status.schema.json").Validate(doc); err != nil {
		t.Errorf("%#v", err)
	}
	if len(doc["objects"].([]any)) == 0 {
		t.Error("no object is listed")
	}
}

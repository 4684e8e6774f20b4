package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/schemas"
)

// TestStatusFitsItsSchema: -o json is what the published schema allows, for objects of every state that a
// fresh sandbox has.
func TestStatusFitsItsSchema(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	s.write("manifests/rel.yaml", aPurge("rel-1", "/a"))
	doc := decoded(t, s.must(diag.ExitOK, "status", "-o", "json"))
	if err := publishedSchema(t, "status.schema.json").Validate(doc); err != nil {
		t.Errorf("%#v", err)
	}
	if len(doc["objects"].([]any)) == 0 {
		t.Error("no object is listed")
	}
}

// TestHelpOfStatusHasEachState: help explains the states of the published schema, and no others.
func TestHelpOfStatusHasEachState(t *testing.T) {
	help, err := helpTexts.ReadFile("help/status.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(help), "\n\n  ")
	list, _, _ = strings.Cut(list, "\n\n")
	var explained []string
	for _, line := range regexp.MustCompile(`(?m)^ {2}(\S.*?)(?:  .*)?$`).FindAllStringSubmatch("  "+list, -1) {
		names := strings.ReplaceAll(line[1], string(plan.ToChange)+", drifted", string(plan.Drifted))
		explained = append(explained, strings.Split(names, ", ")...)
	}
	text, err := schemas.FS.ReadFile("status.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Objects struct {
				Items struct {
					Properties struct{ State struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	published := schema.Properties.Objects.Items.Properties.State.Enum
	slices.Sort(explained)
	slices.Sort(published)
	if !slices.Equal(explained, published) {
		t.Errorf("help explains %q, and the schema has %q", explained, published)
	}
}

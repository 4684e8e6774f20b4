package cli

import (
	"strings"
	"testing"

	"trueup/internal/diag"
)

const adoptedCDN = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec: {hostname: shop.example.com, tls: {forced: \"true\"}}\n"

// TestAdoptRecordsWhatIsGits: what an override leaves to the server is not
// git's, and must not look like something that git removed or took over once
// the override is lifted.
func TestAdoptRecordsWhatIsGits(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	s.more("overrides: [{kind: CDN, path: spec.tls.forced, ignore: true}]\n")
	s.must(diag.ExitOK, "ledger", "adopt", "cdn/shop", "--reason", "written by hand")
	record := decoded(t, s.must(diag.ExitOK, "ledger", "show", "cdn/shop", "-o", "json"))
	applied, _ := record["applied"].(map[string]any)
	tls, _ := applied["tls"].(map[string]any)
	if applied["hostname"] != "shop.example.com" || tls["forced"] != nil {
		t.Errorf("recorded as applied: %v", applied)
	}
}

// TestAdoptRefusesAnInvalidTree: a manifest with an error is no account of what
// was done.
func TestAdoptRefusesAnInvalidTree(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", strings.Replace(adoptedCDN, `"true"`, "7", 1))
	code, _, stderr := s.run("ledger", "adopt", "cdn/shop", "--reason", "written by hand")
	if code != diag.ExitInvalid || !strings.Contains(stderr, "manifests/shop.yaml:4:") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, _ := s.run("ledger", "show", "cdn/shop"); code == diag.ExitOK {
		t.Error("it was recorded all the same")
	}
}

package plan_test

import (
	"testing"

	"trueup/internal/plan"
)

// TestTouches: a finding is about what changes if it is in the same element of a
// list, in the same field, or about the object as a whole.
func TestTouches(t *testing.T) {
	want := `{hostname: shop.example.com, tls: {forced: "true", enabled: "true"}, locations: [{path: /a}, {path: /b, action: x}]}`
	live := `{hostname: shop.example.com, tls: {forced: "false", enabled: "true"}, locations: [{path: /a}, {path: /b, action: y}, {path: /c}]}`
	it := git(t, cdn("shop", want)).has(shop, live).applied(shop, live).item(shop)
	for field, touched := range map[string]bool{
		"": true, "metadata.labels": true, "spec.tls.forced": true, "spec.tls": true, "spec.tls.enabled": false, "spec.tlsX": false,
		"spec.locations[1].path": true, "spec.locations[1].cache.level": true, "spec.locations[0].path": false, "spec.locations[10].path": false,
		"spec.locations": true, "spec.hostname": false,
	} {
		if it.Op != plan.Patch || it.ChangesField(field) != touched {
			t.Errorf("%s of %q: %v", it.Op, field, !touched)
		}
	}
	if it := git(t, cdn("shop", want)).item(shop); !it.ChangesField("spec.hostname") {
		t.Error("all of what is made is new")
	}
	if it := git(t, cdn("shop", want)).has(shop, want).applied(shop, want).item(shop); it.ChangesField("") || it.ChangesField("spec.hostname") {
		t.Error("nothing of what stays changes")
	}
}

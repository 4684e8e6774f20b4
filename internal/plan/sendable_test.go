package plan_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// TestWhatIsMadeIsWhatMergeSends: a spec of which nothing is left out is not read
// for that, and is sent as one that is.
func TestWhatIsMadeIsWhatMergeSends(t *testing.T) {
	k, _ := kind.FindKind("CDN")
	rapid.Check(t, func(t *rapid.T) {
		text := drawSpec(t, "git", false)
		overrides := rapid.SampledFrom([][]plan.Override{nil, {{Kind: "CDN", Path: "tls.auto", ReadOnly: true}}, {{Kind: "CDN", Path: "tls", Ignore: true}}}).Draw(t, "overrides")
		if rapid.Bool().Draw(t, "null") {
			text = strings.TrimSuffix(text, "}") + ", imgsvc: null}"
		}
		w := git(t, cdn("shop", text)).overriding(overrides...)
		got := canon.Encode(body(t, w.item(shop))["spec"])
		if want := canon.Encode(merge.SendableValue(plan.RulesFor(k, overrides), tree(t, text))); !bytes.Equal(got, want) {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

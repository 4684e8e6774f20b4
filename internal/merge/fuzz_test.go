package merge

import (
	"testing"

	"trueup/internal/canon"
	"trueup/internal/effect"
)

// FuzzCompare: whatever the four values are, nothing panics or is changed, the
// patch does what it is for, says so, and a second one is empty.
func FuzzCompare(f *testing.F) {
	f.Add(`{"a":1}`, ``, `{"a":2}`, `{"a":9}`, false)
	f.Add(`{}`, `{"upstreams":[{"name":"a"}]}`, `{"upstreams":[{"name":"b"},null]}`, `{"upstreams":[{"name":"a","q":"1"}]}`, true)
	f.Add(``, ``, `{"locations":[{"path":"/a"}]}`, `{"locations":[{"path":"/a","host":"h"},{"path":"/a","host":"i"}]}`, false)
	f.Add(``, ``, `{"locations":[{"path":"/a"},{"host":"h"}]}`, `{"locations":[{"path":"/a","host":"h"},{"path":"/b"}]}`, false)
	f.Add(`{"rules":[{"name":"r","constraints":[[{"type":"ip"}],[]]}]}`, `[]`, `{"rules":[{"name":"r","constraints":[[]]}]}`, `{"rules":[{"name":"r","constraints":[[{"type":"ip"}]]}]}`, false)
	f.Add(`null`, `1`, `[1]`, `"x"`, false)
	f.Add(``, ``, `{"rate":"1e400"}`, `{"rate":1e401}`, false)
	f.Fuzz(func(t *testing.T, applied, pending, desired, live string, override bool) {
		in := Input{Rules: specRules()}
		if override {
			in.Rules = overridden()
		}
		var begun any
		for _, v := range []struct {
			to   *any
			text string
		}{{&in.Applied, applied}, {&begun, pending}, {&in.Desired, desired}, {&in.Live, live}} {
			*v.to, _ = canon.Decode([]byte(v.text))
		}
		in.Pending = some(begun)
		before := in.String()
		res := Compare(in)
		if in.String() != before {
			t.Fatalf("inputs changed: %s", in)
		}
		if nullInList(anyPatch(res), false) {
			t.Fatalf("a null inside a list: %s of %s", encode(res.Patch), in)
		}
		want, ok := in.Desired.(map[string]any)
		if !ok {
			return
		}
		in.Live = effect.ApplyPatch(anyPatch(res), in.Live)
		if !LiveCovers(in.Rules, want, in.Live) {
			t.Fatalf("%s leads to %s", encode(res.Patch), in)
		}
		if again := Compare(in); again.Patch != nil {
			t.Fatalf("after %s, again %s: %s", encode(res.Patch), encode(again.Patch), in)
		}
	})
}

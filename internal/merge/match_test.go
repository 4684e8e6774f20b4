package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

// TestScalarsAreMatchedAsAnythingElse: looking only at equal ones finds the pairs
// that looking at all finds.
func TestScalarsAreMatchedAsAnythingElse(t *testing.T) {
	scalar := rapid.SampledFrom([]any{"a", "b", "1", "1.0", "true", true, false, json.Number("1"), json.Number("2"), "2", "1#", ""})
	rapid.Check(t, func(t *rapid.T) {
		xs, ys := rapid.SliceOfN(scalar, 0, 9).Draw(t, "xs"), rapid.SliceOfN(scalar, 0, 9).Draw(t, "ys")
		item := rapid.SampledFrom([]*Rules{nil, {Type: kind.Number}, {Type: kind.Text}, {Ignore: true}}).Draw(t, "rules")
		fits := func(i, j int) bool { return LiveCovers(item, xs[i], ys[j]) }
		got, want := matchValues(item, xs, ys, fits), matchAny(len(xs), len(ys), fits)
		if !slices.Equal(got, want) {
			t.Fatalf("%v %v: %v, want %v", xs, ys, got, want)
		}
	})
}

// TestALongSetIsMatchedWhole: turned around, with one more or one less, a set of
// paths is what it was but for that one, and few pairs are tried.
func TestALongSetIsMatchedWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
	const n = 20_000
	was := make([]any, n)
	for i := range was {
		was[i] = fmt.Sprintf("/p/%d", i)
	}
	more := append([]any{"/new"}, was...)
	turned := slices.Clone(more)
	slices.Reverse(turned)
	rules := &Rules{Fields: map[string]*Rules{"l": {Set: true}}}
	for _, now := range [][]any{more, turned} {
		for _, in := range []Input{
			{Rules: rules, Applied: spec(was), Live: spec(was), Desired: spec(now)},
			{Rules: rules, Applied: spec(now), Live: spec(now), Desired: spec(was)},
			{Rules: rules, Live: spec(now), Desired: spec(was)},
		} {
			if res := Compare(in); len(res.Changes) != 1 || res.Changes[0].Path != "l[/new]" {
				t.Errorf("%d changes, the first %s", len(res.Changes), res.Changes[0].Path)
			}
		}
		tries := 0
		matchValues(nil, now, was, func(i, j int) bool { tries++; return LiveCovers(nil, now[i], was[j]) })
		if tries > 3*n {
			t.Errorf("%d pairs were tried", tries)
		}
	}
}

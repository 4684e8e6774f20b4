package merge

import (
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/effect"
)

// TestOurOwnDoingIsNoDrift: where nobody else writes, nothing counts as changed
// outside git, whether a write without an answer arrived or not.
func TestOurOwnDoingIsNoDrift(t *testing.T) {
	checks(t, 1000)
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		if in.Applied == nil {
			return
		}
		begun := rapid.SampledFrom([]any{in.Desired, in.Live}).Draw(t, "begun")
		before := StripNulls(in.Applied)
		first := Compare(Input{Rules: in.Rules, Applied: in.Applied, Desired: begun, Live: before, TakeOver: true})
		for name, live := range map[string]any{"lost": before, "arrived": effect.Apply(anyPatch(first), before)} {
			next := Input{Rules: in.Rules, Applied: in.Applied, Pending: some(begun), Desired: in.Desired, Live: live, TakeOver: true}
			for _, c := range Compare(next).Changes {
				found++
				if c.Class == DriftOverwrite || c.Class == Conflict || c.Class == RemovedConflict {
					t.Fatalf("%s: %s is %s\n%s", name, c.Path, c.Class, next)
				}
			}
		}
	})
	if found == 0 {
		t.Error("the cases prove nothing")
	}
}

package merge

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/e2e/long"
	"trueup/internal/effect"
)

// TestOurOwnDoingIsNoDrift: where nobody else writes, nothing counts as changed
// outside git, whether a write without an answer arrived or not.
func TestOurOwnDoingIsNoDrift(t *testing.T) {
	long.SetChecks(t, 200)
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		if in.Applied == nil {
			return
		}
		begun := rapid.SampledFrom([]any{in.Desired, in.Live}).Draw(t, "begun")
		before := SendableValue(nil, in.Applied)
		first := Compare(Input{Rules: in.Rules, Applied: in.Applied, Desired: begun, Live: before, TakeOver: true})
		for name, live := range map[string]any{"lost": before, "arrived": effect.ApplyPatch(anyPatch(first), before)} {
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

// TestALostWriteExplainsNothing: where nothing was ever applied, a write of what git says that did
// not arrive leaves every difference of unknown origin, as it was before (docs/design.md 0.21).
func TestALostWriteExplainsNothing(t *testing.T) {
	long.SetChecks(t, 200)
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		in.Applied, in.Pending, in.LeaveDrift = nil, nil, rapid.Bool().Draw(t, "leave")
		first := Compare(in)
		in.Pending = some(in.Desired)
		second := Compare(in)
		if !reflect.DeepEqual(first.Changes, second.Changes) || encode(first.Patch) != encode(second.Patch) {
			t.Fatalf("%s\n before %v\n after  %v", in, first.Changes, second.Changes)
		}
		found += len(first.Changes)
	})
	if found == 0 {
		t.Error("the cases prove nothing")
	}
}

// TestOriginOfAnUnclearWrite: what is known after a first write without an answer.
func TestOriginOfAnUnclearWrite(t *testing.T) {
	for name, c := range map[string]struct {
		pending, desired, live string
		class                  ChangeKind // empty for no change
	}{
		"lost":                                 {`{"a":"1"}`, `{"a":"1"}`, `{"a":"2"}`, UnknownBase},
		"lost, and git adds a field":           {`{"a":"1"}`, `{"a":"2","b":"1"}`, `{"a":"2","b":"2"}`, UnknownBase},
		"lost, and git changed it":             {`{"a":"1"}`, `{"a":"3"}`, `{"a":"2"}`, UnknownBase},
		"lost, and git removed it":             {`{"a":"1"}`, `{}`, `{"a":"2"}`, RemovedConflict},
		"arrived":                              {`{"a":"1"}`, `{"a":"1"}`, `{"a":"1"}`, ""},
		"arrived, and git changed it":          {`{"a":"1"}`, `{"a":"2"}`, `{"a":"1"}`, Changed},
		"arrived, and git removed it":          {`{"a":"1"}`, `{}`, `{"a":"1"}`, Removed},
		"arrived, and git adds a field":        {`{"a":"1"}`, `{"a":"1","b":"1"}`, `{"a":"1","b":"2"}`, TakeOver},
		"arrived, and git changed the order":   {`{"l":["1","2"]}`, `{"l":["2","1"]}`, `{"l":["1","2"]}`, Changed},
		"arrived, and then changed in live":    {`{"a":"1","b":"1"}`, `{"a":"1","b":"1"}`, `{"a":"1","b":"2"}`, UnknownBase},
		"arrived, changed in git, and in live": {`{"a":"1","b":"1"}`, `{"a":"2","b":"2"}`, `{"a":"1","b":"2"}`, Changed},
	} {
		in := Input{Pending: some(decode(t, c.pending)), Desired: decode(t, c.desired), Live: decode(t, c.live)}
		var class ChangeKind
		for _, change := range Compare(in).Changes {
			class = change.Class
		}
		if class != c.class {
			t.Errorf("%s: %q instead of %q", name, class, c.class)
		}
	}
}

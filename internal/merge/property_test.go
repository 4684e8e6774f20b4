package merge

import (
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/e2e/long"
	"trueup/internal/effect"
)

// TestProperties holds P1 to P10 of docs/design.md B7, and what section 0 adds.
func TestProperties(t *testing.T) {
	long.SetChecks(t, 500)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		before := in.String()
		res := Compare(in)
		if in.String() != before {
			t.Fatalf("P9 inputs changed from %s to %s", before, in)
		}
		if again := Compare(in); encode(again.Patch) != encode(res.Patch) {
			t.Fatalf("P9 %s, then %s, for %s", encode(res.Patch), encode(again.Patch), in)
		}
		after := effect.ApplyPatch(anyPatch(res), in.Live)
		fail := func(what string) {
			t.Fatalf("%s%s\n patch   %s\n after   %s", what, in, encode(res.Patch), encode(after))
		}
		goalHolds(fail, in, after)
		patchIsRight(fail, in, res)
		keepsWhatIsNotGits(fail, in, res, after)
		isMinimal(fail, in, res)
	})
}

func anyPatch(res Comparison) any {
	if res.Patch == nil {
		return map[string]any{}
	}
	return res.Patch
}

func reached(in Input, live any) bool {
	return oracleCovers(in.Rules, in.Desired, live) &&
		goneAll(in, live)
}

// goneAll reports whether nothing that git had before and dropped is there.
func goneAll(in Input, live any) bool {
	for _, record := range append([]any{in.Applied}, in.Pending...) {
		if !oracleGone(in.Rules, record, in.Desired, live) {
			return false
		}
	}
	return true
}

// goalHolds is P1 to P3 and P8, the order, which is part of covering.
func goalHolds(fail func(string), in Input, after any) {
	if !oracleCovers(in.Rules, in.Desired, after) {
		fail("P1, P8 not all that git says is there")
	}
	if !goneAll(in, after) {
		fail("P2 something that git removed remains")
	}
	next := in
	next.Live = after
	for _, records := range []struct {
		applied any
		pending []any
	}{{in.Applied, in.Pending}, {in.Desired, nil}, {in.Applied, some(in.Desired)}} {
		next.Applied, next.Pending = records.applied, records.pending
		if second := Compare(next); second.Patch != nil || len(second.Changes) > 0 {
			fail("P3 the second plan sends " + encode(second.Patch))
		}
	}
}

// patchIsRight is P4 and P10, and that no patch is without a reason.
func patchIsRight(fail func(string), in Input, res Comparison) {
	if res.Patch == nil != (len(res.Changes) == 0 && len(res.Collateral) == 0) {
		fail("a patch without a reason, or the other way round")
	}
	if res.Patch != nil && reached(in, in.Live) && !onlyPositional(in) {
		fail("P4 sends although all is as it should be")
	}
	if nullInList(anyPatch(res), false) {
		fail("P10 a null inside a list")
	}
}

// onlyPositional reports whether taking away from a list without keys may be what
// the patch is for, which the oracle does not look at.
func onlyPositional(in Input) bool {
	for _, c := range Compare(in).Changes {
		if c.Class == Removed || c.Class == RemovedConflict {
			return true
		}
	}
	return false
}

// keepsWhatIsNotGits is P6, P7, first contact (0.1), kept fields in their
// documented types (0.17) and overrides (0.20).
func keepsWhatIsNotGits(fail func(string), in Input, res Comparison, after any) {
	root := place{rules: in.Rules, records: append([]any{in.Applied}, in.Pending...), want: in.Desired, live: in.Live, result: after}
	if at := keptLost(root); at != "" {
		fail("P6, P7 lost " + at)
	}
	if at := excludedLost(root); at != "" {
		fail("an excluded field is not as live had it: " + at)
	}
	if at := mistyped(in.Rules, in.Desired, anyPatch(res), "", false); at != "" {
		fail("0.17 not in the documented type: " + at)
	}
	if in.TakeOver && len(res.FirstContact) > 0 {
		fail("0.1 first contact although it was taken over")
	}
	if in.TakeOver || in.Applied != nil {
		return
	}
	if at := lost(root); at != "" && len(res.FirstContact) == 0 {
		fail("0.1 first contact drops " + at)
	}
}

// isMinimal is P5: without any one of its leaves, the patch does not do. An
// ignored field goes along where its object is made.
func isMinimal(fail func(string), in Input, res Comparison) {
	var walk func(r *Rules, patch, root map[string]any, path string)
	walk = func(r *Rules, patch, root map[string]any, path string) {
		for k, v := range patch {
			if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
				walk(r.fieldRules(k), inner, root, path+"."+k)
				continue
			}
			if r.fieldRules(k).isExcluded() {
				continue
			}
			delete(patch, k)
			if reached(in, effect.ApplyPatch(root, in.Live)) && !onlyPositional(in) && !isStale(res, path+"."+k) {
				fail("P5 needless: " + path + "." + k)
			}
			patch[k] = v
		}
	}
	if res.Patch != nil {
		patch := copyOf(res.Patch).(map[string]any)
		walk(in.Rules, patch, patch, "")
	}
}

// isStale reports whether a null stands for a discriminator's old sibling.
func isStale(res Comparison, path string) bool {
	for _, c := range res.Collateral {
		if "."+c.Path == path {
			return true
		}
	}
	return false
}

func copyOf(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, e := range m {
		out[k] = copyOf(e)
	}
	return out
}

func TestCoversIsWhatTheOracleSays(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		if got, want := LiveCovers(in.Rules, in.Desired, in.Live), oracleCovers(in.Rules, in.Desired, in.Live); got != want {
			t.Fatalf("covers %v, the oracle says %v:%s", got, want, in)
		}
		sent := SendableValue(in.Rules, in.Desired)
		if found, _ := (CompletedWrite{Rules: in.Rules, Request: sent, Now: in.Live}).Check(); !oracleCovers(in.Rules, withoutExcluded(in.Rules, sent), in.Live) && len(found) == 0 {
			t.Fatalf("no mismatch is reported:%s", in)
		}
	})
}

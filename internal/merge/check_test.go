package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
	"trueup/internal/effect"
	"trueup/internal/kind"
)

// TestDisturbedWrites: a server that disturbs a write in one place is found there, as a fault of what was asked for or of
// what was not. What was asked for is read from the request alone.
func TestDisturbedWrites(t *testing.T) {
	long.SetChecks(t, 500)
	rapid.Check(t, func(t *rapid.T) {
		w, d := drawWrite(t), dice{t}
		after := effect.ApplyPatch(w.Request, w.Before)
		places := placesIn(after, nil)
		if len(places) == 0 {
			return
		}
		at := places[d.roll(len(places))]
		now, what, at := disturbed(d, w, clone(after), at)
		w.Now = now
		found, filled := w.Check()
		fail := func(why string) {
			t.Fatalf("%s after %s of %v:\n before  %s\n request %s\n after   %s\n now     %s\n found   %+v, filled %+v",
				why, what, at, encode(w.Before), encode(w.Request), encode(after), encode(now), found, filled)
		}
		bareAfter, bareNow := withoutExcluded(w.Rules, after), withoutExcluded(w.Rules, now)
		if oracleCovers(w.Rules, bareAfter, bareNow) && oracleCovers(w.Rules, bareNow, bareAfter) {
			if len(found) > 0 {
				fail("a fault although nothing differs")
			}
			return
		}
		if len(found) == 0 && what != "keeping a part" && !harmless(w, after, now, at) {
			fail("no fault")
		}
		for _, m := range found {
			place := placeOf(m.At)
			if !startsWith(place, at[:len(at)-1]) {
				fail("a fault elsewhere")
			}
			if (m.Fault == Altered) == isAsked(w.Request, w.Before, place) {
				fail(fmt.Sprintf("%s is %s", m.Path, m.Fault))
			}
			if m.Fault == NotRemoved && m.Sent != nil {
				fail("something not removed that was sent")
			}
		}
	})
}

// TestHonestServers: one that fills in defaults has kept everything, also in the elements of lists.
func TestHonestServers(t *testing.T) {
	long.SetChecks(t, 500)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWrite(t)
		w.Now = withDefaults(dice{t}, w.Rules, clone(effect.ApplyPatch(w.Request, w.Before)))
		if found, _ := w.Check(); len(found) > 0 {
			t.Fatalf("before %s\n request %s\n now %s\n found %+v", encode(w.Before), encode(w.Request), encode(w.Now), found)
		}
	})
}

// TestRemovalsThatAreOwed: what a server did not remove is removed by the next plan, and then nothing is left to do.
func TestRemovalsThatAreOwed(t *testing.T) {
	long.SetChecks(t, 300)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		in.Pending, in.LeaveDrift = nil, false
		res := Compare(in)
		if in.Applied == nil || res.Patch == nil || len(res.Collateral)+len(res.FirstContact)+len(res.Unplaced) > 0 {
			return
		}
		after := effect.ApplyPatch(res.Patch, in.Live)
		now := keepRemoved(in.Rules, clone(after), in.Live)
		found, _ := CompletedWrite{Rules: in.Rules, Before: in.Live, Request: res.Patch, Now: now}.Check()
		owed := Input{Rules: in.Rules, Desired: in.Desired, Live: now, Applied: WithUnremoved(in.Rules, in.Desired, after, found)}
		next := Compare(owed)
		for _, m := range found {
			isLine := func(c Difference) bool { return c.Path == m.Path && (c.Class == Removed || c.Class == RemovedConflict) }
			if m.Fault == NotRemoved && !slices.ContainsFunc(next.Changes, isLine) {
				t.Fatalf("%s is not removed again:%s\n now %s\n base %s\n changes %+v", m.Path, in, encode(now), encode(owed.Applied), next.Changes)
			}
		}
		owed.Live = effect.ApplyPatch(anyPatch(next), now)
		if last := Compare(owed); last.Patch != nil {
			t.Fatalf("never done:%s\n now %s\n then %s", in, encode(now), encode(owed.Live))
		}
	})
}

// TestLostValuesMayComeBack: nobody asked for their removal.
func TestLostValuesMayComeBack(t *testing.T) {
	w := CompletedWrite{
		Rules: specRules(), Before: decode(t, `{"rules":[{"name":"r","action":{"type":"deny","deny":{"a":"1"}}}]}`),
		Request: decode(t, `{"rules":[{"name":"r","action":{"type":"limit"}}]}`), Now: decode(t, `{"rules":[{"name":"r","action":{"type":"limit","deny":{"a":"1"}}}]}`),
		Lost: []PathValue{{Path: "rules[r].action.deny"}},
	}
	if found, filled := w.Check(); len(found) > 0 || len(filled) != 1 {
		t.Errorf("found %+v, filled %+v", found, filled)
	}
	w.Lost = []PathValue{{Path: "rules[r].action.den"}}
	if found, _ := w.Check(); len(found) != 1 || found[0].Fault != NotRemoved {
		t.Errorf("found %+v", found)
	}
}

// drawWrite makes a write that a plan would send, to a live object or for a new one.
func drawWrite(t *rapid.T) CompletedWrite {
	in := triples(t)
	in.TakeOver = true
	if d := (dice{t}); d.in(6) {
		return CompletedWrite{Rules: in.Rules, Request: SendableValue(in.Rules, in.Desired)}
	}
	res := Compare(in)
	return CompletedWrite{Rules: in.Rules, Before: in.Live, Request: anyPatch(res), Lost: res.Collateral}
}

// disturbed changes one place of what a request makes, and says how and where.
func disturbed(d dice, w CompletedWrite, now any, at []any) (after any, what string, where []any) {
	if old := placesIn(w.Before, nil); d.in(4) && len(old) > 0 {
		if now, at := withOld(w, now, old[d.roll(len(old))]); at != nil {
			if kept, ok := valueAt(now, at).(map[string]any); ok && len(kept) > 1 && d.in(2) {
				name := canon.SortedKeys(kept)[d.roll(len(kept))]
				kept[name] = d.of("zz", nil, map[string]any{})
				return now, "keeping a part", append(at, name)
			}
			return now, "keeping", at
		}
	}
	now, what = changedAt(d, now, at)
	return now, what, at
}

// withOld puts back what a request changed or removed at a place of the object before it. It returns the place in the
// object after it; nil if there is none.
func withOld(w CompletedWrite, now any, old []any) (any, []any) {
	r, was, is := w.Rules, w.Before, now
	var at []any
	for n, step := range old {
		was = valueAt(was, []any{step})
		switch step := step.(type) {
		case string:
			fields, isObject := is.(map[string]any)
			if !isObject || r.isExcluded() {
				return nil, nil
			}
			r, at, is = r.fieldRules(step), append(at, step), fields[step]
		case int:
			list, isList := is.([]any)
			i := slices.IndexFunc(list, func(e any) bool { return len(r.keyFields()) > 0 && sameElement(r, e, was) })
			switch last := n == len(old)-1; {
			case !isList || len(r.keyFields()) == 0 || i < 0 && !last:
				return nil, nil
			case i < 0:
				return replaced(now, at, append(slices.Clone(list), clone(was))), append(at, len(list))
			}
			r, at, is = r.elementRules(), append(at, i), list[i]
		}
	}
	return replaced(now, at, clone(was)), at
}

func changedAt(d dice, now any, at []any) (any, string) {
	parent, last := valueAt(now, at[:len(at)-1]), at[len(at)-1]
	v := valueAt(now, at)
	put := func(v any) any { return replaced(now, at, v) }
	list, isList := v.([]any)
	switch choice := d.roll(5); {
	case choice == 0:
		if l, ok := parent.([]any); ok {
			return replaced(now, at[:len(at)-1], slices.Delete(slices.Clone(l), last.(int), last.(int)+1)), "dropping"
		}
		delete(parent.(map[string]any), last.(string))
		return now, "dropping"
	case choice == 1 && isList && len(list) > 1:
		slices.Reverse(list)
		return now, "reversing"
	case choice == 2 && isList:
		return put(append(slices.Clone(list), another(list))), "adding to"
	case choice == 3 && isList:
		return put([]any{}), "emptying"
	case choice == 3 && !isList:
		if _, isObject := v.(map[string]any); isObject {
			return put(map[string]any{}), "emptying"
		}
	}
	switch v := v.(type) {
	case map[string]any, []any:
		return now, "leaving"
	case bool:
		return put(!v), "altering"
	case json.Number:
		return put(json.Number("77")), "altering"
	}
	return put("zz"), "altering"
}

// another is an element like the first of a list, with other texts.
func another(list []any) any {
	if len(list) == 0 {
		return "added"
	}
	e, ok := clone(list[0]).(map[string]any)
	if !ok {
		return "added"
	}
	for k, v := range e {
		if _, isText := v.(string); isText {
			e[k] = "added"
		}
	}
	return e
}

// withoutExcluded returns a value without what the rules leave out of every comparison.
func withoutExcluded(r *Rules, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if !r.fieldRules(k).isExcluded() {
				out[k] = withoutExcluded(r.fieldRules(k), e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutExcluded(r.elementRules(), e)
		}
		return out
	}
	return v
}

// harmless reports whether a difference is what the server may fill in: something where neither the object before nor the
// request had anything, or what the request lost without being asked.
func harmless(w CompletedWrite, after, now any, at []any) bool {
	for n := len(at) - 1; n <= len(at); n++ {
		list, isList := valueAt(after, at[:n]).([]any)
		was, _ := valueAt(w.Before, at[:n]).([]any)
		if isList && len(list) == 0 && len(was) == 0 && !isAsked(w.Request, w.Before, at[:n]) {
			return true
		}
	}
	return len(w.Lost) > 0 && oracleCovers(w.Rules, after, now)
}

// isAsked reports whether a merge patch says anything of a place, or of one above it.
func isAsked(patch, before any, at []any) bool {
	for _, step := range at {
		fields, isObject := patch.(map[string]any)
		_, merges := before.(map[string]any)
		if !isObject || !merges {
			return true
		}
		said := false
		if patch, said = fields[step.(string)]; !said {
			return false
		}
		before = fieldOf(before, step.(string))
	}
	_, isObject := patch.(map[string]any)
	_, merges := before.(map[string]any)
	return !isObject || !merges
}

// placeOf is the place of a step list in the spec after the request, or where it lacks an element in what is there now.
func placeOf(at []PathStep) (place []any) {
	for _, s := range at {
		switch {
		case !s.Element:
			place = append(place, s.Field)
		case s.Index >= 0:
			place = append(place, s.Index)
		default:
			place = append(place, s.Live)
		}
	}
	return place
}

func startsWith(place, prefix []any) bool {
	for i, step := range prefix {
		if i >= len(place) {
			return false
		}
		_, isIndex := step.(int)
		if _, both := place[i].(int); isIndex && both {
			continue // elements may be named by another index
		}
		if place[i] != step {
			return false
		}
	}
	return true
}

func placesIn(v any, at []any) (all [][]any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(v) {
			here := append(slices.Clone(at), k)
			all = append(append(all, here), placesIn(v[k], here)...)
		}
	case []any:
		for i, e := range v {
			here := append(slices.Clone(at), i)
			all = append(append(all, here), placesIn(e, here)...)
		}
	}
	return all
}

func valueAt(v any, at []any) any {
	for _, step := range at {
		switch step := step.(type) {
		case string:
			v = fieldOf(v, step)
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func replaced(v any, at []any, with any) any {
	if len(at) == 0 {
		return with
	}
	switch step := at[0].(type) {
	case string:
		v.(map[string]any)[step] = replaced(fieldOf(v, step), at[1:], with)
	case int:
		v.([]any)[step] = replaced(v.([]any)[step], at[1:], with)
	}
	return v
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// withDefaults fills in some missing fields, with values that no manifest has.
func withDefaults(d dice, r *Rules, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(anyMap(r.orDefaults().Fields)) {
			field, isKey := r.fieldRules(k), slices.Contains([]string{"name", "host", "path", "port", "type"}, k)
			switch {
			case v[k] != nil:
				v[k] = withDefaults(d, field, v[k])
			case isKey || !d.in(3):
			case field.scalarType() == kind.Number:
				v[k] = json.Number("99")
			case field.scalarType() == kind.Text:
				v[k] = "default"
			case len(field.Fields) > 0:
				v[k] = withDefaults(d, field, map[string]any{})
			}
		}
	case []any:
		for i, e := range v {
			v[i] = withDefaults(d, r.elementRules(), e)
		}
	}
	return v
}

// keepRemoved puts back what the live object had and the request removed: fields, also of elements with the same key,
// and elements of lists with keys.
func keepRemoved(r *Rules, now, live any) any {
	switch live := live.(type) {
	case map[string]any:
		out, ok := now.(map[string]any)
		if !ok {
			return now
		}
		for k, v := range live {
			switch {
			case out[k] == nil && !r.fieldRules(k).isExcluded() && k != "x" && !strings.HasPrefix(k, "ip") && k != "asn" && k != "deny" && k != "limit":
				out[k] = v
			case out[k] != nil:
				out[k] = keepRemoved(r.fieldRules(k), out[k], v)
			}
		}
	case []any:
		out, ok := now.([]any)
		if !ok || len(r.keyFields()) == 0 {
			return now
		}
		for _, e := range live {
			i := slices.IndexFunc(out, func(other any) bool { return sameElement(r, other, e) })
			if i < 0 {
				out = append(out, e)
			} else {
				out[i] = keepRemoved(r.elementRules(), out[i], e)
			}
		}
		return out
	}
	return now
}

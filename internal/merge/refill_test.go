package merge

import (
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
)

// TestRefilled: a null that was applied and came back as a value is left out, also
// below lists; any other null stays.
func TestRefilled(t *testing.T) {
	rules := &Rules{Fields: map[string]*Rules{"l": {Key: []string{"name"}, Item: &Rules{}}}}
	for name, c := range map[string]struct{ applied, desired, live, want, back string }{
		"came back":          {`{"a":null}`, `{"a":null}`, `{"a":{"b":1}}`, `{}`, "a"},
		"stayed away":        {`{"a":null}`, `{"a":null}`, `{}`, `{"a":null}`, ""},
		"is new in git":      {`{"a":1}`, `{"a":null}`, `{"a":1}`, `{"a":null}`, ""},
		"was never applied":  {`{}`, `{"a":null}`, `{"a":1}`, `{"a":null}`, ""},
		"left git":           {`{"a":null}`, `{}`, `{"a":1}`, `{}`, ""},
		"inside an object":   {`{"a":{"b":null,"c":1}}`, `{"a":{"b":null,"c":2}}`, `{"a":{"b":3,"c":1}}`, `{"a":{"c":2}}`, "a.b"},
		"inside an element":  {`{"l":[{"name":"x","b":null}]}`, `{"l":[{"name":"y"},{"name":"x","b":null}]}`, `{"l":[{"name":"x","b":3}]}`, `{"l":[{"name":"y"},{"name":"x"}]}`, "l[x].b"},
		"of another element": {`{"l":[{"name":"y","b":null}]}`, `{"l":[{"name":"x","b":null}]}`, `{"l":[{"name":"x","b":3}]}`, `{"l":[{"b":null,"name":"x"}]}`, ""},
	} {
		desired := decode(t, c.desired)
		got, back := WithoutRefilledNulls(Input{Rules: rules, Applied: decode(t, c.applied), Desired: desired, Live: decode(t, c.live)})
		paths := ""
		for _, v := range back {
			paths += v.Path
		}
		if string(canon.Encode(got)) != c.want || paths != c.back {
			t.Errorf("%s: %s, back %q", name, canon.Encode(got), paths)
		}
		if string(canon.Encode(desired)) != string(canon.Encode(decode(t, c.desired))) {
			t.Errorf("%s: desired was changed", name)
		}
	}
}

// TestWhatIsRefilledSendsNoNull: a server that puts every null back is sent no null
// a second time, and without such nulls nothing is different.
func TestWhatIsRefilledSendsNoNull(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		in.Applied, in.Pending = in.Desired, nil
		desired, back := WithoutRefilledNulls(in)
		if len(back) == 0 && string(canon.Encode(Compare(in).Patch)) != string(canon.Encode(Compare(Input{
			Rules: in.Rules, Applied: in.Applied, Desired: desired, Live: in.Live, TakeOver: in.TakeOver,
		}).Patch)) {
			t.Fatalf("another patch without anything that came back%s", in)
		}
		if _, again := WithoutRefilledNulls(Input{Rules: in.Rules, Applied: in.Applied, Desired: desired, Live: in.Live}); len(again) > 0 {
			t.Fatalf("%v is still to be absent%s", again, in)
		}
	})
}

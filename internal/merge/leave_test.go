package merge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/e2e/long"
	"trueup/internal/effect"
)

// TestLeftDriftStays: with LeaveDrift the same differences are found, no path
// that nobody changed in git is in the patch, what is left is as live has it
// afterwards, and a second comparison sends nothing.
func TestLeftDriftStays(t *testing.T) {
	long.SetChecks(t, 300)
	leaving, mixed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		all := Compare(in)
		in.LeaveDrift = true
		res := Compare(in)
		fail := func(what string) {
			t.Fatalf("%s%s\n patch %s\n overwriting %s\n found %v", what, in, encode(res.Patch), encode(all.Patch), res.Changes)
		}
		if len(res.Changes) != len(all.Changes) {
			fail("other differences")
		}
		left := leftOf(res)
		for i, c := range res.Changes {
			if c.Path != all.Changes[i].Path || c.Class != all.Changes[i].Class || c.Left && c.Class != DriftOverwrite && c.Class != UnknownBase {
				fail("another verdict on " + c.Path)
			}
		}
		if len(res.Mixed) > 0 {
			mixed++
			return // it must not be sent
		}
		if len(left) == 0 && encode(res.Patch) != encode(all.Patch) {
			fail("another patch, although nothing is left")
		}
		for _, c := range res.Changes {
			if !c.Left && (c.Class == DriftOverwrite || c.Class == UnknownBase && !in.TakeOver) {
				fail("drift is sent: " + c.Path)
			}
		}
		leaving += len(left)
		next := in
		next.Live = effect.ApplyPatch(anyPatch(res), in.Live)
		if in.Applied != nil {
			next.Applied, next.Pending = in.Desired, nil
		}
		second := Compare(next)
		if in.Applied != nil && (second.Patch != nil || len(second.Mixed) > 0 || leftOf(second) != left) {
			fail("the second plan sends " + encode(second.Patch) + " and leaves " + leftOf(second) + " instead of " + left)
		}
	})
	if leaving == 0 || mixed == 0 {
		t.Errorf("%d left, %d mixed: the cases prove nothing", leaving, mixed)
	}
}

// leftOf are the changes that are left, with the values of live.
func leftOf(res Comparison) string {
	var b strings.Builder
	for _, c := range res.Changes {
		if c.Left {
			b.WriteString(c.Path + "=" + encode(c.Live) + "\n")
		}
	}
	return b.String()
}

// TestLeaveDrift: what is left, what is sent, and what can be neither.
func TestLeaveDrift(t *testing.T) {
	list := func(elements ...string) string { return `{"upstreams":[` + strings.Join(elements, ",") + `]}` }
	a, b := `{"name":"a","scheme":"http"}`, `{"name":"b","scheme":"http"}`
	for name, c := range map[string]struct {
		base, desired, live string
		patch               string
		left, mixed         string
		takeOver            bool
	}{
		"a value":                                    {base: `{"rate":1}`, desired: `{"rate":1}`, live: `{"rate":9}`, left: "rate"},
		"a value, and git another":                   {base: `{"rate":1,"hostname":"a"}`, desired: `{"rate":1,"hostname":"b"}`, live: `{"rate":9,"hostname":"a"}`, patch: `{"hostname":"b"}`, left: "rate"},
		"the same value on both sides":               {base: `{"rate":1}`, desired: `{"rate":2}`, live: `{"rate":9}`, patch: `{"rate":2}`},
		"removed on one side":                        {base: `{"rate":1}`, desired: `{"rate":1}`, live: `{}`, left: "rate"},
		"removed in git, changed live":               {base: `{"rate":1}`, desired: `{}`, live: `{"rate":9}`, patch: `{"rate":null}`},
		"newly managed":                              {base: `{}`, desired: `{"rate":1}`, live: `{"rate":9}`, patch: `{"rate":1}`},
		"no record":                                  {desired: `{"rate":1}`, live: `{"rate":9}`, left: "rate"},
		"no record, taken over":                      {desired: `{"rate":1}`, live: `{"rate":9}`, patch: `{"rate":1}`, takeOver: true},
		"no record, must be absent":                  {desired: `{"rate":null}`, live: `{"rate":9}`, left: "rate"},
		"must be absent, and was":                    {base: `{"rate":null}`, desired: `{"rate":null}`, live: `{"rate":9}`, left: "rate"},
		"must be absent from now on":                 {base: `{}`, desired: `{"rate":null}`, live: `{"rate":9}`, patch: `{"rate":null}`},
		"need not be absent any more":                {base: `{"rate":null}`, desired: `{"rate":1}`, live: `{"rate":9}`, patch: `{"rate":1}`},
		"an object of another type":                  {base: `{"tls":{"auto":"x"}}`, desired: `{"tls":{"auto":"x"}}`, live: `{"tls":"x"}`, left: "tls"},
		"an element changed":                         {base: list(a, b), desired: list(a, b), live: list(`{"name":"a","scheme":"x"}`, b), left: "upstreams[a].scheme"},
		"an element doubled":                         {base: `{"plain":["1",["2"],[]]}`, desired: `{"plain":["1",["2"],[]]}`, live: `{"plain":["1",["3"],[],[]]}`, left: "plain[1] plain[1] plain[2]"},
		"an element moved to one that looks like it": {base: `{"plain":[{"a":"1","b":"1"},{"b":"1"}]}`, desired: `{"plain":[{"a":"1","b":"1"},{"b":"1"}]}`, live: `{"plain":[{"c":"1"},{"b":"1"},{"a":"1","b":"1"}]}`, left: "plain[0] plain[0] plain[1]"},
		"an element added":                           {base: list(a), desired: list(a), live: list(a, b), left: "upstreams[b]"},
		"an element added, and by git":               {base: list(a), desired: list(a, `{"name":"c"}`), live: list(a, b), left: "", mixed: "upstreams"},
		"git alone in a list":                        {base: list(a), desired: list(a, b), live: list(a), patch: list(a, b)},
		"a discriminator of an element":              {base: `{"rules":[{"name":"r","action":{"type":"deny","deny":"1"}}]}`, desired: `{"rules":[{"name":"r","action":{"type":"deny","deny":"1"}}]}`, live: `{"rules":[{"name":"r","action":{"type":"limit","limit":"1"}}]}`, left: "rules[r].action.deny rules[r].action.type"},
	} {
		in := Input{Rules: specRules(), Desired: decode(t, c.desired), Live: decode(t, c.live), TakeOver: c.takeOver, LeaveDrift: true}
		if c.base != "" {
			in.Applied = decode(t, c.base)
		}
		res := Compare(in)
		var left []string
		for _, ch := range res.Changes {
			if ch.Left {
				left = append(left, ch.Path)
			}
		}
		patch := ""
		if res.Patch != nil {
			patch = encode(res.Patch)
		}
		if c.mixed == "" && patch != encodeText(t, c.patch) || strings.Join(left, " ") != c.left || strings.Join(res.Mixed, " ") != c.mixed {
			t.Errorf("%s: patch %s, left %q, mixed %q", name, patch, left, res.Mixed)
		}
		if c.left != "" && len(res.Lists)+len(res.FirstContact)+len(res.Collateral)+len(res.Preserved) > 0 {
			t.Errorf("%s: it speaks of what is not sent: %+v", name, res)
		}
	}
}

func encodeText(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	return encode(decode(t, text))
}

// TestADiscriminatorThatDriftedIsLeftWithItsSibling: live's choice stays, and so
// does what belongs to it.
func TestADiscriminatorThatDriftedIsLeftWithItsSibling(t *testing.T) {
	rules := specRules().Fields["rules"].Item
	git, live := decode(t, `{"action":{"type":"deny","deny":"1"}}`), decode(t, `{"action":{"type":"limit","limit":"1"}}`)
	if res := Compare(Input{Rules: rules, Applied: git, Desired: git, Live: live, LeaveDrift: true}); res.Patch != nil || len(res.Collateral) > 0 {
		t.Errorf("%s, %v", encode(res.Patch), res.Collateral)
	}
}

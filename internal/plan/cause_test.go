package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// since is what git said before, in whole.
func since(t tester, documents ...string) plan.BaseState {
	t.Helper()
	return plan.BaseState{Blame: plan.ComparedCommits{Ref: "main", Base: "b", Head: "h"}, Set: load(t, documents...)}
}

// explained plans, and tells whose change each line is.
func (w *world) explained(past plan.BaseState) *plan.Plan {
	w.t.Helper()
	planner := plan.NewPlanner(w.in)
	p, findings := planner.MakePlan()
	if len(findings) > 0 {
		w.t.Fatalf("findings: %v", findings)
	}
	planner.ExplainPlan(p, past)
	return p
}

// unexplained is a plan without all that a base can add to it.
func unexplained(t tester, p *plan.Plan) []byte {
	t.Helper()
	var bare plan.Plan
	if err := json.Unmarshal(encoded(t, p), &bare); err != nil {
		t.Fatalf("%v", err)
	}
	bare.Blame = nil
	for i := range bare.Items {
		it := &bare.Items[i]
		it.Cause, it.By = "", ""
		for _, changes := range [][]plan.Change{it.Changes, it.Notes} {
			for j := range changes {
				changes[j].Cause, changes[j].By = "", ""
			}
		}
	}
	return encoded(t, bare)
}

// TestBlameDecidesNothing is docs/design.md 0.3: whatever git said before, the plan is
// the same but for whose change a line is; so are its digest and its requests.
func TestBlameDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := git(t, cdn("shop", drawSpec(t, "git", false)), cdn("new", `{hostname: new.example.com}`),
			purge("rel-1", `{hostname: shop.example.com, paths: [/a]}`), snapshot("db", "data"))
		w.has(shop, drawSpec(t, "live", true)).foreign("CDN/gone", `{hostname: gone.example.com}`).
			applied("CDN/gone", `{hostname: gone.example.com}`)
		if rapid.Bool().Draw(t, "recorded") {
			w.applied(shop, drawSpec(t, "applied", false))
		}
		w.with(func(o *plan.Options) {
			o.Drift = rapid.SampledFrom(plan.DriftPolicies()).Draw(t, "policy")
			o.ShowUnmanaged = rapid.Bool().Draw(t, "unmanaged")
		})
		past := since(t, cdn("shop", drawSpec(t, "base", false)), cdn("gone", `{hostname: gone.example.com}`))
		switch rapid.SampledFrom([]string{"whole", "none", "unclear", "same"}).Draw(t, "base") {
		case "none":
			past.Set = nil
		case "unclear":
			past.Set, past.Unclear = &manifest.Set{}, true
		case "same":
			past.Set, past.Same = &manifest.Set{}, map[string]bool{"-": true}
		}
		without := w.make()
		with := w.explained(past)
		if got, want := unexplained(t, with), unexplained(t, without); string(got) != string(want) {
			t.Fatalf("blame changed the plan:\n got %s\nwant %s", got, want)
		}
		if with.Digest != without.Digest {
			t.Fatalf("digest %s, without a base %s", with.Digest, without.Digest)
		}
		for i, it := range with.Items {
			if !plan.IsCoveredBy(without.Items[i], it) && it.Op == plan.Patch {
				t.Fatalf("%s is not within itself", it.Key)
			}
		}
	})
}

// TestCausesOfObjects: why an object as a whole is made, posted, kept or gone.
func TestCausesOfObjects(t *testing.T) {
	host := cdn("shop", `{hostname: shop.example.com}`)
	rel := purge("rel-1", `{hostname: shop.example.com, paths: [/a]}`)
	live := `{hostname: shop.example.com}`
	for name, tt := range map[string]struct {
		world *world
		past  plan.BaseState
		item  string
		cause plan.Cause
		by    plan.ChangeOrigin
	}{
		"new in git":                  {git(t, host), since(t), shop, plan.FromThisChange, plan.ByThisChange},
		"in git before, never made":   {git(t, host), since(t, host), shop, plan.FromPending, ""},
		"made later than it was said": {git(t, host), since(t, cdn("shop", `{hostname: other.example.com}`)), shop, plan.FromPending, ""},
		"no base":                     {git(t, host), plan.BaseState{}, shop, plan.FromPending, ""},
		"a base with errors":          {git(t, host), plan.BaseState{Set: &manifest.Set{}, Unclear: true}, shop, plan.FromPending, ""},
		"a file as it was": {
			git(t, host), plan.BaseState{Set: &manifest.Set{}, Same: map[string]bool{"-": true}}, shop, plan.FromPending, "",
		},
		"made, and gone": {git(t, host).applied(shop, live), since(t), shop, plan.FromDrift, ""},
		"no ledger": {
			git(t, host).broken(), since(t, host), shop, plan.FromUnknown, "",
		},
		"no ledger, and new in git": {git(t, host).broken(), since(t), shop, plan.FromUnknown, plan.ByThisChange},
		"in git":                    {git(t, host).has(shop, live), since(t), shop, "", ""},
		"a purge":                   {git(t, host, rel).has(shop, live), since(t, host), "Purge/rel-1", plan.FromThisChange, plan.ByThisChange},
		"a purge of an earlier merge": {
			git(t, host, rel).has(shop, live), since(t, host, purge("rel-1", `{paths: [/a], hostname: shop.example.com}`)),
			"Purge/rel-1", plan.FromPending, "",
		},
		"a purge that was edited before it was sent": {
			git(t, host, rel).has(shop, live), since(t, host, purge("rel-1", `{hostname: shop.example.com, paths: [/b]}`)),
			"Purge/rel-1", plan.FromThisChange, plan.ByThisChange,
		},
		"a snapshot that is gone": {
			git(t, snapshot("db", "data")).sent(db, ledger.Posted, disked("data"), now()), since(t), db, plan.FromDrift, "",
		},
		"left git now": {
			git(t, rel, host).has(shop, live).foreign("CDN/old", `{hostname: old.example.com}`).applied("CDN/old", `{hostname: old.example.com}`),
			since(t, host, cdn("old", `{hostname: old.example.com}`)), "CDN/old", plan.FromThisChange, plan.ByThisChange,
		},
		"left git before": {
			git(t, rel, host).has(shop, live).foreign("CDN/old", `{hostname: old.example.com}`).applied("CDN/old", `{hostname: old.example.com}`),
			since(t, host), "CDN/old", plan.FromRemoval, "",
		},
		"left git with an open request": {
			git(t, host).has(shop, live).sent("Purge/rel-0", ledger.Claimed, `{hostname: shop.example.com, paths: [/a]}`, ago()),
			since(t, host), "Purge/rel-0", plan.FromRemoval, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := tt.world.explained(tt.past)
			if it := find(t, p, tt.item); it.Cause != tt.cause || it.By != tt.by {
				t.Errorf("%s %q by %q, want %q by %q", it.Op, it.Cause, it.By, tt.cause, tt.by)
			}
			ofGit := tt.cause != "" && tt.cause != plan.FromDrift
			if (p.Blame != nil) != ofGit || ofGit && p.Blame.Ref != tt.past.Blame.Ref {
				t.Errorf("blame %+v", p.Blame)
			}
		})
	}
}

// broken says that the ledger can't be read.
func (w *world) broken() *world {
	w.in.Ledger.Problem, w.in.Ledger.Fix = "it can't be read", "mend that"
	return w
}

// TestCausesOfFields: what git says changed since the base is this change,
// whatever else happened to the field.
func TestCausesOfFields(t *testing.T) {
	spec := func(forced, weight, more string) string {
		return `{hostname: shop.example.com, tls: {forced: "` + forced + `"}` + more +
			`, upstreams: [{name: o, servers: [{host: s, port: "443", weight: "` + weight + `"}]}]}`
	}
	const link = `, secureLink: {tokenName: t}`
	w := git(t, cdn("shop", spec("true", "3", ""))).
		has(shop, spec("false", "2", link)).applied(shop, spec("false", "1", link))
	for name, tt := range map[string]struct {
		base                 string
		forced, weight, link plan.ChangeOrigin
	}{
		"nothing before":   {"", plan.ByThisChange, plan.ByThisChange, ""},
		"all of it before": {spec("true", "3", ""), "", "", ""},
		"as applied":       {spec("false", "1", link), plan.ByThisChange, plan.ByThisChange, plan.ByThisChange},
		"on the way":       {spec("true", "2", link), "", plan.ByThisChange, plan.ByThisChange},
	} {
		t.Run(name, func(t *testing.T) {
			var documents []string
			if tt.base != "" {
				documents = append(documents, cdn("shop", tt.base))
			}
			got := map[string]plan.Change{}
			for _, c := range find(t, w.explained(since(t, documents...)), shop).Changes {
				got[c.Path] = c
			}
			for path, want := range map[string]struct {
				cause plan.Cause
				by    plan.ChangeOrigin
			}{
				"tls.forced":                         {map[plan.ChangeOrigin]plan.Cause{plan.ByThisChange: plan.FromThisChange, "": plan.FromPending}[tt.forced], tt.forced},
				"upstreams[o].servers[s:443].weight": {plan.FromBoth, tt.weight},
				"secureLink":                         {map[plan.ChangeOrigin]plan.Cause{plan.ByThisChange: plan.FromThisChange, "": plan.FromRemoval}[tt.link], tt.link},
			} {
				if c := got[path]; c.Cause != want.cause || c.By != want.by {
					t.Errorf("%s: %s by %s, want %s by %s", path, c.Cause, c.By, want.cause, want.by)
				}
			}
		})
	}
}

// TestPlacesInTheManifest: a line of a plan leads to the deepest thing that the
// manifest has of it, through keys, wildcards and moved elements.
func TestPlacesInTheManifest(t *testing.T) {
	text := `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
  locations:
    - path: /b
      upstream: o
    - path: /a
      upstream: o
      cache:
        edgeTTL: "90"
    - path: /new
      upstream: o
  upstreams:
    - name: o
      servers:
        - host: s
          port: "443"
          weight: "2"
  tls: {}
`
	const live = `{hostname: shop.example.com, tls: {forced: "true"}, secureLink: {tokenName: t},
		locations: [{path: /a, host: shop.example.com, upstream: o, cache: {edgeTTL: "60", browserTTL: "1"}}, {path: /old, upstream: p}, {path: /b, upstream: o}],
		upstreams: [{name: o, servers: [{host: s, port: "443", weight: "1"}]}]}`
	it := git(t, text).has(shop, live).
		applied(shop, strings.Replace(live, "host: shop.example.com, ", "", 1)).item(shop)
	want := map[string][2]int{
		"locations[/a].cache.edgeTTL":        {12, 18},
		"locations[/a].cache.browserTTL":     {11, 7},
		"locations[/b]":                      {7, 7},
		"locations[/old]":                    {6, 3},
		"locations[/new]":                    {13, 7},
		"upstreams[o].servers[s:443].weight": {20, 19},
		"tls.forced":                         {21, 3},
		"secureLink":                         {4, 1},
	}
	for _, c := range it.Changes {
		if at, known := want[c.Path]; !known || at != [2]int{c.Line, c.Column} {
			t.Errorf("%s stands at %d:%d, want %v", c.Path, c.Line, c.Column, at)
		}
		delete(want, c.Path)
	}
	if len(want) > 0 {
		t.Errorf("no change at %v", want)
	}
}

// TestAsksGit: a plan without a line that git's past can explain needs none of it.
func TestAsksGit(t *testing.T) {
	same := `{hostname: shop.example.com}`
	for name, tt := range map[string]struct {
		world *world
		want  bool
	}{
		"in sync":   {git(t, cdn("shop", same)).has(shop, same).applied(shop, same), false},
		"drift":     {git(t, cdn("shop", same)).has(shop, `{hostname: other.example.com}`).applied(shop, same), true},
		"a change":  {git(t, cdn("shop", same)).has(shop, `{hostname: other.example.com}`).applied(shop, `{hostname: other.example.com}`), true},
		"a note":    {git(t, cdn("shop", same)).has(shop, `{hostname: shop.example.com, x: y}`).applied(shop, `{hostname: other.example.com}`), true},
		"an object": {git(t, cdn("shop", same)), true},
	} {
		if got := tt.world.make().NeedsGitHistory(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDriftThatThisChangeTouches: what git was changed back to is drift still, and
// a reviewer of that change sees it; where git said so before, git's past is no matter.
func TestDriftThatThisChangeTouches(t *testing.T) {
	spec := func(forced string) string { return `{hostname: shop.example.com, tls: {forced: "` + forced + `"}}` }
	w := git(t, cdn("shop", spec("true"))).has(shop, spec("false")).applied(shop, spec("true"))
	for before, by := range map[string]plan.ChangeOrigin{spec("false"): plan.ByThisChange, spec("true"): ""} {
		p := w.explained(since(t, cdn("shop", before)))
		if c := find(t, p, shop).Changes[0]; c.Cause != plan.FromDrift || c.By != by || (p.Blame != nil) != (by != "") {
			t.Errorf("%s by %q, want it by %q; base %v", c.Cause, c.By, by, p.Blame)
		}
		if d := plan.NarrowToDrift(p); (d.Blame != nil) != (by != "") {
			t.Errorf("drift by %q has the base %v", by, d.Blame)
		}
	}
}

// TestUnmanagedFields are distinguished from what a patch keeps or drops.
func TestUnmanagedFields(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: shop.example.com, tls: {forced: "true"}, upstreams: [{name: o, weight: "1"}]}`)).
		has(shop, `{hostname: shop.example.com, tls: {forced: "true", auto: "true"}, firewall: {enabled: true}, upstreams: [{name: o, weight: "2", note: n}]}`).
		applied(shop, `{hostname: shop.example.com, tls: {forced: "true"}, upstreams: [{name: o, weight: "2"}]}`)
	if it := w.item(shop); len(it.Notes) > 0 {
		t.Errorf("nobody asked: %+v", it.Notes)
	}
	it := w.with(func(o *plan.Options) { o.ShowUnmanaged = true }).item(shop)
	var got []string
	for _, c := range it.Notes {
		if c.Cause != plan.FromLiveOnly || c.Class != merge.Unmanaged {
			t.Errorf("%+v", c)
		}
		got = append(got, c.Path)
	}
	same(t, "unmanaged", got, []string{"firewall", "tls.auto"})
	same(t, "preserved", paths(it.Preserved), []string{"upstreams[o].note"})
}

// TestOffline says what git says otherwise than before, and sends nothing.
func TestOffline(t *testing.T) {
	spec := func(forced string) string { return `{hostname: shop.example.com, tls: {forced: "` + forced + `"}}` }
	w := git(t, cdn("shop", spec("true")), cdn("new", `{hostname: new.example.com}`), cdn("same", `{tls: {forced: "true"}, hostname: same.example.com}`),
		purge("rel-1", `{hostname: shop.example.com, paths: [/a]}`), purge("rel-2", `{hostname: other.example.com, paths: [/a, /b*]}`),
		purge("rel-3", `{hostname: shop.example.com, paths: [/b, /a]}`), snapshot("db", "data"), snapshot("db-2", "data"))
	past := since(t, cdn("shop", spec("false")), cdn("same", `{hostname: same.example.com, tls: {forced: "true"}}`), cdn("old", `{hostname: old.example.com}`),
		purge("rel-0", `{hostname: shop.example.com, paths: [/a]}`), purge("rel-1", `{hostname: shop.example.com, paths: [/b]}`),
		purge("rel-3", `{hostname: shop.example.com, paths: [/a, /b]}`), snapshot("db", "other"), snapshot("db-0", "data"))
	p := plan.MakeOffline(w.in, past)
	want := map[string]plan.Op{
		"CDN/new": plan.Create, "CDN/old": plan.Kept, "CDN/same": plan.None, "CDN/shop": plan.Patch,
		"Purge/rel-0": plan.Kept, "Purge/rel-1": plan.Blocked, "Purge/rel-2": plan.Post, "Purge/rel-3": plan.None,
		"VolumeSnapshot/db": plan.Blocked, "VolumeSnapshot/db-0": plan.Kept, "VolumeSnapshot/db-2": plan.Create,
	}
	for _, it := range p.Items {
		if it.Op != want[it.String()] || it.Request != nil || it.NeedsPerson {
			t.Errorf("%s: %s, want %s (%+v)", it.Key, it.Op, want[it.String()], it)
		}
		if it.Op != plan.None && it.Op != plan.Patch && it.Op != plan.Blocked && it.By != plan.ByThisChange {
			t.Errorf("%s is by %q", it.Key, it.By)
		}
		for _, c := range it.Changes {
			if c.By != plan.ByThisChange || c.Line == 0 {
				t.Errorf("%s: %+v", it.Key, c)
			}
		}
	}
	if len(p.Items) != len(want) || !p.Offline || p.Digest != "" || p.Blame.Ref != "main" || !p.HasDifferences() {
		t.Errorf("plan %+v", p)
	}
	for name, spec := range map[string]string{
		"CDN/new": `{"hostname":"new.example.com"}`, "CDN/shop": "", "VolumeSnapshot/db": "",
		"Purge/rel-2": `{"hostname":"other.example.com","paths":["/a","/b*"]}`,
	} {
		if it := find(t, p, name); string(it.Spec) != spec {
			t.Errorf("%s would be %s", name, it.Spec)
		}
	}
	if rel := find(t, p, "Purge/rel-2"); len(rel.Hints) != 1 || rel.Purge.Paths != 1 || rel.Purge.Prefixes != 1 {
		t.Errorf("purge %+v %q", rel.Purge, rel.Hints)
	}
}

// TestOfflineOfAPart says nothing of what may stand in the rest, or may have
// stood in manifests with errors.
func TestOfflineOfAPart(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: shop.example.com}`)).with(func(o *plan.Options) {
		o.PartOfTree = true
		o.Targets = func(k kind.Key) bool { return k.Name != "hidden" }
	})
	past := since(t, cdn("old", `{hostname: old.example.com}`), cdn("hidden", `{hostname: hidden.example.com}`))
	past.Unclear = true
	p := plan.MakeOffline(w.in, past)
	if len(p.Items) != 1 || p.Items[0].Cause != plan.FromUnknown || p.Items[0].By != "" || len(p.Notes) != 3 {
		t.Errorf("%+v %q", p.Items, p.Notes)
	}
}

package plan_test

import (
	"slices"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/rules"
)

const shop = "CDN/shop"

// TestClasses is docs/design.md B4: each verdict of the comparison reaches the item.
func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		name, base, git, live string
		// patch is of the spec, "" for none; class is that of tls.forced.
		patch string
		class merge.ChangeKind
	}{
		{"in sync", `forced: "true"`, `forced: "true"`, `forced: "true"`, "", ""},
		{"in sync in another type", `forced: "true"`, `forced: "true"`, `forced: true`, "", ""},
		{"change", `forced: "false"`, `forced: "true"`, `forced: "false"`, `{tls: {forced: "true"}}`, merge.Changed},
		{"change of what was absent", ``, `forced: "true"`, ``, `{tls: {forced: "true"}}`, merge.Changed},
		{"drift", `forced: "true"`, `forced: "true"`, `forced: "false"`, `{tls: {forced: "true"}}`, merge.DriftOverwrite},
		{"take-over", ``, `forced: "true"`, `forced: "false"`, `{tls: {forced: "true"}}`, merge.TakeOver},
		{"conflict", `forced: "a"`, `forced: "true"`, `forced: "b"`, `{tls: {forced: "true"}}`, merge.Conflict},
		{"removed", `forced: "true"`, ``, `forced: "true"`, `{tls: {forced: null}}`, merge.Removed},
		{"removed and changed", `forced: "true"`, ``, `forced: "false"`, `{tls: {forced: null}}`, merge.RemovedConflict},
		{"already removed", `forced: "true"`, ``, ``, "", ""},
		{"unmanaged", ``, ``, `forced: "true"`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := func(tls string) string { return "{hostname: shop.example.com, tls: {" + tls + "}}" }
			it := git(t, cdn("shop", of(tt.git))).has(shop, of(tt.live)).applied(shop, of(tt.base)).item(shop)
			if tt.patch == "" {
				if it.Op != plan.None || it.Request != nil || len(it.Changes) > 0 {
					t.Fatalf("something to do: %+v", it)
				}
				return
			}
			same(t, "body", body(t, it), map[string]any{"spec": tree(t, tt.patch)})
			same(t, "classes", changes(it), map[string]merge.ChangeKind{"tls.forced": tt.class})
			if it.Op != plan.Patch || it.Request.Method != "PATCH" || it.Request.Path != "/cdns/shop" ||
				it.Request.ContentType != "application/merge-patch+json" {
				t.Errorf("request %+v", it.Request)
			}
		})
	}
}

func TestWithoutARecordTheOriginIsUnknown(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: shop.example.com, tls: {forced: "true"}}`)).
		has(shop, `{hostname: shop.example.com, tls: {forced: "false", enabled: "true"}}`)
	same(t, "classes", changes(w.item(shop)), map[string]merge.ChangeKind{"tls.forced": merge.UnknownBase})
	if p := w.make(); p.Summary.Drifted != 1 || !p.HasDifferences() || !p.SendsAnything() {
		t.Errorf("summary %+v", p.Summary)
	}
}

func TestAPendingSpecIsOurOwnDoing(t *testing.T) {
	it := git(t, cdn("shop", `{hostname: shop.example.com}`)).
		has(shop, `{hostname: shop.example.com, tls: {forced: "true"}}`).
		applied(shop, `{hostname: shop.example.com}`).
		pending(shop, `{hostname: shop.example.com, tls: {forced: "true"}}`).item(shop)
	same(t, "body", body(t, it), map[string]any{"spec": map[string]any{"tls": nil}})
}

func TestCreation(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: shop.example.com, tls: {forced: "true", auto: null}}`))
	it := w.item(shop)
	if it.Op != plan.Create || it.Deleted || it.Live.Exists || it.Request.Method != "POST" ||
		it.Request.Path != "/cdns" || it.Request.ContentType != "application/json" {
		t.Errorf("item %+v", it)
	}
	same(t, "body", body(t, it), map[string]any{
		"apiVersion": "delivery/v2.1", "kind": "CDN",
		"metadata": map[string]any{"name": "shop", "namespace": "acme"},
		"spec":     tree(t, `{hostname: shop.example.com, tls: {forced: "true"}}`),
	})
	if it.Path != "-" || it.Line != 1 || it.DesiredDigest == nil {
		t.Errorf("the manifest is not named: %+v", it)
	}
}

func TestWhatTheLedgerKnewAndLiveLacksIsDrift(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: shop.example.com}`), cdn("docs", `{hostname: docs.example.com}`)).
		applied(shop, `{hostname: shop.example.com}`).
		applied("CDN/docs", `{hostname: docs.example.com}`).has("CDN/docs", `{hostname: docs.example.com}`)
	it := w.item(shop)
	if it.Op != plan.Create || !it.Deleted {
		t.Errorf("item %+v", it)
	}
	if p := w.make(); p.Summary.Drifted != 1 || len(plan.NarrowToDrift(p).Items) != 1 {
		t.Errorf("summary %+v", p.Summary)
	}
}

// TestRecord: the ledger learns that live is in sync, once.
func TestRecord(t *testing.T) {
	const now, before = `{hostname: shop.example.com}`, `{hostname: shop.example.com, tls: {forced: "true"}}`
	for name, tt := range map[string]struct {
		set  func(*world)
		want bool
	}{
		"nothing is recorded":   {func(*world) {}, true},
		"another spec is":       {func(w *world) { w.applied(shop, before) }, true},
		"it is recorded":        {func(w *world) { w.applied(shop, now) }, false},
		"a write was not ended": {func(w *world) { w.applied(shop, now).pending(shop, before) }, true},
		"it had not converged": {func(w *world) {
			w.applied(shop, now).record(shop, func(r *ledger.Record) { r.NotConverged = true })
		}, true},
		"there is no ledger": {func(w *world) { w.in.Ledger.Problem = "lost" }, false},
		"something differs":  {func(w *world) { w.has(shop, `{hostname: other.example.com}`) }, false},
	} {
		w := git(t, cdn("shop", now)).has(shop, now)
		tt.set(w)
		if it := w.item(shop); it.Record != tt.want {
			t.Errorf("%s: record %v", name, it.Record)
		}
	}
}

func TestWhatBecameAsGitSaysIsANote(t *testing.T) {
	it := git(t, cdn("shop", `{hostname: shop.example.com, tls: {forced: "true"}}`)).
		has(shop, `{hostname: shop.example.com, tls: {forced: true}}`).
		applied(shop, `{hostname: shop.example.com, tls: {forced: "false"}}`).item(shop)
	if it.Op != plan.None || len(it.Notes) != 1 || it.Notes[0].Class != merge.Converged || !it.Record {
		t.Errorf("item %+v", it)
	}
}

// TestTerminatingAndBareObjectsAreLeftAlone: and nobody says that they are as in git.
func TestTerminatingAndBareObjectsAreLeftAlone(t *testing.T) {
	const want = `{hostname: shop.example.com, tls: {forced: "true"}}`
	for name, change := range map[string]func(*kind.LiveObject){"terminating": terminating, "bare": bare} {
		p := git(t, cdn("shop", want)).has(shop, want, change).make()
		if drift := plan.NarrowToDrift(p); !p.HasDifferences() || !drift.HasDifferences() || drift.Summary.Unchanged != 0 || drift.Summary.Drifted != 1 {
			t.Errorf("%s: %+v", name, drift)
		}
	}
	w := git(t, cdn("shop", want)).has(shop, `{hostname: shop.example.com}`, terminating)
	blocked(t, w.item(shop), false, "being deleted", "run trueup again")
	w = git(t, cdn("shop", want)).has(shop, `{}`, bare)
	blocked(t, w.item(shop), false, "without a spec")
	w = git(t, snapshot("db", "data")).has("VolumeSnapshot/db", `{}`, bare)
	blocked(t, w.item("VolumeSnapshot/db"), false, "without a spec")
}

func TestHints(t *testing.T) {
	const want = `{hostname: shop.example.com, tls: {forced: "true"}}`
	w := git(t, cdn("shop", want)).has(shop, `{hostname: old.example.com, tls: {forced: "false"}}`).applied(shop, want).
		record(shop, func(r *ledger.Record) { r.NotConverged = true })
	it := w.item(shop)
	if len(it.Hints) != 2 || !strings.Contains(it.Hints[0], "pull --replace") || !strings.Contains(it.Hints[1], "hostname") {
		t.Errorf("hints %q", it.Hints)
	}
}

// The list of a CDN at first contact, with one element that git lacks.
const (
	two = `{hostname: shop.example.com, firewall: {enabled: true, rules: [{name: a, enabled: true}]},
		locations: [{path: /a, upstream: o}],
		upstreams: [{name: o, scheme: https, servers: [{host: s1, port: "443"}]}]}`
	three = `{hostname: shop.example.com, firewall: {enabled: true, rules: [{name: a, enabled: true}, {name: b, enabled: true}]},
		locations: [{path: /a, host: h, upstream: o}, {path: /b, upstream: o}],
		upstreams: [{name: o, scheme: https, servers: [{host: s1, port: 443}, {host: s2, port: "443"}]}, {name: x, scheme: http}]}`
)

func TestFirstContactIsBlockedUntilATakeOver(t *testing.T) {
	w := git(t, cdn("shop", two)).has(shop, three)
	it := w.item(shop)
	blocked(t, it, true, "--accept take-over=CDN/shop", "4 live list elements")
	same(t, "lost", paths(it.FirstContact), []string{
		"firewall.rules[b]", "locations[/b]", "upstreams[o].servers[s2:443]", "upstreams[x]",
	})
	if !w.make().HasDifferences() || w.make().SendsAnything() {
		t.Error("a blocked item is pending and sends nothing")
	}

	w.with(func(o *plan.Options) { o.TakeOver = allow(t, "CDN/other") })
	blocked(t, w.item(shop), true)
	w.with(func(o *plan.Options) { o.TakeOver = allow(t, shop) })
	if it := w.item(shop); it.Op != plan.Patch || len(it.FirstContact) > 0 {
		t.Errorf("with a take-over: %+v", it)
	}

	w = git(t, cdn("shop", two)).has(shop, three).pending(shop, two)
	blocked(t, w.item(shop), true, "--accept take-over")
	w = git(t, cdn("shop", two)).has(shop, three).applied(shop, two)
	it = w.item(shop)
	if it.Op != plan.Patch || len(it.Lists) == 0 {
		t.Fatalf("with a record: %+v", it)
	}
	if got := changes(it)["locations[/b]"]; got != merge.DriftOverwrite {
		t.Errorf("a location that somebody added is %q", got)
	}
}

// TestAnAbsentHostIsAWildcard is docs/design.md 0.16: the server's host is kept.
func TestAnAbsentHostIsAWildcard(t *testing.T) {
	of := func(level, host string) string {
		return `{hostname: shop.example.com, upstreams: [{name: o, scheme: https}],
			locations: [{path: /a, ` + host + `upstream: o, cache: {level: ` + level + `}}]}`
	}
	w := git(t, cdn("shop", of("standard", ""))).has(shop, of("standard", "host: h, "))
	if it := w.item(shop); it.Op != plan.None {
		t.Fatalf("changes %v", it.Changes)
	}
	it := git(t, cdn("shop", of("bypass", ""))).has(shop, of("standard", "host: h, ")).item(shop)
	same(t, "body", body(t, it), map[string]any{"spec": map[string]any{
		"locations": tree(t, `[{path: /a, host: h, upstream: o, cache: {level: bypass}}]`),
	}})
	same(t, "kept", paths(it.Preserved), []string{"locations[/a].host"})
	same(t, "lists", it.Lists, []merge.SentList{{Path: "locations", Elements: 1}})
}

func TestAHostnameHasOneObject(t *testing.T) {
	const spec = `{hostname: shop.example.com}`
	f := git(t, cdn("shop2", spec)).foreign(shop, spec).finding()
	if f.Rule != rules.HostnameTaken || f.Field != "spec.hostname" || f.Line != 4 {
		t.Errorf("finding %+v", f)
	}
	f = git(t, cdn("docs", spec)).foreign(shop, spec).has("CDN/docs", `{hostname: docs.example.com}`).finding()
	if f.Rule != rules.HostnameTaken {
		t.Errorf("finding %+v", f)
	}
	// Both have it already: that is not this plan's doing.
	if p := git(t, cdn("docs", spec)).foreign(shop, spec).has("CDN/docs", spec).make(); p.Summary.Unchanged != 1 {
		t.Errorf("summary %+v", p.Summary)
	}
}

func TestALostLedgerHoldsNoChangeBack(t *testing.T) {
	w := git(t, cdn("shop", `{hostname: shop.example.com}`), cdn("docs", `{hostname: docs.example.com, tls: {forced: "true"}}`)).
		has("CDN/docs", `{hostname: docs.example.com, tls: {forced: "false"}}`)
	w.in.Ledger = ledger.View{Problem: "it is lost", Fix: "find it"}
	p := w.make()
	if p.Summary.Create != 1 || p.Summary.Change != 1 || p.LedgerProblem != "it is lost" ||
		!slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "it is lost") && strings.Contains(n, "find it") }) {
		t.Errorf("plan %+v", p)
	}
}

// TestRemovalsAreCounted: what goes from live is counted, but not where nothing
// is sent.
func TestRemovalsAreCounted(t *testing.T) {
	before := `{hostname: shop.example.com, tls: {forced: "true", auto: "true"}, secureLink: {tokenName: t}}`
	after := `{hostname: shop.example.com, tls: {forced: "false"}}`
	w := git(t, cdn("shop", after)).has(shop, before).applied(shop, before)
	if p := w.make(); p.Summary.Removed != 2 || p.Summary.Change != 1 {
		t.Errorf("summary %+v of %+v", p.Summary, p.Items)
	}
	if p := git(t, cdn("shop", after)).has(shop, after).applied(shop, after).make(); p.Summary.Removed != 0 {
		t.Errorf("summary %+v", p.Summary)
	}
}

// TestTwoOfOneHostname: what live has twice may stay so, and no other object comes to
// a hostname that one has.
func TestTwoOfOneHostname(t *testing.T) {
	const same, other = `{hostname: shop.example.com}`, `{hostname: other.example.com}`
	refused := func(w *world) string {
		_, findings := plan.NewPlanner(w.in).MakePlan()
		var names []string
		for _, f := range findings {
			if f.Rule != rules.HostnameTaken || f.Severity != diag.Error {
				t.Errorf("finding %+v", f)
			}
			names = append(names, f.Message)
		}
		return strings.Join(names, " | ")
	}
	both := func() *world { return git(t, cdn("a", same), cdn("b", `{hostname: SHOP.example.com}`)) }
	for name, tt := range map[string]struct {
		w    *world
		want string
	}{
		"both are live":        {both().has("CDN/a", same).has("CDN/b", same), ""},
		"neither is live":      {both(), "CDN/a has the hostname SHOP.example.com too, and neither is live"},
		"the first is live":    {both().has("CDN/a", same), "the live CDN/a already serves the hostname SHOP.example.com"},
		"the second is live":   {both().has("CDN/b", same), "the live CDN/b already serves the hostname shop.example.com"},
		"one comes to it":      {both().has("CDN/a", same).has("CDN/b", other), "the live CDN/a already serves the hostname SHOP.example.com"},
		"both come to it":      {both().has("CDN/a", other).has("CDN/b", other), "CDN/a has the hostname SHOP.example.com too, and neither is live"},
		"nobody else has that": {git(t, cdn("a", same)), ""},
	} {
		if got := refused(tt.w); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	was := git(t, cdn("a", same)).in.Set
	it := find(t, plan.MakeOffline(both().in, plan.BaseState{Set: was}), "CDN/b")
	blocked(t, it, false, "CDN/a has the hostname SHOP.example.com too", "another hostname")
	if it := find(t, plan.MakeOffline(both().in, plan.BaseState{Set: both().in.Set}), "CDN/b"); it.Op != plan.None {
		t.Errorf("it was so before: %+v", it)
	}
}

package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

func kindOf(t tester, name string) *kind.Kind {
	t.Helper()
	k, ok := kind.FindKind(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return k
}

func onlyKind(name string) func(kind.Key) bool {
	return func(k kind.Key) bool { return k.Kind == name }
}

// TestWhatLeftGitIsKept is docs/design.md C6.
func TestWhatLeftGitIsKept(t *testing.T) {
	w := servingCDN(t).
		foreign("CDN/old", `{hostname: old.example.com}`).applied("CDN/old", `{hostname: old.example.com}`).
		foreign("CDN/begun", `{hostname: begun.example.com}`).pending("CDN/begun", `{hostname: begun.example.com}`).
		foreign(db, disked("data")).sent(db, ledger.Posted, disked("data"), now()).
		foreign("CDN/theirs", `{hostname: theirs.example.com}`).
		foreign("CDN/released", `{hostname: released.example.com}`).record("CDN/released", func(*ledger.Record) {})
	p := w.make()
	for name, fix := range map[string]string{"CDN/old": "web console", "CDN/begun": "web console", db: "plan --prune"} {
		it := find(t, p, name)
		if it.Op != plan.Kept || it.Request != nil || it.NeedsPerson || it.Cause != plan.FromRemoval || !strings.Contains(it.Reason, "stays live") {
			t.Errorf("%s: %s %q", name, it.Op, it.Reason)
		}
		if (it.Fix == "") != (fix == "") || !strings.Contains(it.Fix, fix) {
			t.Errorf("%s: %q", name, it.Fix)
		}
	}
	same(t, "unmanaged", p.Unmanaged, []kind.Key{key(t, "CDN/theirs"), key(t, "CDN/released")})
	if p.HasDifferences() || p.SendsAnything() || p.Summary != (plan.Summary{Kept: 3, Unchanged: 1, Unmanaged: 2}) {
		t.Errorf("summary %+v", p.Summary)
	}
	w.with(func(o *plan.Options) { o.Targets = onlyKind("VolumeSnapshot") })
	if p := w.make(); len(p.Items) != 1 || p.Summary.Unmanaged != 2 {
		t.Errorf("narrowed: %+v", p.Items)
	}
}

// TestNothingThatTheLedgerKnowsIsLive is the guard of docs/design.md C4, area by area.
func TestNothingThatTheLedgerKnowsIsLive(t *testing.T) {
	all := []string{cdn("shop", shopSpec), cdn("docs", `{hostname: docs.example.com}`), purge("rel", `{hostname: far.example.com, paths: [/]}`), snapshot("db", "data")}
	w := git(t, all...).applied(shop, shopSpec).foreign("CDN/far", `{hostname: far.example.com}`)
	for _, name := range []string{shop, "CDN/docs", rel} {
		blocked(t, w.item(name), true, "none of the 1 objects", "right workspace", "--accept empty-live")
	}
	if !w.item(shop).Deleted {
		t.Error("it is drift all the same")
	}
	if it := w.item(db); it.Op != plan.Create {
		t.Errorf("the other area: %+v", it)
	}
	w.with(func(o *plan.Options) { o.AllowEmptyLive = true })
	if p := w.make(); p.Summary.Create != 3 || p.Summary.Purge != 1 {
		t.Errorf("allowed: %+v", p.Summary)
	}
	w.with(func(o *plan.Options) { o.AllowEmptyLive = false }).
		applied("CDN/docs", `{hostname: docs.example.com}`).has("CDN/docs", `{hostname: docs.example.com}`)
	if p := w.make(); p.Summary.Blocked != 0 {
		t.Errorf("one of two is live: %+v", p.Summary)
	}

	w = git(t, all...).sent(db, ledger.Posted, disked("data"), now())
	w.in.Set = load(t, append(all, snapshot("next", "data"))...)
	w.foreign("CDN/far", `{hostname: far.example.com}`)
	blocked(t, w.item("VolumeSnapshot/next"), true, "right workspace")
	if it := w.item(shop); it.Op != plan.Create {
		t.Errorf("the other area: %+v", it)
	}
}

func TestTargetsNarrow(t *testing.T) {
	w := servingCDN(t, snapshot("db", "data"), cdn("docs", `{hostname: docs.example.com}`))
	w.with(func(o *plan.Options) {
		o.Targets = func(k kind.Key) bool { return k.Name == "docs" }
	})
	p := w.make()
	if len(p.Items) != 1 || p.Items[0].String() != "CDN/docs" || p.Summary != (plan.Summary{Create: 1, Serves: 1, Risk: kind.RiskServes}) {
		t.Errorf("plan %+v", p)
	}
}

// busy is a world with something of everything.
func busy(t tester) *world {
	return git(t,
		purge("z", relSpec), purge("rel", relSpec), purge("held", `{hostname: docs.example.com, paths: [/]}`),
		cdn("shop", `{hostname: shop.example.com, tls: {forced: "true", enabled: "true"}, firewall: {enabled: true, rules: [{name: "<&>", enabled: true, action: {type: ratelimit, ratelimit: {rate: 10.50}}}]}}`),
		cdn("docs", onDocs(two)), cdn("new", `{hostname: new.example.com}`),
		snapshot("db", "data"), snapshot("gone", "data"), snapshot("there", "data")).
		has(shop, `{hostname: shop.example.com, tls: {forced: "false", enabled: true}, firewall: {enabled: true, rules: [{name: "<&>", enabled: true, x: 12345678901234567890, action: {type: ratelimit, ratelimit: {rate: 7}}}]}}`).
		applied(shop, `{hostname: shop.example.com, tls: {forced: "true"}}`).
		has("CDN/docs", onDocs(three)).
		has("VolumeSnapshot/there", disked("data"), status(`{"readyToUse":true}`)).
		sent("VolumeSnapshot/gone", ledger.Posted, disked("data"), now()).
		sent("VolumeSnapshot/there", ledger.Posted, disked("data"), now()).
		sent("Purge/z", ledger.Posted, relSpec, now()).
		foreign("CDN/theirs", `{hostname: theirs.example.com}`)
}

func onDocs(spec string) string {
	return strings.Replace(spec, "shop.example.com", "docs.example.com", 1)
}

func busyPlan(t tester) *plan.Plan { return busy(t).make() }

func TestSummary(t *testing.T) {
	p := busyPlan(t)
	want := plan.Summary{Create: 2, Change: 1, Purge: 2, Blocked: 2, Unchanged: 2, Unmanaged: 1, Serves: 1, Security: 1, Availability: 1, Cost: 3, Risk: kind.RiskSecurity}
	want.Drifted = p.Summary.Drifted
	if p.Summary != want || !p.HasDifferences() || !p.SendsAnything() || p.Format != plan.Format {
		t.Errorf("summary %+v, want %+v", p.Summary, want)
	}
	names := make([]string, len(p.Items))
	for i, it := range p.Items {
		names[i] = it.String()
	}
	same(t, "order", names, []string{
		"CDN/docs", "CDN/new", "CDN/shop", "Purge/held", "Purge/rel", "Purge/z",
		"VolumeSnapshot/db", "VolumeSnapshot/gone", "VolumeSnapshot/there",
	})
}

func TestDriftNarrowsToWhatWasDoneOutsideGit(t *testing.T) {
	p := busyPlan(t)
	before := encoded(t, p)
	d := plan.NarrowToDrift(p)
	var waiting []string
	for _, it := range d.Items {
		switch {
		case it.Waits == it.Happened:
			t.Errorf("%s is in no part, or in both", it.Key)
		case it.Waits:
			waiting = append(waiting, it.String())
		case !it.Deleted && len(it.Changes) == 0:
			t.Errorf("%s has no drift", it.Key)
		}
	}
	same(t, "what waits", waiting, []string{"CDN/new", "CDN/shop", "Purge/held", "Purge/rel", "VolumeSnapshot/db"})
	if got := changes(find(t, d, shop)); got["tls.forced"] != merge.DriftOverwrite || got["tls.enabled"] != "" {
		t.Errorf("changes %v", got)
	}
	if it := find(t, d, "VolumeSnapshot/gone"); !it.Deleted {
		t.Errorf("item %+v", it)
	}
	if len(d.Items) != 3+len(waiting) || d.Summary.Drifted != p.Summary.Drifted || d.Summary.Unmanaged != 1 {
		t.Errorf("summary %+v of %d items", d.Summary, len(d.Items))
	}
	if string(encoded(t, p)) != string(before) {
		t.Error("the plan was changed")
	}
}

func TestNoDrift(t *testing.T) {
	if d := plan.NarrowToDrift(servingCDN(t).make()); len(d.Items) != 0 || d.Summary != (plan.Summary{Unchanged: 1}) {
		t.Errorf("drift: %+v", d)
	}
}

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	first := encoded(t, busyPlan(t))
	for range 10 {
		if again := encoded(t, busyPlan(t)); string(again) != string(first) {
			t.Fatalf("\n%s\n%s", first, again)
		}
	}
}

func TestAPlanRoundTrips(t *testing.T) {
	first := encoded(t, busyPlan(t))
	dec := json.NewDecoder(strings.NewReader(string(first)))
	dec.UseNumber()
	var back plan.Plan
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if again := encoded(t, back); string(again) != string(first) {
		t.Errorf("\n%s\n%s", first, again)
	}
}

func TestRemake(t *testing.T) {
	w := servingCDN(t, purge("rel", relSpec))
	planner := plan.NewPlanner(w.in)
	if _, findings := planner.MakePlan(); len(findings) > 0 {
		t.Fatal(findings)
	}
	if it, _ := planner.ReplanItem(key(t, shop), nil); it.Op != plan.Create || !it.Deleted {
		t.Errorf("gone: %+v", it)
	}
	changed := object(t, shop, `{hostname: other.example.com}`)
	if it, _ := planner.ReplanItem(key(t, shop), &changed); it.Op != plan.Patch {
		t.Errorf("changed: %+v", it)
	}
	if planner.RulesOf(kindOf(t, "CDN")) == nil {
		t.Error("no rules")
	}
}

// TestDiffers: what is held back is a difference all the same.
func TestDiffers(t *testing.T) {
	elsewhere := ledger.View{Problem: "it is of another workspace", Fix: "look", Elsewhere: true}
	held := git(t, cdn("shop", shopSpec))
	held.in.Ledger = elsewhere
	for name, tt := range map[string]struct {
		w    *world
		want bool
	}{
		"a creation":               {git(t, cdn("shop", shopSpec)), true},
		"a creation held back":     {held, true},
		"a first contact":          {git(t, cdn("shop", `{hostname: h, upstreams: []}`)).has(shop, `{hostname: h, upstreams: [{name: a}]}`), true},
		"in sync":                  {servingCDN(t), false},
		"an old question":          {servingCDN(t, purge("rel", relSpec)).sent(rel, ledger.Claimed, relSpec, now().Add(-ledger.Lease)), true},
		"in flight elsewhere":      {servingCDN(t, purge("rel", relSpec)).sent(rel, ledger.Claimed, relSpec, now()), false},
		"a question of a snapshot": {git(t, snapshot("db", "data")).sent(db, ledger.Unknown, disked("data"), now()), true},
		"one that left git":        {git(t).foreign(shop, shopSpec).applied(shop, shopSpec), false},
	} {
		if got := tt.w.make().HasDifferences(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

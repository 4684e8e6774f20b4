package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/ledger"
	"trueup/internal/plan"
	"trueup/internal/rules"
)

const (
	rel      = "Purge/rel"
	relSpec  = `{hostname: shop.example.com, subdomains: [www, img], paths: [/b, /a, "/c/*"]}`
	shopSpec = `{hostname: shop.example.com}`
)

// servingCDN is a world whose CDN is live in sync.
func servingCDN(t tester, documents ...string) *world {
	return git(t, append(documents, cdn("shop", shopSpec))...).has(shop, shopSpec).applied(shop, shopSpec)
}

func TestAPurgeIsPosted(t *testing.T) {
	it := servingCDN(t, purge("rel", relSpec)).item(rel)
	if it.Op != plan.Post || it.Request.Method != "POST" || it.Request.Path != "/purges" || len(it.After) != 0 {
		t.Errorf("item %+v", it)
	}
	same(t, "body", body(t, it), map[string]any{
		"apiVersion": "delivery/v2.1", "kind": "Purge", "metadata": map[string]any{"name": "rel"}, "spec": tree(t, relSpec),
	})
	same(t, "what it invalidates", it.Purge, plan.PurgeInfo{
		Hostname: "shop.example.com", Subdomains: []string{"www", "img"}, Paths: 2, Prefixes: 1,
		Sample: []string{"/b", "/a", "/c/*"},
		Budget: plan.HostBudget{Requests: 1, Paths: 2, Prefixes: 1},
		Limits: plan.HostBudget{Requests: 100, Paths: 20000, Prefixes: 1000},
	})
	it = servingCDN(t, purge("rel", `{hostname: shop.example.com, subdomains: null, paths: `+list(0, 12, "")+`}`)).item(rel)
	if _, sent := body(t, it)["spec"].(map[string]any)["subdomains"]; sent || len(it.Purge.Sample) != 10 || it.Purge.Paths != 12 {
		t.Errorf("what must be absent is sent, or the sample is long: %s", it.Request.Body)
	}
}

// list is a list of paths in YAML's flow style.
func list(from, to int, end string) string {
	all := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("%q", fmt.Sprintf("/%d%s", i, end)))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// TestOnlyTheLedgerDecides: live forgets a purge, so what was sent is never
// sent again (docs/design.md A3 and A5).
func TestOnlyTheLedgerDecides(t *testing.T) {
	const again = `{paths: ["/c/*", /a, /b, /a], subdomains: [img, www], hostname: shop.example.com}`
	const other = `{hostname: shop.example.com, subdomains: [www, img], paths: [/b, /a, /d]}`
	for _, tt := range []struct {
		state ledger.RequestState
		spec  string
		op    plan.Op
		spent string
	}{
		{ledger.Posted, again, plan.None, ""},
		{ledger.Posted, other, plan.Blocked, "was posted before with another spec"},
		{ledger.Adopted, again, plan.None, ""},
		{ledger.Adopted, other, plan.Blocked, "was adopted before with another spec"},
		{ledger.Claimed, again, plan.Blocked, ""},
		{ledger.Claimed, other, plan.Blocked, "may have been sent before with another spec"},
		{ledger.Unknown, again, plan.Blocked, ""},
		{ledger.Unknown, other, plan.Blocked, "may have been sent before with another spec"},
		{ledger.Abandoned, again, plan.Kept, ""},
		{ledger.Abandoned, other, plan.Blocked, "was abandoned before with another spec"},
		{ledger.Rejected, again, plan.Post, ""},
		{ledger.Rejected, other, plan.Post, ""},
	} {
		w := servingCDN(t, purge("rel", tt.spec)).sent(rel, tt.state, relSpec, ago())
		p, findings := plan.NewPlanner(w.in).MakePlan()
		it := find(t, p, rel)
		if it.Op != tt.op || (it.Request != nil) != (tt.op == plan.Post) {
			t.Errorf("%s, %s: %+v", tt.state, tt.spec, it)
		}
		if findings.HasErrors() != (tt.spent != "") {
			t.Errorf("%s, %s: %v", tt.state, tt.spec, findings)
		}
		if tt.spent != "" {
			if f := w.finding(); f.Rule != rules.PurgeSpent || f.Field != "metadata.name" || f.Line != 3 || !strings.Contains(f.Message, tt.spent) {
				t.Errorf("finding %+v", f)
			}
		}
		if tt.op == plan.Blocked && tt.spent == "" {
			message, fix := ledger.ExplainRecord(w.in.Ledger.Records[key(t, rel)])
			blocked(t, it, true, message, fix)
		}
	}
}

func TestAnotherEnvelopeIsTheSamePurge(t *testing.T) {
	doc := "apiVersion: delivery.acme.cloud/v1beta1\nkind: Purge\nmetadata: {name: rel, namespace: acme}\nspec: " + relSpec
	it := servingCDN(t, doc).sent(rel, ledger.Posted, relSpec, now()).item(rel)
	if it.Op != plan.None {
		t.Errorf("item %+v", it)
	}
	if got := body(t, servingCDN(t, doc).item(rel))["apiVersion"]; got != "delivery/v2.1" {
		t.Errorf("it is sent as %v", got)
	}
}

func TestARefusedPurgeSaysWhy(t *testing.T) {
	w := servingCDN(t, purge("rel", relSpec)).sent(rel, ledger.Rejected, relSpec, now()).
		record(rel, func(r *ledger.Record) {
			r.Outcome = &ledger.Outcome{How: ledger.RejectedByPlatform, Message: ledger.QuoteMessage("limit reached")}
		})
	if it := w.item(rel); len(it.Hints) != 1 || !strings.Contains(it.Hints[0], "limit reached") {
		t.Errorf("hints %q", it.Hints)
	}
}

func TestWithoutALedgerNoPurgeIsSent(t *testing.T) {
	w := servingCDN(t, purge("rel", relSpec))
	w.in.Ledger = ledger.View{Problem: "it is lost", Fix: "find it"}
	blocked(t, w.item(rel), true, "the ledger can't be used", "find it")
	if notes := w.make().Notes; len(notes) != 1 || !strings.Contains(notes[0], "it is lost") || strings.Contains(notes[0], "find it") {
		t.Errorf("notes %q", notes)
	}
}

func TestTheHostnameBelongsToACDN(t *testing.T) {
	if f := git(t, purge("rel", relSpec)).finding(); f.Rule != rules.PurgeHostname || f.Field != "spec.hostname" {
		t.Errorf("finding %+v", f)
	}
	if it := git(t, purge("rel", relSpec)).foreign(shop, shopSpec).item(rel); it.Op != plan.Post || len(it.After) != 0 {
		t.Errorf("only live: %+v", it)
	}
	if it := git(t, purge("rel", relSpec), cdn("shop", shopSpec)).item(rel); it.Op != plan.Post || len(it.After) != 1 {
		t.Errorf("only in git: %+v", it)
	}
	// What was sent may stay in git when its CDN is gone.
	if p := git(t, purge("rel", relSpec)).sent(rel, ledger.Posted, relSpec, now()).make(); p.HasDifferences() {
		t.Errorf("pending: %+v", p.Summary)
	}
}

// TestAPurgeComesAfterItsCDN is docs/design.md C3.
func TestAPurgeComesAfterItsCDN(t *testing.T) {
	const changed = `{hostname: shop.example.com, tls: {forced: "true"}}`
	for name, tt := range map[string]struct {
		set  func(*world)
		want bool
	}{
		"created":  {func(*world) {}, true},
		"patched":  {func(w *world) { w.has(shop, shopSpec).applied(shop, shopSpec) }, true},
		"blocked":  {func(w *world) { w.has(shop, changed, terminating) }, true},
		"as it is": {func(w *world) { w.has(shop, changed) }, false},
	} {
		w := git(t, purge("rel", relSpec), cdn("shop", changed))
		tt.set(w)
		it := w.item(rel)
		if it.Op != plan.Post || len(it.After) == 1 != tt.want || tt.want && it.After[0] != key(t, shop) {
			t.Errorf("%s: %s after %v", name, it.Op, it.After)
		}
		w.with(func(o *plan.Options) { o.Targets = onlyKind("Purge") })
		if it := w.item(rel); tt.want {
			blocked(t, it, false, "--target CDN/shop")
			if it.Purge.Budget != (plan.HostBudget{}) {
				t.Errorf("%s: a blocked purge uses the budget: %+v", name, it.Purge)
			}
		} else if it.Op != plan.Post {
			t.Errorf("%s: %+v", name, it)
		}
	}
}

func TestSpecDigest(t *testing.T) {
	k := kindOf(t, "Purge")
	a, b := plan.SpecDigest(k, spec(t, relSpec)), plan.SpecDigest(k, spec(t, `{hostname: shop.example.com, paths: [/a]}`))
	if a == b {
		t.Error("another spec has the same digest")
	}
	odd := spec(t, `{paths: 7}`)
	if plan.SpecDigest(k, odd) != plan.SpecDigest(kindOf(t, "CDN"), odd) {
		t.Error("what is no purge is digested as it stands")
	}
}

// TestHostnamesHaveNoCase: a hostname written in other letters, or with a final
// dot, is the same one (RFC 4343), whoever wrote it so.
func TestHostnamesHaveNoCase(t *testing.T) {
	const odd = `{hostname: Shop.EXAMPLE.com., paths: [/a]}`
	const same = `{hostname: Shop.EXAMPLE.com.}`
	it := git(t, purge("rel", odd), cdn("shop", same)).item(rel)
	if it.Op != plan.Post || len(it.After) != 1 || it.Purge.Hostname != "Shop.EXAMPLE.com." {
		t.Errorf("served by git: %s after %v, %+v", it.Op, it.After, it.Purge)
	}
	if it := git(t, purge("rel", odd)).foreign(shop, shopSpec).foreign("CDN/theirs", same).item(rel); it.Op != plan.Post {
		t.Errorf("served live: %s", it.Op)
	}
	moved := git(t, purge("rel", odd), cdn("shop", `{hostname: new.example.com}`)).
		has(shop, `{hostname: SHOP.example.com}`).foreign("CDN/theirs", same)
	if it := moved.item(rel); len(it.After) != 1 {
		t.Errorf("what serves it live is changed, and it comes after %v", it.After)
	}
	p := servingCDN(t, purge("rel", `{hostname: shop.example.com, paths: [/a]}`), purge("rel-2", `{hostname: shop.example.com, paths: [/b]}`)).
		sent("Purge/old", ledger.Posted, `{hostname: SHOP.example.com, paths: [/c]}`, now()).make()
	if got := find(t, p, "Purge/rel-2").Purge.Budget; got != (plan.HostBudget{Requests: 3, Paths: 3}) {
		t.Errorf("the budget of one hostname is %+v", got)
	}
	w := git(t, cdn("shop", `{hostname: Shop.Example.com}`)).foreign("CDN/theirs", shopSpec)
	if f := w.finding(); f.Rule != rules.HostnameTaken {
		t.Errorf("finding %+v", f)
	}
	w = git(t, cdn("shop", `{hostname: Shop.Example.com}`)).foreign("CDN/a-theirs", shopSpec).has(shop, shopSpec)
	if it := w.item(shop); it.Op != plan.Patch {
		t.Errorf("one that serves the hostname already: %s", it.Op)
	}
}

// TestAPurgeHasTheHostnameOfItsCDN letter by letter, or it is a mistake: the platform
// says that it must be equal (docs/platform.md 2.3).
func TestAPurgeHasTheHostnameOfItsCDN(t *testing.T) {
	of := func(hostname string) string { return purge("rel", "{hostname: "+hostname+", paths: [/]}") }
	w := git(t, of("Far.Example.com")).foreign("CDN/far", `{hostname: far.example.com}`)
	f := w.finding()
	if f.Rule != rules.PurgeHostname || f.Message != "the hostname Far.Example.com must equal that of CDN/far, far.example.com" || f.Fix != "write far.example.com" {
		t.Errorf("finding %+v", f)
	}
	w = git(t, of("Far.Example.com")).foreign("CDN/far", `{hostname: Far.Example.com}`)
	if it := w.item(rel); it.Op != plan.Post {
		t.Errorf("it is equal: %+v", it)
	}
	w = git(t, of("shop.example.com"), cdn("shop", `{hostname: shop.example.com}`)).has(shop, `{hostname: SHOP.example.com}`)
	if it := w.item(rel); it.Op != plan.Post {
		t.Errorf("it is equal to what git makes of the CDN: %+v", it)
	}
	w = git(t, of("Far.Example.com")).foreign("CDN/far", `{hostname: far.example.com}`).
		sent(rel, ledger.Posted, `{hostname: Far.Example.com, paths: [/]}`, ago())
	if it := w.item(rel); it.Op != plan.None {
		t.Errorf("what was posted is done: %+v", it)
	}
}

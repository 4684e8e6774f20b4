package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// TestBudget is docs/design.md A6: what is active, then this plan in the order of the
// names.
func TestBudget(t *testing.T) {
	const one = `{hostname: shop.example.com, paths: [/a, /a, "/b/*"]}`
	for name, tt := range map[string]struct {
		state ledger.RequestState
		age   time.Duration
		want  int
	}{
		"posted now":               {ledger.Posted, 0, 1},
		"a second under 25 hours":  {ledger.Posted, 25*time.Hour - time.Second, 1},
		"25 hours":                 {ledger.Posted, 25 * time.Hour, 0},
		"claimed":                  {ledger.Claimed, time.Hour, 1},
		"unknown":                  {ledger.Unknown, time.Hour, 1},
		"refused":                  {ledger.Rejected, time.Hour, 0},
		"abandoned":                {ledger.Abandoned, time.Hour, 0},
		"adopted, nobody knows of": {ledger.Adopted, time.Hour, 0},
	} {
		p := servingCDN(t, purge("b", one), purge("a", one), purge("c", `{hostname: docs.example.com, paths: [/x]}`)).
			foreign("CDN/docs", `{hostname: docs.example.com}`).
			sent("Purge/old", tt.state, one, now().Add(-tt.age)).make()
		active := plan.HostBudget{Requests: tt.want, Paths: tt.want, Prefixes: tt.want}
		for item, want := range map[string]plan.HostBudget{
			"Purge/a": {Requests: tt.want + 1, Paths: tt.want + 1, Prefixes: tt.want + 1},
			"Purge/b": {Requests: tt.want + 2, Paths: tt.want + 2, Prefixes: tt.want + 2},
		} {
			if got := find(t, p, item).Purge; got.Budget != want || got.Active != active {
				t.Errorf("%s: %s has %+v, want %+v", name, item, got, want)
			}
		}
		if got := find(t, p, "Purge/c").Purge; got.Budget != (plan.HostBudget{Requests: 1, Paths: 1}) || got.Active != (plan.HostBudget{}) {
			t.Errorf("%s: another hostname has %+v", name, got)
		}
	}
}

// prefixes is a purge of so many prefix paths.
func prefixes(n int) string {
	return fmt.Sprintf(`{hostname: shop.example.com, paths: %s}`, list(0, n, "/*"))
}

// active adds requests that were accepted so long ago, of so many prefix paths.
func (w *world) active(name string, n int, age time.Duration) *world {
	return w.sent("Purge/"+name, ledger.Posted, prefixes(n), now().Add(-age))
}

// many adds requests of a path each.
func (w *world) many(n int, age time.Duration) *world {
	for i := range n {
		w.sent(fmt.Sprintf("Purge/old-%d-%s", i, age), ledger.Posted, `{hostname: shop.example.com, paths: [/x]}`, now().Add(-age))
	}
	return w
}

func TestWhatDoesNotFitIsDeferred(t *testing.T) {
	in := func(d time.Duration) time.Time { return now().Add(d) }
	type deferred map[string]time.Time
	for name, tt := range map[string]struct {
		w    *world
		want deferred
	}{
		"all fit": {servingCDN(t, purge("a", prefixes(600)), purge("b", prefixes(400))), nil},
		"the last request": {
			servingCDN(t, purge("a", prefixes(1)), purge("b", prefixes(1))).many(98, 3*time.Hour).many(1, time.Hour),
			deferred{"b": in(22 * time.Hour)},
		},
		"a later one that fits": {
			servingCDN(t, purge("a", prefixes(300)), purge("b", prefixes(200))).active("old", 800, time.Hour),
			deferred{"a": in(24 * time.Hour)},
		},
		"only as much as is needed has to end": {
			servingCDN(t, purge("a", prefixes(450))).active("x", 300, 3*time.Hour).active("y", 300, 9*time.Hour).active("z", 300, 6*time.Hour),
			deferred{"a": in(19 * time.Hour)},
		},
		"what the plan posts ends last": {
			servingCDN(t, purge("a", prefixes(300)), purge("b", prefixes(800))).active("x", 700, 2*time.Hour),
			deferred{"b": in(25 * time.Hour)},
		},
		"what is posted after it in the order counts": {
			servingCDN(t, purge("a", prefixes(600)), purge("b", prefixes(450))).active("x", 500, 2*time.Hour),
			deferred{"a": in(25 * time.Hour)},
		},
		"another hostname": {
			servingCDN(t, purge("a", `{hostname: docs.example.com, paths: [/x]}`), purge("b", prefixes(1))).
				foreign("CDN/docs", `{hostname: docs.example.com}`).many(100, time.Hour),
			deferred{"b": in(24 * time.Hour)},
		},
		"what can't be read counts everywhere": {
			servingCDN(t, purge("a", prefixes(1))).many(98, time.Hour).
				record("Purge/none", func(r *ledger.Record) { r.State, r.AcceptedAt = ledger.Posted, ptr(in(-2*time.Hour)) }).
				record("Purge/odd", func(r *ledger.Record) {
					r.State, r.Spec, r.FirstClaimAt = ledger.Unknown, []byte(`{"hostname":7}`), ptr(in(-3*time.Hour))
				}).
				record("Purge/never", func(r *ledger.Record) { r.State = ledger.Posted }),
			deferred{"a": in(22 * time.Hour)},
		},
	} {
		p := tt.w.make()
		got := deferred{}
		for _, it := range p.Items {
			if it.Op != plan.Deferred {
				continue
			}
			got[it.Name] = it.Purge.Earliest
			if it.Request != nil || it.NeedsPerson || it.Fix == "" || !strings.Contains(it.Reason, "shop.example.com would have ") {
				t.Errorf("%s: %+v", name, it)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%s: deferred %v, want %v", name, got, tt.want)
		}
		if p.Summary.Deferred != len(tt.want) || !p.HasDifferences() {
			t.Errorf("%s: %+v", name, p.Summary)
		}
	}
}

func ptr(t time.Time) *time.Time { return &t }

func TestADeferredPurgeSaysWhen(t *testing.T) {
	w := servingCDN(t, purge("a", prefixes(1))).many(100, time.Hour+10*time.Second)
	p := w.make()
	it := find(t, p, "Purge/a")
	const want = "shop.example.com would have 101 purge requests (at most 100) active at once; apply can send this from 2026-11-22T09:00Z"
	if it.Reason != want || len(it.After) != 0 {
		t.Errorf("%q after %v", it.Reason, it.After)
	}
	if got := it.Purge; got.Active.Requests != 100 || got.Budget.Requests != 100 || got.Prefixes != 1 {
		t.Errorf("%+v", got)
	}
	w.in.Set = load(t, purge("a", prefixes(1)), cdn("shop", shopSpec))
	if !w.make().HasDifferences() || w.make().SendsAnything() {
		t.Error("what is deferred is pending, and nothing is sent for it")
	}
}

// TestOneThatNeverFits: the rules of manifests refuse it before.
func TestOneThatNeverFits(t *testing.T) {
	w := servingCDN(t, purge("a", prefixes(1)))
	o := w.in.Set.Find(key(t, "Purge/a"))
	o.Spec = spec(t, prefixes(2001))
	it := w.item("Purge/a")
	if it.Op != plan.Deferred || !it.Purge.Earliest.IsZero() || it.Reason != "it has 2001 prefix paths (at most 1000)" || !strings.Contains(it.Fix, "3 purges") {
		t.Errorf("%s %q %q", it.Op, it.Reason, it.Fix)
	}
}

// TestOnlyTargetsUseTheBudget: what --target leaves out is not planned.
func TestOnlyTargetsUseTheBudget(t *testing.T) {
	w := servingCDN(t, purge("a", prefixes(600)), purge("b", prefixes(600)))
	if it := w.item("Purge/b"); it.Op != plan.Deferred {
		t.Errorf("all: %s", it.Op)
	}
	if it := w.with(targets("b")).item("Purge/b"); it.Op != plan.Post || it.Purge.Budget.Prefixes != 600 {
		t.Errorf("one: %s %+v", it.Op, it.Purge)
	}
}

// TestWhatMayHaveBeenSentHoldsItsPlace: a request that is sent again was counted
// when it was claimed; deferring it could lose it.
func TestWhatMayHaveBeenSentHoldsItsPlace(t *testing.T) {
	w := servingCDN(t, purge("a", prefixes(200)), purge("b", prefixes(400))).active("old", 500, time.Hour).
		sent("Purge/b", ledger.Claimed, prefixes(400), now().Add(-2*time.Hour))
	w.in.At = ledger.Instant{Now: now(), Early: now(), Late: now()}
	w.in.Ledger.Terms = map[kind.Area]ledger.ResendTerms{kind.Delivery: {Window: 20 * time.Hour, Proven: true}}
	a, b := w.item("Purge/a"), w.item("Purge/b")
	if b.Op != plan.Post || !b.Resend || b.Purge.Active.Prefixes != 500 || b.Purge.Budget.Prefixes != 900 {
		t.Errorf("sent again: %s %+v", b.Op, b.Purge)
	}
	if a.Op != plan.Deferred || a.Purge.Earliest != now().Add(24*time.Hour) {
		t.Errorf("the other: %s %+v", a.Op, a.Purge)
	}
	w.active("older", 500, 2*time.Hour)
	if b := w.item("Purge/b"); b.Op != plan.Post {
		t.Errorf("sent again without room: %s", b.Op)
	}
}

// TestASecondWayToCount: whether a path counts for each subdomain is not
// documented, so that only warns.
func TestASecondWayToCount(t *testing.T) {
	of := func(n int) string {
		return fmt.Sprintf(`{hostname: shop.example.com, subdomains: [www], paths: %s}`, list(0, n, "/*"))
	}
	if it := servingCDN(t, purge("a", of(500))).item("Purge/a"); it.Op != plan.Post || len(it.Hints) != 0 {
		t.Errorf("500 prefixes, twice: hints %q", it.Hints)
	}
	it := servingCDN(t, purge("a", of(501))).item("Purge/a")
	if it.Op != plan.Post || len(it.Hints) != 1 || !strings.Contains(it.Hints[0], "1002 prefix paths") || !strings.Contains(it.Hints[0], "if it counts") {
		t.Errorf("501 prefixes, twice: hints %q", it.Hints)
	}
}

// drawn is a world of requests to one hostname, by the number of their prefix
// paths.
type drawn struct {
	wishes map[string]int
	past   []ledger.Record
}

func draw(t *rapid.T) drawn {
	d := drawn{wishes: map[string]int{}}
	for i := range rapid.IntRange(1, 6).Draw(t, "wishes") {
		d.wishes[fmt.Sprintf("w%d", i)] = rapid.IntRange(1, 15).Draw(t, "prefixes")
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "large") {
		d.add(t, fmt.Sprintf("large-%d", i), rapid.IntRange(320, 340).Draw(t, "prefixes"))
	}
	if rapid.Bool().Draw(t, "many") {
		for i := range rapid.IntRange(93, 100).Draw(t, "how many") {
			d.add(t, fmt.Sprintf("small-%d", i), 1)
		}
	}
	return d
}

func (d *drawn) add(t *rapid.T, name string, n int) {
	age := time.Duration(rapid.IntRange(0, 26*3600).Draw(t, "age")) * time.Second
	state := rapid.SampledFrom([]ledger.RequestState{ledger.Posted, ledger.Posted, ledger.Unknown, ledger.Rejected}).Draw(t, "state")
	d.past = append(d.past, past(name, state, n, now().Add(-age)))
}

func past(name string, state ledger.RequestState, n int, at time.Time) ledger.Record {
	return ledger.Record{
		Key: kind.Key{Kind: "Purge", Name: name}, State: state, FirstClaimAt: &at, ClaimedAt: &at,
		Spec: fmt.Appendf(nil, `{"hostname":"shop.example.com","paths":%s}`, list(0, n, "/*")),
	}
}

// world has the wishes of these names in this order of documents.
func (d drawn) world(t tester, names []string) *world {
	var documents []string
	for _, name := range names {
		documents = append(documents, purge(name, prefixes(d.wishes[name])))
	}
	return servingCDN(t, documents...).at(now(), d.past)
}

// at moves a world to another time and other requests of the past.
func (w *world) at(at time.Time, past []ledger.Record) *world {
	w.in.At = ledger.Instant{Now: at, Early: at, Late: at}
	for _, rec := range past {
		w.in.Ledger.Records[rec.Key] = rec
	}
	return w
}

// countNoun adds up what counts at a time; it is the definition.
func countNoun(past []ledger.Record, at time.Time) (requests, prefixes int) {
	for _, rec := range past {
		if rec.State != ledger.Rejected && at.Before(rec.FirstClaimAt.Add(25*time.Hour)) {
			requests++
			prefixes += strings.Count(string(rec.Spec), "/*")
		}
	}
	return requests, prefixes
}

// TestTheLimitsAreKept: what is posted fits, whatever the order of documents,
// and what is deferred fits at the time it is said to, and not a second before.
func TestTheLimitsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		var names []string
		for name := range d.wishes {
			names = append(names, name)
		}
		slices.Sort(names)
		w := d.world(t, names)
		p, mixed := w.make(), d.world(t, rapid.Permutation(names).Draw(t, "order")).make()
		after := slices.Clone(d.past)
		for _, name := range names {
			it, again := find(t, p, "Purge/"+name), find(t, mixed, "Purge/"+name)
			if it.Op != again.Op || it.Reason != again.Reason || fmt.Sprint(*it.Purge) != fmt.Sprint(*again.Purge) {
				t.Fatalf("the order of documents matters to %s: %+v, %+v", name, it, again)
			}
			requests, prefixes := countNoun(after, now())
			fits := requests < 100 && prefixes+d.wishes[name] <= 1000
			if fits != (it.Op == plan.Post) {
				t.Fatalf("%s: %d requests and %d prefix paths are active, and %d more are %s", name, requests, prefixes, d.wishes[name], it.Op)
			}
			if fits {
				after = append(after, past(name, ledger.Posted, d.wishes[name], now()))
			}
		}
		for _, name := range names {
			if it := find(t, p, "Purge/"+name); it.Op == plan.Deferred {
				fitsAt(t, w.with(targets(name)), name, after, it.Purge.Earliest)
			}
		}
	})
}

func targets(name string) func(*plan.Options) {
	return func(o *plan.Options) { o.Targets = func(k kind.Key) bool { return k.Name == name } }
}

func fitsAt(t *rapid.T, w *world, name string, past []ledger.Record, at time.Time) {
	for _, tt := range []struct {
		at   time.Time
		want plan.Op
	}{{at.Add(-time.Second), plan.Deferred}, {at, plan.Post}} {
		if it := w.at(tt.at, past).item("Purge/" + name); it.Op != tt.want {
			t.Fatalf("%s at %s: %s, want %s", name, tt.at, it.Op, tt.want)
		}
	}
}

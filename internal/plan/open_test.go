package plan_test

import (
	"testing"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// settling is a world with something of every kind to do, and with requests
// that have no outcome on a platform that refuses duplicates.
func settling(t tester) *world {
	w := servingCDN(t, purge("rel", relSpec), purge("new", relSpec), purge("unknown", relSpec), snapshot("db", "disk-1"),
		cdn("docs", `{hostname: docs.example.com}`)).
		sent(rel, ledger.Claimed, relSpec, ago()).sent("Purge/unknown", ledger.Unknown, relSpec, ago()).
		sent("Purge/left", ledger.Claimed, relSpec, now())
	w.in.Ledger.Terms[kind.Delivery] = ledger.ResendTerms{Window: ledger.DefaultWindow, Proven: true}
	return w
}

func TestOpenOnlyKeepsWhatHasNoOutcome(t *testing.T) {
	w := settling(t)
	all := w.make()
	p := all.NarrowToUnanswered(w.in.Ledger.Records)
	if len(p.Items) != 3 || p.Summary.Create != 0 || p.Summary.Purge != 1 || p.Unmanaged != nil {
		t.Fatalf("items %+v, %+v", p.Items, p.Summary)
	}
	if it := find(t, p, rel); it.Op != plan.Post || !it.Resend {
		t.Errorf("%+v", it)
	}
	if it := find(t, p, "Purge/left"); it.Op != plan.InFlight {
		t.Errorf("%+v", it)
	}
	if it := find(t, p, "Purge/unknown"); it.Op != plan.Blocked || !it.NeedsPerson {
		t.Errorf("%+v", it)
	}
	if all.Summary.Create == 0 || len(all.Items) < 6 {
		t.Errorf("the plan itself was changed: %+v", all.Summary)
	}
}

// TestOpenOnlySendsNothingElse: what comes after a change that is not sent
// waits for it.
func TestOpenOnlySendsNothingElse(t *testing.T) {
	w := settling(t).has(shop, `{hostname: old.example.com}`)
	it := find(t, w.make().NarrowToUnanswered(w.in.Ledger.Records), rel)
	blocked(t, it, false, "this waits for CDN/shop, which still differs from git", "apply")
	if len(it.After) > 0 || it.Request != nil {
		t.Errorf("%+v", it)
	}
}

func TestOnlyIsOneItemThatWaitsForNothing(t *testing.T) {
	w := settling(t).has(shop, `{hostname: old.example.com}`)
	p := w.make().NarrowToObject(key(t, "Purge/new"))
	if len(p.Items) != 1 || p.Items[0].Op != plan.Post || p.Items[0].After != nil || p.Summary.Purge != 1 {
		t.Errorf("%+v", p)
	}
}

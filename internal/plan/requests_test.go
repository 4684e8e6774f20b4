package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

const (
	onePath   = `{hostname: shop.example.com, paths: [/a, "/b/*"]}`
	otherPath = `{hostname: shop.example.com, subdomains: [www], paths: [/c]}`
)

func TestRequests(t *testing.T) {
	hour := func(n int) time.Time { return now().Add(-time.Duration(n) * time.Hour) }
	w := git(t,
		purge("due", onePath), purge("refused", onePath), purge("edited", otherPath), purge("young", onePath),
		purge("lost", onePath), purge("asked", onePath), purge("old", onePath), purge("adopted", onePath), purge("given-up", otherPath),
		cdn("shop", `{hostname: shop.example.com}`),
	).
		sent("Purge/refused", ledger.Rejected, onePath, hour(2)).
		sent("Purge/edited", ledger.Posted, onePath, hour(1)).
		sent("Purge/young", ledger.Claimed, onePath, now()).
		sent("Purge/lost", ledger.Claimed, onePath, hour(1)).
		sent("Purge/asked", ledger.Unknown, onePath, hour(30)).
		sent("Purge/old", ledger.Posted, onePath, hour(25)).
		sent("Purge/adopted", ledger.Adopted, onePath, hour(1)).
		sent("Purge/given-up", ledger.Abandoned, onePath, hour(1)).
		sent("Purge/left", ledger.Posted, onePath, hour(24)).
		sent("Purge/away", ledger.Rejected, onePath, hour(2)).
		sent("Purge/unheard", ledger.Unknown, onePath, hour(30)).
		applied("CDN/gone", `{hostname: gone.example.com}`)
	for _, name := range []string{"old", "given-up"} { // as a fold leaves them
		key := kind.Key{Kind: "Purge", Name: name}
		rec := w.in.Ledger.Records[key]
		rec.Spec, rec.Folded = nil, true
		w.in.Ledger.Records[key] = rec
	}
	all, hosts := plan.ReadRequests(w.in.Set, w.in.Ledger, now())
	var got []string
	for _, r := range all {
		line := fmt.Sprintf("%s %s", r.Name, r.Status)
		if r.Active {
			line += " until " + r.Until.Format("02 15:04")
		}
		if r.Edited {
			line += " edited"
		}
		if r.Manifest == nil {
			line += " left"
			if r.Spec.Hostname == "" {
				t.Errorf("%+v", r)
			}
		}
		got = append(got, line)
	}
	want := []string{
		"lost unknown until 22 09:00", "asked unknown", "unheard unknown left", "young in-flight until 22 10:00", "away rejected left", "refused rejected", "due due",
		"edited posted until 22 09:00 edited", "left posted until 21 10:00 left", "old posted", "adopted adopted", "given-up abandoned edited",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if len(hosts) != 1 {
		t.Fatalf("hosts %+v", hosts)
	}
	h := hosts[0]
	if h.Hostname != "shop.example.com" || h.Active.Requests != 4 || h.WithDue.Requests != 6 || h.WithDue.Paths != 6 || h.AtMost.Paths != 6 {
		t.Errorf("%+v", h)
	}
	// Where the platform was seen to refuse duplicates, what a run left is sent again.
	w.in.Ledger.Terms["delivery"] = ledger.ResendTerms{Window: ledger.DefaultWindow, Proven: true}
	if all, _ := plan.ReadRequests(w.in.Set, w.in.Ledger, now()); all[3].Name != "lost" || all[3].Status != plan.Again {
		t.Errorf("a claim that can be sent again is %+v", all[3])
	}
	// Without a ledger nothing is known.
	all, hosts = plan.ReadRequests(w.in.Set, ledger.View{Problem: "gone"}, now())
	if len(all) != 9 || all[0].Status != plan.NoLedger || hosts != nil {
		t.Errorf("without a ledger: %+v, %+v", all[0], hosts)
	}
}

// TestRequestsCountAsThePlanDoes: what is due leaves the budget that the plan ends
// with.
func TestRequestsCountAsThePlanDoes(t *testing.T) {
	w := servingCDN(t, purge("a", onePath), purge("b", otherPath)).
		sent("Purge/x", ledger.Posted, otherPath, now().Add(-time.Hour)).
		sent("Purge/y", ledger.Unknown, onePath, now().Add(-26*time.Hour))
	_, hosts := plan.ReadRequests(w.in.Set, w.in.Ledger, now())
	last := find(t, w.make(), "Purge/b").Purge
	if len(hosts) != 1 || hosts[0].WithDue != last.Budget || hosts[0].Active != last.Active {
		t.Errorf("got %+v, the plan has %+v", hosts, last)
	}
	if want := 1 + 1 + 2 + 2; hosts[0].AtMost.Paths+hosts[0].AtMost.Prefixes != want {
		t.Errorf("at most %+v", hosts[0].AtMost)
	}
}

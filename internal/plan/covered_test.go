package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// TestCoveredPathsArePointedOut: what another active purge or one of this plan
// purges too is a hint, and never blocks.
func TestCoveredPathsArePointedOut(t *testing.T) {
	shop := func(paths string) string { return `{hostname: shop.example.com, paths: [` + paths + `]}` }
	www := func(paths string) string {
		return `{hostname: shop.example.com, subdomains: [www], paths: [` + paths + `]}`
	}
	const accepted = "accepted at 2026-11-21T08:00Z; the content may have changed since"
	for name, tt := range map[string]struct {
		b, c string
		old  string
		want []string
	}{
		"active": {
			b: shop(`/s/a, /s/b, "/s/c/*", /t`), old: shop(`"/s/*"`),
			want: []string{"3 of 4 paths are covered by the active Purge/rel-1 (/s/*), " + accepted},
		},
		"the same prefix": {
			b: shop(`"/s/*"`), old: shop(`"/s/*"`),
			want: []string{"1 of 1 paths is covered by the active Purge/rel-1 (/s/*), " + accepted},
		},
		"the same path":                {b: shop(`/a`), old: shop(`/a`)},
		"wider":                        {b: shop(`"/s/*"`), old: shop(`"/s/t/*"`)},
		"by itself":                    {b: shop(`/s/a, "/s/*"`)},
		"another hostname":             {b: shop(`/s/a`), old: `{hostname: docs.example.com, paths: ["/*"]}`},
		"fewer subdomains":             {b: www(`/s/a`), old: shop(`"/s/*"`)},
		"more subdomains":              {b: shop(`/s/a`), old: www(`"/s/*"`), want: []string{"1 of 1 paths is covered by the active Purge/rel-1 (/s/*), " + accepted}},
		"a later one of this plan":     {b: shop(`/s/a`), c: shop(`"/s/*"`), want: []string{"1 of 1 paths is covered by Purge/c of this plan (/s/*)"}},
		"the same prefix in this plan": {b: shop(`"/s/*"`), c: shop(`"/s/*"`)},
		"the narrowest, and the latest of equal ones": {
			b: shop(`/s/a, /s/t/b`), c: shop(`"/s/t/*"`), old: shop(`"/s/*", "/s/t/*"`),
			want: []string{
				"1 of 2 paths is covered by the active Purge/rel-1 (/s/*), " + accepted,
				"1 of 2 paths is covered by Purge/c of this plan (/s/t/*)",
			},
		},
	} {
		documents := []string{purge("b", tt.b)}
		if tt.c != "" {
			documents = append(documents, purge("c", tt.c))
		}
		w := served(t, documents...)
		if tt.old != "" {
			w.sent("Purge/rel-1", ledger.Posted, tt.old, now().Add(-time.Hour))
		}
		if it := w.item("Purge/b"); it.Op != plan.Post || !slices.Equal(it.Hints, tt.want) {
			t.Errorf("%s: %s %q, want %q", name, it.Op, it.Hints, tt.want)
		}
	}
	it := served(t, purge("b", shop(`"/s/*"`)), purge("c", shop(`"/s/*"`))).item("Purge/c")
	if !slices.Equal(it.Hints, []string{"1 of 1 paths is covered by Purge/b of this plan (/s/*)"}) {
		t.Errorf("the second that names a prefix: %q", it.Hints)
	}
}

// TestNobodyKnowsWhatAnOpenRequestCovers: it may not have been executed.
func TestNobodyKnowsWhatAnOpenRequestCovers(t *testing.T) {
	const all = `{hostname: shop.example.com, paths: ["/*"]}`
	for _, state := range []ledger.State{ledger.Unknown, ledger.Claimed, ledger.Rejected, ledger.Adopted} {
		w := served(t, purge("b", relSpec)).sent("Purge/old", state, all, now())
		if it := w.item("Purge/b"); len(it.Hints) != 0 {
			t.Errorf("%s: %q", state, it.Hints)
		}
	}
	w := served(t, purge("b", relSpec)).sent("Purge/old", ledger.Posted, all, now().Add(-26*time.Hour))
	if it := w.item("Purge/b"); len(it.Hints) != 0 {
		t.Errorf("long ago: %q", it.Hints)
	}
}

func TestADeferredPurgeIsCoveredToo(t *testing.T) {
	w := served(t, purge("a", `{hostname: shop.example.com, paths: [/0/x]}`), purge("b", prefixes(500))).active("old", 501, time.Hour)
	it := w.item("Purge/b")
	if it.Op != plan.Deferred || len(it.Hints) != 1 || it.Hints[0][:len("500 of 500 paths are")] != "500 of 500 paths are" {
		t.Errorf("%s %q", it.Op, it.Hints)
	}
}

func TestManyCoveringPurges(t *testing.T) {
	w := served(t, purge("b", `{hostname: shop.example.com, paths: [/0/a, /0/b, /1/a, /2/a, /3/a, /4/a, /x]}`))
	for i := range 5 {
		w.sent(fmt.Sprintf("Purge/old-%d", i), ledger.Posted, fmt.Sprintf(`{hostname: shop.example.com, paths: ["/%d/*"]}`, i), now().Add(time.Duration(i)*-time.Hour))
	}
	hints := w.item("Purge/b").Hints
	if len(hints) != 4 || hints[3] != "2 of 7 paths are covered by 2 other purges too" || hints[0][:9] != "2 of 7 pa" {
		t.Errorf("hints %q", hints)
	}
}

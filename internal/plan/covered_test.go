package plan_test

import (
	"fmt"
	"slices"
	"strings"
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
	const accepted = "the platform accepted it at 2026-11-21T08:00Z, and the content may have changed since"
	for name, tt := range map[string]struct {
		b, c string
		old  string
		want []string
	}{
		"active": {
			b: shop(`/s/a, /s/b, "/s/c/*", /t`), old: shop(`"/s/*"`),
			want: []string{"the active Purge/rel-1 also covers 3 of 4 paths (/s/*); " + accepted},
		},
		"the same prefix": {
			b: shop(`"/s/*"`), old: shop(`"/s/*"`),
			want: []string{"the active Purge/rel-1 also covers 1 of 1 paths (/s/*); " + accepted},
		},
		"the same path":                {b: shop(`/a`), old: shop(`/a`)},
		"wider":                        {b: shop(`"/s/*"`), old: shop(`"/s/t/*"`)},
		"by itself":                    {b: shop(`/s/a, "/s/*"`)},
		"another hostname":             {b: shop(`/s/a`), old: `{hostname: docs.example.com, paths: ["/*"]}`},
		"fewer subdomains":             {b: www(`/s/a`), old: shop(`"/s/*"`)},
		"more subdomains":              {b: shop(`/s/a`), old: www(`"/s/*"`), want: []string{"the active Purge/rel-1 also covers 1 of 1 paths (/s/*); " + accepted}},
		"a later one of this plan":     {b: shop(`/s/a`), c: shop(`"/s/*"`), want: []string{"Purge/c of this plan also covers 1 of 1 paths (/s/*)"}},
		"the same prefix in this plan": {b: shop(`"/s/*"`), c: shop(`"/s/*"`)},
		"the narrowest, and the latest of equal ones": {
			b: shop(`/s/a, /s/t/b`), c: shop(`"/s/t/*"`), old: shop(`"/s/*", "/s/t/*"`),
			want: []string{
				"the active Purge/rel-1 also covers 1 of 2 paths (/s/*); " + accepted,
				"Purge/c of this plan also covers 1 of 2 paths (/s/t/*)",
			},
		},
	} {
		documents := []string{purge("b", tt.b)}
		if tt.c != "" {
			documents = append(documents, purge("c", tt.c))
		}
		w := servingCDN(t, documents...)
		if tt.old != "" {
			w.sent("Purge/rel-1", ledger.Posted, tt.old, now().Add(-time.Hour))
		}
		if it := w.item("Purge/b"); it.Op != plan.Post || !slices.Equal(it.Hints, tt.want) {
			t.Errorf("%s: %s %q, want %q", name, it.Op, it.Hints, tt.want)
		}
	}
	it := servingCDN(t, purge("b", shop(`"/s/*"`)), purge("c", shop(`"/s/*"`))).item("Purge/c")
	if !slices.Equal(it.Hints, []string{"Purge/b of this plan also covers 1 of 1 paths (/s/*)"}) {
		t.Errorf("the second that names a prefix: %q", it.Hints)
	}
}

// TestNobodyKnowsWhatAnOpenRequestCovers: it may not have been executed.
func TestNobodyKnowsWhatAnOpenRequestCovers(t *testing.T) {
	const all = `{hostname: shop.example.com, paths: ["/*"]}`
	for _, state := range []ledger.RequestState{ledger.Unknown, ledger.Claimed, ledger.Rejected, ledger.Adopted} {
		w := servingCDN(t, purge("b", relSpec)).sent("Purge/old", state, all, now())
		if it := w.item("Purge/b"); len(it.Hints) != 0 {
			t.Errorf("%s: %q", state, it.Hints)
		}
	}
	w := servingCDN(t, purge("b", relSpec)).sent("Purge/old", ledger.Posted, all, now().Add(-26*time.Hour))
	if it := w.item("Purge/b"); len(it.Hints) != 0 {
		t.Errorf("long ago: %q", it.Hints)
	}
}

func TestADeferredPurgeIsCoveredToo(t *testing.T) {
	w := servingCDN(t, purge("a", `{hostname: shop.example.com, paths: [/0/x]}`), purge("b", prefixes(500))).active("old", 501, time.Hour)
	it := w.item("Purge/b")
	if it.Op != plan.Deferred || len(it.Hints) != 1 || !strings.Contains(it.Hints[0], "covers 500 of 500 paths") {
		t.Errorf("%s %q", it.Op, it.Hints)
	}
}

func TestManyCoveringPurges(t *testing.T) {
	w := servingCDN(t, purge("b", `{hostname: shop.example.com, paths: [/0/a, /0/b, /1/a, /2/a, /3/a, /4/a, /x]}`))
	for i := range 5 {
		w.sent(fmt.Sprintf("Purge/old-%d", i), ledger.Posted, fmt.Sprintf(`{hostname: shop.example.com, paths: ["/%d/*"]}`, i), now().Add(time.Duration(i)*-time.Hour))
	}
	hints := w.item("Purge/b").Hints
	if len(hints) != 4 || hints[3] != "2 other purges also cover 2 of 7 paths" || !strings.Contains(hints[0], "2 of 7 paths") {
		t.Errorf("hints %q", hints)
	}
}

package apply_test

import (
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

const (
	shop   = "CDN/shop"
	plain  = `{hostname: shop.example.com}`
	forced = `{hostname: shop.example.com, tls: {forced: "true"}}`
	loose  = `{hostname: shop.example.com, tls: {forced: "false", enabled: "true"}}`
	group  = `{hostname: shop.example.com, upstreams: [{name: o, scheme: https, servers: [{host: s, port: "443"}]}]}`
	lately = `{hostname: shop.example.com, upstreams: [{name: o, scheme: http, note: kept, servers: [{host: s, port: "443"}]}]}`
)

func TestCreate(t *testing.T) {
	s := begin(t, cdn("shop", forced))
	res := s.run()
	o := s.ends(res, shop, apply.Done, apply.OK, "created")
	s.wrote("GET CDN/shop, pending CDN/shop, POST CDN/shop, GET CDN/shop, applied CDN/shop")
	r := s.records[key(shop)]
	if !o.Sent || r.Pending != nil || r.NotConverged || string(r.Applied) != s.spec(shop) || r.UID != "uid-shop" {
		t.Errorf("record %+v", r)
	}
	if phases(s) != "start, sent POST, verify, end created" {
		t.Errorf("events %s", phases(s))
	}
	if o := s.ends(s.run(), shop, apply.Done, apply.OK); o.Sent {
		t.Error("it was sent again")
	}
	s.wrote("")
}

func phases(s *stage) string {
	all := make([]string, len(s.events))
	for i, e := range s.events {
		all[i] = strings.TrimSpace(e.Phase + " " + e.Message)
	}
	return strings.Join(all, ", ")
}

func TestPatch(t *testing.T) {
	s := begin(t, cdn("shop", forced)).has(shop, loose)
	s.ends(s.run(), shop, apply.Done, apply.OK, "changed 1 field")
	s.wrote("pending CDN/shop, GET CDN/shop, PATCH CDN/shop, GET CDN/shop, applied CDN/shop")
	if s.sent[0] != `{"spec":{"tls":{"forced":"true"}}}` || !strings.Contains(s.spec(shop), `"enabled":"true"`) {
		t.Errorf("sent %s, live %s", s.sent, s.spec(shop))
	}
}

func TestWhatIsAsGitSaysIsRecordedAndNotSent(t *testing.T) {
	s := begin(t, cdn("shop", plain)).has(shop, loose)
	s.ends(s.run(), shop, apply.Done, apply.OK)
	s.wrote("applied CDN/shop")
	s.ends(s.run(), shop, apply.Done, apply.OK)
	s.wrote("")
	s = begin(t, cdn("shop", plain)).has(shop, loose).on("applied CDN/shop", 1, unclear(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "ledger")
}

func TestWithoutALedgerWhatConvergesStillDoes(t *testing.T) {
	s := begin(t, cdn("shop", forced), cdn("docs", `{hostname: docs.example.com}`), snapshot("db")).has(shop, loose)
	s.noted = false
	res := s.run()
	s.ends(res, shop, apply.Done, apply.OK)
	s.ends(res, "CDN/docs", apply.Done, apply.OK)
	s.ends(res, "VolumeSnapshot/db", apply.Blocked, apply.NeedsPerson, "the ledger can't be used")
	s = begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 1, refused(), false)
	s.noted = false
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "422")
}

// TestWhatChangedSinceThePlan: nothing of it is overwritten (docs/design.md 0.17, 0.23).
func TestWhatChangedSinceThePlan(t *testing.T) {
	for name, tt := range map[string]struct {
		git, live, now string
		change         func(*kind.LiveObject)
		stale          string
		patch          string
	}{
		"a managed field":               {git: forced, live: loose, now: strings.Replace(loose, `forced: "false"`, `forced: other`, 1), stale: "changed after"},
		"an element of a list":          {git: group, live: lately, now: strings.Replace(lately, "scheme: http", "scheme: other", 1), stale: "changed after"},
		"a kept field of an element":    {git: group, live: lately, now: strings.Replace(lately, "note: kept", "note: other", 1), stale: "changed after"},
		"another element of the list":   {git: group, live: lately, now: strings.Replace(lately, "[{name: o", "[{name: x}, {name: o", 1), stale: "git does not own this object's lists"},
		"it went":                       {git: forced, live: loose, stale: "deleted after"},
		"it is going":                   {git: forced, live: loose, now: loose, change: func(o *kind.LiveObject) { o.Terminating = true }, stale: "being deleted"},
		"it has no spec":                {git: forced, live: loose, now: loose, change: func(o *kind.LiveObject) { o.Spec = nil }, stale: "without a spec"},
		"another object's hostname":     {git: forced, live: strings.Replace(loose, "shop.", "old.", 1), now: loose, patch: `{"spec":{"tls":{"forced":"true"}}}`},
		"an unmanaged field":            {git: forced, live: loose, now: strings.Replace(loose, `enabled: "true"`, `enabled: "false"`, 1), patch: `{"spec":{"tls":{"forced":"true"}}}`},
		"a part of the change was made": {git: `{hostname: shop.example.com, tls: {forced: "true", enabled: "false"}}`, live: loose, now: strings.Replace(loose, `enabled: "true"`, `enabled: "false"`, 1), patch: `{"spec":{"tls":{"forced":"true"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, cdn("shop", tt.git)).has(shop, tt.live)
			res := s.apply(t.Context(), func() {
				if tt.now == "" {
					delete(s.objects, key(shop))
					return
				}
				s.has(shop, tt.now)
				if tt.change != nil {
					s.change(shop, tt.change)
				}
			})
			if tt.patch != "" {
				s.ends(res, shop, apply.Done, apply.OK)
				if len(s.sent) != 1 || s.sent[0] != tt.patch {
					t.Errorf("sent %s", s.sent)
				}
				return
			}
			if o := s.ends(res, shop, apply.Skipped, apply.Stale, tt.stale, "plan again"); o.Sent {
				t.Error("it says that it was sent")
			}
			s.wrote("pending CDN/shop, GET CDN/shop, drop CDN/shop")
		})
	}
}

func TestAnotherClientWasFaster(t *testing.T) {
	s := begin(t, cdn("shop", forced)).has(shop, loose)
	res := s.apply(t.Context(), func() { s.has(shop, forced) })
	s.ends(res, shop, apply.Done, apply.OK, "another client")
	s.wrote("pending CDN/shop, GET CDN/shop, applied CDN/shop")
}

func TestWhatAppearedIsNotOverwritten(t *testing.T) {
	s := begin(t, cdn("shop", forced))
	s.ends(s.apply(t.Context(), func() { s.has(shop, forced) }), shop, apply.Skipped, apply.Stale, "appeared")
	s.wrote("GET CDN/shop")
	s = begin(t, cdn("shop", forced))
	res := s.apply(t.Context(), func() {
		s.has(shop, forced)
		s.change(shop, func(o *kind.LiveObject) { o.Terminating = true })
	})
	s.ends(res, shop, apply.Skipped, apply.Stale, "being deleted")
	s.wrote("GET CDN/shop")
	s = begin(t, cdn("shop", forced)).on("GET CDN/shop", 1, &said{"503", api.Error{Class: api.Unavailable}}, false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "503")
	s.wrote("GET CDN/shop")
}

func TestAFindingAgainstWhatIsLiveNow(t *testing.T) {
	s := begin(t, cdn("shop", forced)).has(shop, loose).has("CDN/other", `{hostname: other.example.com}`)
	planner, p := s.ready()
	res := apply.Run(t.Context(), p, apply.Deps{
		Writer: s, Journal: s, Clock: s.clock, Rules: planner.RulesOf, Report: func(apply.Event) {},
		Replan: func(kind.Key, *kind.LiveObject) (item plan.Item, err error) { return item, refused() },
		Spec:   func(k kind.Key) []byte { return s.set.Find(k).Spec },
	})
	s.ends(res, shop, apply.Skipped, apply.Stale, "can't plan")
	s.wrote("pending CDN/shop, GET CDN/shop, drop CDN/shop")
}

func TestAListGoesWithTheVersionThatWasCompared(t *testing.T) {
	s := begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group)
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if !strings.Contains(s.sent[0], `"metadata":{"resourceVersion":"1"}`) || !strings.Contains(s.sent[0], "kept") {
		t.Errorf("sent %s", s.sent)
	}

	// Somebody else writes between the GET and the PATCH, what git does not manage.
	s = begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group)
	s.at("PATCH CDN/shop", 1, func() { s.has(shop, strings.Replace(lately, "hostname", "x: z, hostname", 1)) })
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if len(s.sent) != 2 || !strings.Contains(s.sent[1], `"resourceVersion":"2"`) || !strings.Contains(s.spec(shop), `"x":"z"`) {
		t.Errorf("sent %s", s.sent)
	}
	s.wrote("pending CDN/shop, GET CDN/shop, PATCH CDN/shop, GET CDN/shop, GET CDN/shop, PATCH CDN/shop, GET CDN/shop, applied CDN/shop")

	// Or what it does: then it is left it unchanged, and the intent is taken back.
	s = begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group)
	s.at("PATCH CDN/shop", 1, func() { s.has(shop, strings.Replace(lately, "note: kept", "note: new", 1)) })
	s.ends(s.run(), shop, apply.Skipped, apply.Stale, "changed after")
	s.wrote("pending CDN/shop, GET CDN/shop, PATCH CDN/shop, GET CDN/shop, GET CDN/shop, drop CDN/shop")
}

func TestAServerThatTakesNoVersion(t *testing.T) {
	s := begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group).on("PATCH CDN/shop", 1, contended(), false)
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if len(s.sent) != 1 || strings.Contains(s.sent[0], "resourceVersion") {
		t.Errorf("sent %s", s.sent)
	}
	s = begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group).
		on("PATCH CDN/shop", 1, &said{"422 metadata.resourceVersion: Forbidden", api.Error{Class: api.Rejected, Status: 422}}, false)
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if len(s.sent) != 1 || strings.Contains(s.sent[0], "resourceVersion") {
		t.Errorf("sent %s", s.sent)
	}
	s = begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group)
	s.change(shop, func(o *kind.LiveObject) { o.ResourceVersion = "" })
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if strings.Contains(s.sent[0], "resourceVersion") {
		t.Errorf("sent %s", s.sent)
	}
}

func TestAnObjectThatNeverStandsStill(t *testing.T) {
	s := begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group)
	touch := func() { s.has(shop, lately) }
	for n := range 5 {
		s.at("PATCH CDN/shop", n+1, touch)
	}
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "keep changing it:", "run apply again")
	if log := s.took(); strings.Count(log, "PATCH") != 3 || !strings.HasSuffix(log, "drop CDN/shop") {
		t.Errorf("calls %s", log)
	}
	// Without a precondition a conflict may pass as well.
	s = begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 0, contended(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "409")
	const try = "GET CDN/shop, PATCH CDN/shop, "
	s.wrote("pending CDN/shop, " + try + try + try + try + "drop CDN/shop")
}

func TestReadingBackTakesItsTime(t *testing.T) {
	s := begin(t, cdn("shop", forced)).has(shop, loose)
	old := s.objects[key(shop)]
	var now kind.LiveObject
	s.at("GET CDN/shop", 2, func() { now = s.objects[key(shop)]; s.objects[key(shop)] = old })
	s.at("GET CDN/shop", 4, func() { s.objects[key(shop)] = now })
	s.on("GET CDN/shop", 3, &said{"503", api.Error{Class: api.Unavailable}}, false)
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if s.slept != 4*time.Second {
		t.Errorf("slept %s", s.slept)
	}
}

func TestNotConverged(t *testing.T) {
	for name, s := range map[string]*stage{
		"patched": begin(t, cdn("shop", forced)).has(shop, loose),
		"created": begin(t, cdn("shop", forced)),
	} {
		s.keeps = func(spec map[string]any) map[string]any {
			spec["tls"].(map[string]any)["forced"] = "maybe"
			return spec
		}
		o := s.ends(s.run(), shop, apply.Failed, apply.NotConverged, "did not keep", "trueup pull CDN/shop --replace")
		if len(o.Mismatches) != 1 || o.Mismatches[0].Path != "tls.forced" || o.Mismatches[0].Sent != "true" ||
			o.Mismatches[0].Returned != "maybe" || o.Mismatches[0].Hint != "" {
			t.Errorf("%s: %+v", name, o.Mismatches)
		}
		if r := s.records[key(shop)]; !r.NotConverged || r.Applied == nil || r.Pending != nil || s.slept != 10*time.Second {
			t.Errorf("%s: %+v after %s", name, r, s.slept)
		}
	}
	s := begin(t, cdn("shop", forced)).on("applied CDN/shop", 1, unclear(), false)
	s.keeps = func(map[string]any) map[string]any { return map[string]any{} }
	s.ends(s.run(), shop, apply.Failed, apply.NotConverged, "did not keep", "ledger could not record it:")
}

// TestWhatIsLeftStaysNotKept: what the server did not keep, and is left so, does
// not become somebody's change by what is written beside it.
func TestWhatIsLeftStaysNotKept(t *testing.T) {
	const both = `{hostname: shop.example.com, tls: {forced: "true", enabled: "true"}}`
	for name, live := range map[string]string{"written beside": `{hostname: shop.example.com, tls: {forced: "false"}}`, "there already": loose} {
		s := begin(t, cdn("shop", both)).has(shop, live).applied(shop, forced)
		s.plan.Drift = plan.ReportDrift
		r := s.records[key(shop)]
		r.NotConverged = true
		s.records[key(shop)] = r
		s.ends(s.run(), shop, apply.Done, apply.OK, "changed it")
		if r := s.records[key(shop)]; !r.NotConverged || string(r.Applied) == string(canon.Encode(s.tree(forced))) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestAnAnswerThatWasLost: an unclear write is settled by reading back.
func TestAnAnswerThatWasLost(t *testing.T) {
	for _, live := range []string{"", loose} {
		write := "PATCH CDN/shop"
		stage := func() *stage {
			s := begin(t, cdn("shop", forced))
			if live == "" {
				write = "POST CDN/shop"
				return s
			}
			return s.has(shop, live)
		}
		s := stage().on(write, 1, unclear(), true)
		if o := s.ends(s.run(), shop, apply.Done, apply.OK); !o.Sent {
			t.Error("it was sent")
		}
		s = stage().on(write, 1, unclear(), true)
		s.keeps = func(map[string]any) map[string]any { return map[string]any{"hostname": "x"} }
		s.ends(s.run(), shop, apply.Skipped, apply.Stale, "left it unchanged", "run plan again")
		if s.records[key(shop)].Pending == nil {
			t.Error("the intent is forgotten")
		}
		s = stage().on(write, 1, refused(), false)
		s.ends(s.run(), shop, apply.Failed, apply.Partial, "422")
		if log := s.took(); !strings.HasSuffix(log, write+", drop CDN/shop") {
			t.Errorf("calls %s", log)
		}
		s = stage().on(write, 1, broken(), false)
		if o := s.ends(s.run(), shop, apply.Failed, apply.Partial, "not trusted"); o.Sent {
			t.Error("it was not sent")
		}
	}
}

// TestAWriteThatCantBeReadBack: it stays pending, because the server took it, and nobody knows what it removed
// (docs/design.md 0.2).
func TestAWriteThatCantBeReadBack(t *testing.T) {
	for name, tt := range map[string]struct {
		err     error
		verdict apply.Verdict
		words   string
	}{
		"gone":   {missing(), apply.NotConverged, "does not have it"},
		"broken": {&said{"503", api.Error{Class: api.Unavailable}}, apply.Partial, "503"},
		"denied": {denied(), apply.Auth, "403"},
	} {
		s := begin(t, cdn("shop", forced)).has(shop, loose)
		for n := 2; n <= 5; n++ {
			s.on("GET CDN/shop", n, tt.err, false)
		}
		s.ends(s.run(), shop, apply.Failed, tt.verdict, tt.words)
		if r := s.records[key(shop)]; r.Pending == nil {
			t.Errorf("%s: record %+v", name, r)
		}
	}
	// What was never there has nothing applied to it, and is made by the next run.
	s := begin(t, cdn("shop", forced))
	s.at("GET CDN/shop", 2, func() { delete(s.objects, key(shop)) })
	s.ends(s.run(), shop, apply.Failed, apply.NotConverged, "does not have it")
	if r := s.records[key(shop)]; r.Applied != nil || r.Pending == nil {
		t.Errorf("record %+v", r)
	}
	s.ends(s.run(), shop, apply.Done, apply.OK, "created")

	s = begin(t, cdn("shop", forced))
	s.at("GET CDN/shop", 2, func() { s.change(shop, func(o *kind.LiveObject) { o.Spec = nil }) })
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "without a spec")
}

func TestALedgerThatFailsStopsTheWrite(t *testing.T) {
	for live, calls := range map[string]string{"": "GET CDN/shop, pending CDN/shop", loose: "pending CDN/shop"} {
		s := begin(t, cdn("shop", forced)).on("pending CDN/shop", 1, unclear(), false)
		if live != "" {
			s.has(shop, live)
		}
		if o := s.ends(s.run(), shop, apply.Failed, apply.Partial, "nothing was sent"); o.Sent {
			t.Error("it says that it was sent")
		}
		s.wrote(calls)
	}
	s := begin(t, cdn("shop", forced)).on("applied CDN/shop", 1, unclear(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "ledger could not record it:", "run apply again")
	s = begin(t, cdn("shop", forced)).on("POST CDN/shop", 1, refused(), false).on("drop CDN/shop", 1, unclear(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "422", "ledger could not record it:")
}

// TestAnotherRunRecordsFirst: it may be writing what this one found in sync.
func TestAnotherRunRecordsFirst(t *testing.T) {
	s := begin(t, cdn("shop", plain)).has(shop, plain).on("applied CDN/shop", 1, ledger.ErrConflict, false)
	s.ends(s.run(), shop, apply.Done, apply.OK)
	s = begin(t, cdn("shop", plain)).has(shop, plain).on("applied CDN/shop", 1, unclear(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "live equals git, but the ledger could not record it")
}

// TestALostRemovalIsNotDone: a patch that only removes has nothing to find in
// what is read back but what is gone.
func TestALostRemovalIsNotDone(t *testing.T) {
	s := begin(t, cdn("shop", plain)).has(shop, forced).applied(shop, forced).on("PATCH CDN/shop", 0, unclear(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "live differs from what was sent", "gave up after 4 tries")
	if r := s.records[key(shop)]; r.Pending == nil || !strings.Contains(string(r.Applied), "forced") {
		t.Errorf("record %+v", r)
	}
	s.hook = nil
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if strings.Contains(s.spec(shop), "forced") {
		t.Errorf("live %s", s.spec(shop))
	}
	// What came back after a certain answer is its default (docs/design.md B8).
	s = begin(t, cdn("shop", plain)).has(shop, forced).applied(shop, forced)
	s.keeps = func(spec map[string]any) map[string]any {
		spec["tls"] = map[string]any{"forced": "false"}
		return spec
	}
	s.ends(s.run(), shop, apply.Done, apply.OK)
}

// countOutside counts the items of drift that happened outside git.
func countOutside(drift *plan.Plan) (n int) {
	for _, it := range drift.Items {
		if !it.Waits {
			n++
		}
	}
	return n
}

// TestARemovalThatTheServerKeeps is owed until live lacks it.
func TestARemovalThatTheServerKeeps(t *testing.T) {
	s := begin(t, cdn("shop", plain), purge("now", `{hostname: shop.example.com, paths: [/a]}`)).has(shop, forced).applied(shop, forced)
	s.keeps = func(map[string]any) map[string]any { return s.tree(forced) }
	for range 2 {
		res := s.run()
		o := s.ends(res, shop, apply.Failed, apply.NotConverged, "did not remove", "write in git the value that you want")
		s.ends(res, "Purge/now", apply.Skipped, apply.Partial, "waits for CDN/shop")
		if len(o.Mismatches) != 1 || o.Mismatches[0].Path != "tls" || o.Mismatches[0].Fault != merge.NotRemoved || o.Mismatches[0].Hint != "" {
			t.Errorf("%+v", o.Mismatches)
		}
		_, p := s.ready()
		r := s.records[key(shop)]
		if c := p.Items[0].Changes; len(c) != 1 || c[0].Class != plan.ServerNormalised || c[0].KeptAt == nil || countOutside(plan.NarrowToDrift(p)) != 1 ||
			string(r.Applied) != string(canon.Encode(s.tree(plain))) {
			t.Errorf("changes %+v of record %s", c, r.Applied)
		}
	}
	s.keeps = nil
	res := s.run()
	s.ends(res, shop, apply.Done, apply.OK, "changed")
	s.ends(res, "Purge/now", apply.Done, apply.OK)
	if r := s.records[key(shop)]; r.Owed != nil || r.NotConverged {
		t.Errorf("record %+v", r)
	}
}

// TestWhatWasNotSentIsChecked: what decides which content is served, or to whom, is not converged; the rest is a warning.
func TestWhatWasNotSentIsChecked(t *testing.T) {
	for _, c := range []struct {
		live, now string
		verdict   apply.Verdict
		paths     string
	}{
		{loose, `{tls: {forced: "true"}}`, apply.NotConverged, "hostname tls.enabled"},
		{group, `{hostname: shop.example.com, tls: {forced: "true"}}`, apply.NotConverged, "upstreams"},
		{`{hostname: shop.example.com, note: a}`, `{hostname: shop.example.com, tls: {forced: "true"}}`, apply.OK, "note"},
		{loose, strings.Replace(forced, "tls: {", "headers: {}, tls: {enabled: true, auto: false, ", 1), apply.OK, ""},
	} {
		s := begin(t, cdn("shop", forced)).has(shop, c.live)
		s.keeps = func(map[string]any) map[string]any { return s.tree(c.now) }
		var paths []string
		o := s.of(s.run(), shop)
		for _, m := range o.Mismatches {
			paths = append(paths, m.Path)
		}
		if o.Verdict != c.verdict || strings.Join(paths, " ") != c.paths {
			t.Errorf("%s after %s: %s %s: %v", c.now, c.live, o.Verdict, o.Message, o.Mismatches)
		}
	}
}

// TestOverridesThatAreOffered: none for what decides what is served, a hostname, a key or a list.
func TestOverridesThatAreOffered(t *testing.T) {
	const ours = `{hostname: Shop.example.com, note: x, firewall: {rules: [{name: R, enabled: true}, {name: b}]}, locations: [{path: /*, cache: {edgeTTL: "60"}}], count: "1.0"}`
	for now, want := range map[string]string{
		strings.Replace(ours, "Shop", "shop", 1):                    "",
		strings.Replace(ours, "note: x", "note: z", 1):              "{kind: CDN, path: spec.note, ignore: true}",
		strings.Replace(ours, "name: R", "name: r", 1):              "",
		strings.Replace(ours, "enabled: true", "enabled: false", 1): "",
		strings.Replace(ours, "}, {name: b}", "}", 1):               "",
		strings.Replace(ours, `count: "1.0"`, "count: 1", 1):        "{kind: CDN, path: spec.count, type: number}",
		strings.Replace(ours, `edgeTTL: "60"`, `edgeTTL: "61"`, 1):  "",
	} {
		s := begin(t, cdn("shop", ours))
		s.keeps = func(map[string]any) map[string]any { return s.tree(now) }
		hints := ""
		for _, m := range s.ends(s.run(), shop, apply.Failed, apply.NotConverged).Mismatches {
			hints += m.Hint
		}
		if hints != want {
			t.Errorf("%s: %q, want %q", now, hints, want)
		}
	}
}

func TestAWriteTakesItsTurnBeforeItLooks(t *testing.T) {
	for live, calls := range map[string]string{"": "", loose: "pending CDN/shop, drop CDN/shop"} {
		s := begin(t, cdn("shop", forced))
		if live != "" {
			s.has(shop, live)
		}
		s.on("turn", 1, unsent(), false)
		s.ends(s.run(), shop, apply.Failed, apply.Partial, "connection refused")
		s.wrote(calls)
		if r := s.records[key(shop)]; r.Pending != nil {
			t.Errorf("it is pending: %s", r.Pending)
		}
	}
}

func TestEachAttemptOfAPatchTakesATurn(t *testing.T) {
	s := begin(t, cdn("shop", group)).has(shop, lately)
	s.on("PATCH "+shop, 1, contended(), false).on("turn", 2, unsent(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "connection refused")
	if r := s.records[key(shop)]; r.Pending != nil {
		t.Errorf("it is pending: %s", r.Pending)
	}
}

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// settings are those of a plan, as FIELD: WAS → NOW: CONSEQUENCE.
func settings(p *plan.Plan) string {
	var lines []string
	for _, s := range p.Settings {
		line := fmt.Sprintf("%s: %v → %v: %s", s.Field, s.Was, s.Now, s.Consequence)
		for _, h := range s.Hides {
			line += fmt.Sprintf("; %s %s git %v live %v", h.Key, h.Path, h.Git, h.Live)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestSettingsThatDifferFromTheBase: each with its values and what it does.
func TestSettingsThatDifferFromTheBase(t *testing.T) {
	whole := func() plan.ProjectSettings {
		return plan.ProjectSettings{
			Path: "trueup.yaml", Workspace: kind.Workspace{Name: "acme", UUID: "5a1d"}, Manifests: []string{"a"},
			Ledger: plan.LedgerSettings{Store: "file:l", ID: "one"},
		}
	}
	for want, change := range map[string]func(was, now *plan.ProjectSettings){
		"": func(_, _ *plan.ProjectSettings) {},
		"workspace.uuid: 5a1d → other: every request goes to this workspace": func(_, now *plan.ProjectSettings) { now.Workspace.UUID = "other" },
		"workspace.name: acme → other: manifests without a namespace":        func(_, now *plan.ProjectSettings) { now.Workspace.Name = "other" },
		"ledger.store: file:l → <nil>: trueup keeps no record":               func(_, now *plan.ProjectSettings) { now.Ledger = plan.LedgerSettings{} },
		"ledger.store: <nil> → file:l: trueup records here what it sends":    func(was, _ *plan.ProjectSettings) { was.Ledger.Store = "" },
		"ledger.store: file:l → file:m: trueup looks only here":              func(_, now *plan.ProjectSettings) { now.Ledger.Store = "file:m" },
		"ledger.id: one → two: trueup does not know":                         func(_, now *plan.ProjectSettings) { now.Ledger.ID = "two" },
		"manifests: a → a, b: trueup reads other files":                      func(_, now *plan.ProjectSettings) { now.Manifests = []string{"a", "b"} },
		"purge.window: <nil> → 2h: this decides when":                        func(_, now *plan.ProjectSettings) { now.Purge.Window = "2h" },
		`purge.duplicate: <nil> → status [409], bodyRegex "x": this decides when`: func(_, now *plan.ProjectSettings) {
			now.Purge.Duplicate = plan.DuplicateSettings{Status: []int{409}, BodyRegex: "x"}
		},
		"project: <nil> → new: this change adds trueup.yaml, so all its settings are new": nil,
		"overrides: CDN spec.tls.auto: map[ignore:true] → <nil>: trueup compares the field as its": func(was, _ *plan.ProjectSettings) {
			was.Overrides = []plan.Override{{Kind: "cdn", Path: "tls.auto", Ignore: true}}
		},
	} {
		w, was := one(t), whole()
		w.in.Project = whole()
		past := since(t, cdn("a", oneWant))
		if past.Project = &was; change == nil {
			past.Project = nil
		} else {
			change(&was, &w.in.Project)
		}
		if got := settings(w.explained(past)); !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "\n") {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// TestOverridesShowWhatTheyHide: each difference is listed with the override that hides it, offline too.
func TestOverridesShowWhatTheyHide(t *testing.T) {
	w := one(t)
	w.in.Project = plan.ProjectSettings{Path: "trueup.yaml"}
	w.in.Project.Overrides = []plan.Override{
		{Kind: "CDN", Path: "spec.tls", Ignore: true},
		{Kind: "CDN", Path: "spec.hostname", Type: "text"},
		{Kind: "CDN", Path: "spec.hostname", Order: "set"},
	}
	past := since(t, cdn("a", oneHave))
	past.Project = &plan.ProjectSettings{}
	want := "overrides: CDN spec.hostname: <nil> → [map[type:text] map[order:set]]: hides no difference now\n" +
		"overrides: CDN spec.tls: <nil> → map[ignore:true]: hides 1 difference; CDN/a tls.forced git true live false"
	for _, p := range []*plan.Plan{w.explained(past), plan.MakeOffline(w.in, past)} {
		if got := settings(p); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	moved := func(first, second string) string {
		return fmt.Sprintf("{hostname: a.example.com, locations: [{path: %s}, {path: %s}]}", first, second)
	}
	w = git(t, cdn("a", moved("/a", "/b"))).has("CDN/a", moved("/b", "/a")).applied("CDN/a", moved("/a", "/b"))
	w.in.Project = plan.ProjectSettings{Path: "trueup.yaml"}
	w.in.Project.Overrides = []plan.Override{{Kind: "CDN", Path: "spec.locations", Order: "set"}}
	if got := settings(w.explained(past)); !strings.Contains(got, "git position 1 live position 2") {
		t.Errorf("%s", got)
	}
}

// TestNewSilences: a comment that the base lacks is a setting, with what it hides.
func TestNewSilences(t *testing.T) {
	const spec = `{hostname: shop.example.com, tls: {enabled: "true"}}`
	const silence, other = "# trueup:ignore tls-not-forced old clients\n", "# trueup:ignore purge-missing why\n"
	past := since(t, silence+cdn("shop", spec))
	for documents, want := range map[string]string{
		silence + cdn("shop", spec):           "",
		silence + silence + cdn("shop", spec): "trueup:ignore tls-not-forced: <nil> → old clients: hides: ",
		silence + other + cdn("shop", spec):   "trueup:ignore purge-missing: <nil> → why: hides nothing in this plan",
	} {
		if got := settings(git(t, documents).explained(past)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// TestOverridesThatHideDocumentedFields need the environment's word; they are named by their place.
func TestOverridesThatHideDocumentedFields(t *testing.T) {
	for _, c := range []struct {
		override plan.Override
		place    string
		hides    bool
	}{
		{plan.Override{Kind: "cdn", Path: "tls.forced", Ignore: true}, "CDN spec.tls.forced", true},
		{plan.Override{Kind: "CDN", Path: "spec.locations[].upstream", Omit: true}, "CDN spec.locations.upstream", true},
		{plan.Override{Kind: "CDN", Path: "spec.locations.headers.x", ReadOnly: true}, "CDN spec.locations.headers.x", true},
		{plan.Override{Kind: "CDN", Path: "spec.new", Ignore: true}, "CDN spec.new", false},
		{plan.Override{Kind: "CDN", Path: "spec.tls", Order: "set"}, "CDN spec.tls", false},
		{plan.Override{Kind: "Other", Path: "spec.x", Ignore: true}, "Other spec.x", false},
	} {
		if place, hides := c.override.Place(), c.override.HidesDocumented(); place != c.place || hides != c.hides {
			t.Errorf("%+v: %s, %v", c.override, place, hides)
		}
	}
}

// TestALostRecordIsNotSentAgain: git had the request at a complete apply, and the ledger has no record.
func TestALostRecordIsNotSentAgain(t *testing.T) {
	w := git(t, purge("rel-1", `{hostname: shop.example.com, paths: [/a]}`), cdn("shop", shopSpec)).has(shop, shopSpec).applied(shop, shopSpec)
	w.in.Ledger.Finished = &ledger.CompleteApply{At: now(), Requests: []string{"Purge/rel-1"}}
	blocked(t, w.item("Purge/rel-1"), true, "The record was lost", "trueup ledger adopt Purge/rel-1", "--repost")
}

// TestANullThatTheServerReplaced is not sent again, and its value is shown.
func TestANullThatTheServerReplaced(t *testing.T) {
	const nulls, have = `{hostname: a.example.com, tls: {forced: null, auto: null}}`, `{hostname: a.example.com, tls: {forced: "x", auto: "y"}}`
	w := git(t, cdn("a", nulls)).has("CDN/a", have).applied("CDN/a", nulls).record("CDN/a", func(r *ledger.Record) { r.NotConverged = true })
	it := w.item("CDN/a")
	if it.Op != plan.None || len(it.Notes) != 2 || !it.LeavesServerValues() || !it.LeavesDifference() ||
		!strings.Contains(strings.Join(it.Hints, ""), "git has null for tls.auto and 1 more field: the server replaced it") {
		t.Errorf("%+v", it)
	}
}

// TestAdded: each field of a new object, and each element of a list of objects; fields first.
func TestAdded(t *testing.T) {
	added := func(it plan.Item) (paths []string) {
		for _, l := range it.AllLines() {
			if l.Class == plan.Added {
				paths = append(paths, l.Path)
			}
		}
		return paths
	}
	w := git(t, cdn("a", `{locations: [{path: /a}, {path: /b}], hostname: a.example.com, tls: {forced: "true"}}`), snapshot("db", "data"))
	same(t, "CDN", added(w.item("CDN/a")), []string{"hostname", "locations[/a]", "locations[/b]", "tls"})
	same(t, "snapshot without its disk", added(w.item(db)), []string{"volumeSnapshotClassName"})
	same(t, "no creation", added(one(t).item("CDN/a")), []string(nil))
}

// TestMoreDifferences of plans: those that no single value explains.
func TestMoreDifferences(t *testing.T) {
	gone := pruneCandidate(t)
	planned := gone.make()
	gone.in.Live.Unmanaged = nil
	without := gone.make()
	for want, plans := range map[string][2]*plan.Plan{
		"apply would now delete it; the plan does not list it": {without, planned},
		"the plan would delete it; now there is nothing to do": {planned, without},
		"git: manifests outside this plan changed": {
			git(t, snapshot("db", "data")).with(only("VolumeSnapshot")).make(),
			git(t, snapshot("db", "data"), cdn("a", oneWant)).with(only("VolumeSnapshot")).make(),
		},
	} {
		if got := strings.Join(plan.Differences(plans[0], plans[1]), "\n"); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func only(kindName string) func(*plan.Options) {
	return func(o *plan.Options) { o.Targets = func(k kind.Key) bool { return k.Kind == kindName } }
}

// TestChangesOverrides: what a plan may drop of live objects depends on whether overrides may hide a difference.
func TestChangesOverrides(t *testing.T) {
	now := plan.Inputs{Project: plan.ProjectSettings{Overrides: []plan.Override{{Kind: "CDN", Path: "spec.tls.auto", Ignore: true}}}}
	same := &plan.ProjectSettings{Overrides: []plan.Override{{Kind: "cdn", Path: "tls.auto", Ignore: true}}}
	other := &plan.ProjectSettings{Overrides: []plan.Override{{Kind: "CDN", Path: "tls.auto", Omit: true}}}
	base := plan.ComparedCommits{Base: "abc"}
	for i, c := range []struct {
		past plan.BaseState
		want bool
	}{
		{plan.BaseState{}, false},
		{plan.BaseState{Blame: base, Project: same}, false},
		{plan.BaseState{Blame: base, Project: other}, true},
		{plan.BaseState{Blame: base}, true},
		{plan.BaseState{Project: other}, false},
	} {
		if got := c.past.ChangesOverrides(now); got != c.want {
			t.Errorf("%d: %t", i, got)
		}
	}
}

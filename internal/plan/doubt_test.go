package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// TestAnIncompleteListSaysNothingOfWhatLeftGit: it is counted, and said why.
func TestAnIncompleteListSaysNothingOfWhatLeftGit(t *testing.T) {
	w := servingCDN(t).
		foreign("CDN/old", `{hostname: old.example.com}`).applied("CDN/old", `{hostname: old.example.com}`).
		foreign(db, disked("data")).sent(db, ledger.Posted, disked("data"), now())
	w.in.Live.Lists = map[string]kind.ListInfo{"CDN": {}, "VolumeSnapshot": {Complete: true}}
	p := w.make()
	if p.Summary.Kept != 1 || p.Summary.Unmanaged != 0 || find(t, p, db).Op != plan.Kept {
		t.Errorf("summary %+v", p.Summary)
	}
	same(t, "notes", p.Notes, []string{"the list of CDN is incomplete, so trueup can't detect removed objects and deletes none (1 live object in the ledger without a manifest)"})
}

// TestAHostnameThatAnIncompleteListMayHide is no mistake in the manifest.
func TestAHostnameThatAnIncompleteListMayHide(t *testing.T) {
	w := git(t, purge("rel", `{hostname: far.example.com, paths: [/]}`))
	w.in.Live.Lists = map[string]kind.ListInfo{"CDN": {}}
	blocked(t, w.item(rel), false, "the list of CDN is incomplete, so trueup can't tell whether far.example.com exists", "run again")
	w.foreign("CDN/far", `{hostname: far.example.com}`)
	if it := w.item(rel); it.Op != plan.Post {
		t.Errorf("it was found all the same: %+v", it)
	}
	w = git(t, purge("rel", `{hostname: far.example.com, paths: [/]}`))
	w.in.Live.Lists = map[string]kind.ListInfo{"CDN": {Complete: true}}
	if f := w.finding(); f.Rule != "purge-hostname" {
		t.Errorf("a whole list tells: %v", f)
	}
}

// TestAnEmptyWorkspaceIsDoubted only where a whole list is empty, and never the sandbox's.
func TestAnEmptyWorkspaceIsDoubted(t *testing.T) {
	for name, c := range map[string]struct {
		list    kind.ListInfo
		sandbox bool
		want    bool
	}{
		"empty":             {kind.ListInfo{Complete: true}, false, true},
		"empty, in sandbox": {kind.ListInfo{Complete: true}, true, false},
		"not whole":         {kind.ListInfo{}, false, false},
		"with an object":    {kind.ListInfo{Complete: true, Items: 1}, false, false},
	} {
		w := git(t, purge("rel", `{hostname: far.example.com, paths: [/]}`))
		w.in.Sandbox, w.in.Live.Lists = c.sandbox, map[string]kind.ListInfo{"CDN": c.list, "VolumeSnapshot": {Complete: true}}
		p, _ := plan.NewPlanner(w.in).MakePlan()
		if notes := strings.Join(p.Notes, "\n"); strings.Contains(notes, "is the UUID right?") != c.want {
			t.Errorf("%s: %q", name, notes)
		}
		if planner := plan.NewPlanner(w.in); planner.IsWorkspaceUnproven() != c.want {
			t.Errorf("%s: unproven is %v", name, !c.want)
		}
		if w.applied(shop, shopSpec); plan.NewPlanner(w.in).IsWorkspaceUnproven() {
			t.Errorf("%s: unproven, although trueup applied to it before", name)
		}
	}
}

// TestWhatHistoryTheEmptyWorkspaceIsHeldAgainst: partial histories count, and a
// flag that narrows the run takes nothing away; a creation that was only begun is
// none.
func TestWhatHistoryTheEmptyWorkspaceIsHeldAgainst(t *testing.T) {
	documents := []string{cdn("shop", shopSpec), cdn("docs", `{hostname: docs.example.com}`)}
	w := git(t, documents...).applied(shop, shopSpec)
	blocked(t, w.item("CDN/docs"), true, "none of the 1 objects")
	w.with(func(o *plan.Options) { o.Targets = func(k kind.Key) bool { return k.Name == "docs" } })
	blocked(t, w.item("CDN/docs"), true, "none of the 1 objects")
	w = git(t, documents...).pending(shop, shopSpec)
	if p := w.make(); p.Summary.Create != 2 {
		t.Errorf("a creation that was begun: %+v", p.Summary)
	}
	w.record(shop, func(r *ledger.Record) { r.Applied = spec(t, shopSpec) })
	blocked(t, w.item(shop), true, "none of the 1 objects")
}

// many are manifests of as many objects, of which the first is live and known.
func many(t tester, n int) *world {
	t.Helper()
	documents := []string{cdn("shop", shopSpec)}
	for i := 1; i < n; i++ {
		documents = append(documents, cdn(fmt.Sprint("site", i), fmt.Sprintf(`{hostname: s%d.example.com}`, i)))
	}
	return git(t, documents...)
}

// TestManyCreationsNeedConfirmation where the ledger knows of objects: docs/design.md C4.
func TestManyCreationsNeedConfirmation(t *testing.T) {
	if p := many(t, 41).make(); p.Summary.Create != 41 {
		t.Errorf("a first apply: %+v", p.Summary)
	}
	for _, c := range []struct {
		objects, maxCreates, blocked int
	}{
		{11, 0, 0},
		{12, 0, 11},
		{12, 10, 11},
		{12, 11, 0},
		{40, 0, 39},
	} {
		w := many(t, c.objects).has(shop, shopSpec).applied(shop, shopSpec)
		w.in.Project.MaxCreates = c.maxCreates
		p := w.make()
		if p.Summary.Blocked != c.blocked || p.Summary.Create != c.objects-1-c.blocked {
			t.Errorf("%d objects, maxCreates %d: %+v", c.objects, c.maxCreates, p.Summary)
		}
	}
	w := many(t, 40).has(shop, shopSpec).applied(shop, shopSpec)
	blocked(t, w.item("CDN/site1"), true, "would create 39 of the 40 objects of the delivery area", "maxCreates: 39")
	// Another tree: none of what was applied is in it.
	w = many(t, 40).foreign("CDN/old", `{hostname: old.example.com}`).applied("CDN/old", `{hostname: old.example.com}`)
	blocked(t, w.item("CDN/site1"), true, "would create 40 of the 40 objects of the delivery area", "maxCreates: 40")
	w.in.Sandbox = true
	if p := w.make(); p.Summary.Create != 40 {
		t.Errorf("the objects that the sandbox begins with are no history: %+v", p.Summary)
	}
}

// TestManyCreationsAreCountedByArea, those that are left out are not, and a purge
// waits for what is held.
func TestManyCreationsAreCountedByArea(t *testing.T) {
	w := many(t, 12).has(shop, shopSpec).applied(shop, shopSpec).with(func(o *plan.Options) {
		o.Targets = func(k kind.Key) bool { return !strings.HasSuffix(k.Name, "1") }
	})
	if p := w.make(); p.Summary.Blocked != 0 || p.Summary.Create != 9 {
		t.Errorf("narrowed: %+v", p.Summary)
	}
	set := []string{purge("rel", `{hostname: new.example.com, paths: [/]}`), cdn("new", `{hostname: new.example.com}`), snapshot("db", "data")}
	for i := range 11 {
		set = append(set, cdn(fmt.Sprint("site", i), fmt.Sprintf(`{hostname: s%d.example.com}`, i)))
	}
	w = git(t, append(set, cdn("shop", shopSpec))...).has(shop, shopSpec).applied(shop, shopSpec)
	p := w.make()
	if it := find(t, p, db); it.Op != plan.Create {
		t.Errorf("the other area: %+v", it)
	}
	same(t, "what the purge waits for", find(t, p, rel).After, []kind.Key{key(t, "CDN/new")})
}

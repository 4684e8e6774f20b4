package plan_test

import (
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

func policy(p plan.DriftPolicy) func(*plan.Options) {
	return func(o *plan.Options) { o.Drift = p }
}

// drifted is a world in which git changed one thing and another client another.
func drifted(t tester) *world {
	return git(t, cdn("a", `{hostname: a.example.com, tls: {forced: "true"}, secureLink: {tokenName: b}}`),
		cdn("new", `{hostname: new.example.com}`)).
		has("CDN/a", `{hostname: a.example.com, tls: {forced: "false"}, secureLink: {tokenName: a}}`).
		applied("CDN/a", `{hostname: a.example.com, tls: {forced: "true"}, secureLink: {tokenName: a}}`)
}

// TestDriftIsOverwrittenByDefault: also where no policy is named.
func TestDriftIsOverwrittenByDefault(t *testing.T) {
	w := drifted(t)
	same(t, "the body", body(t, w.item("CDN/a"))["spec"], tree(t, `{tls: {forced: "true"}, secureLink: {tokenName: b}}`))
	usual := w.make()
	if named := w.with(policy(plan.OverwriteDrift)).make(); named.Digest != usual.Digest {
		t.Error("the default by its name is another plan")
	}
}

// TestReportedDriftIsLeft: what git changed is sent, what another client changed
// is shown and stays, and the plan says so wherever it counts.
func TestReportedDriftIsLeft(t *testing.T) {
	w := drifted(t).with(policy(plan.ReportDrift))
	p := w.make()
	it := find(t, p, "CDN/a")
	same(t, "the body", body(t, it)["spec"], tree(t, `{secureLink: {tokenName: b}}`))
	left := map[string]bool{}
	for _, c := range it.Changes {
		left[c.Path] = c.Left
	}
	same(t, "left", left, map[string]bool{"tls.forced": true, "secureLink.tokenName": false})
	if !it.LeavesDifference() || !p.HasDifferences() || p.Summary.Drifted != 1 || p.Options["drift"] != plan.ReportDrift {
		t.Errorf("%+v %+v", it, p.Summary)
	}
	// What is left may go on changing: nothing is sent there.
	if now := w.has("CDN/a", `{hostname: a.example.com, tls: {forced: "other"}, secureLink: {tokenName: a}}`).item("CDN/a"); !plan.IsCoveredBy(now, it) {
		t.Error("a change of what is left stops what is sent")
	}
	// Once git's change is live, nothing is sent any more, and the ledger learns of it.
	w.has("CDN/a", `{hostname: a.example.com, tls: {forced: "false"}, secureLink: {tokenName: b}}`)
	it = w.item("CDN/a")
	if it.Op != plan.Kept || it.Request != nil || !it.Record || it.Fix == "" || !w.make().HasDifferences() {
		t.Errorf("%+v", it)
	}
	if w.record("CDN/a", func(r *ledger.Record) {
		r.Applied = spec(t, `{hostname: a.example.com, tls: {forced: "true"}, secureLink: {tokenName: b}}`)
	}).item("CDN/a").Record {
		t.Error("it is recorded again and again")
	}
}

// TestAListThatBothChangedIsNotHalfSent: a person decides.
func TestAListThatBothChangedIsNotHalfSent(t *testing.T) {
	up := func(names ...string) string {
		var list []string
		for _, name := range names {
			list = append(list, `{name: `+name+`, scheme: https, servers: [{host: h, port: "443", weight: "1"}]}`)
		}
		return `{hostname: a.example.com, upstreams: [` + strings.Join(list, ", ") + `]}`
	}
	w := git(t, cdn("a", up("one", "git"))).has("CDN/a", up("one", "theirs")).applied("CDN/a", up("one")).with(policy(plan.ReportDrift))
	blocked(t, w.item("CDN/a"), true, "git and another client both changed upstreams", "undo it with trueup apply --target CDN/a, or put it into the manifest: trueup pull CDN/a --diff")
	w.applied("CDN/a", up("one", "git"))
	if it := w.item("CDN/a"); it.Op != plan.Kept || len(it.Lists) > 0 || len(it.Changes) != 1 {
		t.Errorf("%+v", it)
	}
	w.with(policy(plan.OverwriteDrift))
	if it := w.item("CDN/a"); it.Op != plan.Patch || len(it.Lists) != 1 {
		t.Errorf("%+v", it)
	}
}

// TestADeletedObjectIsLeftDeleted: it is not made again while drift is only
// reported, unless a person asks for it; nor is anything purged that it served.
func TestADeletedObjectIsLeftDeleted(t *testing.T) {
	w := git(t, cdn("a", `{hostname: a.example.com}`), cdn("b", `{hostname: b.example.com}`), purge("p", `{hostname: a.example.com, paths: [/x]}`)).
		has("CDN/b", `{hostname: b.example.com}`).applied("CDN/b", `{hostname: b.example.com}`).
		applied("CDN/a", `{hostname: a.example.com}`).with(policy(plan.ReportDrift))
	it := w.item("CDN/a")
	if it.Op != plan.Kept || !it.Deleted || !it.LeavesDifference() || !strings.Contains(it.Fix, "--accept recreate=CDN/a") || !w.make().HasDifferences() {
		t.Errorf("%+v", it)
	}
	blocked(t, w.item("Purge/p"), false, "CDN/a, which serves it, was deleted outside git")
	w.with(func(o *plan.Options) { o.AllowRecreate = allow(t, "CDN/a") })
	if it := w.item("CDN/a"); it.Op != plan.Create {
		t.Errorf("%+v", it)
	}
	if it := w.item("Purge/p"); it.Op != plan.Post || len(it.After) != 1 {
		t.Errorf("%+v", it)
	}
}

// TestNothingIsLeftInTheWrongPlace: where everything is gone, or the ledger is
// another platform's, a person is asked, as if something were to be sent.
func TestNothingIsLeftInTheWrongPlace(t *testing.T) {
	const said = `{hostname: a.example.com, tls: {forced: "true"}}`
	gone := git(t, cdn("a", said)).applied("CDN/a", said).with(policy(plan.ReportDrift))
	blocked(t, gone.item("CDN/a"), true, "is this the right workspace?", "--accept empty-live")
	gone.with(func(o *plan.Options) { o.AllowEmptyLive = true })
	if it := gone.item("CDN/a"); it.Op != plan.Kept || !it.LeavesDifference() {
		t.Errorf("%+v", it)
	}
	other := git(t, cdn("a", said)).has("CDN/a", `{hostname: a.example.com}`).with(policy(plan.ReportDrift))
	other.in.Ledger.Elsewhere, other.in.Ledger.Problem, other.in.Ledger.Fix = true, "it is another platform's", "look at the addresses"
	blocked(t, other.item("CDN/a"), true, "wrong workspace or platform", "look at the addresses")
}

// TestDriftOfUnknownOriginIsLeft: without a record, and where the server did
// not keep a value, it may be somebody's change.
func TestDriftOfUnknownOriginIsLeft(t *testing.T) {
	const want, have = `{hostname: a.example.com, tls: {forced: "true"}}`, `{hostname: a.example.com, tls: {forced: "false"}}`
	unknown := git(t, cdn("a", want), purge("p", `{hostname: a.example.com, paths: [/a]}`)).has("CDN/a", have).with(policy(plan.ReportDrift))
	blocked(t, unknown.item("Purge/p"), false, "an unknown reason and stays as it is", "decide about that object first")
	it := unknown.item("CDN/a")
	if it.Op != plan.Kept || it.Record || it.Changes[0].Class != merge.UnknownBase {
		t.Errorf("%+v", it)
	}
	if strings.Contains(it.Reason, "it was changed outside git") || !strings.Contains(it.Fix, "--accept take-over=CDN/a") {
		t.Errorf("it says what nobody knows: %s; %s", it.Reason, it.Fix)
	}
	unknown.with(func(o *plan.Options) { o.TakeOver = allow(t, "CDN/a") })
	if it := unknown.item("CDN/a"); it.Op != plan.Patch {
		t.Errorf("%+v", it)
	}
	refused := git(t, cdn("a", want)).has("CDN/a", have).applied("CDN/a", want).
		record("CDN/a", func(r *ledger.Record) { r.NotConverged = true }).with(policy(plan.ReportDrift))
	it = refused.item("CDN/a")
	if it.Op != plan.Kept || it.Changes[0].Class != plan.ServerNormalised || !it.Changes[0].Left || len(it.Hints) != 1 {
		t.Errorf("%+v", it)
	}
	if strings.Contains(it.Reason, "it was changed outside git") {
		t.Errorf("it says what nobody knows: %s", it.Reason)
	}
}

// TestAnUnclearWriteEndsWhereDriftIsLeft: it was compared again. If it stayed
// open, whoever set later what it was to set would look like that write.
func TestAnUnclearWriteEndsWhereDriftIsLeft(t *testing.T) {
	const said = `{hostname: a.example.com, tls: {forced: "true", enabled: "true"}}`
	w := git(t, cdn("a", said)).has("CDN/a", `{hostname: a.example.com, tls: {forced: "true", enabled: "false"}}`).
		applied("CDN/a", said).with(policy(plan.ReportDrift))
	if it := w.item("CDN/a"); it.Op != plan.Kept || it.Record {
		t.Errorf("%+v", it)
	}
	w.pending("CDN/a", `{hostname: a.example.com, tls: {forced: "false", enabled: "true"}}`)
	if it := w.item("CDN/a"); it.Op != plan.Kept || !it.Record {
		t.Errorf("%+v", it)
	}
}

// TestALostWriteIsNoDrift: what git added, and a write did not bring, is sent
// again, and nobody is said to have removed it.
func TestALostWriteIsNoDrift(t *testing.T) {
	const said = `{hostname: a.example.com, tls: {forced: "true"}}`
	w := git(t, cdn("a", said)).has("CDN/a", `{hostname: a.example.com}`).applied("CDN/a", `{hostname: a.example.com}`).
		pending("CDN/a", said).with(policy(plan.ReportDrift))
	it := w.item("CDN/a")
	if it.Op != plan.Patch || it.Changes[0].Cause != plan.FromPending || it.LeavesDifference() {
		t.Errorf("%+v", it)
	}
}

// TestFailOnDriftSendsNothing: neither where something drifted nor elsewhere, and
// a person is asked; without drift it changes nothing.
func TestFailOnDriftSendsNothing(t *testing.T) {
	w := drifted(t).with(policy(plan.FailOnDrift))
	p := w.make()
	if p.SendsAnything() || !p.HasDifferences() {
		t.Errorf("%+v", p.Summary)
	}
	blocked(t, find(t, p, "CDN/a"), true, "live was changed outside git", "undo it with trueup apply --target CDN/a, or put it into the manifest: trueup pull CDN/a --diff")
	blocked(t, find(t, p, "CDN/new"), false, "another object was changed outside git")
	if it := find(t, p, "CDN/a"); len(it.Changes) != 2 {
		t.Errorf("%+v", it)
	}
	gone := git(t, cdn("a", `{hostname: a.example.com}`), cdn("b", `{hostname: b.example.com}`)).
		has("CDN/b", `{hostname: b.example.com}`).applied("CDN/b", `{hostname: b.example.com}`).
		applied("CDN/a", `{hostname: a.example.com}`).with(policy(plan.FailOnDrift))
	blocked(t, gone.item("CDN/a"), true, "it was deleted outside git", "--accept recreate=CDN/a")
	gone.with(func(o *plan.Options) { o.AllowRecreate = allow(t, "CDN/a") })
	if it := gone.item("CDN/a"); it.Op != plan.Create {
		t.Errorf("a person allowed it: %+v", it)
	}
	unknown := git(t, cdn("a", `{hostname: a.example.com, tls: {forced: "true"}}`)).has("CDN/a", `{hostname: a.example.com}`).with(policy(plan.FailOnDrift))
	blocked(t, unknown.item("CDN/a"), true, "trueup can't tell whether live was changed outside git", "send what git has with trueup apply --target CDN/a, or put it into the manifest: trueup pull CDN/a --diff shows it")
	calm := drifted(t).has("CDN/a", `{hostname: a.example.com, tls: {forced: "true"}, secureLink: {tokenName: a}}`)
	usual := calm.make()
	failing := calm.with(policy(plan.FailOnDrift)).make()
	same(t, "items without drift", failing.Items, usual.Items)
	if failing.Digest == usual.Digest {
		t.Error("the policy is no part of what is asserted")
	}
}

// TestFailOnDriftHoldsBackPurges: they wait for nothing, because nothing is sent.
func TestFailOnDriftHoldsBackPurges(t *testing.T) {
	w := drifted(t)
	w.in.Set = load(t, cdn("a", `{hostname: a.example.com, tls: {forced: "true"}}`), purge("p", `{hostname: a.example.com, paths: [/x]}`))
	it := w.with(policy(plan.FailOnDrift)).item("Purge/p")
	blocked(t, it, false, "--drift fail")
	if len(it.After) > 0 || it.Key != (kind.Key{Kind: "Purge", Name: "p"}) {
		t.Errorf("%+v", it)
	}
}

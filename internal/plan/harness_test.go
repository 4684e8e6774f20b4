package plan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// now is what the platform's clock says in these tests.
func now() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) }

// ago is when a run claimed that is taken to be gone.
func ago() time.Time { return now().Add(-ledger.Lease) }

// terms are those of a platform that was never seen to refuse a duplicate.
func terms() ledger.ResendTerms { return ledger.ResendTerms{Window: ledger.DefaultWindow} }

// tester is what testing.T and rapid.T both have.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is everything that a plan depends on, built by hand.
type world struct {
	t  tester
	in plan.Inputs
}

// git returns a world whose manifests are the documents.
func git(t tester, documents ...string) *world {
	t.Helper()
	ws := kind.Workspace{Name: "acme", UUID: "5a1d"}
	return &world{t, plan.Inputs{
		Tool: "trueup test", Target: plan.Destination{Workspace: ws}, Set: load(t, documents...),
		Live: kind.LiveState{
			Objects: map[kind.Key]kind.LiveObject{}, Absent: map[kind.Key]bool{}, Hosts: map[string]kind.Key{},
		},
		Ledger: ledger.View{
			ID: "ledger-1", Records: map[kind.Key]ledger.Record{},
			Terms: map[kind.Area]ledger.ResendTerms{kind.Delivery: terms(), kind.Compute: terms()},
		},
		At: ledger.NewInstant(now(), now()),
	}}
}

func load(t tester, documents ...string) *manifest.Set {
	t.Helper()
	source := manifest.PathSource{Display: "-", Data: []byte(strings.Join(documents, "\n---\n"))}
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{source}, manifest.LoadSettings{Workspace: "acme"})
	if err != nil || findings.HasErrors() {
		t.Fatalf("load: %v %v", err, findings)
	}
	return set
}

// The three kinds of manifests, with a spec in YAML's flow style.
func cdn(name, spec string) string { return document("delivery/v2.1", "CDN", name, spec) }

func purge(name, spec string) string { return document("delivery/v2.1", "Purge", name, spec) }

func snapshot(name, disk string) string {
	return document("snapshot.storage.k8s.io/v1", "VolumeSnapshot", name, disked(disk))
}

func disked(disk string) string {
	return fmt.Sprintf("{source: {persistentVolumeClaimName: %s}, volumeSnapshotClassName: general-purpose}", disk)
}

func document(version, kindName, name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", version, kindName, name, spec)
}

// key reads KIND/NAME.
func key(t tester, text string) kind.Key {
	t.Helper()
	k, err := kind.ParseKey(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return k
}

// tree decodes YAML as JSON is decoded everywhere.
func tree(t tester, text string) any {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	v, err := canon.Decode(b)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func spec(t tester, text string) []byte {
	t.Helper()
	return canon.Encode(tree(t, text))
}

// object is a live object, as a server would answer it.
func object(t tester, name, spec string, more ...func(*kind.LiveObject)) kind.LiveObject {
	t.Helper()
	k := key(t, name)
	of, _ := kind.FindKind(k.Kind)
	o, err := of.ReadObject(canon.Encode(map[string]any{
		"kind": k.Kind, "metadata": map[string]any{"name": k.Name, "uid": "uid-" + k.Name}, "spec": tree(t, spec),
	}))
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, change := range more {
		change(&o)
	}
	return o
}

func terminating(o *kind.LiveObject) { o.Terminating = true }

func bare(o *kind.LiveObject) { o.Spec, o.Digest, o.Host = nil, canon.Sum{}, "" }

func status(text string) func(*kind.LiveObject) {
	return func(o *kind.LiveObject) { o.Status = []byte(text) }
}

// has adds a live object that the manifests name.
func (w *world) has(name, spec string, more ...func(*kind.LiveObject)) *world {
	w.t.Helper()
	o := object(w.t, name, spec, more...)
	w.in.Live.Objects[o.Key()] = o
	w.host(o)
	return w
}

// foreign adds a live object that no manifest names.
func (w *world) foreign(name, spec string) *world {
	w.t.Helper()
	o := object(w.t, name, spec)
	o.Spec = nil
	w.in.Live.Unmanaged = append(w.in.Live.Unmanaged, o)
	w.host(o)
	return w
}

func (w *world) host(o kind.LiveObject) {
	host := kind.HostKey(o.Host)
	if _, ok := w.in.Live.Hosts[host]; host != "" && !ok && !o.Terminating {
		w.in.Live.Hosts[host] = o.Key()
	}
}

// applied and pending record the last-applied specs of an object.
func (w *world) applied(name, text string) *world {
	return w.record(name, func(r *ledger.Record) { r.Applied = spec(w.t, text) })
}

func (w *world) pending(name, text string) *world {
	return w.record(name, func(r *ledger.Record) { r.Pending = []ledger.CanonicalJSON{spec(w.t, text)} })
}

// sent records that a request was sent with a spec, and came to a state at a time.
func (w *world) sent(name string, state ledger.RequestState, text string, at time.Time) *world {
	w.t.Helper()
	k, _ := kind.FindKind(key(w.t, name).Kind)
	return w.record(name, func(r *ledger.Record) {
		digest := plan.SpecDigest(k, spec(w.t, text))
		r.State, r.Spec, r.SpecDigest, r.FirstClaimAt, r.ClaimedAt = state, spec(w.t, text), &digest, &at, &at
		if state == ledger.Posted {
			r.AcceptedAt = &at
		}
	})
}

func (w *world) record(name string, change func(*ledger.Record)) *world {
	w.t.Helper()
	k := key(w.t, name)
	r := w.in.Ledger.Records[k]
	r.Key = k
	change(&r)
	w.in.Ledger.Records[k] = r
	return w
}

func (w *world) with(change func(*plan.Options)) *world {
	change(&w.in.Options)
	return w
}

// overriding gives the project these overrides.
func (w *world) overriding(overrides ...plan.Override) *world {
	w.in.Project.Overrides = overrides
	return w
}

func allow(t tester, names ...string) map[kind.Key]bool {
	t.Helper()
	keys := map[kind.Key]bool{}
	for _, name := range names {
		keys[key(t, name)] = true
	}
	return keys
}

// make plans, and allows no finding.
func (w *world) make() *plan.Plan {
	w.t.Helper()
	p, findings := plan.NewPlanner(w.in).MakePlan()
	if len(findings) > 0 {
		w.t.Fatalf("findings: %v", findings)
	}
	return p
}

// item plans, and returns one item.
func (w *world) item(name string) plan.Item {
	w.t.Helper()
	return find(w.t, w.make(), name)
}

// finding plans, and returns the one finding.
func (w *world) finding() diag.Finding {
	w.t.Helper()
	p, findings := plan.NewPlanner(w.in).MakePlan()
	if len(findings) != 1 || findings[0].Severity != diag.Error {
		w.t.Fatalf("findings: %v", findings)
	}
	if f := findings[0]; f.Path == "" || f.Line == 0 || f.Column == 0 || f.Message == "" || f.Fix == "" {
		w.t.Fatalf("the finding leaves something out: %+v", f)
	}
	if p == nil {
		w.t.Fatalf("no plan beside the finding")
	}
	return findings[0]
}

func find(t tester, p *plan.Plan, name string) plan.Item {
	t.Helper()
	i := slices.IndexFunc(p.Items, func(it plan.Item) bool { return it.String() == name })
	if i < 0 {
		t.Fatalf("%s is not in the plan", name)
	}
	return p.Items[i]
}

// body is the decoded body of an item's request.
func body(t tester, it plan.Item) map[string]any {
	t.Helper()
	if it.Request == nil {
		t.Fatalf("%s sends nothing: %+v", it.Key, it)
	}
	v, err := canon.Decode(it.Request.Body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	m, _ := v.(map[string]any)
	return m
}

func same(t tester, what string, got, want any) {
	t.Helper()
	if g, w := encoded(t, got), encoded(t, want); !bytes.Equal(g, w) {
		t.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func encoded(t tester, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

// changes are the classes of an item's changes, by path.
func changes(it plan.Item) map[string]merge.ChangeKind {
	m := map[string]merge.ChangeKind{}
	for _, c := range it.Changes {
		m[c.Path] = c.Class
	}
	return m
}

func paths(values []merge.PathValue) []string {
	m := map[string]bool{}
	for _, v := range values {
		m[v.Path] = true
	}
	return slices.Sorted(maps.Keys(m))
}

// blocked demands a blocked item that sends nothing, whose reason and fix say
// the words.
func blocked(t tester, it plan.Item, person bool, words ...string) {
	t.Helper()
	if it.Op != plan.Blocked || it.Request != nil || it.NeedsPerson != person || it.Fix == "" {
		t.Fatalf("not blocked as it should be: %+v", it)
	}
	for _, word := range words {
		if !strings.Contains(it.Reason+"\n"+it.Fix, word) {
			t.Fatalf("neither %q nor %q says %q", it.Reason, it.Fix, word)
		}
	}
}

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// run is one run of the program.
type run struct {
	world *world
	id    int
	// skew is how wrong its machine's clock is.
	skew  time.Duration
	batch int
	// stale makes it ask for the time once, at its beginning.
	stale bool

	dead bool
	// asleep is until when its machine is suspended.
	asleep time.Time
	// apart is until when its requests have that end.
	apart     time.Time
	fate      fate
	interrupt context.CancelFunc

	plan *plan.Plan
	err  error
	// posts counts its requests of a name, begun how often it began an item.
	posts, begun map[kind.Key]int
}

func (r *run) String() string { return fmt.Sprintf("run %d", r.id) }

var (
	historyWorkspace = kind.Workspace{Name: "acme", UUID: "5a1d0000-0000-4000-8000-000000000001"}
	historyOrigins   = map[kind.Area]string{kind.Compute: "https://compute.example", kind.Delivery: "https://delivery.example"}
)

// ledger is the ledger as a run, or a person, opens it.
func (w *world) ledger(store ledger.RecordStore, now func() time.Time, who string) (*ledger.Ledger, error) {
	var ids atomic.Int64
	return ledger.Open(context.Background(), ledger.Config{
		ID: "ledger-1", Workspace: historyWorkspace, Origins: historyOrigins, Backend: store, Now: now, Window: w.nature.window,
		NewID: func() string { return fmt.Sprintf("%s-%d", who, ids.Add(1)) },
		Claim: ledger.Claim{RunID: who},
		// Each failed write of an outcome is final here: a world with waiting in it is larger.
		Sleep: func(context.Context, time.Duration) error { return context.Canceled },
	})
}

// start lets a run begin, in its own goroutine.
func (w *world) start(r *run) {
	ctx, cancel := context.WithCancel(context.Background())
	r.world, r.interrupt, r.posts, r.begun = w, cancel, map[kind.Key]int{}, map[kind.Key]int{}
	r.id = len(w.runs)
	w.runs = append(w.runs, r)
	store := w.store.open()
	go func() {
		defer cancel()
		r.err = r.all(ctx, store)
	}()
}

func (r *run) wall() time.Time { return r.world.now.Add(r.skew) }

// all goes from manifests to the end, as the command apply does.
func (r *run) all(ctx context.Context, store ledger.RecordStore) error {
	l, err := r.world.ledger(r.gate(store), r.wall, fmt.Sprint(r))
	if err != nil {
		return err
	}
	planner, err := r.compare(ctx, l)
	if err != nil {
		return err
	}
	set := r.world.set
	res := apply.Run(ctx, r.plan, apply.Deps{
		Writer: r, Journal: l, Clock: r.clock(),
		Replan: func(key kind.Key, o *kind.LiveObject) (plan.Item, error) {
			it, _ := planner.ReplanItem(key, o)
			return it, nil
		},
		Spec:   func(key kind.Key) []byte { return planner.ManagedSpec(set.Find(key)) },
		Rules:  func(k *kind.Kind) *merge.Rules { return planner.RulesOf(k) },
		Report: r.report,
		Sleep:  r.sleep,
		Options: apply.SendOptions{
			Parallelism: 4, Batch: r.batch,
		},
	})
	if !r.dead {
		r.world.tally.ended(r.plan, res, r.world)
	}
	return nil
}

// report notes what was begun again, after another run had given it back.
func (r *run) report(e apply.Event) {
	w := r.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Phase == "start" {
		if r.begun[e.Key]++; r.begun[e.Key] > 1 {
			w.tally.hit(givenBack)
		}
	}
}

// compare reads ledger and platform and makes the plan.
func (r *run) compare(ctx context.Context, l *ledger.Ledger) (*plan.Planner, error) {
	set := r.world.set
	known := make([]kind.Key, len(set.Objects))
	for i, o := range set.Objects {
		known[i] = o.Key()
	}
	view, err := l.ReadView(ctx, known)
	if err != nil {
		return nil, err
	}
	state, err := api.FetchState(ctx, r, set, api.FetchOptions{Parallelism: 1})
	if err != nil {
		return nil, err
	}
	at := r.instant()
	planner := plan.NewPlanner(plan.Inputs{Set: set, Live: state, Ledger: view, At: at})
	p, findings := planner.MakePlan()
	if findings.HasErrors() {
		return nil, errors.New(findings[0].Message)
	}
	r.plan = p
	r.world.overlooked(p)
	return planner, nil
}

// overlooked notes requests for which a plan has nothing although they were never
// executed.
func (w *world) overlooked(p *plan.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range p.Items {
		if it.Op == plan.None && w.platform.executed(it.Key) == 0 {
			w.fault("%s is lost in silence: nothing is planned for it, and it was never executed", it.Key)
		}
	}
}

// instant is what both clocks say.
func (r *run) instant() ledger.Instant {
	if r.world.nature.dateless {
		return ledger.NewInstant(time.Time{}, r.wall())
	}
	return ledger.NewInstant(r.world.now.Truncate(time.Second), r.wall())
}

func (r *run) clock() func(context.Context, *kind.Kind) (ledger.Instant, error) {
	var first *ledger.Instant
	return func(_ context.Context, k *kind.Kind) (at ledger.Instant, err error) {
		err = r.ask(&call{sort: aRead, what: "clock " + k.Name, do: func() error {
			at = r.instant()
			if first == nil {
				first = &at
			}
			if r.stale {
				at = *first
			}
			r.world.tellModel(r.lookEvent(at))
			return nil
		}})
		return at, err
	}
}

func (r *run) sleep(ctx context.Context, d time.Duration) error {
	return r.ask(&call{sort: aPause, what: "sleep " + d.String(), from: r.world.now.Add(d), do: ctx.Err})
}

// WaitForRateLimit waits for nothing but the world.
func (r *run) WaitForRateLimit(ctx context.Context, _ *kind.Kind) error {
	return r.ask(&call{sort: aPause, what: "turn", do: ctx.Err})
}

func (r *run) List(_ context.Context, k *kind.Kind, each func(kind.LiveObject) error) (info kind.ListInfo, err error) {
	var objects []kind.LiveObject
	err = r.ask(&call{sort: aRead, what: "LIST " + k.Name, do: func() error {
		for key, o := range r.world.platform.known {
			if key.Kind == k.Name {
				objects = append(objects, o)
			}
		}
		return nil
	}})
	slices.SortFunc(objects, func(a, b kind.LiveObject) int { return strings.Compare(a.Name, b.Name) })
	for _, o := range objects {
		err = errors.Join(err, each(o))
	}
	return kind.ListInfo{Complete: true, Items: len(objects), Requests: 1}, err
}

func (r *run) Get(_ context.Context, k *kind.Kind, name string) (o kind.LiveObject, err error) {
	key := kind.Key{Kind: k.Name, Name: name}
	err = r.ask(&call{sort: aRead, what: "GET " + key.String(), do: func() error {
		var ok bool
		if o, ok = r.world.platform.get(key); !ok {
			return refusal(404)
		}
		return nil
	}})
	return o, err
}

func (r *run) Create(_ context.Context, k *kind.Kind, body []byte) (kind.LiveObject, error) {
	doc := canon.MustDecode(body).(map[string]any)
	name := doc["metadata"].(map[string]any)["name"].(string)
	key, spec := kind.Key{Kind: k.Name, Name: name}, canon.Encode(doc["spec"])
	var o kind.LiveObject
	err := r.ask(&call{sort: aPost, what: "POST " + key.String(), do: func() (err error) {
		w := r.world
		w.lastPost[key] = w.now
		if r.posts[key]++; r.posts[key] > 1 {
			w.tally.hit(sentAgain)
		}
		o, err = w.platform.post(k, name, spec, w.platform.ours)
		w.judge(key)
		if err == nil {
			w.tellModel(modelEvent{what: "arrives", run: nobody})
		}
		return err
	}})
	if err != nil {
		return kind.LiveObject{}, err
	}
	return o, nil
}

// Patch is never called: nothing converges in these histories.
func (r *run) Patch(context.Context, *kind.Kind, string, []byte) (kind.LiveObject, error) {
	return kind.LiveObject{}, refusal(422)
}

// Delete is never called: no history deletes.
func (r *run) Delete(context.Context, *kind.Kind, string) error { return refusal(422) }

// judge notes a request that was executed twice.
func (w *world) judge(key kind.Key) {
	if n := w.platform.ours[key]; n > 1 {
		w.fault("%s was executed %d times", key, n)
		w.doubled = true
	}
}

// visit lets a person answer what is open: truthfully, and when nothing can be
// under way any more.
func (w *world) visit() {
	l, err := w.ledger(w.direct(w.store.open()), func() time.Time { return w.now }, fmt.Sprintf("person-%d", len(w.trace)))
	if err != nil {
		w.fault("a person can't open the ledger: %v", err)
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.records), func(a, b kind.Key) int { return strings.Compare(a.String(), b.String()) }) {
		rec := w.records[key]
		if !rec.IsOpen() || w.now.Sub(*rec.ClaimedAt) < w.rest() {
			continue
		}
		if at, ok := w.lastPost[key]; ok && w.now.Sub(at) < w.rest() {
			continue
		}
		answer := ledger.ResolveRepost
		if w.platform.executed(key) > 0 {
			answer = ledger.ResolvePosted
		}
		if w.draw("weary", 8) == 7 {
			answer = ledger.ResolveAbandon
		}
		if err := l.Resolve(context.Background(), key, answer, "looked"); err != nil {
			w.fault("a person can't answer for %s: %v", key, err)
		}
	}
}

// rest is after what time nothing can be under way any more.
func (w *world) rest() time.Duration { return w.nature.gap + 2*delay + 5*time.Minute }

// snapshotText is the manifest of a snapshot.
const snapshotText = "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: db}\n" +
	"spec: {source: {persistentVolumeClaimName: data}, volumeSnapshotClassName: general-purpose}\n"

// treeOf is a tree of the documents, and of that many purges.
func treeOf(purges int, docs ...string) (*manifest.Set, error) {
	for i := range purges {
		docs = append(docs, fmt.Sprintf("apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-%d}\n"+
			"spec: {hostname: shop.example.com, paths: [/%d]}\n", i, i))
	}
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{
		Display: "-", Data: []byte(strings.Join(docs, "---\n")),
	}}, manifest.LoadSettings{Workspace: "acme"})
	if err == nil && findings.HasErrors() {
		err = errors.New(findings[0].Message)
	}
	return set, err
}

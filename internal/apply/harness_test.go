package apply_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// said is an answer of a platform that reads as the text.
type said struct {
	text   string
	answer api.Error
}

func (e *said) Error() string { return e.text }
func (e *said) Unwrap() error { return &e.answer }

// The failures of a platform.
func missing() error     { return &said{"404 not found", api.Error{Class: api.Absent, Status: 404}} }
func isNameTaken() error { return &said{"409 exists", api.Error{Class: api.Taken, Status: 409}} }

func contended() error {
	return &said{"409 conflict", api.Error{Class: api.Contended, Status: 409}}
}

func full() error    { return &said{"403 exceeded quota", api.Error{Class: api.Limited, Status: 403}} }
func denied() error  { return &said{"403 forbidden", api.Error{Class: api.Denied, Status: 403}} }
func refused() error { return &said{"422 no", api.Error{Class: api.Rejected, Status: 422}} }
func unclear() error { return &said{"connection reset", api.Error{Class: api.Unknown}} }
func unsent() error  { return &said{"connection refused", api.Error{Class: api.Unsent}} }

func broken() error {
	return &said{"certificate not trusted", api.Error{Class: api.Unsent, Hopeless: true}}
}

// errorOutcome is what happens to one call: its error, and whether its effect takes
// place all the same. A mistake in the program is one of them.
type errorOutcome struct {
	err error
	did bool
}

// mistake is an error that is a panic.
type mistake string

func (m mistake) Error() string { return string(m) }

// stage is a platform and a ledger in memory, which note each call.
type stage struct {
	t   testing.TB
	set *manifest.Set

	mu      sync.Mutex
	log     []string
	counts  map[string]int
	objects map[kind.Key]kind.LiveObject
	records map[kind.Key]ledger.Record
	sent    []string
	version int
	slept   time.Duration
	events  []apply.Event

	// hook is asked before each call; n counts the calls of that name.
	hook func(call string, n int) *errorOutcome
	// keeps is what the server makes of a spec, and calls what it names an object.
	keeps func(spec map[string]any) map[string]any
	calls func(name string) string
	// created is the creationTimestamp of what the server makes.
	created string
	// status is that of a snapshot at its n-th GET.
	status func(n int) string

	// now is what all clocks say, alone that the platform's says nothing; proven
	// that it is known to refuse duplicates; looked gets each look at a
	// record of another run.
	now    time.Time
	alone  bool
	proven bool
	looked func(kind.Key) error

	// journal and writer are used in place of the stage itself, sleep in place of
	// a wait that costs no time; hurry is the run's.
	journal apply.Journal
	writer  apply.PlatformClient
	sleep   func(context.Context, time.Duration) error
	hurry   chan struct{}
	options apply.SendOptions
	plan    plan.Options
	project plan.ProjectSettings
	noted   bool
	// lingers lets what is deleted terminate for a while; base is what git had before.
	lingers bool
	base    plan.PruneBase
}

// begin returns a stage whose manifests are the documents.
func begin(t testing.TB, documents ...string) *stage {
	t.Helper()
	return with(t, load(t, documents...))
}

func load(t testing.TB, documents ...string) *manifest.Set {
	t.Helper()
	source := manifest.PathSource{Display: "-", Data: []byte(strings.Join(documents, "\n---\n"))}
	set, findings, err := manifest.Load(t.Context(), []manifest.PathSource{source}, manifest.LoadSettings{Workspace: "acme"})
	if err != nil || findings.HasErrors() {
		t.Fatalf("load: %v %v", err, findings)
	}
	return set
}

// with returns a stage on which nothing is live.
func with(t testing.TB, set *manifest.Set) *stage {
	return &stage{
		t: t, set: set, counts: map[string]int{}, noted: true,
		objects: map[kind.Key]kind.LiveObject{}, records: map[kind.Key]ledger.Record{},
		status:  func(int) string { return `{"readyToUse":true}` },
		now:     time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		options: apply.SendOptions{Parallelism: 1},
	}
}

func document(version, kindName, name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", version, kindName, name, spec)
}

func cdn(name, spec string) string { return document("delivery/v2.1", "CDN", name, spec) }

func purge(name, spec string) string { return document("delivery/v2.1", "Purge", name, spec) }

func snapshot(name string) string {
	return document("snapshot.storage.k8s.io/v1", "VolumeSnapshot", name, disk("data"))
}

func disk(name string) string {
	return fmt.Sprintf("{source: {persistentVolumeClaimName: %s}, volumeSnapshotClassName: general-purpose}", name)
}

func key(name string) kind.Key {
	k, _ := kind.ParseKey(name)
	return k
}

func (s *stage) tree(text string) map[string]any {
	s.t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := canon.Decode(b)
	if err != nil {
		s.t.Fatal(err)
	}
	return v.(map[string]any)
}

// has makes a spec live, as a person in the console would.
func (s *stage) has(name, spec string) *stage {
	s.put(key(name), s.tree(spec))
	return s
}

func (s *stage) put(k kind.Key, spec map[string]any) kind.LiveObject {
	of, _ := kind.FindKind(k.Kind)
	s.version++
	old := s.objects[k]
	o, err := of.ReadObject(canon.Encode(map[string]any{
		"metadata": map[string]any{"name": k.Name, "uid": "uid-" + k.Name, "resourceVersion": strconv.Itoa(s.version), "creationTimestamp": s.created},
		"spec":     spec,
	}))
	if err != nil {
		panic(err)
	}
	o.Terminating = old.Terminating
	s.objects[k] = o
	return o
}

// change alters what is live of an object.
func (s *stage) change(name string, with func(*kind.LiveObject)) {
	o := s.objects[key(name)]
	with(&o)
	s.objects[key(name)] = o
}

// applied records the spec that was last applied.
func (s *stage) applied(name, spec string) *stage {
	r := s.records[key(name)]
	r.Key, r.Applied = key(name), canon.Encode(s.tree(spec))
	s.records[r.Key] = r
	return s
}

// spec is what is live of an object, as JSON.
func (s *stage) spec(name string) string { return string(s.objects[key(name)].Spec) }

// on makes the n-th call of that name fail.
func (s *stage) on(call string, n int, err error, did bool) *stage {
	before := s.hook
	s.hook = func(c string, i int) *errorOutcome {
		if c == call && (i == n || n == 0) {
			return &errorOutcome{err, did}
		}
		if before != nil {
			return before(c, i)
		}
		return nil
	}
	return s
}

// at runs something right before the n-th call of that name.
func (s *stage) at(call string, n int, do func()) *stage {
	before := s.hook
	s.hook = func(c string, i int) *errorOutcome {
		if c == call && i == n {
			do()
		}
		if before != nil {
			return before(c, i)
		}
		return nil
	}
	return s
}

// call notes a call and runs it, unless the hook has another outcome for it.
func (s *stage) call(ctx context.Context, name string, k kind.Key, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := name + " " + k.String()
	s.counts[call]++
	s.log = append(s.log, call)
	var f *errorOutcome
	if s.hook != nil {
		f = s.hook(call, s.counts[call])
	}
	if f == nil {
		f = &errorOutcome{did: ctx.Err() == nil, err: ctx.Err()}
	}
	if f.did {
		if err := do(); err != nil {
			return err
		}
	}
	return f.happens()
}

// happens returns the error, or panics.
func (f *errorOutcome) happens() error {
	if m := mistake(""); errors.As(f.err, &m) {
		panic(m)
	}
	return f.err
}

// WaitForRateLimit is never logged: it is no request.
func (s *stage) WaitForRateLimit(ctx context.Context, _ *kind.Kind) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["turn"]++
	if s.hook != nil {
		if f := s.hook("turn", s.counts["turn"]); f != nil {
			return f.happens()
		}
	}
	return ctx.Err()
}

func (s *stage) Get(ctx context.Context, k *kind.Kind, name string) (o kind.LiveObject, err error) {
	at := kind.Key{Kind: k.Name, Name: name}
	err = s.call(ctx, "GET", at, func() error {
		var ok bool
		if o, ok = s.objects[at]; !ok {
			return missing()
		}
		if k.IsCreateOnly() {
			o.Status = []byte(s.status(s.counts["GET "+at.String()]))
		}
		return nil
	})
	return o, err
}

// List is not logged: it changes nothing.
func (s *stage) List(_ context.Context, k *kind.Kind, each func(kind.LiveObject) error) (kind.ListInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, o := range s.objects {
		if at.Kind == k.Name {
			if err := each(o); err != nil {
				return kind.ListInfo{}, err
			}
		}
	}
	return kind.ListInfo{Complete: true}, nil
}

func (s *stage) Create(ctx context.Context, k *kind.Kind, body []byte) (o kind.LiveObject, err error) {
	doc := mustTree(body)
	name := doc["metadata"].(map[string]any)["name"].(string)
	at := kind.Key{Kind: k.Name, Name: name}
	err = s.call(ctx, "POST", at, func() error {
		if s.calls != nil {
			at.Name = s.calls(name)
		}
		if _, ok := s.objects[at]; ok {
			return isNameTaken()
		}
		s.sent = append(s.sent, string(body))
		o = s.put(at, s.kept(doc["spec"].(map[string]any)))
		if k.IsRequestOnly() {
			delete(s.objects, at)
		}
		return nil
	})
	return o, err
}

func (s *stage) Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (o kind.LiveObject, err error) {
	at := kind.Key{Kind: k.Name, Name: name}
	err = s.call(ctx, "PATCH", at, func() error {
		now, ok := s.objects[at]
		if !ok {
			return missing()
		}
		doc := mustTree(body)
		s.sent = append(s.sent, string(body))
		meta, _ := doc["metadata"].(map[string]any)
		if v, ok := meta["resourceVersion"]; ok && v != now.ResourceVersion {
			return contended()
		}
		after := effect.ApplyPatch(doc["spec"], mustTree(now.Spec)).(map[string]any)
		o = s.put(at, s.kept(after))
		return nil
	})
	return o, err
}

func (s *stage) kept(spec map[string]any) map[string]any {
	if s.keeps == nil {
		return spec
	}
	return s.keeps(spec)
}

func mustTree(b []byte) map[string]any {
	v, err := canon.Decode(b)
	if err != nil {
		panic(err)
	}
	return v.(map[string]any)
}

// move is a durable change of a record from one of the states.
func (s *stage) move(
	ctx context.Context, call string, k kind.Key, from []ledger.RequestState, to func(*ledger.Record), standing ...ledger.ClaimStatus,
) error {
	return s.call(ctx, call, k, func() error {
		r := s.records[k]
		if standing != nil && r.ClaimStatus(ledger.NewInstant(s.now, s.now), s.terms()) != standing[0] {
			return fmt.Errorf("%w: %s", ledger.ErrTaken, r.State)
		}
		if from != nil && !slices.Contains(from, r.State) {
			return fmt.Errorf("%s is %q", k, r.State)
		}
		r.Key = k
		to(&r)
		s.records[k] = r
		return nil
	})
}

func (s *stage) Claim(ctx context.Context, k kind.Key, i ledger.Intent) (ledger.OwnClaim, error) {
	switch {
	case i.TakeOver:
		return s.claim(ctx, "take over", k, i, ledger.Resendable)
	case i.Again:
		return s.claim(ctx, "claim again", k, i, ledger.Settled)
	}
	return s.claim(ctx, "claim", k, i, ledger.Free)
}

func (s *stage) claim(ctx context.Context, call string, k kind.Key, i ledger.Intent, want ledger.ClaimStatus) (ledger.OwnClaim, error) {
	hold := ledger.OwnClaim{Late: i.At.Late, Terms: s.terms()}
	err := s.move(ctx, call, k, nil, func(r *ledger.Record) {
		if r.EarlierUnknown = want == ledger.Resendable; !r.EarlierUnknown {
			r.FirstClaimAt = &i.At.Early
		}
		r.State, r.Spec, r.SpecDigest = ledger.Claimed, i.Spec, &i.Digest
		r.ClaimedAt, r.Left = &i.At.Now, false
		hold.Record = *r
	}, want)
	return hold, err
}

func (s *stage) terms() ledger.ResendTerms {
	return ledger.ResendTerms{Window: ledger.DefaultWindow, Proven: s.proven}
}

// clock is the platform's, which agrees with everybody's.
func (s *stage) clock(context.Context, *kind.Kind) (ledger.Instant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["clock"]++
	if s.hook != nil {
		if f := s.hook("clock", s.counts["clock"]); f != nil {
			return ledger.Instant{}, f.happens()
		}
	}
	if s.alone {
		return ledger.NewInstant(time.Time{}, s.now), nil
	}
	return ledger.NewInstant(s.now, s.now), nil
}

func (s *stage) RecordExecuted(ctx context.Context, k kind.Key, m ledger.AcceptedAnswer) error {
	return s.move(ctx, "found", k, []ledger.RequestState{ledger.Claimed, ledger.Unknown}, func(r *ledger.Record) {
		r.State, r.RemoteName, r.UID = ledger.Posted, m.RemoteName, m.UID
	})
}

func (s *stage) MarkResumable(ctx context.Context, k kind.Key, _ string) error {
	return s.move(ctx, "leave", k, []ledger.RequestState{ledger.Claimed}, func(r *ledger.Record) { r.Left, r.EarlierUnknown = true, true })
}

func (s *stage) MarkUnknown(ctx context.Context, k kind.Key, _ ledger.Instant) error {
	return s.move(ctx, "give up", k, []ledger.RequestState{ledger.Claimed}, func(r *ledger.Record) { r.State = ledger.Unknown })
}

func (s *stage) CheckNotSuperseded(context.Context, kind.Key) error { return nil }

// ReadRecords is not logged: it changes nothing.
func (s *stage) ReadRecords(_ context.Context, keys []kind.Key) (map[kind.Key]ledger.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[kind.Key]ledger.Record{}
	for _, k := range keys {
		if s.looked != nil {
			if err := s.looked(k); err != nil {
				return nil, err
			}
		}
		if r, ok := s.records[k]; ok {
			found[k] = r
		}
	}
	return found, nil
}

func (s *stage) RecordPosted(ctx context.Context, k kind.Key, m ledger.AcceptedAnswer) error {
	return s.move(ctx, "posted", k, []ledger.RequestState{ledger.Claimed}, func(r *ledger.Record) {
		r.State, r.RemoteName, r.UID = ledger.Posted, m.RemoteName, m.UID
		r.Outcome = &ledger.Outcome{How: cmp.Or(m.How, ledger.Created), HTTP: m.HTTP}
	})
}

// certain is an end that says that nothing was done: not for what an earlier
// send may have done.
func (s *stage) certain(ctx context.Context, call string, k kind.Key, to func(*ledger.Record)) error {
	s.mu.Lock()
	before := s.records[k].EarlierUnknown
	s.mu.Unlock()
	if before {
		return fmt.Errorf("%s may have been executed before", k)
	}
	return s.move(ctx, call, k, []ledger.RequestState{ledger.Claimed}, to)
}

func (s *stage) RecordOutcome(ctx context.Context, k kind.Key, o ledger.Outcome) error {
	if o.How == ledger.RejectedByPlatform {
		return s.certain(ctx, "rejected", k, func(r *ledger.Record) { r.State, r.Outcome = ledger.Rejected, &o })
	}
	if o.How == ledger.Released {
		return s.certain(ctx, "release", k, func(r *ledger.Record) { r.State, r.Spec, r.SpecDigest = "", nil, nil })
	}
	if o.How == ledger.Removed {
		return s.move(ctx, "deleted", k, []ledger.RequestState{ledger.Posted}, func(r *ledger.Record) { r.Outcome = &o })
	}
	return s.move(ctx, "unknown", k, []ledger.RequestState{ledger.Claimed}, func(r *ledger.Record) { r.State, r.Outcome = ledger.Unknown, &o })
}

func (s *stage) RecordPending(ctx context.Context, k kind.Key, spec []byte, _ *ledger.LiveBefore) error {
	return s.move(ctx, "pending", k, nil, func(r *ledger.Record) { r.Pending = []ledger.CanonicalJSON{spec} })
}

func (s *stage) RecordApplied(ctx context.Context, k kind.Key, a ledger.AppliedSpec) error {
	return s.move(ctx, "applied", k, nil, func(r *ledger.Record) {
		r.Altered = append(r.Altered, a.Altered...)
		r.Applied, r.Owed, r.Pending, r.NotConverged, r.UID = a.Spec, a.Owed, nil, !a.Converged, a.UID
		r.OwedAt = new(time.Now())
	})
}

func (s *stage) RecordAllApplied(ctx context.Context, all []ledger.AppliedObject) []error {
	errs := make([]error, len(all))
	for i, c := range all {
		errs[i] = s.RecordApplied(ctx, c.Key, c.AppliedSpec)
	}
	return errs
}

func (s *stage) DropPending(ctx context.Context, k kind.Key) error {
	return s.move(ctx, "drop", k, nil, func(r *ledger.Record) { r.Pending = nil })
}

// ready plans against what is live now.
func (s *stage) ready() (*plan.Planner, *plan.Plan) {
	s.t.Helper()
	state := kind.LiveState{Objects: map[kind.Key]kind.LiveObject{}, Hosts: map[string]kind.Key{}}
	for k, o := range s.objects {
		if s.set.Find(k) != nil {
			state.Objects[k] = o
		} else if s.plan.Prune {
			state.Unmanaged = append(state.Unmanaged, o)
		}
		if o.Host != "" {
			state.Hosts[o.Host] = k
		}
	}
	records := map[kind.Key]ledger.Record{}
	for k, r := range s.records {
		records[k] = r
	}
	view := ledger.View{Records: records, Terms: map[kind.Area]ledger.ResendTerms{kind.Delivery: s.terms(), kind.Compute: s.terms()}}
	if !s.noted {
		view = ledger.View{Problem: "it is lost"}
	}
	planner := plan.NewPlanner(plan.Inputs{Set: s.set, Live: state, Ledger: view, At: ledger.NewInstant(s.now, s.now), Options: s.plan, Project: s.project, Base: s.base})
	p, findings := planner.MakePlan()
	if findings.HasErrors() {
		s.t.Fatalf("findings: %v", findings)
	}
	return planner, p
}

// run plans and applies.
func (s *stage) run() apply.Result {
	s.t.Helper()
	return s.apply(s.t.Context(), nil)
}

// apply plans, lets something happen, and applies.
func (s *stage) apply(ctx context.Context, meanwhile func()) apply.Result {
	s.t.Helper()
	planner, p := s.ready()
	if meanwhile != nil {
		meanwhile()
	}
	told := 0
	deps := apply.Deps{
		Writer: s, Journal: s, Clock: s.clock, Options: s.options, Hurry: s.hurry,
		Replan: func(k kind.Key, o *kind.LiveObject) (plan.Item, error) {
			it, findings := planner.ReplanItem(k, o)
			if findings.HasErrors() {
				return it, errors.New(findings[0].Message)
			}
			return it, nil
		},
		Spec:  func(k kind.Key) []byte { return s.set.Find(k).Spec },
		Rules: planner.RulesOf,
		Report: func(e apply.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
		Progress: func(done, of int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if told = max(told, done); of != len(p.Items) || done > of {
				s.t.Errorf("%d of %d items came to an end, and there are %d", done, of, len(p.Items))
			}
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.slept += d
			return ctx.Err()
		},
	}
	if s.writer != nil {
		deps.Writer = s.writer
	}
	if s.sleep != nil {
		deps.Sleep = s.sleep
	}
	switch {
	case !s.noted:
		deps.Journal = nil
	case s.journal != nil:
		deps.Journal = s.journal
	}
	res := apply.Run(ctx, p, deps)
	if len(res.Outcomes) != len(p.Items) || told != len(p.Items) {
		s.t.Fatalf("%d outcomes of %d items, and told of %d", len(res.Outcomes), len(p.Items), told)
	}
	return res
}

// calls returns the calls since the last time.
func (s *stage) took() string {
	log := strings.Join(s.log, ", ")
	s.log, s.counts = nil, map[string]int{}
	return log
}

// of is the outcome of one object.
func (s *stage) of(res apply.Result, name string) apply.ItemOutcome {
	s.t.Helper()
	i := slices.IndexFunc(res.Outcomes, func(o apply.ItemOutcome) bool { return o.Key == key(name) })
	if i < 0 {
		s.t.Fatalf("no outcome of %s", name)
	}
	return res.Outcomes[i]
}

// ends demands how an object ended, in a message with the words.
func (s *stage) ends(res apply.Result, name string, status apply.Status, verdict apply.Verdict, words ...string) apply.ItemOutcome {
	s.t.Helper()
	o := s.of(res, name)
	if o.Status != status || o.Verdict != verdict {
		s.t.Errorf("%s is %s, %s (%s), want %s, %s", name, o.Status, o.Verdict, o.Message, status, verdict)
	}
	for _, w := range words {
		if text := o.EffectOrStatus() + " " + o.Message + "\n" + o.Fix; !strings.Contains(text, w) {
			s.t.Errorf("%s: %q does not say %q", name, text, w)
		}
	}
	return o
}

// wrote demands the calls since the last time.
func (s *stage) wrote(want string) {
	s.t.Helper()
	if got := s.took(); got != want {
		s.t.Errorf("calls:\n got %s\nwant %s", got, want)
	}
}

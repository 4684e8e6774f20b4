package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// A run of the exploration is the real code: ledger, plan and apply. All that it learns from outside are replies to its
// calls, one at a time. So the list of its replies is its state, and a run with the same replies makes the same next call.

// turnKind is what a call of a run asks for.
type turnKind int8

const (
	toStart turnKind = iota
	toRead           // all records of the store
	toPut            // one record
	toClock          // the platform's time
	toPost           // one purge
)

// turn is the next call of a run.
type turn struct {
	kind   turnKind
	purge  int8
	expect int   // expect is the seq that the store must have
	record int32 // record is what is put
}

func (t turn) String() string {
	return fmt.Sprintf("%s %d", [...]string{"start", "read", "put", "clock", "post"}[t.kind], t.purge)
}

// replyKind is how a call ends.
type replyKind int8

const (
	done     replyKind = iota
	conflict           // the store has another seq
	silent             // no answer
	notSent            // certainly not sent
	badName            // the platform refuses the request
	taken              // the platform knows the name
	fatal              // the run is dead
)

// reply is what a run learns from a call.
type reply struct {
	kind    replyKind
	minute  int16    // the time of the platform
	skew    int16    // how many minutes the run's clock is ahead; it starts with it
	records [2]int32 // the records of the store
}

// ending is how a run ended.
type ending struct {
	asks     bool    // it needs a person
	planned  [2]bool // it had something to do
	problems string
}

// local is the state of a run: its replies, and what it does next.
type local struct {
	before int32
	last   reply
	next   turn
	ended  *ending
	parked *parked
}

// localStep leads from one local state to the next one.
type localStep struct {
	from int32
	with reply
}

var exploreStart = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func atMinute(m int16) time.Time { return exploreStart.Add(time.Duration(m) * time.Minute) }

// actor lets a run live through replies. It is the run's store, platform and clock.
type actor struct {
	ledger.RecordStore
	x       *explorer
	id      int
	last    reply
	dead    bool
	asked   chan turn
	replied chan reply
}

// ask makes a call and waits for its reply.
func (a *actor) ask(t turn) (reply, error) {
	if a.dead {
		return a.last, errDead
	}
	a.asked <- t
	r := <-a.replied
	switch r.kind {
	case fatal:
		a.dead = true
		return a.last, errDead
	case conflict:
		return a.learn(r), ledger.ErrConflict
	case silent:
		return a.learn(r), silence("no answer")
	case notSent:
		return a.learn(r), unsent("connection refused")
	case badName:
		return a.learn(r), refusal(422)
	case taken:
		return a.learn(r), refusal(409)
	case done:
	}
	return a.learn(r), nil
}

// learn notes the time of a reply; the run's clock keeps its skew.
func (a *actor) learn(r reply) reply {
	r.skew += a.last.skew
	r.minute = max(r.minute, a.last.minute)
	a.last = r
	return r
}

func (a *actor) wall() time.Time { return atMinute(a.last.minute + a.last.skew) }

func (a *actor) instant() ledger.Instant {
	return ledger.NewInstant(atMinute(a.last.minute), a.wall())
}

// ReadGenesis and Recent don't ask: their answers never change.
func (a *actor) ReadGenesis(context.Context) (ledger.Genesis, error) { return a.x.genesis, nil }

func (a *actor) RecentKeys(context.Context, time.Time) ([]kind.Key, error) { return a.x.keys, nil }

func (a *actor) Invalidate() {}

func (a *actor) Read(_ context.Context, keys []kind.Key) (map[kind.Key]ledger.Record, error) {
	r, err := a.ask(turn{kind: toRead})
	if err != nil {
		return nil, err
	}
	found := map[kind.Key]ledger.Record{}
	for _, key := range keys {
		if rec := a.x.records.get(r.records[a.x.purge(key)]); rec.Seq > 0 {
			found[key] = rec
		}
	}
	return found, nil
}

func (a *actor) PutAll(ctx context.Context, changes []ledger.RecordChange) []error {
	return ledger.PutEach(ctx, a, changes, a.Put)
}

func (a *actor) Put(_ context.Context, expectSeq int, rec ledger.Record) error {
	_, err := a.ask(turn{kind: toPut, purge: a.x.purge(rec.Key), expect: expectSeq, record: a.x.records.idOf(rec)})
	return err
}

// WaitForRateLimit, List and Get don't ask either: one location is live, and no purge is read from the platform.
func (a *actor) WaitForRateLimit(ctx context.Context, _ *kind.Kind) error { return ctx.Err() }

func (a *actor) List(_ context.Context, k *kind.Kind, each func(kind.LiveObject) error) (kind.ListInfo, error) {
	if k.Name != "CDN" {
		return kind.ListInfo{Complete: true, Requests: 1}, nil
	}
	spec := []byte(`{"hostname":"shop.example.com"}`)
	shop := kind.LiveObject{Kind: k, Name: "shop", Namespace: "acme", Host: "shop.example.com", UID: "uid-1", Spec: spec, Digest: canon.Digest(spec)}
	return kind.ListInfo{Complete: true, Items: 1, Requests: 1}, each(shop)
}

func (a *actor) Get(context.Context, *kind.Kind, string) (kind.LiveObject, error) {
	return kind.LiveObject{}, refusal(404)
}

func (a *actor) Create(_ context.Context, k *kind.Kind, body []byte) (kind.LiveObject, error) {
	doc := canon.MustDecode(body).(map[string]any)
	key := kind.Key{Kind: k.Name, Name: doc["metadata"].(map[string]any)["name"].(string)}
	r, err := a.ask(turn{kind: toPost, purge: a.x.purge(key)})
	if err != nil {
		return kind.LiveObject{}, err
	}
	return kind.LiveObject{Kind: k, Name: key.Name, Namespace: "acme", CreationTimestamp: atMinute(r.minute).Format(time.RFC3339)}, nil
}

// Patch and Delete are never called: only purges are planned.
func (a *actor) Patch(context.Context, *kind.Kind, string, []byte) (kind.LiveObject, error) {
	return kind.LiveObject{}, refusal(422)
}

func (a *actor) Delete(context.Context, *kind.Kind, string) error { return refusal(422) }

// openLedger opens the ledger as a run or a person.
func (a *actor) openLedger(who string) (*ledger.Ledger, error) {
	ids := 0
	return ledger.Open(context.Background(), ledger.Config{
		ID: "ledger-1", Workspace: historyWorkspace, Origins: historyOrigins, Backend: a, Now: a.wall,
		NewID: func() string { ids++; return fmt.Sprintf("%s-%d-%d", who, a.last.minute, ids) },
		Claim: ledger.Claim{RunID: who},
		Sleep: func(context.Context, time.Duration) error { return context.Canceled },
	})
}

// live is the whole of a run, as the command apply does it.
func (a *actor) live(ctx context.Context) (*ending, error) {
	if _, err := a.ask(turn{kind: toStart}); err != nil {
		return nil, err
	}
	l, err := a.openLedger(fmt.Sprintf("run-%d", a.id))
	if err != nil {
		return nil, err
	}
	view, err := l.ReadView(ctx, a.x.keys)
	if err != nil {
		return nil, err
	}
	state, err := api.FetchState(ctx, a, a.x.set, api.FetchOptions{Parallelism: 1})
	if err != nil {
		return nil, err
	}
	planner := plan.NewPlanner(plan.Inputs{Set: a.x.set, Live: state, Ledger: view, At: a.instant()})
	p, findings := planner.MakePlan()
	if findings.HasErrors() {
		return nil, errors.New(findings[0].Message)
	}
	res := apply.Run(ctx, p, apply.Deps{
		Writer: a, Journal: l,
		Clock: func(context.Context, *kind.Kind) (ledger.Instant, error) {
			_, err := a.ask(turn{kind: toClock})
			return a.instant(), err
		},
		Replan: func(key kind.Key, o *kind.LiveObject) (plan.Item, error) {
			it, _ := planner.ReplanItem(key, o)
			return it, nil
		},
		Spec:    func(key kind.Key) []byte { return planner.ManagedSpec(a.x.set.Find(key)) },
		Rules:   func(k *kind.Kind) *merge.Rules { return planner.RulesOf(k) },
		Report:  func(apply.Event) {},
		Sleep:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Options: apply.SendOptions{Parallelism: 1},
	})
	return a.x.endingOf(p, res), nil
}

func (x *explorer) endingOf(p *plan.Plan, res apply.Result) *ending {
	end := &ending{}
	for i, o := range res.Outcomes {
		end.asks = end.asks || o.Verdict == apply.NeedsPerson
		end.planned[x.purge(o.Key)] = p.Items[i].Op != plan.None
	}
	return end
}

// parked is a run that waits for the reply to its next call.
type parked struct {
	actor *actor
	over  chan *ending
}

// begin lets a new run go on to its first call.
func (x *explorer) begin(id int) (*parked, turn, *ending) {
	p := &parked{&actor{x: x, id: id, asked: make(chan turn), replied: make(chan reply)}, make(chan *ending, 1)}
	go func() {
		defer func() {
			if value := recover(); value != nil {
				p.over <- &ending{problems: fmt.Sprint("the run panics: ", value)}
			}
		}()
		end, err := p.actor.live(context.Background())
		if err != nil {
			end = &ending{problems: err.Error()}
		}
		p.over <- end
	}()
	return p.wait()
}

// goOn gives a run a reply, and returns what it does next, or how it ended.
func (p *parked) goOn(with reply) (*parked, turn, *ending) {
	p.actor.replied <- with
	return p.wait()
}

func (p *parked) wait() (*parked, turn, *ending) {
	select {
	case next := <-p.actor.asked:
		return p, next, nil
	case end := <-p.over:
		return nil, turn{}, end
	}
}

// kill ends a run.
func (p *parked) kill() {
	if p != nil {
		p.actor.replied <- reply{kind: fatal}
		<-p.over
	}
}

// mostParked bounds the runs that wait. Of others, the replies are given to a new run.
const mostParked = 20_000

// afterReply returns the state of a run after a reply.
func (x *explorer) afterReply(at localStep) local {
	l := local{before: at.from, last: at.with}
	p := x.locals[at.from].parked
	if x.locals[at.from].parked = nil; p != nil {
		x.waiting--
	} else {
		var replies []reply
		for i := at.from; x.locals[i].before >= 0; i = x.locals[i].before {
			replies = append(replies, x.locals[i].last)
		}
		p, _, _ = x.begin(x.owner[at.from])
		for _, r := range slices.Backward(replies) {
			p, _, _ = p.goOn(r)
		}
	}
	l.parked, l.next, l.ended = p.goOn(at.with)
	if l.parked != nil && x.waiting == mostParked {
		l.parked.kill()
		l.parked = nil
	} else if l.parked != nil {
		x.waiting++
	}
	return l
}

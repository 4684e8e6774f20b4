package ledger_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// scope bounds an exploration.
type scope struct {
	name          string
	runs, purges  int
	faults        int8 // of runs, their requests and the store
	naps, nights  int8 // leaps of the clock by more than a lease, and by more than half a window
	answers       int8 // of a person
	proven        bool // the ledger has a proof that the platform refuses a second request of a name, and it does
	executesTwice bool // it does not
}

const (
	nap   = 11      // minutes, longer than a lease
	night = 13 * 60 // minutes: two are longer than a window, and than the platform remembers a name
	known = 24 * 60 // minutes for which the platform remembers a name
)

// purge is what the store and the platform have of a purge.
type purgeState struct {
	record   int32
	executed int8
	at       int16 // at is the minute in which it was executed last
}

// runState is the local state of a run, or -1 for one that was killed.
type runState struct{ local int32 }

// flight is a request that is under way, and whose run does not wait any more.
type flight struct {
	underWay bool
	purge    int8
}

// situation is a state of the whole world.
type situation struct {
	minute                      int16
	faults, naps, nights, asked int8
	purges                      [2]purgeState
	runs                        [3]runState
	flights                     [2]flight
	forgot                      bool // forgot says that a take-over did not keep the time of the first claim
}

// recordBook numbers records, so that situations can be compared.
type recordBook struct {
	all []ledger.Record
	ids map[string]int32
}

func (b *recordBook) get(id int32) ledger.Record { return b.all[id] }

// idOf returns the number of a record, without the times and texts that people read and no run decides by.
func (b *recordBook) idOf(rec ledger.Record) int32 {
	rec.History = slices.Clone(rec.History)
	for i := range rec.History {
		rec.History[i].At, rec.History[i].Detail, rec.History[i].By = exploreStart, "", ""
	}
	if rec.Outcome != nil {
		o := *rec.Outcome
		rec.Outcome, o.Message = &o, diag.Answer{}
	}
	if rec.AcceptedAt != nil {
		rec.AcceptedAt = &exploreStart
	}
	text, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	id, known := b.ids[string(text)]
	if !known {
		id = int32(len(b.all))
		b.all, b.ids[string(text)] = append(b.all, rec), id
	}
	return id
}

// explorer visits every situation of a scope once, breadth first.
type explorer struct {
	scope
	set     *manifest.Set
	keys    []kind.Key
	genesis ledger.Genesis
	records recordBook
	// locals are the states of runs; the first are those of runs that have not started.
	locals  []local
	owner   []int // owner is the run of each local
	steps   map[localStep]int32
	waiting int // waiting is how many runs are parked

	seen        map[situation]int32
	all         []situation
	from        []int32
	how         []how
	transitions int
	calm        map[situation]string
	resolved    map[answered]int32
}

type answered struct {
	record, to int32
	minute     int16
}

func explore(t *testing.T, s scope) *explorer {
	t.Helper()
	set, err := exploredSet(s.purges)
	if err != nil {
		t.Fatal(err)
	}
	x := &explorer{
		scope: s, set: set, steps: map[localStep]int32{}, seen: map[situation]int32{}, calm: map[situation]string{}, resolved: map[answered]int32{},
		records: recordBook{all: []ledger.Record{{}}, ids: map[string]int32{}},
		genesis: ledger.Genesis{
			Schema: ledger.Schema, Seq: 1, LedgerID: "ledger-1", CreatedAt: exploreStart, Origins: historyOrigins, Workspace: historyWorkspace.UUID,
		},
	}
	if s.proven {
		proof := ledger.Proof{At: exploreStart, Name: "probe", HTTP: 409}
		x.genesis.Proofs = map[kind.Area]ledger.Proof{kind.Compute: proof, kind.Delivery: proof}
	}
	for _, o := range set.Objects {
		x.keys = append(x.keys, o.Key())
	}
	x.waiting = s.runs + 1
	defer func() {
		for _, l := range x.locals {
			l.parked.kill()
		}
	}()
	for id := range s.runs + 1 { // the last one is for runs without faults
		p, next, _ := x.begin(id)
		x.locals, x.owner = append(x.locals, local{before: -1, next: next, parked: p}), append(x.owner, id)
	}
	var first situation
	for r := range first.runs {
		first.runs[r].local = -1
		if r < s.runs {
			first.runs[r].local = int32(r)
		}
	}
	x.visit(t, first, -1, how{})
	for i := 0; i < len(x.all); i++ {
		s := x.all[i]
		for _, n := range x.nexts(s) {
			x.transitions++
			x.visit(t, n.s, int32(i), n.how)
		}
		if wrong := x.finish(s); wrong != "" {
			t.Fatalf("%s\n%s", wrong, x.story(int32(i)))
		}
	}
	return x
}

func (x *explorer) purge(key kind.Key) int8 {
	for i, k := range x.keys {
		if k == key {
			return int8(i)
		}
	}
	panic("no purge " + key.String())
}

// visit notes a situation, and judges it if it is new.
func (x *explorer) visit(t *testing.T, s situation, from int32, by how) {
	t.Helper()
	wrong := x.judge(s)
	for r, run := range s.runs { // how a run ended is judged once
		if run.local >= 0 && x.locals[run.local].ended != nil {
			s.runs[r].local = -1
		}
	}
	if _, seen := x.seen[s]; seen && wrong == "" {
		return
	}
	i := int32(len(x.all))
	x.seen[s] = i
	x.all, x.from, x.how = append(x.all, s), append(x.from, from), append(x.how, by)
	if wrong != "" {
		t.Fatalf("%s\n%s", wrong, x.story(i))
	}
}

// story is how a situation came about.
func (x *explorer) story(i int32) string {
	var lines []string
	for ; x.from[i] >= 0; i = x.from[i] {
		lines = append([]string{x.tell(x.all[x.from[i]], x.how[i])}, lines...)
	}
	return fmt.Sprintf("%+v\n%s", x.scope, strings.Join(lines, "\n"))
}

// judge returns what must not be in a situation, or "".
func (x *explorer) judge(s situation) string {
	if s.forgot {
		return "a take-over does not keep the time of the first claim"
	}
	quiet := s.faults+s.naps+s.nights+s.asked == 0
	for i, p := range s.purges[:x.scope.purges] {
		state := x.records.get(p.record).State
		switch {
		case p.executed > 1:
			return fmt.Sprintf("purge %d was executed twice", i)
		case p.executed > 0 && (state == "" || state == ledger.Rejected):
			return fmt.Sprintf("purge %d was executed, and its record is %q", i, state)
		case p.executed == 0 && state == ledger.Posted:
			return fmt.Sprintf("purge %d is recorded as posted, and was never executed", i)
		case quiet && state == ledger.Unknown:
			return fmt.Sprintf("purge %d is unknown without a cause", i)
		}
	}
	for r, run := range s.runs {
		if run.local < 0 || x.locals[run.local].ended == nil {
			continue
		}
		end := x.locals[run.local].ended
		if quiet && (end.asks || end.problems != "") {
			return fmt.Sprintf("run %d asks a person without a cause: %s", r, end.problems)
		}
		for i, p := range s.purges[:x.scope.purges] {
			if end.problems == "" && !end.planned[i] && p.executed == 0 && x.records.get(p.record).State != ledger.Abandoned {
				return fmt.Sprintf("run %d has nothing to do for purge %d, which was never executed", r, i)
			}
		}
	}
	return ""
}

// how is what happens in a transition: to the next call of a run, or without one.
type how struct {
	run  int8 // run is -1 for what no run does
	what fate
}

// What happens without a run.
const (
	leasePasses fate = "a lease passes"
	nightPasses fate = "half a window passes"
	lateArrives fate = "a late request arrives"
	saysPosted  fate = "a person: posted"
	saysRepost  fate = "a person: repost"
	saysAbandon fate = "a person: abandon"
	fast        fate = "with a clock that is ahead"
	slow        fate = "with a clock that is behind"
)

// tell is what happens in a situation.
func (x *explorer) tell(s situation, h how) string {
	if h.run < 0 {
		return string(h.what)
	}
	return fmt.Sprintf("run %d: %s: %s", h.run, x.locals[s.runs[h.run].local].next, h.what)
}

// next is a transition.
type next struct {
	s   situation
	how how
}

// nexts are all transitions of a situation.
func (x *explorer) nexts(s situation) (out []next) {
	add := func(run int, what fate, s situation) { out = append(out, next{s, how{int8(run), what}}) }
	for r := range s.runs[:x.runs] {
		at := s.runs[r].local
		if at < 0 {
			continue
		}
		// If the time stands still from here on, nobody else can change what a run learns from a clock: no other order of
		// this call has another end. But a run that has looked at the clock keeps a person from answering.
		k := x.locals[at].next.kind
		if s.naps == x.naps && s.nights == x.nights && (k == toStart || k == toClock && s.asked == x.answers) {
			out = nil
			x.callOf(s, r, add)
			return out
		}
		x.callOf(s, r, add)
	}
	for i, f := range s.flights {
		if f.underWay {
			n := s
			n.flights[i] = flight{}
			n, _ = x.post(n, f.purge)
			add(-1, lateArrives, n)
		}
	}
	if n := s; s.naps < x.naps {
		n.naps, n.minute = s.naps+1, s.minute+nap
		add(-1, leasePasses, n)
	}
	if n := s; s.nights < x.nights && !x.isUnderWay(s, -1) {
		n.nights, n.minute = s.nights+1, s.minute+night
		add(-1, nightPasses, n)
	}
	x.personOf(s, add)
	return out
}

// isUnderWay reports whether a request for a purge, or with -1 any, may still arrive.
func (x *explorer) isUnderWay(s situation, purge int8) bool {
	for _, f := range s.flights {
		if f.underWay && (purge < 0 || f.purge == purge) {
			return true
		}
	}
	for _, run := range s.runs {
		if run.local < 0 {
			continue
		}
		if t := x.locals[run.local].next; t.kind == toPost && (purge < 0 || t.purge == purge) {
			return true
		}
	}
	return false
}

// callOf adds all that can become of the next call of a run.
func (x *explorer) callOf(s situation, r int, add func(int, fate, situation)) {
	t := x.locals[s.runs[r].local].next
	goesOn := func(what fate, s situation, with reply) { add(r, what, x.advance(s, r, with)) }
	n, with := x.effect(s, t)
	goesOn(fine, n, with)
	if s.faults >= x.faults {
		return
	}
	s.faults++
	n.faults++
	dead := s
	dead.runs[r].local = -1
	add(r, killedBefore, dead)
	if t.kind != toStart {
		goesOn(failed, s, reply{kind: silent})
	}
	switch t.kind {
	case toStart:
		goesOn(fast, s, reply{skew: 20 * 60})
		goesOn(slow, s, reply{skew: -20 * 60})
	case toPut:
		goesOn(unanswered, n, reply{kind: silent})
	case toPost:
		goesOn(unanswered, n, reply{kind: silent})
		goesOn(never, s, reply{kind: notSent})
		goesOn(refused, s, reply{kind: badName})
		for i, f := range s.flights {
			if !f.underWay {
				under := s
				under.flights[i] = flight{true, t.purge}
				goesOn(late, under, reply{kind: silent})
				break
			}
		}
	case toRead, toClock:
	}
}

// effect carries a call out, and returns what the run learns.
func (x *explorer) effect(s situation, t turn) (situation, reply) {
	var with reply
	switch t.kind {
	case toRead:
		for i, p := range s.purges {
			with.records[i] = p.record
		}
	case toPut:
		old, now := x.records.get(s.purges[t.purge].record), x.records.get(t.record)
		if old.Seq != t.expect {
			return s, reply{kind: conflict}
		}
		if old.State == ledger.Claimed && now.State == ledger.Claimed && !old.FirstClaimAt.Equal(*now.FirstClaimAt) {
			s.forgot = true
		}
		s.purges[t.purge].record = t.record
	case toPost:
		return x.post(s, t.purge)
	case toStart, toClock:
	}
	return s, with
}

// post is a request that arrives at the platform.
func (x *explorer) post(s situation, purge int8) (situation, reply) {
	p := &s.purges[purge]
	if !x.executesTwice && p.executed > 0 && s.minute-p.at < known {
		return s, reply{kind: taken}
	}
	p.executed, p.at = p.executed+1, s.minute
	return s, reply{}
}

// advance lets a run learn a reply.
func (x *explorer) advance(s situation, r int, with reply) situation {
	if x.locals[s.runs[r].local].next.kind != toRead { // a run looks at its clock again before it writes
		with.minute = s.minute
	}
	at := localStep{s.runs[r].local, with}
	to, known := x.steps[at]
	if !known {
		l := x.afterReply(at)
		to = int32(len(x.locals))
		x.locals, x.owner, x.steps[at] = append(x.locals, l), append(x.owner, x.owner[at.from]), to
	}
	s.runs[r].local = to
	return s
}

// personOf adds the true answers of a person to what is open, when nothing is under way any more.
func (x *explorer) personOf(s situation, add func(int, fate, situation)) {
	if s.asked >= x.answers {
		return
	}
	for i := range s.purges[:x.scope.purges] {
		rec := x.records.get(s.purges[i].record)
		if !rec.IsOpen() || atMinute(s.minute).Sub(*rec.ClaimedAt) <= ledger.Lease || x.isUnderWay(s, int8(i)) {
			continue
		}
		say := func(what fate, answer ledger.Resolution) {
			n := x.resolve(s, i, answer)
			n.asked++
			add(-1, what, n)
		}
		if s.purges[i].executed > 0 {
			say(saysPosted, ledger.ResolvePosted)
		} else {
			say(saysRepost, ledger.ResolveRepost)
			say(saysAbandon, ledger.ResolveAbandon)
		}
	}
}

// resolve records an answer with the real ledger.
func (x *explorer) resolve(s situation, purge int, answer ledger.Resolution) situation {
	at := answered{s.purges[purge].record, int32(answer[0]), s.minute}
	to, known := x.resolved[at]
	if !known {
		a := &actor{x: x, id: -1, asked: make(chan turn), replied: make(chan reply), last: reply{minute: s.minute}}
		over := make(chan error, 1)
		go func() {
			l, err := a.openLedger(fmt.Sprintf("person-%d", at.record))
			if err == nil {
				err = l.Resolve(context.Background(), x.keys[purge], answer, "looked")
			}
			over <- err
		}()
		n := s
		for err, ended := error(nil), false; !ended; {
			select {
			case t := <-a.asked:
				var with reply
				n, with = x.effect(n, t)
				with.minute = s.minute
				a.replied <- with
			case err = <-over:
				ended = true
				if err != nil {
					panic(err)
				}
			}
		}
		to = n.purges[purge].record
		x.resolved[at] = to
	}
	s.purges[purge].record = to
	return s
}

// finish ends all runs of a situation, lets one run after the other go on without faults, and a person answer what is open.
// It returns what is left in the end.
func (x *explorer) finish(s situation) string {
	for i, f := range s.flights {
		if f.underWay {
			s.flights[i] = flight{}
			s, _ = x.post(s, f.purge)
		}
	}
	s = situation{minute: s.minute, purges: s.purges}
	if wrong, known := x.calm[s]; known {
		return wrong
	}
	end := s
	for range 4 {
		end.minute += 2 * night
		end.runs = [3]runState{{int32(x.runs)}, {-1}, {-1}}
		for x.locals[end.runs[0].local].ended == nil {
			n, with := x.effect(end, x.locals[end.runs[0].local].next)
			end = x.advance(n, 0, with)
		}
		if problem := x.locals[end.runs[0].local].ended.problems; problem != "" {
			return "a run without faults: " + problem
		}
		for i, p := range end.purges[:x.scope.purges] {
			if rec := x.records.get(p.record); rec.IsOpen() {
				answer := ledger.ResolvePosted
				if p.executed == 0 {
					answer = ledger.ResolveRepost
				}
				end = x.resolve(end, i, answer)
			}
		}
	}
	wrong := ""
	for i, p := range end.purges[:x.scope.purges] {
		rec := x.records.get(p.record)
		if rec.State != ledger.Abandoned && (rec.State != ledger.Posted || p.executed != 1) {
			wrong = fmt.Sprintf("in the end purge %d is %q, and was executed %d times", i, rec.State, p.executed)
		}
	}
	x.calm[s] = wrong
	return wrong
}

// isLong reports whether to explore for an hour.
func isLong() bool { return long.Times(1) >= 100 }

// scopes are those of go test, or larger ones.
func scopes() []scope {
	if isLong() {
		return []scope{
			{name: "a proof, two faults", runs: 2, purges: 1, faults: 2, naps: 1, answers: 1, proven: true},
			{name: "no proof, two faults", runs: 2, purges: 1, faults: 2, naps: 1, answers: 1, executesTwice: true},
			{name: "a proof, three runs", runs: 3, purges: 1, faults: 1, naps: 1, proven: true},
			{name: "no proof, three runs", runs: 3, purges: 1, faults: 1, naps: 1, executesTwice: true},
			{name: "a proof, two purges", runs: 2, purges: 2, faults: 1, proven: true},
			{name: "no proof, two purges", runs: 2, purges: 2, faults: 1, executesTwice: true},
		}
	}
	return []scope{
		{name: "a proof", runs: 2, purges: 1, faults: 1, naps: 1, answers: 1, proven: true},
		{name: "no proof", runs: 2, purges: 1, faults: 1, naps: 1, answers: 1, executesTwice: true},
		{name: "a proof, two nights", runs: 2, purges: 1, faults: 1, nights: 2, proven: true},
		{name: "no proof, two nights", runs: 2, purges: 1, faults: 1, nights: 2, executesTwice: true},
		{name: "three runs", runs: 3, purges: 1, proven: true},
		{name: "two purges", runs: 2, purges: 2, executesTwice: true},
	}
}

// TestEveryInterleaving visits each situation of each scope once.
func TestEveryInterleaving(t *testing.T) {
	var situations, transitions atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, s := range scopes() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				x := explore(t, s)
				situations.Add(int64(len(x.all)))
				transitions.Add(int64(x.transitions))
				t.Logf("%d states, %d transitions; %d states of a run, %d ends", len(x.all), x.transitions, len(x.locals), len(x.calm))
			})
		}
	})
	whole := !isLong() && !strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	if whole && !t.Failed() {
		wantInDocs(t, fmt.Sprintf("all %d states and %d transitions", situations.Load(), transitions.Load()))
	}
}

var update = flag.Bool("update", false, "write the numbers of states and transitions to the docs")

// wantInDocs compares the numbers with docs/ledger.md, or writes them there.
func wantInDocs(t *testing.T, numbers string) {
	t.Helper()
	const path = "../../docs/ledger.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`all \d+ states and \d+ transitions`)
	now := line.ReplaceAllString(string(text), numbers)
	switch {
	case !line.Match(text):
		t.Errorf("%s does not say how many states there are", path)
	case now == string(text):
	case *update:
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has other numbers than %s: run go test ./internal/ledger -run TestEveryInterleaving -update", path, numbers)
	}
}

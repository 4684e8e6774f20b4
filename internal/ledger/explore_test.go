package ledger_test

import (
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
	breach                      breach // breach is what a write did that none may
}

// breach is a write that must not be.
type breach int8

const (
	noBreach breach = iota
	firstForgotten
	revived
)

func (b breach) String() string {
	return [...]string{"", "a take-over does not keep the time of the first claim", "what a person abandoned is claimed"}[b]
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
		rec.Outcome, o.Message = &o, diag.Quotation{}
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
	set, err := treeOf(s.purges)
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
		proof := ledger.DuplicateProof{At: exploreStart, Name: "probe", HTTP: 409}
		x.genesis.Proofs = map[kind.Area]ledger.DuplicateProof{kind.Compute: proof, kind.Delivery: proof}
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
	if s.breach != noBreach {
		return s.breach.String()
	}
	quiet := s.faults+s.naps+s.nights+s.asked == 0
	for i, p := range s.purges[:x.purges] {
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
		for i, p := range s.purges[:x.purges] {
			if end.problems == "" && !end.planned[i] && p.executed == 0 && x.records.get(p.record).State != ledger.Abandoned {
				return fmt.Sprintf("run %d has nothing to do for purge %d, which was never executed", r, i)
			}
		}
	}
	return ""
}

// isLong reports whether to explore for an hour.
func isLong() bool { return long.Times(1) >= 100 }

// scopes are those of go test. With TRUEUP_LONG there are two more, and larger ones for an hour.
func scopes() []scope {
	nights := []scope{
		{name: "a proof, two nights", runs: 2, purges: 1, faults: 1, nights: 2, proven: true},
		{name: "no proof, two nights", runs: 2, purges: 1, faults: 1, nights: 2, executesTwice: true},
	}
	if isLong() {
		return append(nights, []scope{
			{name: "a proof, two faults", runs: 2, purges: 1, faults: 2, naps: 1, answers: 1, proven: true},
			{name: "no proof, two faults", runs: 2, purges: 1, faults: 2, naps: 1, answers: 1, executesTwice: true},
			{name: "a proof, three runs", runs: 3, purges: 1, faults: 1, naps: 1, proven: true},
			{name: "no proof, three runs", runs: 3, purges: 1, faults: 1, naps: 1, executesTwice: true},
			{name: "a proof, two purges", runs: 2, purges: 2, faults: 1, proven: true},
			{name: "no proof, two purges", runs: 2, purges: 2, faults: 1, executesTwice: true},
		}...)
	}
	small := []scope{
		{name: "a proof", runs: 2, purges: 1, faults: 1, naps: 1, answers: 1, proven: true},
		{name: "no proof", runs: 2, purges: 1, faults: 1, naps: 1, answers: 1, executesTwice: true},
		{name: "three runs", runs: 3, purges: 1, proven: true},
		{name: "two purges", runs: 2, purges: 2, executesTwice: true},
	}
	if long.IsSet() {
		return append(small, nights...)
	}
	return small
}

// TestEveryInterleaving visits each situation of each scope once.
func TestEveryInterleaving(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
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
	whole := !long.IsSet() && !strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	if whole && !t.Failed() {
		wantInDocs(t, `all \d+ states and \d+ transitions`, fmt.Sprintf("all %d states and %d transitions", situations.Load(), transitions.Load()))
		wantInDocs(t, `each of \d+ mistakes`, fmt.Sprintf("each of %d mistakes", len(mistakes)+len(seeded)))
	}
}

var update = flag.Bool("update", false, "write the numbers of states and transitions to the docs")

// wantInDocs compares the numbers with docs/ledger.md, or writes them there.
func wantInDocs(t *testing.T, pattern, numbers string) {
	t.Helper()
	const path = "../../docs/ledger.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(pattern)
	now := line.ReplaceAllString(string(text), numbers)
	switch {
	case !line.Match(text):
		t.Errorf("%s does not say %s", path, numbers)
	case now == string(text):
	case *update:
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has other numbers than %s: run go test ./internal/ledger -run TestEveryInterleaving -update", path, numbers)
	}
}

package ledger_test

import (
	"context"
	"fmt"

	"trueup/internal/ledger"
)

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
	isFolded    fate = "a purge is folded"
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
	for i := range s.purges[:x.purges] {
		// Whatever the clock of the run that folds says. TestEveryFold explores what folds remove.
		if rec, final := ledger.FoldFinal(x.records.get(s.purges[i].record)); final {
			n := s
			n.purges[i].record = x.records.idOf(rec)
			add(-1, isFolded, n)
		}
	}
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
		switch {
		case old.State == ledger.Claimed && now.State == ledger.Claimed && !old.FirstClaimAt.Equal(*now.FirstClaimAt):
			s.breach = firstForgotten
		case old.State == ledger.Abandoned && now.State == ledger.Claimed:
			s.breach = revived
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
	for i := range s.purges[:x.purges] {
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
		for i, p := range end.purges[:x.purges] {
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
	for i, p := range end.purges[:x.purges] {
		rec := x.records.get(p.record)
		if rec.State != ledger.Abandoned && (rec.State != ledger.Posted || p.executed != 1) {
			wrong = fmt.Sprintf("in the end purge %d is %q, and was executed %d times", i, rec.State, p.executed)
		}
	}
	x.calm[s] = wrong
	return wrong
}

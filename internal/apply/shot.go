package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// sentTolerance is how much earlier than our send an object of ours may seem to
// have been made, clocksApart how far the clocks that tell of the one and of the
// other may be apart: the Date of an answer is not that of who makes objects.
const (
	sentTolerance = 30 * time.Second
	clocksApart   = 10 * time.Minute
)

// shot is a claimed request on its way.
type shot struct {
	kind *kind.Kind
	item plan.Item
	// digest is that of the spec, as the ledger has it.
	digest canon.Sum
	hold   ledger.Hold
	// before is what was live before the claim and looks like what is sent.
	before *ledger.Listing
	// certain says that no send of the intent can have arrived, sending that one
	// is under way.
	certain, sending bool
	// look finds what a send without an answer made; nil where live can't tell.
	look func() (kind.Object, bool)
}

// fate is what became of a send.
type fate int

const (
	// executed by this send, duplicate by an earlier one of ours, foreign by
	// somebody else under the same name.
	executed fate = iota
	duplicate
	foreign
	// refused: certainly nothing was done; unsent: nothing was written; open: it
	// may have arrived; late: it must not be sent any more.
	refused
	unsent
	open
	late
)

// answer is the fate of a send, and what was said. again says that what was not
// written may be on another try.
type answer struct {
	fate  fate
	obj   kind.Object
	err   error
	again bool
}

// deliver sends a claimed request until its fate is known, or it may not be sent
// again. Each send has its turn first, then a look at the clock, and nothing
// between that and the send.
func (r *run) deliver(ctx context.Context, s *shot, end *Outcome) answer {
	pauses, sends := r.pauses(), 0
	for {
		a := r.try(ctx, s, end)
		again := pauses.left(a.err) && a.again
		if a.fate == open {
			a = r.clarified(s, a)
			// Sent again only on proof that it can't be executed twice (docs/design.md 0.7).
			sends++
			again = a.fate == open && s.hold.Terms.Proven && sends < maxSends
		}
		if !again || !r.rest(ctx, s.item.Key, pauses.after(a.err), a.err) {
			r.noteResult(a.err)
			if a.fate == refused {
				r.stopIfLost(a.err)
			}
			return a
		}
	}
}

// clarified looks what a send without a clear answer did. One that was answered with a
// conflict, and that live does not show, made nothing.
func (r *run) clarified(s *shot, a answer) answer {
	sure := s.certain
	s.certain = false
	if obj, ok := r.findMade(s); ok {
		return answer{fate: duplicate, obj: obj}
	}
	if s.look != nil && sure && httpStatus(a.err) == statusConflict {
		s.certain = true
		return answer{fate: refused, err: a.err}
	}
	return a
}

// findMade looks for what a send without an answer made.
func (r *run) findMade(s *shot) (obj kind.Object, ok bool) {
	if s.look == nil {
		return obj, false
	}
	// A mistake while looking leaves what was sent as open as it is.
	_ = r.safely(s.item.Key, func() error {
		obj, ok = s.look()
		return nil
	})
	return obj, ok
}

// try sends once. A mistake in it is an answer as well: what had begun to be sent
// may have arrived.
func (r *run) try(ctx context.Context, s *shot, end *Outcome) (a answer) {
	s.sending = false
	err := r.safely(s.item.Key, func() error {
		a = r.trySafely(ctx, s, end)
		return nil
	})
	switch {
	case err == nil:
		return a
	case s.sending:
		end.Sent = true
		return answer{fate: open, err: err}
	}
	return answer{fate: unsent, err: err}
}

func (r *run) trySafely(ctx context.Context, s *shot, end *Outcome) answer {
	if err := r.Writer.Turn(ctx, s.kind); err != nil {
		return answer{fate: unsent, err: err}
	}
	now, err := r.Clock(ctx, s.kind)
	if err != nil {
		return answer{fate: unsent, err: fmt.Errorf("the platform's time: %w", err)}
	}
	r.looked(s.kind.Area, now)
	if !s.hold.MaySend(now) {
		return s.overdue(now)
	}
	if err := ctx.Err(); err != nil {
		return answer{fate: unsent, err: err}
	}
	s.sending = true
	obj, err := r.Writer.Create(r.net, s.kind, s.item.Request.Body)
	r.sent(s.item, err, end)
	return s.judge(obj, err, now)
}

// overdue is what becomes of a request that this run must not send any more.
// While its window lasts a later run may.
func (s *shot) overdue(now ledger.Instant) answer {
	if s.hold.Terms.MaySend(s.hold.First, now) {
		return answer{fate: unsent, err: errors.New("it was not sent: this run was paused for too long, and another run may have claimed it")}
	}
	until := stamp(s.hold.Terms.Until(s.hold.First, now))
	return answer{fate: late, err: fmt.Errorf("it could be sent until %s: after that, the platform may have forgotten the name", until)}
}

// judge says what an answer means (docs/design.md A3).
func (s *shot) judge(obj kind.Object, err error, now ledger.Instant) answer {
	a := answer{obj: obj, err: err}
	switch {
	case err == nil && madeBefore(obj, sentAt(now)):
		a.fate = s.taken(obj, true)
		a.err = fmt.Errorf("the platform answered with one that was created at %s, before this request", obj.CreationTimestamp)
	case err == nil:
		a.fate = executed
	case notSent(err):
		a.fate, a.again = unsent, transient(err)
	case exists(err):
		existing, shown := existingOf(err)
		a.obj, a.fate = existing, s.taken(existing, shown)
	case conflict(err):
		a.fate, a.again = refused, true
	case uncertain(err):
		a.fate = open
	default:
		a.fate = refused
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// sentAt is the earliest time at which an object that was made by a send at the
// instant can seem to have been made.
func sentAt(now ledger.Instant) time.Time {
	at := now.Early
	if limit := now.Now.Add(-clocksApart); now.Alone || at.Before(limit) {
		at = limit
	}
	return at.Add(-sentTolerance)
}

// taken says whose the object of the same name is: ours only if an earlier send
// may have made it, also one that a person believed not to be executed. Where the platform shows it, it must be what was sent, and
// not older than the intent.
func (s *shot) taken(existing kind.Object, shown bool) fate {
	ours, since := !s.certain, s.hold.First
	if s.hold.Reposted != nil {
		ours, since = true, *s.hold.Reposted
	}
	if ours && shown {
		ours = !madeBefore(existing, since.Add(-sentTolerance)) &&
			(existing.Spec == nil || plan.SpecDigest(s.kind, existing.Spec) == s.digest)
	}
	if ours {
		return duplicate
	}
	return foreign
}

func madeBefore(obj kind.Object, t time.Time) bool {
	made, err := time.Parse(time.RFC3339, obj.CreationTimestamp)
	return err == nil && made.Before(t)
}

// close records what became of a request, and says so; true means that it was
// executed.
func (r *run) close(ctx context.Context, s *shot, a answer, end *Outcome) (done bool) {
	r.unrecorded(r.safely(s.item.Key, func() (err error) {
		done, err = r.note(ctx, s, a, end)
		return err
	}), end)
	return done && end.Status == Done
}

// note tells the ledger what became of a request.
func (r *run) note(ctx context.Context, s *shot, a answer, end *Outcome) (done bool, err error) {
	key := s.item.Key
	switch a.fate {
	case executed, duplicate:
		made := madeOf(a.obj)
		if a.fate == duplicate {
			made.How, made.HTTP = ledger.Duplicate, httpStatus(a.err)
			if a.err == nil {
				made.How = ledger.Found // by a look, which does not prove who made it
			}
			end.Message = "accepted when it was first sent, as the platform now confirms"
		}
		return true, r.Journal.Posted(r.books, key, made)
	case foreign:
		end.fail(NeedsPerson, "the name already exists, and this ledger did not create it: "+a.err.Error())
		end.Fix = ledger.NameQuestion(key)
		return false, r.Journal.MarkTaken(r.books, key, end.Message)
	case late:
		return false, r.tooLate(s, a, end)
	case refused, unsent, open:
	}
	return false, r.failed(ctx, s, a, end)
}

// failed records a send that did not succeed. Only what was provably not
// written, or certainly refused, is free again; what may have arrived is left
// for a later run, or for a person.
func (r *run) failed(ctx context.Context, s *shot, a answer, end *Outcome) error {
	key, message := s.item.Key, a.err.Error()
	if a.fate == unsent && !end.Sent && end.late(ctx) {
		return r.giveBack(s, end.Message)
	}
	end.fault(a.err, message)
	if limited(a.err) {
		r.fill(s.item, a.err)
	}
	switch {
	case a.fate == unsent && s.certain:
		end.Fix = "run apply again"
		return r.Journal.Release(r.books, key, message)
	case a.fate == refused && s.certain:
		r.noRoom(s.item, end)
		return r.Journal.Rejected(r.books, key, httpStatus(a.err), message)
	case s.hold.Terms.Proven:
		end.Message = "it may have been executed: " + message
		end.Fix = fmt.Sprintf("trueup ledger settle or the next apply sends it again under the same name, which is safe until %s",
			stamp(s.hold.First.Add(s.hold.Terms.Window)))
		return r.Journal.Leave(r.books, key, message)
	default:
		end.askPerson("it may have been executed: " + message)
		return r.Journal.MarkUnknown(r.books, key, message)
	}
}

// fill notes that the platform takes no more purges of a hostname for now.
func (r *run) fill(it plan.Item, err error) {
	if it.Purge == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full[it.Purge.Hostname] = err.Error()
}

// noRoom defers an item whose hostname the platform takes no more purges of.
func (r *run) noRoom(it plan.Item, end *Outcome) bool {
	if it.Purge == nil {
		return false
	}
	r.mu.Lock()
	why := r.full[it.Purge.Hostname]
	r.mu.Unlock()
	if why == "" {
		return false
	}
	end.Status, end.Verdict = Deferred, Partial
	end.Message = fmt.Sprintf("the platform accepts no more purges of %s for now: %s", it.Purge.Hostname, why)
	end.Fix = "run apply again when earlier purges have expired, after about 24 hours"
	return true
}

// tooLate records a request whose window was over before it was sent.
func (r *run) tooLate(s *shot, a answer, end *Outcome) error {
	if s.certain {
		end.fail(Partial, "it was not sent: "+a.err.Error())
		end.Fix = "check this machine's clock, and run apply again"
		return r.Journal.Release(r.books, s.item.Key, a.err.Error())
	}
	end.askPerson("it may have been executed: " + a.err.Error())
	return r.Journal.MarkUnknown(r.books, s.item.Key, a.err.Error())
}

// askPerson ends an item whose fate only a person can find out.
func (o *Outcome) askPerson(message string) {
	o.fail(NeedsPerson, message)
	o.Fix = ledger.Question(o.Key)
}

// unrecorded ends an item whose fate the ledger does not know. What it lacks is
// handed out, so that nothing is lost.
func (r *run) unrecorded(err error, end *Outcome) {
	if err == nil {
		return
	}
	done := end.Message
	if end.Verdict == OK {
		done = "it was accepted"
	}
	if errors.Is(err, ledger.ErrConflict) {
		// Whoever changed the record takes care of it, unless it was executed.
		if end.Verdict == OK {
			end.Verdict = NeedsPerson
		}
		end.fail(end.Verdict, done+" (and another run changed its record meanwhile)")
		end.Fix = fmt.Sprintf("trueup ledger show %s", end.Key)
		return
	}
	end.fail(NeedsPerson, done+" (and the ledger could not record it: "+err.Error()+")")
	end.Fix = ledger.Question(end.Key)
	var lacks *ledger.UnrecordedError
	if !errors.As(err, &lacks) {
		return
	}
	if b, jerr := json.Marshal(lacks.Record); jerr == nil {
		r.Report(Event{Key: end.Key, Phase: PhaseRescue, Message: string(b)})
		end.Fix = "when the ledger can be written again, run trueup ledger import - with the rescue record from standard error"
	}
}

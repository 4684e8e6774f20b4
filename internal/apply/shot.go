package apply

import (
	"cmp"
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

// sentTolerance is how much earlier than our send our object may seem to be created.
// clocksApart is how far the clock of answers (Date) and that of creation may differ.
const (
	sentTolerance = 30 * time.Second
	clocksApart   = 10 * time.Minute
)

// shot is a claimed request on its way.
type shot struct {
	*work
	// digest is that of the spec, as the ledger has it.
	digest canon.Sum
	hold   ledger.Hold
	// before is what was live before the claim and looks like what is sent.
	before *ledger.Listing
	// certain says that no send of the intent can have arrived.
	certain bool
}

// fate is how a send ended.
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
	overdue
)

// answer is the fate of a send, and the object or error that came back. again says
// that another try may succeed.
type answer struct {
	fate  fate
	obj   kind.Object
	err   error
	again bool
}

// deliver sends a claimed request until its fate is known, or it may not be sent again. Each send
// has its turn first, then a look at the clock, and nothing between that and the send.
func (s *shot) deliver(ctx context.Context) answer {
	for sends := 0; ; {
		a := s.try(ctx)
		again := s.left(a.err) && a.again
		if a.fate == open {
			a = s.clarified(ctx, a)
			// Sent again only on proof that it can't be executed twice (docs/design.md 0.7).
			sends++
			again = a.fate == open && s.hold.Terms.Proven && sends < maxSends
		}
		if again && s.rest(ctx, a.err) {
			continue
		}
		s.noteResult(a.err)
		if a.fate == refused {
			s.stopIfLost(a.err)
		}
		return a
	}
}

// clarified looks what a send without a clear answer did, if it leaves an object. One
// that was answered with a conflict, and that live does not show, made nothing.
func (s *shot) clarified(ctx context.Context, a answer) answer {
	sure := s.certain
	s.certain = false
	if s.kind.RequestOnly() {
		return a
	}
	var got reading
	// A mistake while looking leaves what was sent as open as it is.
	_ = s.safely(s.item.Key, func() error {
		// A GET right before the claim has shown the name to be free.
		got = s.readBack(ctx, s.item.Name, s.spec)
		return nil
	})
	switch {
	case got.kept:
		return answer{fate: duplicate, obj: *got.obj}
	case sure && httpStatus(a.err) == statusConflict:
		s.certain = true
		return answer{fate: refused, err: a.err}
	}
	return a
}

// try sends once. A panic in it is an answer as well: what had begun to be sent may have arrived.
func (s *shot) try(ctx context.Context) answer {
	before := answer{fate: unsent}
	var now ledger.Instant
	var obj kind.Object
	begun := false
	err := s.safely(s.item.Key, func() (err error) {
		if now, before.fate, err = s.admitted(ctx); err != nil {
			return err
		}
		begun = true
		return s.send(func() error {
			obj, err = s.Writer.Create(s.net, s.kind, s.item.Request.Body)
			return err
		})
	})
	if !begun {
		before.err = err
		return before
	}
	return s.judge(obj, err, now)
}

// admitted waits for the turn of a send, and looks whether it may still be made. If
// not, the error says why, and the fate is unsent or, after the window, overdue.
func (s *shot) admitted(ctx context.Context) (ledger.Instant, fate, error) {
	if err := s.Writer.Turn(ctx, s.kind); err != nil {
		return ledger.Instant{}, unsent, err
	}
	now, err := s.Clock(ctx, s.kind)
	if err != nil {
		return now, unsent, fmt.Errorf("the platform's time: %w", err)
	}
	if s.Now != nil {
		s.mu.Lock()
		s.looks[s.kind.Area] = reckoning{now: now, when: s.Now()}
		s.mu.Unlock()
	}
	terms := s.hold.Terms
	switch {
	case s.hold.MaySend(now):
		return now, unsent, ctx.Err()
	case terms.MaySend(s.hold.First, now): // a later run may send it
		return now, unsent, errors.New("it was not sent: this run was paused for too long, and another run may have claimed it")
	}
	return now, overdue, fmt.Errorf("it could be sent until %s: after that, the platform may have forgotten the name", stamp(terms.Until(s.hold.First, now)))
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
		answer, _ := errors.AsType[Answer](err)
		existing, shown := answer.Existing()
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
// may have made it, also one that a person believed not to be executed. If the
// platform shows it, it must be what was sent, and not older than the intent.
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

// close records how a request ended, and says so; Done means that it was executed.
func (s *shot) close(ctx context.Context, a answer) *Outcome {
	end, record := s.verdict(ctx, a)
	return s.rescue(s.safely(s.item.Key, record), end)
}

// verdict is the outcome of a request, and what records it.
func (s *shot) verdict(ctx context.Context, a answer) (end *Outcome, record func() error) {
	key := s.item.Key
	switch {
	case a.fate == executed, a.fate == duplicate:
		made := ledger.Made{RemoteName: a.obj.Name, UID: a.obj.UID, CreationTimestamp: a.obj.CreationTimestamp}
		end = done("")
		if a.fate == duplicate {
			made.How, made.HTTP = ledger.Duplicate, httpStatus(a.err)
			if a.err == nil {
				made.How = ledger.Found // by a look, which does not prove who made it
			}
			end.Message = "accepted when it was first sent, as the platform now confirms"
		}
		return end, func() error { return s.Journal.Posted(s.books, key, made) }
	case a.fate == foreign:
		end = failed(NeedsPerson, "the name already exists, and this ledger did not create it: "+a.err.Error(), ledger.NameQuestion(key))
		return end, func() error { return s.Journal.MarkTaken(s.books, key, end.Message) }
	case a.fate == overdue && s.certain:
		return failed(Partial, "it was not sent: "+a.err.Error(), "check this machine's clock, and run apply again"),
			func() error { return s.Journal.Release(s.books, key, a.err.Error()) }
	case a.fate == unsent && !s.sent && ctx.Err() != nil:
		end = late(ctx)
		return end, func() error { return s.giveBack(end.Message) }
	}
	return s.failed(a)
}

// failed is the verdict of a send that failed. Only what was provably not written, or certainly
// refused, is free again; what may have arrived is left for a later run, or for a person.
func (s *shot) failed(a answer) (end *Outcome, record func() error) {
	key, message := s.item.Key, a.err.Error()
	end = fault(a.err, "", "")
	if ask(a.err, Answer.Limited) && s.item.Purge != nil {
		s.mu.Lock()
		s.full[s.item.Purge.Hostname] = message
		s.mu.Unlock()
	}
	switch {
	case a.fate == unsent && s.certain:
		end.Fix = "run apply again"
		return end, func() error { return s.Journal.Release(s.books, key, message) }
	case a.fate == refused && s.certain:
		return cmp.Or(s.noRoom(), end), func() error { return s.Journal.Rejected(s.books, key, httpStatus(a.err), message) }
	case a.fate != overdue && s.hold.Terms.Proven:
		end.Message = "it may have been executed: " + message
		end.Fix = "trueup ledger settle or the next apply sends it again under the same name, which is safe until " +
			stamp(s.hold.First.Add(s.hold.Terms.Window))
		return end, func() error { return s.Journal.Leave(s.books, key, message) }
	}
	end.Verdict, end.Message, end.Fix = NeedsPerson, "it may have been executed: "+message, ledger.Question(key)
	return end, func() error { return s.Journal.MarkUnknown(s.books, key, message) }
}

// giveBack ends a claim under which nothing was sent. If an earlier run may have sent
// it, the next one may go on at once.
func (s *shot) giveBack(why string) error {
	if s.certain {
		return s.Journal.Release(s.books, s.item.Key, why)
	}
	return s.Journal.Leave(s.books, s.item.Key, why)
}

// noRoom defers an item if the platform takes no more purges of its hostname for now.
func (s *shot) noRoom() *Outcome {
	if s.item.Purge == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	host := s.item.Purge.Hostname
	why := s.full[host]
	if why == "" {
		return nil
	}
	return &Outcome{
		Status: Deferred, Verdict: Partial, Message: fmt.Sprintf("the platform accepts no more purges of %s for now: %s", host, why),
		Fix: "run apply again when earlier purges have expired, after about 24 hours",
	}
}

// rescue ends an item that the ledger could not record. It reports what the ledger lacks, so that
// nothing is lost.
func (w *work) rescue(err error, end *Outcome) *Outcome {
	if err == nil {
		return end
	}
	key, done, verdict := w.item.Key, end.Message, end.Verdict
	if verdict == OK {
		done, verdict = "it was accepted", NeedsPerson
	}
	if errors.Is(err, ledger.ErrConflict) {
		// Whoever changed the record takes care of it, unless it was executed.
		return failed(verdict, done+" (and another run changed its record meanwhile)", "trueup ledger show "+key.String())
	}
	end = failed(NeedsPerson, done+" (and the ledger could not record it: "+err.Error()+")", ledger.Question(key))
	if lacks, ok := errors.AsType[*ledger.UnrecordedError](err); ok {
		if b, err := json.Marshal(lacks.Record); err == nil {
			w.report(PhaseRescue, string(b))
			end.Fix = "when the ledger can be written again, run trueup ledger import - with the rescue record from standard error"
		}
	}
	return end
}

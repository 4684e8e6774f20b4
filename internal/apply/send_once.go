package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

const (
	// sentTolerance is how far the creation time of an object may lie before the send that created it.
	sentTolerance = 30 * time.Second
	// clocksApart is how far the clocks of Date headers and of creation timestamps may differ.
	clocksApart = 10 * time.Minute
)

// sendOnceRequest is a claimed request that must be executed at most once.
type sendOnceRequest struct {
	*itemRun
	digest  canon.Sum // of the spec, as the ledger has it
	hold    ledger.OwnClaim
	before  *ledger.Listing // before lists the live objects that looked like the one to send before the claim
	certain bool            // certain reports whether certainly no send under this claim, or an earlier one, was executed
}

// sendResult is the result of one send.
type sendResult int

const (
	// executed now; duplicate of an earlier send of ours, which was executed; foreign: another
	// client has the name.
	executed sendResult = iota
	duplicate
	foreign
	// refused: not executed; unsent: nothing was written; unclear: it may have been
	// executed; overdue: it must not be sent any more.
	refused
	unsent
	unclear
	overdue
)

// attempt is one send, with the object or error that came back.
type attempt struct {
	result sendResult
	obj    kind.LiveObject
	err    error
	again  bool // again reports whether a retry may succeed
}

// sendUntilKnown sends a claimed request until its result is known, or it must not be sent again. Each
// send waits for its turn, then reads the clock, and does nothing else before it writes.
func (s *sendOnceRequest) sendUntilKnown(ctx context.Context) attempt {
	for sends := 0; ; {
		a := s.trySend(ctx)
		again := s.consumeRetry(ctx, a.err) && a.again
		if a.result == unclear {
			a = s.readOutcome(ctx, a)
			// Sent again only on proof that it can't be executed twice (docs/design.md 0.7).
			sends++
			again = a.result == unclear && s.hold.Terms.Proven && sends < maxSends && api.AsError(a.err).OtherName.String() == ""
		}
		if again && s.sleepBackoff(ctx, a.err) {
			continue
		}
		s.noteResult(a.err)
		if a.result == refused {
			s.stopIfWorkspaceMissing(a.err)
		}
		return a
	}
}

// readOutcome reads what a send without a clear answer created. If it
// got a 409 and live shows no object, it created nothing.
func (s *sendOnceRequest) readOutcome(ctx context.Context, a attempt) attempt {
	wasCertain := s.certain
	s.certain = false
	if s.kind.IsRequestOnly() {
		return a
	}
	var got readbackResult
	// After a panic while reading, the result stays unclear.
	_ = s.catchPanic(s.item.Key, func() error {
		// A GET right before the claim has shown the name to be free.
		got = s.readBack(ctx, s.item.Name, s.createdWrite())
		return nil
	})
	switch {
	case got.kept:
		return attempt{result: duplicate, obj: *got.obj}
	case wasCertain && api.AsError(a.err).Status == http.StatusConflict:
		s.certain = true
		return attempt{result: refused, err: a.err}
	}
	return a
}

// trySend sends once. If the request panics, the result is unclear: it may have been executed.
func (s *sendOnceRequest) trySend(ctx context.Context) attempt {
	before := attempt{result: unsent}
	var now ledger.Instant
	var obj kind.LiveObject
	begun := false
	err := s.catchPanic(s.item.Key, func() (err error) {
		if now, before.result, err = s.waitToSend(ctx); err != nil {
			return err
		}
		begun = true
		return s.sendRequest(func() error {
			obj, err = s.Writer.Create(s.sendCtx, s.kind, s.item.Request.Body)
			return err
		})
	})
	if !begun {
		before.err = err
		return before
	}
	return s.classifyAnswer(obj, err, now)
}

// waitToSend waits for the rate limit, and checks that the request may still be sent. If not, the error
// says why, and the result is unsent, or overdue if no later run may send it either.
func (s *sendOnceRequest) waitToSend(ctx context.Context) (ledger.Instant, sendResult, error) {
	if err := s.Writer.WaitForRateLimit(ctx, s.kind); err != nil {
		return ledger.Instant{}, unsent, err
	}
	if err := s.Journal.CheckNotSuperseded(s.ledgerCtx, s.item.Key); err != nil {
		return ledger.Instant{}, unsent, err
	}
	now, err := s.Clock(ctx, s.kind)
	if err != nil {
		return now, unsent, fmt.Errorf("the platform's time: %w", err)
	}
	if s.Now != nil {
		s.mu.Lock()
		s.clocks[s.kind.Area] = clockReading{now: now, when: s.Now()}
		s.mu.Unlock()
	}
	terms := s.hold.Terms
	switch {
	case s.hold.MaySend(now):
		return now, unsent, ctx.Err()
	case terms.MaySend(*s.hold.FirstClaimAt, now): // a later run may send it
		return now, unsent, errors.New("it was not sent: this run was paused for too long, and another run may have claimed it")
	}
	return now, overdue, fmt.Errorf("it could be sent until %s, because the platform may forget its name after that", formatTime(terms.WindowEnd(*s.hold.FirstClaimAt, now)))
}

// classifyAnswer returns what an answer means (docs/design.md A3).
func (s *sendOnceRequest) classifyAnswer(obj kind.LiveObject, err error, now ledger.Instant) attempt {
	a, said := attempt{obj: obj, err: err}, api.AsError(err)
	earliest := now.Early // the earliest creation time of an object of this send
	if limit := now.Now.Add(-clocksApart); now.Alone || earliest.Before(limit) {
		earliest = limit
	}
	switch {
	case err == nil && madeBefore(obj, earliest.Add(-sentTolerance)):
		a.result = s.classifyExisting(obj, true)
		a.err = fmt.Errorf("the platform answered with an object that was created at %s, before this request", obj.CreationTimestamp)
	case err == nil:
		a.result = executed
	case said.NotSent():
		a.result, a.again = unsent, isTransient(err)
	case said.Class == api.Taken:
		if said.Existing != nil {
			a.obj = *said.Existing
		}
		a.result = s.classifyExisting(a.obj, said.Existing != nil)
	case said.Class == api.Contended:
		a.result, a.again = refused, true
	case isUncertain(err):
		a.result = unclear
	default:
		a.result = refused
	}
	return a
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// classifyExisting returns duplicate if an earlier send of ours may have created the existing object of the name,
// even if a person marked that send as not executed, or else foreign. If the platform shows the object,
// it must also equal what was sent, and not be older than the claim.
func (s *sendOnceRequest) classifyExisting(existing kind.LiveObject, shown bool) sendResult {
	ours, since := !s.certain, *s.hold.FirstClaimAt
	if s.hold.RepostedFrom != nil {
		ours, since = true, *s.hold.RepostedFrom
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

func madeBefore(obj kind.LiveObject, t time.Time) bool {
	made, err := time.Parse(time.RFC3339, obj.CreationTimestamp)
	return err == nil && made.Before(t)
}

// recordEnd records the result of a request, and returns its outcome: Done if it was executed.
func (s *sendOnceRequest) recordEnd(ctx context.Context, a attempt) *ItemOutcome {
	end, record := s.sendOutcome(ctx, a)
	return s.reportUnrecorded(s.catchPanic(s.item.Key, record), end)
}

// sendOutcome returns the outcome of a request, and the function that records it.
func (s *sendOnceRequest) sendOutcome(ctx context.Context, a attempt) (end *ItemOutcome, record func() error) {
	key := s.item.Key
	switch {
	case a.result == executed, a.result == duplicate:
		made := ledger.AcceptedAnswer{RemoteName: a.obj.Name, UID: a.obj.UID, CreationTimestamp: a.obj.CreationTimestamp}
		end = doneOutcome("")
		if a.result == duplicate {
			made.How, made.HTTP = ledger.Duplicate, api.AsError(a.err).Status
			if a.err == nil {
				made.How = ledger.Found // by reading, which does not prove who created it
			}
			end.Message = "accepted when it was first sent, as the platform now confirms"
		}
		return end, func() error { return s.Journal.RecordPosted(s.ledgerCtx, key, made) }
	case a.result == foreign:
		end = failedOutcome(NeedsPerson, "the name already exists, and this ledger did not create it: "+a.err.Error(), ledger.NameTakenCommand(key))
		return end, s.outcomeRecorder(ledger.NotOurs, end.Message)
	case a.result == overdue && s.certain:
		return failedOutcome(Partial, "it was not sent: "+a.err.Error(), "check this machine's clock, and run apply again"),
			s.outcomeRecorder(ledger.Released, a.err.Error())
	case a.result == unsent && !s.sent && ctx.Err() != nil:
		end = interruptedOutcome(ctx)
		return end, func() error { return s.releaseClaim(end.Message) }
	}
	return s.failedSendOutcome(a)
}

func (s *sendOnceRequest) outcomeRecorder(how ledger.OutcomeStatus, message string) (record func() error) {
	return func() error {
		return s.Journal.RecordOutcome(s.ledgerCtx, s.item.Key, ledger.Outcome{How: how, Message: ledger.QuoteMessage(message)})
	}
}

// failedSendOutcome is sendOutcome for a failed send. It releases the claim only if the request was certainly not
// executed. Otherwise a later run or a person decides.
func (s *sendOnceRequest) failedSendOutcome(a attempt) (end *ItemOutcome, record func() error) {
	key, message := s.item.Key, a.err.Error()
	end = errorOutcome(a.err, "", "")
	if api.AsError(a.err).Class == api.Limited && s.item.Purge != nil {
		s.mu.Lock()
		s.full[s.item.Purge.Hostname] = message
		s.mu.Unlock()
	}
	switch {
	case a.result == unsent && s.certain:
		end.Fix = "run apply again"
		return cmp.Or(stoppedOutcome(a.err), end), s.outcomeRecorder(ledger.Released, message)
	case a.result == refused && s.certain:
		o := ledger.Outcome{How: ledger.RejectedByPlatform, HTTP: api.AsError(a.err).Status, Message: ledger.QuoteMessage(message)}
		return cmp.Or(s.deferForPurgeLimit(), end), func() error { return s.Journal.RecordOutcome(s.ledgerCtx, key, o) }
	case api.AsError(a.err).OtherName.String() != "":
		end = renamedOutcome(key, api.AsError(a.err).OtherName.String())
		end.Fix = ledger.ResolveAdvice(key)
		return end, s.outcomeRecorder(ledger.OutcomeUnknown, end.Message)
	case a.result != overdue && s.hold.Terms.Proven:
		end.Message = "it may have been executed: " + message
		end.Fix = "trueup ledger settle or the next apply sends it again under the same name, which is safe until " +
			formatTime(s.hold.FirstClaimAt.Add(s.hold.Terms.Window))
		return end, func() error { return s.Journal.MarkResumable(s.ledgerCtx, key, message) }
	}
	end.Verdict, end.Message, end.Fix = NeedsPerson, "it may have been executed: "+message, ledger.ResolveAdvice(key)
	return end, s.outcomeRecorder(ledger.OutcomeUnknown, message)
}

// releaseClaim ends a claim under which nothing was sent. If an earlier run may have sent the request, the
// claim becomes one that the next run can take over at once.
func (s *sendOnceRequest) releaseClaim(why string) error {
	if s.certain {
		return s.outcomeRecorder(ledger.Released, why)()
	}
	return s.Journal.MarkResumable(s.ledgerCtx, s.item.Key, why)
}

// deferForPurgeLimit defers a purge if the platform accepts no more purges of its hostname for now.
func (s *sendOnceRequest) deferForPurgeLimit() *ItemOutcome {
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
	return &ItemOutcome{
		Status: Deferred, Verdict: Partial, Message: fmt.Sprintf("the platform accepts no more purges of %s for now: %s", host, why),
		Fix: "run apply again when earlier purges have expired, after about 24 hours",
	}
}

// reportUnrecorded ends an item that the ledger could not record. It reports the missing record, so that nothing is lost.
func (w *itemRun) reportUnrecorded(err error, end *ItemOutcome) *ItemOutcome {
	if err == nil {
		return end
	}
	key, done, verdict := w.item.Key, end.Message, end.Verdict
	if verdict == OK {
		done, verdict = "it was accepted", NeedsPerson
	}
	if errors.Is(err, ledger.ErrConflict) {
		// The run that changed the record is responsible for it, unless ours was executed.
		return failedOutcome(verdict, done+" (and another run changed its record meanwhile)", "trueup ledger show "+key.String())
	}
	end = failedOutcome(NeedsPerson, done+" (and the ledger could not record it: "+err.Error()+")", ledger.ResolveAdvice(key))
	if lacks, ok := errors.AsType[*ledger.UnrecordedError](err); ok {
		if b, err := json.Marshal(lacks.Record); err == nil {
			w.reportPhase(PhaseRescue, string(b))
			end.Fix = "when the ledger can be written again, run trueup ledger import - with the rescue record from standard error"
		}
	}
	return end
}

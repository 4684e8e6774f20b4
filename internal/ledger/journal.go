package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// AcceptedAnswer is the platform's answer that it accepted a request.
type AcceptedAnswer struct {
	How               OutcomeStatus // defaults to Created
	HTTP              int
	AcceptedAt        time.Time // defaults to now
	RemoteName, UID   string    // RemoteName may differ from the requested name
	CreationTimestamp string    // the platform's text
}

// AppliedSpec is a spec that is live.
type AppliedSpec struct {
	Spec []byte // canonical JSON
	Owed []byte // Spec with what the platform did not remove, or nil
	// Altered are the paths of grave changes beside what was sent.
	Altered                            []string
	Converged                          bool        // the platform kept all that was sent
	Live                               *LiveBefore // what live had before the write, if it is not what RecordPending got
	RemoteName, UID, CreationTimestamp string      // as in AcceptedAnswer
}

func (a AppliedSpec) appliedMove(by Claim) stateChange {
	return stateChange{event: evConfirm, requires: unchanged, spec: a.Spec, to: func(r Record) (Record, error) { return r.withApplied(a, by), nil }}
}

// Adoption is a person's statement that a request was executed, or that git owns an object.
type Adoption struct {
	Spec                               []byte    // canonical JSON
	Digest                             canon.Sum // of Spec, as plan computes it
	Reason                             string
	RemoteName, UID, CreationTimestamp string // as in AcceptedAnswer
}

// OwnClaim is a claim of this run.
type OwnClaim struct {
	Record
	Late  time.Time // the later clock when it was claimed
	Terms ResendTerms
}

// MaySend reports whether the request may be sent; ask right before every send. A claim ends with its lease: then
// another run may take it over, or a person may answer. Both clocks must agree, because a cached answer can stop one,
// and somebody can set the other.
func (h OwnClaim) MaySend(now Instant) bool {
	held := max(now.Now.Sub(*h.ClaimedAt), now.Late.Sub(h.Late))
	return h.Terms.MaySend(*h.FirstClaimAt, now) && held < Lease
}

// Claim records that a request is about to be sent. It returns ErrTaken if the request was or may have been sent, or if
// a takeover is unsafe or too early, and ErrConflict if another run was faster. Intent.Again rejects purges, and a
// record that changed since ReadView: another run may have made the object again. After any error, don't send it.
func (l *Ledger) Claim(ctx context.Context, key kind.Key, i Intent) (OwnClaim, error) {
	terms, err := l.readSendTerms(ctx, key)
	if k, known := kind.FindKind(key.Kind); known && i.Again && !k.IsCreateOnly() {
		err = fmt.Errorf("trueup never sends a %s again under the same name", k.Name)
	}
	if err != nil {
		return OwnClaim{}, fmt.Errorf("claim %s: %w", key, err)
	}
	m := stateChange{event: i.claimEvent(), to: func(r Record) (Record, error) {
		if i.TakeOver && r.ClaimStatus(i.At, terms) != Resendable {
			return r, r.takenError()
		}
		return r.withClaim(i, l.cfg.Claim)
	}}
	if i.Again {
		m.requires = asSeen
	}
	rec, err := l.changedRecord(ctx, key, m)
	if err != nil {
		l.undoClaim(ctx, rec)
		return OwnClaim{}, err
	}
	return OwnClaim{Record: rec, Late: i.At.Late, Terms: terms}, nil
}

// undoClaim releases a claim whose write returned an error but succeeded. If this fails too, a person decides later.
func (l *Ledger) undoClaim(ctx context.Context, rec Record) {
	if rec.Nonce == "" {
		return
	}
	if found, err := l.store.Read(ctx, []kind.Key{rec.Key}); err != nil || found[rec.Key].Nonce != rec.Nonce {
		return
	}
	l.rememberWritten(rec, rec)
	const why = "the write of its claim failed, and nothing was sent"
	if rec.EarlierUnknown {
		_ = l.MarkResumable(ctx, rec.Key, why)
	} else {
		_ = l.RecordOutcome(ctx, rec.Key, Outcome{How: Released, Message: QuoteMessage(why)})
	}
}

// RecordPosted records that the request was executed, even if another run took it over or made it unknown.
func (l *Ledger) RecordPosted(ctx context.Context, key kind.Key, m AcceptedAnswer) error {
	err := l.recordPosted(ctx, key, m, sameIntent)
	if state, ok := errors.AsType[*StateError](err); ok && state.Record.State == Posted {
		return nil
	}
	if err == nil && m.How == Duplicate {
		l.renewProof(ctx, key, m)
	}
	return err
}

// renewProof dates a proof anew, at most daily, after the platform rejected another duplicate.
func (l *Ledger) renewProof(ctx context.Context, key kind.Key, m AcceptedAnswer) {
	k, _ := kindOf(key)
	g, err := l.store.ReadGenesis(ctx)
	now, old := l.cfg.Now().UTC(), g.Proofs[k.Area]
	if err == nil && !old.At.IsZero() && now.Sub(old.At) > 24*time.Hour {
		_ = l.RecordProof(ctx, k.Area, DuplicateProof{At: now, Name: key.Name, HTTP: m.HTTP, By: l.cfg.Claim.Actor}) // the old one still holds
	}
}

// RecordExecuted records that the object of an open request, of any run, is live.
func (l *Ledger) RecordExecuted(ctx context.Context, key kind.Key, m AcceptedAnswer) error {
	m.How = Found
	return l.recordPosted(ctx, key, m, asSeen)
}

func (l *Ledger) recordPosted(ctx context.Context, key kind.Key, m AcceptedAnswer, requires precondition) error {
	if m.AcceptedAt.IsZero() {
		m.AcceptedAt = l.cfg.Now()
	}
	at := m.AcceptedAt.UTC()
	o := Outcome{How: cmp.Or(m.How, Created), HTTP: m.HTTP}
	claimed, _ := l.lastWrite(key)
	return l.storeOutcome(ctx, key, stateChange{event: evPost, requires: requires, detail: string(o.How), to: func(r Record) (Record, error) {
		if r.State == "" && requires == sameIntent {
			// A person has answered meanwhile that it was not executed.
			r = r.withIntent(*claimed.rec)
			r.State, r.Claim = Claimed, claimed.rec.Claim
		}
		r, err := r.withOutcome(evPost, o)
		r.AcceptedAt = &at
		return r.withRemote(m.RemoteName, m.UID, m.CreationTimestamp), err
	}})
}

// RecordOutcome records how a request of this run ended, unless it was executed. After RejectedByPlatform and Released a later
// run may send it. After OutcomeUnknown and NotOurs a person decides. Removed is the end of a deletion: trueup never
// makes the object again by itself, because a new one would hold other data.
func (l *Ledger) RecordOutcome(ctx context.Context, key kind.Key, o Outcome) error {
	e := map[OutcomeStatus]event{RejectedByPlatform: evReject, Released: evRelease, OutcomeUnknown: evUnknown, NotOurs: evUnknown, Removed: evDeleted}[o.How]
	return l.recordOutcomeEvent(ctx, key, e, o)
}

// MarkResumable ends this run's work on a request that may have arrived. A later run may send it again within the window.
func (l *Ledger) MarkResumable(ctx context.Context, key kind.Key, message string) error {
	return l.recordOutcomeEvent(ctx, key, evLeave, Outcome{How: OutcomeUnknown, Message: QuoteMessage(message)})
}

// noOutcome is the message after a run died.
const noOutcome = "the run that claimed it recorded no outcome"

// MarkUnknown makes a request unknown if the run that claimed it died, and it can't be sent again. Otherwise it does
// nothing.
func (l *Ledger) MarkUnknown(ctx context.Context, key kind.Key, now Instant) error {
	terms, err := l.readSendTerms(ctx, key)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	err = l.changeRecord(ctx, key, stateChange{event: evUnknown, detail: noOutcome, to: func(r Record) (Record, error) {
		if r.ClaimStatus(now, terms) != Lost {
			return r, &StateError{Record: r, event: evUnknown}
		}
		o := Outcome{How: OutcomeUnknown, Message: QuoteMessage(noOutcome)}
		if r.Left && r.Outcome != nil {
			o = *r.Outcome // why there is none
		}
		return r.withOutcome(evUnknown, o)
	}})
	if _, ok := errors.AsType[*StateError](err); ok || errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func (l *Ledger) recordOutcomeEvent(ctx context.Context, key kind.Key, e event, o Outcome) error {
	to := func(r Record) (Record, error) { return r.withOutcome(e, o) }
	return l.storeOutcome(ctx, key, stateChange{event: e, requires: holder, detail: o.Message.String(), to: to})
}

// UnrecordedError means that an outcome could not be stored. Ledger import can add Record later.
type UnrecordedError struct {
	Record Record
	error
}

// Unwrap returns why.
func (e *UnrecordedError) Unwrap() error { return e.error }

// storeOutcome stores an outcome. It retries until ctx ends or outcomePatience is over, because a person must answer for a lost
// outcome, and then returns an *UnrecordedError.
func (l *Ledger) storeOutcome(ctx context.Context, key kind.Key, m stateChange) error {
	m = l.withNonce(m)
	err := l.changeRecord(ctx, key, m)
	pause, began := outcomePause, l.cfg.Now()
	for waited := time.Duration(0); isTemporary(err) && waited < outcomePatience && ctx.Err() == nil; waited = max(waited+pause, l.cfg.Now().Sub(began)) {
		if l.cfg.Delayed != nil {
			l.cfg.Delayed(key, err)
		}
		l.forgetState()
		if l.cfg.Sleep(ctx, pause) != nil {
			break
		}
		err = l.changeRecord(ctx, key, m)
		pause = min(2*pause, longestPause)
	}
	if left, ours := l.lastWrite(key); err != nil && ours && left.rec != nil && !errors.Is(err, ErrConflict) {
		if rec, toErr := m.to(*left.rec); toErr == nil {
			return &UnrecordedError{Record: rec.withStep(l.newLogStep(*left.rec, m)), error: err}
		}
	}
	return err
}

func isTemporary(err error) bool {
	_, ok := errors.AsType[*StateError](err)
	return err != nil && !ok && !errors.Is(err, ErrConflict) && ProblemOf(err) == nil
}

// RecordPending records the spec that a POST or PATCH is about to send: even if its outcome is lost, git can still remove its
// fields later. before is what live has. After an error, don't send it.
func (l *Ledger) RecordPending(ctx context.Context, key kind.Key, spec []byte, before *LiveBefore) error {
	if _, err := l.readSendTerms(ctx, key); err != nil {
		return fmt.Errorf("record the spec of %s: %w", key, err)
	}
	return l.changeRecord(ctx, key, stateChange{event: evBegin, to: func(r Record) (Record, error) { return r.withPending(spec, before) }})
}

// RecordApplied records a spec that is live.
func (l *Ledger) RecordApplied(ctx context.Context, key kind.Key, a AppliedSpec) error {
	return l.changeRecord(ctx, key, a.appliedMove(l.cfg.Claim))
}

// AppliedObject is an object whose live spec is the desired one.
type AppliedObject struct {
	kind.Key
	AppliedSpec
}

// RecordAllApplied is RecordApplied for many objects in one write. It returns one error for each.
func (l *Ledger) RecordAllApplied(ctx context.Context, all []AppliedObject) []error {
	errs := make([]error, len(all))
	keys := diag.MapList(all, func(c AppliedObject) kind.Key { return c.Key })
	found, failed := l.readStored(ctx, keys...)
	var changes []RecordChange
	var at []int
	for i, c := range all {
		rec, err := Record{}, failed
		if err == nil {
			rec, err = l.recordAfter(found[c.Key], c.Key, l.withNonce(c.appliedMove(l.cfg.Claim)))
		}
		if err != nil {
			errs[i] = fmt.Errorf("record %s: %w", c.Key, err)
			continue
		}
		changes, at = append(changes, RecordChange{ExpectSeq: found[c.Key].Seq, Rec: rec}), append(at, i)
	}
	for n, err := range l.store.PutAll(ctx, changes) {
		if errs[at[n]] = err; err == nil {
			l.rememberWritten(found[all[at[n]].Key], changes[n].Rec)
		}
	}
	return errs
}

// DropPending removes the spec of the last RecordPending after the platform rejected it. Older ones stay.
func (l *Ledger) DropPending(ctx context.Context, key kind.Key) error {
	before, _ := l.lastWrite(key)
	return l.changeRecord(ctx, key, stateChange{event: evDrop, requires: holder, to: func(r Record) (Record, error) {
		r.Pending, r.Live = before.pending, nil
		return r, nil
	}})
}

// Resolve records a person's answer about a request that is claimed or unknown, or whose record was lost. It rejects
// ResolveRepost while the run with the claim may still send.
func (l *Ledger) Resolve(ctx context.Context, key kind.Key, to Resolution, reason string) error {
	now, by := NewInstant(time.Time{}, l.cfg.Now()), l.cfg.Claim.Actor
	g, err := l.readUsable(ctx, key)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	return l.changeRecord(ctx, key, stateChange{event: evSettle, by: by, detail: string(to) + ": " + reason, to: func(r Record) (Record, error) {
		if to == ResolveRepost && r.mayStillRun(now) {
			return r, fmt.Errorf("%s%s claimed it and may still send it: wait until %s",
				senderOf(r.Claim), formatTime(r.ClaimedAt), r.ClaimedAt.Add(Lease).UTC().Format(time.RFC3339))
		}
		if to == ResolveRepost && r.Seq == 0 && g.Finished.HadRequest(key) {
			// Its time is lost too.
			r.Outcome, r.RepostedFrom = personOutcome(Operator, reason, by), &time.Time{}
			return r, nil
		}
		return r.withAnswer(to, reason, by)
	}})
}

// Adopt records that a request was executed without trueup, which then never sends it; or that git owns an object and
// every list in it.
func (l *Ledger) Adopt(ctx context.Context, key kind.Key, a Adoption) error {
	by := l.cfg.Claim.Actor
	return l.changeRecord(ctx, key, stateChange{event: evAdopt, by: by, detail: a.Reason, to: func(r Record) (_ Record, err error) {
		if isSendOnce(key) {
			r, err = r.withAdoption(a)
		} else if r.Altered = nil; r.Owed == nil || !bytes.Equal(r.Applied, a.Spec) { // what the platform did not remove stays owed
			r.Applied, r.Owed, r.NotConverged = a.Spec, nil, false
		}
		r.Outcome = personOutcome(AdoptedByOperator, a.Reason, by)
		return r.withRemote(a.RemoteName, a.UID, a.CreationTimestamp), err
	}})
}

// Forget records that git no longer manages an object. The record must not have changed since ReadView. It rejects what is
// open, and purges, because their records keep trueup from sending them again.
func (l *Ledger) Forget(ctx context.Context, key kind.Key, reason string) error {
	by := l.cfg.Claim.Actor
	return l.changeRecord(ctx, key, stateChange{event: evForget, requires: asSeen, by: by, detail: reason, to: func(r Record) (Record, error) {
		switch k, _ := kind.FindKind(key.Kind); {
		case k.IsRequestOnly():
			return r, errors.New("trueup remembers every purge, so that it never sends one again")
		case r.Seq == 0:
			return r, errors.New("the ledger has no record of it, so there is nothing to forget")
		}
		return r.withForgotten(reason, by)
	}})
}

// RecordDeleting records that trueup is about to delete an object that it made. The record must not have changed since ReadView,
// and must have this uid and creation time. After an error, don't delete it.
func (l *Ledger) RecordDeleting(ctx context.Context, key kind.Key, uid, created string) error {
	_, err := l.readSendTerms(ctx, key)
	if k, known := kind.FindKind(key.Kind); known && !k.Documents(kind.Delete) {
		err = errors.New("the platform documents no deletion")
	}
	if err != nil {
		return fmt.Errorf("record the deletion of %s: %w", key, err)
	}
	return l.changeRecord(ctx, key, stateChange{event: evDelete, requires: asSeen, detail: "uid " + uid, to: func(r Record) (Record, error) {
		if !r.IsOurs() || r.UID == "" || r.UID != uid || r.CreationTimestamp != created {
			return r, fmt.Errorf("no request in this ledger created the object with uid %q", uid)
		}
		return r, r.checkState(evDelete)
	}})
}

// RecordNotDeleted records that the object was not deleted.
func (l *Ledger) RecordNotDeleted(ctx context.Context, key kind.Key, message string) error {
	to := func(r Record) (Record, error) { return r, r.checkState(evNotDeleted) }
	return l.storeOutcome(ctx, key, stateChange{event: evNotDeleted, requires: holder, detail: message, to: to})
}

// readSendTerms returns the terms of the key's area, or an error if the ledger can't be used there.
func (l *Ledger) readSendTerms(ctx context.Context, key kind.Key) (ResendTerms, error) {
	k, err := kindOf(key)
	if err != nil {
		return ResendTerms{}, err
	}
	if l.cfg.Origins[k.Area] == "" {
		return ResendTerms{}, fmt.Errorf("no address of the %s area is configured", k.Area)
	}
	g, err := l.readUsable(ctx, key)
	return l.termsOf(g, k.Area), err
}

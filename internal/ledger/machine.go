package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/diag"
)

// event is a transition of a record. The log shows its text.
type event string

const (
	evClaim    event = "claimed"
	evReclaim  event = "claimed again"
	evTakeOver event = "taken over" // claimed after its run died
	evPost     event = "posted"
	evReject   event = "rejected"
	evRelease  event = "released"
	evLeave    event = "left open" // the run ended without an outcome; a later one may continue
	evUnknown  event = "made unknown"
	evSettle   event = "resolved by a person"
	evAdopt    event = "adopted"
	evForget   event = "forgotten"

	// The record of a deleted object stays posted, because the request was executed.
	evDelete     event = "being deleted"
	evDeleted    event = "deleted"
	evNotDeleted event = "not deleted"

	evBegin   event = "begun"
	evConfirm event = "applied"
	evDrop    event = "taken back"
)

type transition struct {
	from []RequestState
	to   RequestState
}

// transitions has the states in which an event may happen, and the state after an outcome. State "" means absent,
// released, or of a kind that converges.
var transitions = sync.OnceValue(func() map[event]transition {
	return map[event]transition{
		evClaim:      {from: []RequestState{"", Rejected}},
		evReclaim:    {from: []RequestState{Posted, Adopted}},
		evTakeOver:   {from: []RequestState{Claimed}},
		evPost:       {from: []RequestState{Claimed, Unknown}, to: Posted},
		evReject:     {from: []RequestState{Claimed}, to: Rejected},
		evRelease:    {from: []RequestState{Claimed}},
		evLeave:      {from: []RequestState{Claimed}, to: Claimed},
		evUnknown:    {from: []RequestState{Claimed}, to: Unknown},
		evSettle:     {from: []RequestState{Claimed, Unknown}},
		evAdopt:      {from: []RequestState{"", Rejected, Unknown}},
		evForget:     {from: []RequestState{"", Rejected, Posted, Adopted, Abandoned}},
		evDelete:     {from: []RequestState{Posted}},
		evDeleted:    {from: []RequestState{Posted}, to: Posted},
		evNotDeleted: {from: []RequestState{Posted}},
	}
})

// ErrTaken means that a request can't be claimed: it was or may have been sent, or was abandoned. Nothing was written.
var ErrTaken = errors.New("not claimed")

// StateError means that the state of a record does not allow a change. Nothing was written.
type StateError struct {
	Record Record
	event  event
}

func (e *StateError) Error() string {
	message, _ := ExplainRecord(e.Record)
	return fmt.Sprintf("it can't be %s: %s", e.event, message)
}

func (r Record) checkState(e event) error {
	switch {
	case slices.Contains(transitions()[e].from, r.State):
		return nil
	case e == evClaim:
		return r.takenError()
	default:
		return &StateError{Record: r, event: e}
	}
}

func (r Record) takenError() error {
	message, _ := ExplainRecord(r)
	return fmt.Errorf("%w: %s", ErrTaken, message)
}

// Intent is what a run is about to send, and when.
type Intent struct {
	Spec   []byte    // canonical JSON
	Digest canon.Sum // of Spec, as plan computes it
	At     Instant
	Before *Listing // the live objects that look like the new one; nil means unknown
	// TakeOver claims a request of a run that died. It keeps its name and the time of its first claim.
	TakeOver bool
	Again    bool // claims an object that trueup made, that is gone, and that a person wants again
}

func (i Intent) claimEvent() event {
	switch {
	case i.TakeOver:
		return evTakeOver
	case i.Again:
		return evReclaim
	}
	return evClaim
}

// withClaim returns the record of a request that is about to be sent. A takeover keeps the time of the first claim: the
// platform may know the name since then.
func (r Record) withClaim(i Intent, c Claim) (Record, error) {
	if err := r.checkState(i.claimEvent()); err != nil {
		return r, err
	}
	first, at := i.At.Early.UTC(), i.At.Now.UTC()
	if i.TakeOver {
		if r.SpecDigest == nil || *r.SpecDigest != i.Digest {
			return r, fmt.Errorf("%s was claimed with another spec", r.Key)
		}
		first, i.Before = *r.FirstClaimAt, r.Before
	}
	if i.Again {
		// trueup made it before, even if this claim makes nothing.
		r.Applied = r.Spec
	}
	r.State, r.Spec, r.SpecDigest, r.Before = Claimed, i.Spec, &i.Digest, i.Before
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = &first, &at, nil
	r.EarlierUnknown, r.Left = i.TakeOver, false
	r.Claim, r.Outcome = &c, nil
	return r.withRemote("", "", ""), nil
}

// withOutcome returns the record of a request that got an outcome, or was never sent.
func (r Record) withOutcome(e event, o Outcome) (Record, error) {
	if err := r.checkState(e); err != nil {
		return r, err
	}
	if (e == evReject || e == evRelease) && r.EarlierUnknown {
		// An earlier send may have arrived, whatever the last answer says.
		return r, &StateError{Record: r, event: e}
	}
	r.Outcome = &o
	if e == evRelease {
		return r.withIntent(Record{}), nil
	}
	if e == evPost {
		r.RepostedFrom, r.Before = nil, nil
	}
	r.State, r.Left = transitions()[e].to, e == evLeave
	r.EarlierUnknown = r.EarlierUnknown || e == evLeave
	return r, nil
}

// withIntent returns the record with the intent of another one: an empty one releases it. The record stays, because seq
// counts on.
func (r Record) withIntent(of Record) Record {
	r.State, r.Spec, r.SpecDigest, r.Before = of.State, of.Spec, of.SpecDigest, of.Before
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = of.FirstClaimAt, of.ClaimedAt, of.AcceptedAt
	r.EarlierUnknown, r.Left = false, false
	return r
}

// hasSameFirstClaim reports whether both records have the same first claim.
func (r Record) hasSameFirstClaim(o Record) bool {
	return r.FirstClaimAt != nil && o.FirstClaimAt != nil && r.FirstClaimAt.Equal(*o.FirstClaimAt)
}

// Resolution is a person's answer about a request whose outcome is unknown.
type Resolution string

// The answers: it was executed; it was not, so send it; never send it.
const (
	ResolvePosted  Resolution = "posted"
	ResolveRepost  Resolution = "repost"
	ResolveAbandon Resolution = "abandon"
)

func (r Record) withAnswer(to Resolution, reason, by string) (Record, error) {
	if err := r.checkState(evSettle); err != nil {
		return r, err
	}
	if strings.TrimSpace(reason) == "" {
		return r, errors.New("a reason is required, and stays in the ledger")
	}
	last := r.Outcome
	r.Outcome = personOutcome(Operator, reason, by)
	if last != nil {
		r.Outcome.HTTP, r.Outcome.Message = last.HTTP, last.Message
	}
	switch to {
	case ResolvePosted:
		r.State = Posted
		// The claim is the best estimate of when it was accepted.
		r.AcceptedAt = r.ClaimedAt
	case ResolveRepost:
		from := cmp.Or(r.RepostedFrom, r.FirstClaimAt)
		r = r.withIntent(Record{})
		r.RepostedFrom = from
		r.Applied = nil // a person wants it made, whatever was made before
	case ResolveAbandon:
		r.State = Abandoned
	default:
		return r, fmt.Errorf("resolution %q is not one of posted, repost, abandon", to)
	}
	return r, nil
}

// QuoteMessage returns a text from outside as the message of an outcome.
func QuoteMessage(text string) diag.Quotation { return diag.QuoteAnswer(text, maxMessage) }

func personOutcome(how OutcomeStatus, reason, by string) *Outcome {
	return &Outcome{How: how, Reason: cutText(reason, maxMessage), By: by}
}

func (r Record) withAdoption(a Adoption) (Record, error) {
	if err := r.checkState(evAdopt); err != nil {
		return r, err
	}
	r.State, r.Spec, r.SpecDigest = Adopted, a.Spec, &a.Digest
	return r, nil
}

// withForgotten returns the record of an object that git no longer manages. A send-once object becomes abandoned, because a
// manifest that comes back must not make it again; of all others, nothing is left.
func (r Record) withForgotten(reason, by string) (Record, error) {
	if err := r.checkState(evForget); err != nil {
		return r, err
	}
	r.Applied, r.Owed, r.Altered, r.Pending, r.Live, r.NotConverged = nil, nil, nil, nil, nil, false
	r.Outcome = personOutcome(Forgotten, reason, by)
	if r.AppliedAt = nil; r.State == "" {
		return r.withRemote("", "", ""), nil
	}
	r.State = Abandoned
	return r, nil
}

// withPending adds a spec that is about to be sent, and what live has before that. Older pending specs stay: if the
// platform has them, trueup must remove their fields.
func (r Record) withPending(spec []byte, before *LiveBefore) (Record, error) {
	if _, err := canon.Decode(spec); err != nil {
		return r, fmt.Errorf("spec: %w", err)
	}
	rest := slices.DeleteFunc(slices.Clone(r.Pending), func(p CanonicalJSON) bool { return string(p) == string(spec) })
	r.Pending, r.Live = append(rest, spec), before
	return r, nil
}

// withApplied returns the record of an object whose spec is live.
func (r Record) withApplied(a AppliedSpec, by Claim) Record {
	if !bytes.Equal(r.Applied, a.Spec) {
		r.Altered = nil // git says something else now
	}
	for _, path := range a.Altered {
		if !slices.Contains(r.Altered, path) {
			r.Altered = append(slices.Clip(r.Altered), path)
		}
	}
	r.Applied, r.Owed, r.Pending, r.Live, r.NotConverged, r.Claim = a.Spec, a.Owed, nil, a.Live, !a.Converged, &by
	return r.withRemote(cmp.Or(a.RemoteName, r.RemoteName), cmp.Or(a.UID, r.UID), cmp.Or(a.CreationTimestamp, r.CreationTimestamp))
}

func (r Record) withRemote(name, uid, created string) Record {
	r.RemoteName, r.UID, r.CreationTimestamp = name, uid, created
	return r
}

const (
	maxSteps     = 50   // bounds a record's history
	maxSpecSteps = 8    // bounds that of objects that converge, which may change daily
	maxMessage   = 2000 // bounds a text from outside in a record, in bytes
	maxDetail    = 200  // bounds that in a step
)

func (r Record) withStep(s LogStep) Record {
	r.Seq, r.Nonce = s.Seq, s.Nonce
	if r.Owed == nil {
		r.OwedAt = nil
	}
	if s.Event == string(evConfirm) {
		if r.AppliedAt = &s.At; r.Owed != nil {
			r.OwedAt = &s.At
		}
	}
	most := maxSteps
	if r.State == "" && r.SpecDigest == nil && r.Applied != nil {
		most = maxSpecSteps
	}
	r.History = append(slices.Clone(r.History), s)
	r.History = r.History[max(0, len(r.History)-most):]
	return r
}

// isLaterThan reports whether the record is a later version of another one.
func (r Record) isLaterThan(earlier Record) bool {
	return slices.ContainsFunc(r.History, func(s LogStep) bool {
		return s.Seq == earlier.Seq && s.Nonce == earlier.Nonce
	})
}

// lacksSteps reports whether the record is later and keeps too few steps to compare. A folded record, which keeps the last
// one, is later than a request without a final outcome, or than an outcome of the same request.
func (r Record) lacksSteps(earlier Record) bool {
	later := len(r.History) > 0 && r.History[0].Seq > earlier.Seq
	return later && (!r.Folded || !earlier.isFinal() || r.isSameRequest(earlier))
}

// isSameRequest reports whether both records, whose outcomes are final, have the same first claim, or none, and spec.
func (r Record) isSameRequest(o Record) bool {
	sameClaim := r.hasSameFirstClaim(o) || r.FirstClaimAt == nil && o.FirstClaimAt == nil
	return sameClaim && *r.SpecDigest == *o.SpecDigest
}

func cutText(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
)

// event moves a record from state to state.
type event string

const (
	evClaim   event = "claimed"
	evReclaim event = "claimed again"
	// evTakeOver claims what a run that died had claimed.
	evTakeOver event = "taken over"
	evPost     event = "posted"
	evReject   event = "rejected"
	evRelease  event = "released"
	// evLeave ends a run that got no outcome; a later one may continue.
	evLeave  event = "left open"
	evDoubt  event = "made unknown"
	evSettle event = "resolved by a person"
	evAdopt  event = "adopted"

	// The record of a deleted object stays posted, because the object was made.
	evDelete     event = "being deleted"
	evDeleted    event = "deleted"
	evNotDeleted event = "not deleted"

	// The events of objects that converge.
	evBegin   event = "begun"
	evConfirm event = "applied"
	evDrop    event = "taken back"
)

// transitions has the states in which an event may happen, and the state after an
// outcome. State "" is a record that is absent, released, or of a kind that converges.
var transitions = sync.OnceValue(func() map[event]transition {
	claimed, posted := []State{Claimed}, []State{Posted}
	return map[event]transition{
		evClaim:    {from: []State{"", Rejected}},
		evReclaim:  {from: []State{Posted, Adopted}},
		evTakeOver: {from: claimed},
		evPost:     {from: []State{Claimed, Unknown}, to: Posted},
		evReject:   {from: claimed, to: Rejected},
		evRelease:  {from: claimed},
		evLeave:    {from: claimed, to: Claimed},
		evDoubt:    {from: claimed, to: Unknown},
		evSettle:   {from: []State{Claimed, Unknown}},
		evAdopt:    {from: []State{"", Rejected, Unknown}},
		evDelete:   {from: posted}, evDeleted: {from: posted, to: Posted}, evNotDeleted: {from: posted},
	}
})

type transition struct {
	from []State
	to   State
}

// ErrTaken matches every TakenError.
var ErrTaken = errors.New("taken")

// TakenError says that a request can't be claimed: it was sent, may have been sent, or was
// abandoned. Nothing was written.
type TakenError struct{ Record Record }

func (e *TakenError) Error() string {
	message, _ := Explain(e.Record)
	return "not claimed: " + message
}

// Is reports whether target is ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// StateError says that the state of a record does not allow a change. Nothing was written.
type StateError struct {
	Record Record
	event  event
}

func (e *StateError) Error() string {
	message, _ := Explain(e.Record)
	return fmt.Sprintf("it can't be %s: %s", e.event, message)
}

// in returns an error unless the state of the record allows the event.
func (r Record) in(e event) error {
	switch {
	case slices.Contains(transitions()[e].from, r.State):
		return nil
	case e == evClaim:
		return &TakenError{Record: r}
	default:
		return &StateError{Record: r, event: e}
	}
}

// Intent is what a run is about to send, and when.
type Intent struct {
	// Spec is canonical JSON, Digest its digest as plan computes it.
	Spec   []byte
	Digest canon.Sum
	At     Instant
	// Before has the live objects that look like the one to make; nil means unknown.
	Before *Listing
}

// claimed returns the record of a request that is about to be sent. A claim that is taken
// over keeps the time of the first one: the platform may know the name since then.
func (r Record) claimed(e event, i Intent, c Claim) (Record, error) {
	if err := r.in(e); err != nil {
		return r, err
	}
	first, at := i.At.Early.UTC(), i.At.Now.UTC()
	if e == evTakeOver {
		if r.SpecDigest == nil || *r.SpecDigest != i.Digest {
			return r, fmt.Errorf("%s was claimed with another spec", r.Key)
		}
		first, i.Before = *r.FirstClaimAt, r.Before
	}
	r.Before = i.Before
	if e == evReclaim {
		// It was made before, even if nothing is made under this claim.
		r.Applied = r.Spec
	}
	r.State = Claimed
	r.Spec, r.SpecDigest = i.Spec, &i.Digest
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = &first, &at, nil
	r.Uncertain, r.Left = e == evTakeOver, false
	r.Claim, r.Outcome = &c, nil
	return r.withRemote("", "", ""), nil
}

// ended returns the record of a request that was answered, or never sent.
func (r Record) ended(e event, o Outcome) (Record, error) {
	if err := r.in(e); err != nil {
		return r, err
	}
	if (e == evReject || e == evRelease) && r.Uncertain {
		// An earlier send may have arrived, whatever the last answer was.
		return r, &StateError{Record: r, event: e}
	}
	o.Message = clip(o.Message)
	r.Outcome = &o
	if e == evRelease {
		return r.released(), nil
	}
	if e == evPost {
		r.RepostedFrom, r.Before = nil, nil
	}
	r.State, r.Left = transitions()[e].to, e == evLeave
	r.Uncertain = r.Uncertain || e == evLeave
	return r, nil
}

// released removes the intent. The record stays, and its seq counts on.
func (r Record) released() Record {
	r.State = ""
	r.Spec, r.SpecDigest = nil, nil
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = nil, nil, nil
	r.Uncertain, r.Left, r.Before = false, false, nil
	return r
}

// reopened returns a released record with the intent that it had.
func (r Record) reopened(claimed Record) Record {
	r.State = Claimed
	r.Spec, r.SpecDigest = claimed.Spec, claimed.SpecDigest
	r.FirstClaimAt, r.ClaimedAt, r.Claim, r.Before = claimed.FirstClaimAt, claimed.ClaimedAt, claimed.Claim, claimed.Before
	return r
}

// sameIntent reports whether two records are of the same intent, even of other runs.
func (r Record) sameIntent(o Record) bool {
	return r.FirstClaimAt != nil && o.FirstClaimAt != nil && r.FirstClaimAt.Equal(*o.FirstClaimAt)
}

// Resolution is a person's answer about a request with unknown outcome.
type Resolution string

// The answers: it was executed; it was not, and the next run sends it; it no longer matters.
const (
	ResolvePosted  Resolution = "posted"
	ResolveRepost  Resolution = "repost"
	ResolveAbandon Resolution = "abandon"
)

// settled returns the record after a person's answer.
func (r Record) settled(to Resolution, reason, by string) (Record, error) {
	if err := r.in(evSettle); err != nil {
		return r, err
	}
	if strings.TrimSpace(reason) == "" {
		return r, errors.New("a reason is required, and stays in the ledger")
	}
	last := r.Outcome
	r.Outcome = &Outcome{How: Operator, Reason: clip(reason), By: by}
	if last != nil {
		r.Outcome.HTTP, r.Outcome.Message = last.HTTP, last.Message
	}
	switch to {
	case ResolvePosted:
		r.State = Posted
		// When it was accepted is not known; it was sent right after the claim.
		r.AcceptedAt = r.ClaimedAt
	case ResolveRepost:
		from := cmp.Or(r.RepostedFrom, r.FirstClaimAt)
		r = r.released()
		r.RepostedFrom = from
		r.Applied = nil // a person wants it made, whatever was made before
	case ResolveAbandon:
		r.State = Abandoned
	default:
		return r, fmt.Errorf("resolution %q is not one of posted, repost, abandon", to)
	}
	return r, nil
}

// adopted returns the record of a request that was executed elsewhere.
func (r Record) adopted(a Adoption) (Record, error) {
	if err := r.in(evAdopt); err != nil {
		return r, err
	}
	r.State = Adopted
	r.Spec, r.SpecDigest = a.Spec, &a.Digest
	r.Outcome = &Outcome{How: AdoptedByOperator, Reason: clip(a.Reason), By: a.By}
	return r.withRemote(a.RemoteName, a.UID, a.CreationTimestamp), nil
}

// begun returns the record of an object whose spec is about to be sent. Pending specs of
// earlier writes stay: the platform may have them, and then trueup must remove their fields.
func (r Record) begun(spec []byte) (Record, error) {
	if _, err := canon.Decode(spec); err != nil {
		return r, fmt.Errorf("spec: %w", err)
	}
	rest := slices.DeleteFunc(slices.Clone(r.Pending), func(p JSON) bool { return string(p) == string(spec) })
	r.Pending = append(rest, spec)
	return r, nil
}

// confirmed returns the record after a write of a converging object, or after live was
// found to be equal to git.
func (r Record) confirmed(a AppliedSpec) Record {
	r.Applied, r.Pending = a.Spec, nil
	r.NotConverged = !a.Converged
	return r.withRemote(cmp.Or(a.RemoteName, r.RemoteName), cmp.Or(a.UID, r.UID), cmp.Or(a.CreationTimestamp, r.CreationTimestamp))
}

func (r Record) withRemote(name, uid, created string) Record {
	r.RemoteName, r.UID, r.CreationTimestamp = name, uid, created
	return r
}

// The limits of a record's history. Objects that converge may be written daily.
const (
	maxSteps     = 50
	maxSpecSteps = 8
)

// moved returns the record with one more step.
func (r Record) moved(s Step) Record {
	r.Seq, r.Nonce = s.Seq, s.Nonce
	most := maxSteps
	if r.State == "" && r.SpecDigest == nil && r.Applied != nil {
		most = maxSpecSteps
	}
	r.History = append(slices.Clone(r.History), s)
	if n := len(r.History); n > most {
		r.History = r.History[n-most:]
	}
	return r
}

// follows reports whether the record is a later version of the other one.
func (r Record) follows(earlier Record) bool {
	return slices.ContainsFunc(r.History, func(s Step) bool {
		return s.Seq == earlier.Seq && s.Nonce == earlier.Nonce
	})
}

// The limits, in bytes, of texts from outside: in a record, and in a step of its history.
const (
	maxMessage = 2000
	maxDetail  = 200
)

func clip(s string) string { return cut(s, maxMessage) }

func cut(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

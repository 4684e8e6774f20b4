package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
)

// event is what moves a once-only request from state to state (design A3).
type event string

const (
	evClaim   event = "claimed"
	evReclaim event = "claimed again"
	evPost    event = "posted"
	evReject  event = "rejected"
	evRelease event = "released"
	evDoubt   event = "made unknown"
	evSettle  event = "settled by a person"
	evAdopt   event = "adopted"
)

// from returns the states in which the event may happen; "" is a record that is
// absent, released, or of a kind that converges.
func (e event) from() []State {
	switch e {
	case evClaim:
		return []State{"", Rejected}
	case evReclaim:
		return []State{Posted, Adopted}
	case evPost, evReject, evRelease, evDoubt:
		return []State{Claimed}
	case evSettle:
		return []State{Claimed, Unknown}
	case evAdopt:
		return []State{"", Rejected, Unknown}
	}
	return nil
}

// ErrTaken is what a TakenError is, for errors.Is.
var ErrTaken = errors.New("taken")

// TakenError says that a request may not be claimed: it was sent, may have been
// sent, or was given up. Nothing was written.
type TakenError struct{ Record Record }

func (e *TakenError) Error() string {
	message, _ := Explain(e.Record)
	return "not claimed: " + message
}

// Is makes the error an ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// StateError says that a record is in a state in which it can't be changed like
// that. Nothing was written.
type StateError struct {
	Record Record
	event  event
}

func (e *StateError) Error() string {
	state := string(e.Record.State)
	if state == "" {
		state = "not claimed"
	}
	return fmt.Sprintf("%s is %s and can't be %s", e.Record.Key, state, e.event)
}

// in returns an error unless the event may happen to the record.
func (r Record) in(e event) error {
	switch {
	case slices.Contains(e.from(), r.State):
		return nil
	case e == evClaim:
		return &TakenError{Record: r}
	default:
		return &StateError{Record: r, event: e}
	}
}

// intent is who is about to send what, and when.
type intent struct {
	spec   []byte
	digest canon.Sum
	claim  Claim
	at     time.Time
}

// claimed is the record of a request that is about to be sent.
func (r Record) claimed(e event, i intent) (Record, error) {
	if err := r.in(e); err != nil {
		return r, err
	}
	at := i.at.UTC()
	r.State = Claimed
	r.Spec, r.SpecDigest = i.spec, &i.digest
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = &at, &at, nil
	r.Claim, r.Outcome = &i.claim, nil
	return r.withRemote("", "", ""), nil
}

// ended is the record of a request that was answered, or never sent.
func (r Record) ended(e event, o Outcome) (Record, error) {
	if err := r.in(e); err != nil {
		return r, err
	}
	o.Message = clip(o.Message)
	r.Outcome = &o
	switch e {
	case evReject:
		r.State = Rejected
	case evDoubt:
		r.State = Unknown
	case evRelease:
		r = r.released()
	case evPost:
		r.State = Posted
	case evClaim, evReclaim, evSettle, evAdopt:
	}
	return r, nil
}

// released forgets the intent: as if it had never been (design 0.9). The
// record stays, and its seq counts on.
func (r Record) released() Record {
	r.State = ""
	r.Spec, r.SpecDigest = nil, nil
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = nil, nil, nil
	return r
}

// Resolution is a person's answer to the question what became of a request.
type Resolution string

// The answers: it was executed; it was not, and is to be sent by the next run;
// it does not matter any more.
const (
	ResolvePosted  Resolution = "posted"
	ResolveRepost  Resolution = "repost"
	ResolveAbandon Resolution = "abandon"
)

// settled is the record after a person's answer.
func (r Record) settled(to Resolution, reason, by string) (Record, error) {
	if err := r.in(evSettle); err != nil {
		return r, err
	}
	if strings.TrimSpace(reason) == "" {
		return r, errors.New("a reason is needed: it stays in the ledger")
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
		r = r.released()
	case ResolveAbandon:
		r.State = Abandoned
	default:
		return r, fmt.Errorf("resolution %q is not one of posted, repost, abandon", to)
	}
	return r, nil
}

// adopted is the record of a request that was executed elsewhere.
func (r Record) adopted(a Adoption) (Record, error) {
	if err := r.in(evAdopt); err != nil {
		return r, err
	}
	r.State = Adopted
	r.Spec, r.SpecDigest = a.Spec, &a.Digest
	r.Outcome = &Outcome{How: AdoptedByOperator, Reason: clip(a.Reason), By: a.By}
	return r.withRemote(a.RemoteName, a.UID, a.CreationTimestamp), nil
}

// begun is the record of a write to a converging object that is about to be
// sent (design 0.2). Another write may have been begun and never confirmed: what
// it may have put on the server is still ours to remove, so its fields stay.
func (r Record) begun(spec []byte) (Record, error) {
	if r.Pending == nil {
		r.Pending = spec
		return r, nil
	}
	before, err := canon.Decode(r.Pending)
	if err != nil {
		return r, fmt.Errorf("pending spec: %w", err)
	}
	now, err := canon.Decode(spec)
	if err != nil {
		return r, fmt.Errorf("spec: %w", err)
	}
	r.Pending = canon.Bytes(union(before, now))
	return r, nil
}

// union has the fields of both objects; elsewhere now stands.
func union(before, now any) any {
	b, ok := before.(map[string]any)
	if !ok {
		return now
	}
	n, ok := now.(map[string]any)
	if !ok {
		return now
	}
	out := make(map[string]any, len(b)+len(n))
	for k, v := range b {
		out[k] = v
	}
	for k, v := range n {
		out[k] = union(b[k], v)
	}
	return out
}

// confirmed is the record after a write of a converging object, or after it was
// found to be as git wants it. Whether the server kept what was sent is a flag
// of its own (design 0.2).
func (r Record) confirmed(a AppliedSpec) Record {
	r.Applied, r.Pending = a.Spec, nil
	r.NotConverged = !a.Converged
	return r.withRemote(cmp.Or(a.RemoteName, r.RemoteName), cmp.Or(a.UID, r.UID), cmp.Or(a.CreationTimestamp, r.CreationTimestamp))
}

func (r Record) withRemote(name, uid, created string) Record {
	r.RemoteName, r.UID, r.CreationTimestamp = name, uid, created
	return r
}

// maxMessage bounds, in bytes, the texts from outside that a record keeps.
const maxMessage = 2000

func clip(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage]
	}
	return strings.ToValidUTF8(s, "")
}

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
)

// event is what moves a once-only request from state to state (docs/design.md A3).
type event string

const (
	evClaim   event = "claimed"
	evReclaim event = "claimed again"
	// evTakeOver is a claim of what a run that is gone had claimed.
	evTakeOver event = "taken over"
	evPost     event = "posted"
	evReject   event = "rejected"
	evRelease  event = "released"
	// evLeave ends a run that got no outcome; a later one may go on.
	evLeave  event = "left open"
	evDoubt  event = "made unknown"
	evSettle event = "resolved by a person"
	evAdopt  event = "adopted"

	// The events of an object that was made and is deleted; the record stays
	// posted, for the object was made.
	evDelete  event = "being deleted"
	evDeleted event = "deleted"
	evSpare   event = "not deleted"

	// The events of objects that converge.
	evBegin   event = "begun"
	evConfirm event = "applied"
	evDrop    event = "taken back"
	evImport  event = "imported"
)

// from returns the states in which the event may happen; "" is a record that is
// absent, released, or of a kind that converges.
func (e event) from() []State {
	switch e {
	case evClaim:
		return []State{"", Rejected}
	case evReclaim:
		return []State{Posted, Adopted}
	case evDelete, evDeleted, evSpare:
		return []State{Posted}
	case evTakeOver, evReject, evRelease, evLeave, evDoubt:
		return []State{Claimed}
	case evPost, evSettle:
		return []State{Claimed, Unknown}
	case evAdopt:
		return []State{"", Rejected, Unknown}
	case evBegin, evConfirm, evDrop, evImport:
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
	message, _ := Explain(e.Record)
	return fmt.Sprintf("it can't be %s: %s", e.event, message)
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

// Intent is what a run is about to send, and when.
type Intent struct {
	// Spec is canonical JSON, Digest its digest as plan computes it.
	Spec   []byte
	Digest canon.Sum
	At     Instant
	// Before is what was live and looks like what is to be made; nil means that it is
	// not known.
	Before *Listing
}

// claimed is the record of a request that is about to be sent. A claim that is
// taken over keeps the time of the first one: the platform may know the name
// since then.
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
		// That it was made before outlives a claim under which nothing is made.
		r.Applied = r.Spec
	}
	r.State = Claimed
	r.Spec, r.SpecDigest = i.Spec, &i.Digest
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = &first, &at, nil
	r.Uncertain, r.Left = e == evTakeOver, false
	r.Claim, r.Outcome = &c, nil
	return r.withRemote("", "", ""), nil
}

// ended is the record of a request that was answered, or never sent.
func (r Record) ended(e event, o Outcome) (Record, error) {
	if err := r.in(e); err != nil {
		return r, err
	}
	if (e == evReject || e == evRelease) && r.Uncertain {
		// An earlier send may have arrived, whatever became of the last one.
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
	r.State, r.Left = e.to(), e == evLeave
	r.Uncertain = r.Uncertain || e == evLeave
	return r, nil
}

// to is the state in which an answer, or the lack of one, leaves a request.
func (e event) to() State {
	return map[event]State{evPost: Posted, evReject: Rejected, evDoubt: Unknown, evLeave: Claimed}[e]
}

// released forgets the intent: as if it had never been (docs/design.md 0.9). The
// record stays, and its seq counts on.
func (r Record) released() Record {
	r.State = ""
	r.Spec, r.SpecDigest = nil, nil
	r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = nil, nil, nil
	r.Uncertain, r.Left, r.Before = false, false, nil
	return r
}

// reopened is a released record with the intent that it had.
func (r Record) reopened(claimed Record) Record {
	r.State = Claimed
	r.Spec, r.SpecDigest = claimed.Spec, claimed.SpecDigest
	r.FirstClaimAt, r.ClaimedAt, r.Claim, r.Before = claimed.FirstClaimAt, claimed.ClaimedAt, claimed.Claim, claimed.Before
	return r
}

// sameIntent reports whether two records are of the same intent, whoever holds it.
func (r Record) sameIntent(o Record) bool {
	return r.FirstClaimAt != nil && o.FirstClaimAt != nil && r.FirstClaimAt.Equal(*o.FirstClaimAt)
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
// sent (docs/design.md 0.2). Other writes may have been begun and never confirmed: what
// they may have put on the server is still ours to remove, so they stay.
func (r Record) begun(spec []byte) (Record, error) {
	if _, err := canon.Decode(spec); err != nil {
		return r, fmt.Errorf("spec: %w", err)
	}
	rest := slices.DeleteFunc(slices.Clone(r.Pending), func(p JSON) bool { return string(p) == string(spec) })
	r.Pending = append(rest, spec)
	return r, nil
}

// confirmed is the record after a write of a converging object, or after it was
// found to be as git wants it. Whether the server kept what was sent is a flag
// of its own (docs/design.md 0.2).
func (r Record) confirmed(a AppliedSpec) Record {
	r.Applied, r.Pending = a.Spec, nil
	r.NotConverged = !a.Converged
	return r.withRemote(cmp.Or(a.RemoteName, r.RemoteName), cmp.Or(a.UID, r.UID), cmp.Or(a.CreationTimestamp, r.CreationTimestamp))
}

func (r Record) withRemote(name, uid, created string) Record {
	r.RemoteName, r.UID, r.CreationTimestamp = name, uid, created
	return r
}

// A record keeps its newest steps: of an object that converges, which may be
// written daily, fewer.
const (
	maxSteps     = 50
	maxSpecSteps = 8
)

// moved is the record after an event: the next seq, and one more step.
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

// follows reports whether the record is a later one of the same history.
func (r Record) follows(earlier Record) bool {
	return slices.ContainsFunc(r.History, func(s Step) bool {
		return s.Seq == earlier.Seq && s.Nonce == earlier.Nonce
	})
}

// maxMessage bounds, in bytes, the texts from outside that a record keeps,
// maxDetail what a step of its history keeps of them.
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

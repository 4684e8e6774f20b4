package ledger

import (
	"context"
	"fmt"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Made is a server's consent to a request that is sent once, and what it said
// of the object that was made.
type Made struct {
	HTTP int
	// AcceptedAt is the time of the answer; zero means now.
	AcceptedAt time.Time
	// RemoteName may differ from the name that was asked for (platform-api 1).
	RemoteName string
	UID        string
	// CreationTimestamp is the server's own text.
	CreationTimestamp string
}

// AppliedSpec is a spec that the server has taken, or that was live already.
type AppliedSpec struct {
	// Spec is canonical JSON.
	Spec []byte
	// Converged says that reading back showed what was sent.
	Converged bool
	// The server's facts, as in Made.
	RemoteName        string
	UID               string
	CreationTimestamp string
}

// Adoption is a person's word that an object, or a request, is what git says
// although no run of ours made it so.
type Adoption struct {
	// Spec is canonical JSON, Digest its digest as plan computes it.
	Spec   []byte
	Digest canon.Sum
	// Reason and By say why and who.
	Reason string
	By     string
	// The server's facts, as in Made.
	RemoteName        string
	UID               string
	CreationTimestamp string
}

// Claim records that a request is about to be sent, and returns once that is
// durable. It gives a *TakenError if the request was sent before, or may have
// been; ErrConflict if somebody else came first; and after any error the request
// must not be sent.
func (l *Ledger) Claim(ctx context.Context, key kind.Key, spec []byte, digest canon.Sum) error {
	return l.claim(ctx, evClaim, key, intent{spec: spec, digest: digest})
}

// ClaimAgain is Claim for an object that was made and is gone since, which a
// person wants made again (design 0.5). Requests that are sent once are refused,
// and so is a record that is not as View showed it: another run may have made
// the object again meanwhile.
func (l *Ledger) ClaimAgain(ctx context.Context, key kind.Key, spec []byte, digest canon.Sum) error {
	k, err := kindOf(key)
	if err != nil {
		return err
	}
	if k.Policy != kind.CreateOnly {
		return fmt.Errorf("claim %s: a %s is never sent again under the same name", key, k.Name)
	}
	return l.claim(ctx, evReclaim, key, intent{spec: spec, digest: digest})
}

func (l *Ledger) claim(ctx context.Context, e event, key kind.Key, i intent) error {
	if err := l.sendable(key); err != nil {
		return fmt.Errorf("claim %s: %w", key, err)
	}
	i.at, i.claim = l.cfg.Now(), l.cfg.Claim
	who := anyone
	if e == evReclaim {
		who = asSeen
	}
	return l.change(ctx, key, who, func(r Record) (Record, error) { return r.claimed(e, i) })
}

// Posted records that the server accepted the request that this run claimed.
func (l *Ledger) Posted(ctx context.Context, key kind.Key, m Made) error {
	if m.AcceptedAt.IsZero() {
		m.AcceptedAt = l.cfg.Now()
	}
	at := m.AcceptedAt.UTC()
	return l.change(ctx, key, holder, func(r Record) (Record, error) {
		r, err := r.ended(evPost, Outcome{How: Created, HTTP: m.HTTP})
		r.AcceptedAt = &at
		return r.withRemote(m.RemoteName, m.UID, m.CreationTimestamp), err
	})
}

// Rejected records that the server refused the request that this run claimed,
// and surely did nothing: a later run may send it.
func (l *Ledger) Rejected(ctx context.Context, key kind.Key, http int, message string) error {
	return l.end(ctx, key, evReject, Outcome{How: Refused, HTTP: http, Message: message})
}

// Release takes back this run's claim: provably nothing was written to the
// server (design 0.9).
func (l *Ledger) Release(ctx context.Context, key kind.Key, message string) error {
	return l.end(ctx, key, evRelease, Outcome{How: Released, Message: message})
}

// MarkUnknown records that it can't be known what became of the request that
// this run claimed: a person decides, and it is never sent again by itself
// (design 0.7).
func (l *Ledger) MarkUnknown(ctx context.Context, key kind.Key, message string) error {
	return l.end(ctx, key, evDoubt, Outcome{How: Unclear, Message: message})
}

func (l *Ledger) end(ctx context.Context, key kind.Key, e event, o Outcome) error {
	return l.change(ctx, key, holder, func(r Record) (Record, error) { return r.ended(e, o) })
}

// Pending records the spec that a POST or PATCH of a converging object is about
// to send (design 0.2). After an error it must not be sent.
func (l *Ledger) Pending(ctx context.Context, key kind.Key, spec []byte) error {
	if err := l.sendable(key); err != nil {
		return fmt.Errorf("record the spec of %s: %w", key, err)
	}
	return l.change(ctx, key, anyone, func(r Record) (Record, error) { return r.begun(spec) })
}

// Applied records the spec that the server has taken and ends Pending. Without a
// Pending of this run it records that live was as git wants it.
func (l *Ledger) Applied(ctx context.Context, key kind.Key, a AppliedSpec) error {
	return l.change(ctx, key, unchanged, func(r Record) (Record, error) { return r.confirmed(a), nil })
}

// DropPending takes back the Pending right before it: the server refused every
// write that was sent since, and surely did nothing. What was left unconfirmed
// earlier stays.
func (l *Ledger) DropPending(ctx context.Context, key kind.Key) error {
	l.mu.Lock()
	before := l.own[key].pending
	l.mu.Unlock()
	return l.change(ctx, key, holder, func(r Record) (Record, error) {
		r.Pending = before
		return r, nil
	})
}

// Resolve records a person's answer to the question what became of a request
// that is claimed or unknown; a reason is needed.
func (l *Ledger) Resolve(ctx context.Context, key kind.Key, to Resolution, reason, by string) error {
	return l.change(ctx, key, anyone, func(r Record) (Record, error) { return r.settled(to, reason, by) })
}

// Adopt records what was done without us. A request that is sent once is then
// never sent; the lists of an object that converges are then owned whole
// (design 0.1).
func (l *Ledger) Adopt(ctx context.Context, key kind.Key, a Adoption) error {
	k, err := kindOf(key)
	if err != nil {
		return err
	}
	return l.change(ctx, key, anyone, func(r Record) (Record, error) {
		if k.Policy != kind.Converge {
			return r.adopted(a)
		}
		r.Applied, r.NotConverged = a.Spec, false
		r.Outcome = &Outcome{How: AdoptedByOperator, Reason: clip(a.Reason), By: a.By}
		return r.withRemote(a.RemoteName, a.UID, a.CreationTimestamp), nil
	})
}

// sendable refuses to begin a write to an address that the ledger can't check.
func (l *Ledger) sendable(key kind.Key) error {
	k, err := kindOf(key)
	if err != nil {
		return err
	}
	if l.cfg.Origins[k.Area] == "" {
		return fmt.Errorf("no address of the %s area is configured", k.Area)
	}
	return nil
}

// right is whose record a change may start from.
type right int

const (
	// anyone may change a record in whatever state it is found.
	anyone right = iota
	// asSeen means that it must be as this run's View showed it.
	asSeen
	// unchanged means that a record that this run wrote must be as it left it.
	unchanged
	// holder means that this run must have written it last.
	holder
)

// change moves a record on by compare-and-swap and remembers how it was left.
func (l *Ledger) change(ctx context.Context, key kind.Key, who right, to func(Record) (Record, error)) error {
	if err := l.usable(ctx, []kind.Key{key}); err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	where := l.at(key)
	found, err := l.store.Read(ctx, []Key{where})
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	old, ok := found[where]
	if !ok {
		old = Record{Schema: Schema, Workspace: where.Workspace, Key: key}
	}
	if !l.entitled(key, who, old.Seq) {
		return fmt.Errorf("record %s: %w", key, ErrConflict)
	}
	rec, err := to(old)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	rec.Seq, rec.Nonce = old.Seq+1, l.cfg.NewID()
	if err := l.store.Put(ctx, old.Seq, rec); err != nil {
		return err
	}
	l.remember(key, old, rec)
	return nil
}

func (l *Ledger) entitled(key kind.Key, who right, seq int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, ours := l.own[key]
	switch who {
	case asSeen:
		was, looked := l.seen[key]
		return looked && was == seq
	case holder:
		return ours && left.seq == seq
	case unchanged:
		return !ours || left.seq == seq
	case anyone:
	}
	return true
}

func (l *Ledger) remember(key kind.Key, old, rec Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[key] = mark{seq: rec.Seq, pending: old.Pending}
}

package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"trueup/internal/kind"
)

// precondition limits the states of a record that a move may start from.
type precondition int

const (
	anyone precondition = iota // allows every state
	asSeen                     // requires that the record has not changed since ReadView
	// unchanged requires that the record has not changed since this run wrote or saw it, or has only the move's spec:
	// otherwise another run may be writing the object.
	unchanged
	holder     // requires that this run wrote the record last
	sameIntent // requires that this run claimed the request
)

type stateChange struct {
	event    event
	requires precondition
	by       string
	detail   string
	// spec is the live one, for unchanged.
	spec []byte
	to   func(Record) (Record, error)
	// Every retry has the same nonce and time.
	nonce string
	at    time.Time
}

const (
	writeTries      = 8                      // bounds the attempts of a write that other runs win
	racePause       = 20 * time.Millisecond  // the first pause after a lost race
	outcomePause    = 250 * time.Millisecond // the first pause after a failed write of an outcome
	longestPause    = 15 * time.Second       // bounds every pause
	outcomePatience = Lease                  // bounds its retries: then another run may take over
)

// changeRecord makes a move by compare-and-swap. After a conflict it retries if the move allows the new record.
func (l *Ledger) changeRecord(ctx context.Context, key kind.Key, m stateChange) error {
	_, err := l.changedRecord(ctx, key, m)
	return err
}

// changedRecord is changeRecord, and returns the record. With an error, it is the one whose write failed, if it got that far.
func (l *Ledger) changedRecord(ctx context.Context, key kind.Key, m stateChange) (Record, error) {
	m = l.withNonce(m)
	pause := racePause
	for try := 1; ; try++ {
		old, rec, err := l.nextRecord(ctx, key, m)
		if err != nil {
			l.forgetState() // the store's copy may be old
			old, rec, err = l.nextRecord(ctx, key, m)
		}
		if err != nil {
			rec, err = Record{}, fmt.Errorf("record %s: %w", key, err)
		} else if rec.Seq > old.Seq {
			err = l.putRecord(ctx, m.event, RecordChange{ExpectSeq: old.Seq, Rec: rec})
		}
		if err == nil {
			l.rememberWritten(old, rec)
			return rec, nil
		}
		if m.requires == asSeen || m.requires == holder || !errors.Is(err, ErrConflict) || try == writeTries {
			return rec, err
		}
		l.forgetState()
		_ = l.cfg.Sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, longestPause)
	}
}

func (l *Ledger) withNonce(m stateChange) stateChange {
	if m.nonce == "" {
		m.nonce, m.at = l.cfg.NewID(), l.cfg.Now().UTC()
	}
	return m
}

// nextRecord returns the stored record and the one after a move. Both are the same if an earlier attempt made the move and
// its answer was lost. But a claim that is not the last step any more is no longer ours.
func (l *Ledger) nextRecord(ctx context.Context, key kind.Key, m stateChange) (old, rec Record, err error) {
	found, err := l.readStored(ctx, key)
	old = found[key]
	claims := m.event == evClaim || m.event == evTakeOver || m.event == evReclaim
	if err != nil || old.Nonce == m.nonce || !claims && slices.ContainsFunc(old.History, func(s LogStep) bool { return s.Nonce == m.nonce }) {
		return old, old, err
	}
	rec, err = l.recordAfter(old, key, m)
	return old, rec, err
}

func (l *Ledger) readStored(ctx context.Context, keys ...kind.Key) (map[kind.Key]Record, error) {
	if _, err := l.readUsable(ctx, keys...); err != nil {
		return nil, err
	}
	return l.store.Read(ctx, keys)
}

// recordAfter returns the record after a move. If there is none yet, old is empty.
func (l *Ledger) recordAfter(old Record, key kind.Key, m stateChange) (rec Record, err error) {
	if old.Seq == 0 {
		old = Record{Workspace: l.cfg.Workspace.UUID, Key: key}
	}
	old.Schema = Schema
	if !l.mayMove(m, old) {
		return rec, ErrConflict
	}
	if rec, err = m.to(old); err == nil {
		rec = rec.withStep(l.newLogStep(old, m))
	}
	return rec, err
}

func (l *Ledger) newLogStep(old Record, m stateChange) LogStep {
	return LogStep{
		Seq: old.Seq + 1, Nonce: m.nonce, At: m.at, Event: string(m.event),
		By: cmp.Or(m.by, senderOf(&l.cfg.Claim)), Detail: cutText(m.detail, maxDetail),
	}
}

func (l *Ledger) mayMove(m stateChange, old Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, ours := l.own[old.Key]
	seen, looked := l.seen[old.Key]
	switch m.requires {
	case asSeen:
		return looked && seen == old.Seq
	case holder:
		return ours && left.seq == old.Seq
	case unchanged:
		if ours {
			seen, looked = left.seq, true
		}
		return !looked || seen == old.Seq || old.hasOnlySpec(m.spec)
	case sameIntent:
		return ours && left.rec != nil && left.rec.hasClaimOf(old)
	case anyone:
	}
	return true
}

// hasClaimOf reports whether a later record has the same claim, or was released since.
func (r Record) hasClaimOf(later Record) bool {
	return later.hasSameFirstClaim(r) || later.State == "" && later.isLaterThan(r)
}

// hasOnlySpec reports whether the platform can only have this spec: each pending one, or else the applied one, equals it.
func (r Record) hasOnlySpec(spec []byte) bool {
	if r.Pending == nil {
		return bytes.Equal(r.Applied, spec)
	}
	return !slices.ContainsFunc(r.Pending, func(p CanonicalJSON) bool { return !bytes.Equal(p, spec) })
}

// rememberWritten remembers a record that this run wrote.
func (l *Ledger) rememberWritten(old, rec Record) {
	l.seenCache().putRecord(rec)
	left := writtenRecord{seq: rec.Seq}
	if rec.Pending != nil || isSendOnce(rec.Key) {
		left.rec, left.pending = &rec, old.Pending
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[rec.Key] = left
	if l.order != nil && event(rec.lastStep().Event).precedesRequest() {
		l.order.recorded, l.order.provenAt = true, l.cfg.Now().Round(0)
	}
}

// lastWrite returns the record that this run wrote last.
func (l *Ledger) lastWrite(key kind.Key) (writtenRecord, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ours := l.own[key]
	return m, ours
}

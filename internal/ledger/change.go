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

// right says which state of a record a change may start from.
type right int

const (
	// anyone may change the record as it is found.
	anyone right = iota
	// asSeen means that the record must be as View returned it.
	asSeen
	// unchanged means that the record must be as this run wrote or saw it, unless it has only the same spec:
	// else another run may be writing the object.
	unchanged
	// holder means that this run must have written it last.
	holder
	// sameIntent means that this run must have claimed the request.
	sameIntent
)

// move is a transition of a record.
type move struct {
	event  event
	who    right
	by     string
	detail string
	// spec is that of the live object, for unchanged.
	spec []byte
	// to returns the record after the transition.
	to func(Record) (Record, error)
	// nonce and at are those of the step, the same for each try.
	nonce string
	at    time.Time
}

const (
	// writeTries bounds how often a write is tried that another run was faster than.
	writeTries = 8
	// racePause is the first pause after a lost race, and outcomePause that after a failed write of an outcome;
	// longestPause bounds both.
	racePause    = 20 * time.Millisecond
	outcomePause = 250 * time.Millisecond
	longestPause = 15 * time.Second
	// outcomePatience bounds how long the write of an outcome is tried: then another run may take over the
	// request anyway.
	outcomePatience = Lease
)

// change makes a transition by compare-and-swap. After a conflict it tries again if the transition may start
// from the new record.
func (l *Ledger) change(ctx context.Context, key kind.Key, m move) (Record, error) {
	m = l.numbered(m)
	pause := racePause
	for try := 1; ; try++ {
		rec, err := l.changeOnce(ctx, key, m)
		if m.who == asSeen || m.who == holder || !errors.Is(err, ErrConflict) || try == writeTries {
			return rec, err
		}
		l.refresh()
		_ = l.cfg.Sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, longestPause)
	}
}

// numbered returns the move with a nonce and a time.
func (l *Ledger) numbered(m move) move {
	if m.nonce == "" {
		m.nonce, m.at = l.cfg.NewID(), l.cfg.Now().UTC()
	}
	return m
}

// changeOnce tries once. A record beside an error is one whose write failed.
func (l *Ledger) changeOnce(ctx context.Context, key kind.Key, m move) (Record, error) {
	if _, err := l.usable(ctx, key); err != nil {
		return Record{}, fmt.Errorf("record %s: %w", key, err)
	}
	old, rec, err := l.next(ctx, key, m)
	if err != nil {
		// The store's copy may be old.
		l.refresh()
		old, rec, err = l.next(ctx, key, m)
	}
	if err != nil {
		return Record{}, err
	}
	if rec.Seq > old.Seq {
		if err := l.store.Put(ctx, old.Seq, rec); err != nil {
			return rec, err
		}
	}
	l.written(old, rec)
	return rec, nil
}

// next reads a record, and returns it and the one after a move: the same one if an earlier try made the move,
// and its answer was lost.
func (l *Ledger) next(ctx context.Context, key kind.Key, m move) (old, rec Record, err error) {
	found, err := l.store.Read(ctx, []kind.Key{key})
	if err != nil {
		return old, rec, fmt.Errorf("record %s: %w", key, err)
	}
	old = found[key]
	if slices.ContainsFunc(old.History, func(s Step) bool { return s.Nonce == m.nonce }) {
		return old, old, nil
	}
	return l.after(old, key, m)
}

// after returns the record of a key, which old is or which is new, and the one after a move.
func (l *Ledger) after(old Record, key kind.Key, m move) (was, rec Record, err error) {
	if old.Seq == 0 {
		old = Record{Schema: Schema, Workspace: l.cfg.Workspace.UUID, Key: key}
	}
	if !l.entitled(m, old) {
		return old, rec, fmt.Errorf("record %s: %w", key, ErrConflict)
	}
	if rec, err = m.to(old); err != nil {
		return old, rec, fmt.Errorf("record %s: %w", key, err)
	}
	return old, rec.moved(l.step(old, m)), nil
}

func (l *Ledger) step(old Record, m move) Step {
	return Step{
		Seq: old.Seq + 1, Nonce: m.nonce, At: m.at, Event: string(m.event),
		By: cmp.Or(m.by, sender(&l.cfg.Claim)), Detail: cut(m.detail, maxDetail),
	}
}

// entitled reports whether a move may start from a record.
func (l *Ledger) entitled(m move, old Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, ours := l.own[old.Key]
	seen, looked := l.seen[old.Key]
	switch m.who {
	case asSeen:
		return looked && seen == old.Seq
	case holder:
		return ours && left.rec.Seq == old.Seq
	case unchanged:
		if ours {
			seen, looked = left.rec.Seq, true
		}
		return !looked || seen == old.Seq || old.hasOnly(m.spec)
	case sameIntent:
		return ours && left.rec.claims(old)
	case anyone:
	}
	return true
}

// claims reports whether a later record is of the same request, perhaps released since.
func (r Record) claims(later Record) bool {
	return later.sameIntent(r) || later.State == "" && later.follows(r)
}

// hasOnly reports whether every pending spec, or else the applied one, is the given one.
func (r Record) hasOnly(spec []byte) bool {
	if r.Pending == nil {
		return bytes.Equal(r.Applied, spec)
	}
	return !slices.ContainsFunc(r.Pending, func(p JSON) bool { return !bytes.Equal(p, spec) })
}

// written remembers how this run left a record.
func (l *Ledger) written(old, rec Record) {
	l.seenCache().put(rec)
	left := mark{rec: rec, pending: old.Pending}
	if rec.Pending == nil && !sentOnce(rec.Key) {
		// Nobody reads the rest, and there may be many.
		left = mark{rec: Record{Key: rec.Key, Seq: rec.Seq}}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[rec.Key] = left
}

// left returns how this run left a record.
func (l *Ledger) left(key kind.Key) (m mark, ours bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ours = l.own[key]
	return m, ours
}

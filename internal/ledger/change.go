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
	// unchanged means that the record must be as this run wrote or saw it, unless it has
	// only the same spec: else another run may be writing the object.
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
	// nonce and at are those of the step, the same for each try.
	nonce string
	at    time.Time
}

const (
	// writeTries bounds how often a write is tried that another run was faster than.
	writeTries = 8
	// racePause is the first pause after a lost race, and outcomePause that after a
	// failed write of an outcome; longestPause bounds both.
	racePause    = 20 * time.Millisecond
	outcomePause = 250 * time.Millisecond
	longestPause = 15 * time.Second
	// outcomePatience bounds how long the write of an outcome is tried: then another run
	// may take over the request anyway.
	outcomePatience = Lease
)

// change makes a transition by compare-and-swap. After a conflict it tries again if the
// transition may start from the new record.
func (l *Ledger) change(ctx context.Context, key kind.Key, m move, to func(Record) (Record, error)) (Record, error) {
	m = l.numbered(m)
	pause := racePause
	for try := 1; ; try++ {
		rec, err := l.changeOnce(ctx, key, m, to)
		again := m.who != asSeen && m.who != holder
		if !again || !errors.Is(err, ErrConflict) || try == writeTries {
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
func (l *Ledger) changeOnce(ctx context.Context, key kind.Key, m move, to func(Record) (Record, error)) (Record, error) {
	if _, err := l.usable(ctx, []kind.Key{key}); err != nil {
		return Record{}, fmt.Errorf("record %s: %w", key, err)
	}
	where := l.at(key)
	old, rec, err := l.nextOf(ctx, where, m, to)
	if err != nil {
		// The store's copy may be old.
		l.refresh()
		old, rec, err = l.nextOf(ctx, where, m, to)
	}
	if err != nil {
		return Record{}, err
	}
	if old.passed(m.nonce) {
		// An earlier try succeeded, and its answer was lost.
		l.written(old, old)
		return old, nil
	}
	if err := l.store.Put(ctx, old.Seq, rec); err != nil {
		return rec, err
	}
	l.written(old, rec)
	return rec, nil
}

// nextOf reads the record and returns it and its successor, or the record twice if the move
// was made already.
func (l *Ledger) nextOf(ctx context.Context, where Key, m move, to func(Record) (Record, error)) (old, rec Record, err error) {
	found, err := l.store.Read(ctx, []Key{where})
	if err != nil {
		return old, rec, fmt.Errorf("record %s: %w", where.Key, err)
	}
	if have := found[where]; have.passed(m.nonce) {
		return have, have, nil
	}
	return l.next(found, where, m, to)
}

// passed reports whether the history has the step of a nonce.
func (r Record) passed(nonce string) bool {
	return slices.ContainsFunc(r.History, func(s Step) bool { return s.Nonce == nonce })
}

// next returns a record as it was found, and as it is after a move.
func (l *Ledger) next(found map[Key]Record, where Key, m move, to func(Record) (Record, error)) (old, rec Record, err error) {
	old, ok := found[where]
	if !ok {
		old = Record{Schema: Schema, Workspace: where.Workspace, Key: where.Key}
	}
	if !l.entitled(m, old) {
		return old, rec, fmt.Errorf("record %s: %w", where.Key, ErrConflict)
	}
	if rec, err = to(old); err != nil {
		return old, rec, fmt.Errorf("record %s: %w", where.Key, err)
	}
	return old, rec.moved(l.step(old, m)), nil
}

func (l *Ledger) written(old, rec Record) {
	l.seenRecords().put(rec)
	l.remember(old, rec)
}

func (l *Ledger) step(old Record, m move) Step {
	return Step{
		Seq: old.Seq + 1, Nonce: m.nonce, At: m.at, Event: string(m.event),
		By: cmp.Or(m.by, sender(&l.cfg.Claim)), Detail: cut(m.detail, maxDetail),
	}
}

func (l *Ledger) entitled(m move, old Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, ours := l.own[old.Key]
	switch m.who {
	case asSeen:
		was, looked := l.seen[old.Key]
		return looked && was == old.Seq
	case holder:
		return ours && left.rec.Seq == old.Seq
	case unchanged:
		return l.asLeft(old) || old.hasOnly(m.spec)
	case sameIntent:
		return ours && (old.sameIntent(left.rec) || old.State == "" && old.follows(left.rec))
	case anyone:
	}
	return true
}

// asLeft reports whether a record is as this run wrote it, or else saw it. The caller holds
// the lock.
func (l *Ledger) asLeft(rec Record) bool {
	if left, ours := l.own[rec.Key]; ours {
		return left.rec.Seq == rec.Seq
	}
	was, known := l.seen[rec.Key]
	return !known || was == rec.Seq
}

// hasOnly reports whether every pending spec, or else the applied one, is the given one.
func (r Record) hasOnly(spec []byte) bool {
	if r.Pending == nil {
		return bytes.Equal(r.Applied, spec)
	}
	return !slices.ContainsFunc(r.Pending, func(p JSON) bool { return !bytes.Equal(p, spec) })
}

func (l *Ledger) remember(old, rec Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := mark{rec: rec, pending: old.Pending}
	if rec.Pending == nil && !singular(rec.Key) {
		// Nobody reads the rest, and there may be many.
		left = mark{rec: Record{Key: rec.Key, Seq: rec.Seq}}
	}
	l.own[rec.Key] = left
}

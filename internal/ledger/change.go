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

// right is whose record a change may start from.
type right int

const (
	// anyone may change a record in whatever state it is found.
	anyone right = iota
	// asSeen means that it must be as this run's View showed it.
	asSeen
	// unchanged means that a record that this run wrote, or at least looked at,
	// must be as it left or saw it: another one may be writing the object now. One
	// that writes the same spec does not matter.
	unchanged
	// holder means that this run must have written it last.
	holder
	// sameIntent means that the intent must be one that this run claimed.
	sameIntent
)

// move is what happens to a record, and who may make it happen.
type move struct {
	event  event
	who    right
	by     string
	detail string
	// spec is what the object was seen to be, for unchanged.
	spec []byte
	// nonce and at are those of the step, however often its write is tried.
	nonce string
	at    time.Time
}

const (
	// writeTries bounds how often a write that lost a race is tried again, where
	// what changed meanwhile may not matter.
	writeTries = 8
	// racePause is the first pause after a lost race, and outcomePause that after a
	// failed write of an outcome; longestPause bounds both.
	racePause    = 20 * time.Millisecond
	outcomePause = 250 * time.Millisecond
	longestPause = 15 * time.Second
	// outcomePatience bounds how long an outcome is tried to be written: after that
	// another run may take up the request anyway.
	outcomePatience = Lease
)

// change moves a record on by compare-and-swap and remembers how it was left. A
// lost race is tried again where the new record may be moved on as well.
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

// numbered returns the move with the nonce and time of its step.
func (l *Ledger) numbered(m move) move {
	if m.nonce == "" {
		m.nonce, m.at = l.cfg.NewID(), l.cfg.Now().UTC()
	}
	return m
}

// changeOnce is one try. The record beside an error is one whose write failed.
func (l *Ledger) changeOnce(ctx context.Context, key kind.Key, m move, to func(Record) (Record, error)) (Record, error) {
	if _, err := l.usable(ctx, []kind.Key{key}); err != nil {
		return Record{}, fmt.Errorf("record %s: %w", key, err)
	}
	where := l.at(key)
	old, rec, err := l.nextOf(ctx, where, m, to)
	if err != nil {
		// What the store kept may be no longer so.
		l.refresh()
		old, rec, err = l.nextOf(ctx, where, m, to)
	}
	if err != nil {
		return Record{}, err
	}
	if old.passed(m.nonce) {
		// An earlier try was written, although its answer was lost.
		l.written(old, old)
		return old, nil
	}
	if err := l.store.Put(ctx, old.Seq, rec); err != nil {
		return rec, err
	}
	l.written(old, rec)
	return rec, nil
}

// nextOf is next of the record as the store has it, or that one twice where the move was
// made already.
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

// passed reports whether the record has gone through the step of a nonce.
func (r Record) passed(nonce string) bool {
	return slices.ContainsFunc(r.History, func(s Step) bool { return s.Nonce == nonce })
}

// next is a record as it was found, and as it is after a move.
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
		return l.asLeft(old) || old.speaksOnlyOf(m.spec)
	case sameIntent:
		return ours && (old.sameIntent(left.rec) || old.State == "" && old.follows(left.rec))
	case anyone:
	}
	return true
}

// asLeft reports whether a record is as this run left it, or else saw it. The lock is
// held.
func (l *Ledger) asLeft(rec Record) bool {
	was, known := l.last(rec.Key)
	return !known || was == rec.Seq
}

// speaksOnlyOf reports whether every spec that the record has as begun, or else the
// applied one, is the given one.
func (r Record) speaksOnlyOf(spec []byte) bool {
	if r.Pending == nil {
		return bytes.Equal(r.Applied, spec)
	}
	return !slices.ContainsFunc(r.Pending, func(p JSON) bool { return !bytes.Equal(p, spec) })
}

// last is the seq at which this run wrote a record, or else saw it. The lock is
// held.
func (l *Ledger) last(key kind.Key) (seq int, known bool) {
	if left, ours := l.own[key]; ours {
		return left.rec.Seq, true
	}
	seq, known = l.seen[key]
	return seq, known
}

func (l *Ledger) remember(old, rec Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := mark{rec: rec, pending: old.Pending}
	if rec.Pending == nil && !singular(rec.Key) {
		// Nothing more is asked of it, and there may be many.
		left = mark{rec: Record{Key: rec.Key, Seq: rec.Seq}}
	}
	l.own[rec.Key] = left
}

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Made is a server's consent to a request that is sent once, and what it said
// of the object that was made.
type Made struct {
	// How is Created where it is empty.
	How  How
	HTTP int
	// AcceptedAt is the time of the answer; zero means now.
	AcceptedAt time.Time
	// RemoteName may differ from the name that was asked for (docs/platform.md 1).
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

func (a AppliedSpec) move() move { return move{event: evConfirm, who: unchanged, spec: a.Spec} }

func (a AppliedSpec) confirm(r Record) (Record, error) { return r.confirmed(a), nil }

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

// Hold is a run's right to send a request, by its claim.
type Hold struct {
	// First is the time of the intent's first claim, Claimed that of this one.
	First, Claimed time.Time
	// Late is the later clock at that moment.
	Late time.Time
	// Uncertain says that an earlier send of the intent may have arrived.
	Uncertain bool
	// Reposted is the first claim of an earlier intent that a person had sent again,
	// which may be zero; nil where there is none.
	Reposted *time.Time
	Terms    Terms
}

// MaySend is to be asked right before every send. Besides the one rule, a claim
// lasts as long as its lease: from then on others may take it over, or a person
// may have said that the request is to be sent anew, and who was stopped
// meanwhile knows of neither. Both clocks must say so: one may stand still, where
// a cache answers, and the other may be set.
func (h Hold) MaySend(now Instant) bool {
	held := max(now.Now.Sub(h.Claimed), now.Late.Sub(h.Late))
	return h.Terms.MaySend(h.First, now) && held < Lease
}

// Claim records that a request is about to be sent, and returns once that is
// durable. It gives a *TakenError if the request was sent before, or may have
// been; ErrConflict if somebody else came first; and after any error the request
// must not be sent.
func (l *Ledger) Claim(ctx context.Context, key kind.Key, i Intent) (Hold, error) {
	return l.claim(ctx, evClaim, key, i)
}

// ClaimAgain is Claim for an object that was made and is gone since, which a
// person wants made again (docs/design.md 0.5). Requests that are sent once are refused,
// and so is a record that is not as View showed it: another run may have made
// the object again meanwhile.
func (l *Ledger) ClaimAgain(ctx context.Context, key kind.Key, i Intent) (Hold, error) {
	k, err := kindOf(key)
	if err != nil {
		return Hold{}, err
	}
	if !k.CreateOnly() {
		return Hold{}, fmt.Errorf("claim %s: trueup never sends a %s again under the same name", key, k.Name)
	}
	return l.claim(ctx, evReclaim, key, i)
}

// TakeOver is Claim for a request that a run which is gone had claimed: it is
// sent again under its name, and the time of its first claim stays (docs/design.md A3).
// It gives a *TakenError where that is not, or not yet, or no longer safe.
func (l *Ledger) TakeOver(ctx context.Context, key kind.Key, i Intent) (Hold, error) {
	return l.claim(ctx, evTakeOver, key, i)
}

func (l *Ledger) claim(ctx context.Context, e event, key kind.Key, i Intent) (Hold, error) {
	terms, err := l.sendable(ctx, key)
	if err != nil {
		return Hold{}, fmt.Errorf("claim %s: %w", key, err)
	}
	who := anyone
	if e == evReclaim {
		who = asSeen
	}
	rec, err := l.change(ctx, key, move{event: e, who: who}, func(r Record) (Record, error) {
		if e == evTakeOver && r.Standing(i.At, terms) != Resendable {
			return r, &TakenError{Record: r}
		}
		return r.claimed(e, i, l.cfg.Claim)
	})
	if err != nil {
		l.takeBack(ctx, rec)
		return Hold{}, err
	}
	return Hold{
		First: *rec.FirstClaimAt, Claimed: *rec.ClaimedAt, Late: i.At.Late, Uncertain: rec.Uncertain,
		Reposted: rec.RepostedFrom, Terms: terms,
	}, nil
}

// takeBack ends a claim whose write failed and was done all the same: nothing is
// sent for it. What can't be taken back is asked about later.
func (l *Ledger) takeBack(ctx context.Context, rec Record) {
	if rec.Nonce == "" {
		return
	}
	where := l.at(rec.Key)
	if found, err := l.store.Read(ctx, []Key{where}); err != nil || found[where].Nonce != rec.Nonce {
		return
	}
	l.remember(rec, rec)
	const why = "the write of its claim failed, and nothing was sent"
	if rec.Uncertain {
		_ = l.Leave(ctx, rec.Key, why)
	} else {
		_ = l.Release(ctx, rec.Key, why)
	}
}

// Posted records that the request of an intent was executed. It may do so also
// where another run has taken the intent over, or called it unknown meanwhile:
// that it was executed is certain. Where that is recorded already, it stays so.
func (l *Ledger) Posted(ctx context.Context, key kind.Key, m Made) error {
	err := l.posted(ctx, key, m, sameIntent)
	var state *StateError
	if errors.As(err, &state) && state.Record.State == Posted {
		return nil
	}
	return err
}

// Found records that the object of an open intent, whoever sent it, was found
// (docs/design.md 0.5).
func (l *Ledger) Found(ctx context.Context, key kind.Key, m Made) error {
	m.How = Found
	return l.posted(ctx, key, m, asSeen)
}

func (l *Ledger) posted(ctx context.Context, key kind.Key, m Made, who right) error {
	if m.AcceptedAt.IsZero() {
		m.AcceptedAt = l.cfg.Now()
	}
	at := m.AcceptedAt.UTC()
	o := Outcome{How: cmp.Or(m.How, Created), HTTP: m.HTTP}
	l.mu.Lock()
	claimed := l.own[key].rec
	l.mu.Unlock()
	return l.end(ctx, key, move{event: evPost, who: who, detail: string(o.How)}, func(r Record) (Record, error) {
		if r.State == "" && who == sameIntent {
			// Somebody said meanwhile that it had not been executed.
			r = r.reopened(claimed)
		}
		r, err := r.ended(evPost, o)
		r.AcceptedAt = &at
		return r.withRemote(m.RemoteName, m.UID, m.CreationTimestamp), err
	})
}

// Rejected records that the server refused the request that this run claimed,
// and surely did nothing: a later run may send it.
func (l *Ledger) Rejected(ctx context.Context, key kind.Key, http int, message string) error {
	return l.ended(ctx, key, evReject, Outcome{How: Refused, HTTP: http, Message: message})
}

// Release takes back this run's claim: provably nothing was written to the
// server (docs/design.md 0.9).
func (l *Ledger) Release(ctx context.Context, key kind.Key, message string) error {
	return l.ended(ctx, key, evRelease, Outcome{How: Released, Message: message})
}

// Leave ends this run's work on a request that may have arrived, and may be sent
// again by a later run inside the window.
func (l *Ledger) Leave(ctx context.Context, key kind.Key, message string) error {
	return l.ended(ctx, key, evLeave, Outcome{How: Unclear, Message: message})
}

// MarkUnknown records that it can't be known what became of the request that
// this run claimed: a person decides, and it is never sent again by itself
// (docs/design.md 0.7).
func (l *Ledger) MarkUnknown(ctx context.Context, key kind.Key, message string) error {
	return l.ended(ctx, key, evDoubt, Outcome{How: Unclear, Message: message})
}

// MarkTaken records that the name of the request that this run claimed belongs
// to somebody else's object: a person decides whether it is the same request
// (docs/design.md A3).
func (l *Ledger) MarkTaken(ctx context.Context, key kind.Key, message string) error {
	return l.ended(ctx, key, evDoubt, Outcome{How: NotOurs, Message: message})
}

// noOutcome is why a request is unknown whose run recorded none.
const noOutcome = "the run that claimed it recorded no outcome"

// GiveUp makes unknown what a run that is gone had claimed and what can't be
// sent again; it leaves a record alone that is not, or no longer, like that.
func (l *Ledger) GiveUp(ctx context.Context, key kind.Key, now Instant) error {
	terms, err := l.sendable(ctx, key)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	_, err = l.change(ctx, key, move{event: evDoubt, detail: noOutcome}, func(r Record) (Record, error) {
		if r.Standing(now, terms) != Lost {
			return r, &StateError{Record: r, event: evDoubt}
		}
		o := Outcome{How: Unclear, Message: noOutcome}
		if r.Left && r.Outcome != nil {
			o = *r.Outcome // why it got none
		}
		return r.ended(evDoubt, o)
	})
	var state *StateError
	if errors.As(err, &state) || errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func (l *Ledger) ended(ctx context.Context, key kind.Key, e event, o Outcome) error {
	return l.end(ctx, key, move{event: e, who: holder, detail: o.Message}, func(r Record) (Record, error) { return r.ended(e, o) })
}

// UnrecordedError says that the outcome of a request could not be stored; Record
// is what the ledger lacks, for ledger import.
type UnrecordedError struct {
	Record Record
	err    error
}

func (e *UnrecordedError) Error() string { return e.err.Error() }
func (e *UnrecordedError) Unwrap() error { return e.err }

// end stores the outcome of an intent of this run. What the store can't take for
// the moment is tried again until ctx ends or outcomePatience is over, because a lost
// outcome becomes a question. Where that fails, the record that could not be stored
// is in the error.
func (l *Ledger) end(ctx context.Context, key kind.Key, m move, to func(Record) (Record, error)) error {
	m = l.numbered(m)
	_, err := l.change(ctx, key, m, to)
	pause, began := outcomePause, l.cfg.Now()
	for waited := time.Duration(0); passing(err) && waited < outcomePatience && ctx.Err() == nil; waited = max(waited+pause, l.cfg.Now().Sub(began)) {
		if l.cfg.Delayed != nil {
			l.cfg.Delayed(key, err)
		}
		l.refresh()
		if l.cfg.Sleep(ctx, pause) != nil {
			break
		}
		_, err = l.change(ctx, key, m, to)
		pause = min(2*pause, longestPause)
	}
	l.mu.Lock()
	left, ours := l.own[key]
	l.mu.Unlock()
	if err == nil || !ours || errors.Is(err, ErrConflict) {
		return err
	}
	rec, terr := to(left.rec)
	if terr != nil {
		return err
	}
	return &UnrecordedError{Record: rec.moved(l.step(left.rec, m)), err: err}
}

// passing reports whether a write failed for a reason that may pass by itself.
func passing(err error) bool {
	var state *StateError
	return err != nil && !errors.Is(err, ErrConflict) && !errors.As(err, &state) && Problem(err) == nil
}

// Pending records the spec that a POST or PATCH of a converging object is about
// to send (docs/design.md 0.2). After an error it must not be sent.
func (l *Ledger) Pending(ctx context.Context, key kind.Key, spec []byte) error {
	if _, err := l.sendable(ctx, key); err != nil {
		return fmt.Errorf("record the spec of %s: %w", key, err)
	}
	_, err := l.change(ctx, key, move{event: evBegin}, func(r Record) (Record, error) { return r.begun(spec) })
	return err
}

// Applied records the spec that the server has taken and ends Pending. Without a
// Pending of this run it records that live was as git wants it.
func (l *Ledger) Applied(ctx context.Context, key kind.Key, a AppliedSpec) error {
	_, err := l.change(ctx, key, a.move(), a.confirm)
	return err
}

// Confirmed is an object that was live as git wants it.
type Confirmed struct {
	kind.Key
	AppliedSpec
}

// AppliedAll is Applied for many objects, together; the errors are in their order.
func (l *Ledger) AppliedAll(ctx context.Context, all []Confirmed) []error {
	errs := make([]error, len(all))
	keys := make([]kind.Key, len(all))
	for i, c := range all {
		keys[i] = c.Key
	}
	_, err := l.usable(ctx, keys)
	var found map[Key]Record
	if err == nil {
		found, err = l.store.Read(ctx, l.places(keys))
	}
	var changes []change
	var olds []Record
	var at []int
	for i, c := range all {
		if err != nil {
			errs[i] = fmt.Errorf("record %s: %w", c.Key, err)
			continue
		}
		old, rec, err := l.next(found, l.at(c.Key), l.numbered(c.move()), c.confirm)
		if err != nil {
			errs[i] = err
			continue
		}
		olds, changes, at = append(olds, old), append(changes, change{expectSeq: old.Seq, rec: rec}), append(at, i)
	}
	for n, err := range putAll(ctx, l.store, changes) {
		if errs[at[n]] = err; err == nil {
			l.written(olds[n], changes[n].rec)
		}
	}
	return errs
}

// DropPending takes back the Pending right before it: the server refused every
// write that was sent since, and surely did nothing. What was left unconfirmed
// earlier stays.
func (l *Ledger) DropPending(ctx context.Context, key kind.Key) error {
	l.mu.Lock()
	before := l.own[key].pending
	l.mu.Unlock()
	_, err := l.change(ctx, key, move{event: evDrop, who: holder}, func(r Record) (Record, error) {
		r.Pending = before
		return r, nil
	})
	return err
}

// Resolve records a person's answer to the question what became of a request
// that is claimed or unknown; a reason is needed. A claim that may be under way
// can't be answered by ResolveRepost: it would then be sent twice. A request whose
// record was lost can be answered by that as well.
func (l *Ledger) Resolve(ctx context.Context, key kind.Key, to Resolution, reason, by string) error {
	now := Observed(time.Time{}, l.cfg.Now())
	g, err := l.usable(ctx, []kind.Key{key})
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	_, err = l.change(ctx, key, move{event: evSettle, by: by, detail: string(to) + ": " + reason}, func(r Record) (Record, error) {
		if to == ResolveRepost && r.young(now) {
			return r, fmt.Errorf("%s%s claimed it and may still send it: wait until %s",
				sender(r.Claim), at(r.ClaimedAt), r.ClaimedAt.Add(Lease).UTC().Format(time.RFC3339))
		}
		if to == ResolveRepost && r.Seq == 0 && g.Finished.Had(key) {
			// When it was sent, if it was, is lost too.
			r.Outcome, r.RepostedFrom = &Outcome{How: Operator, Reason: clip(reason), By: by}, &time.Time{}
			return r, nil
		}
		return r.settled(to, reason, by)
	})
	return err
}

// Adopt records what was done without us. A request that is sent once is then
// never sent; the lists of an object that converges are then owned whole
// (docs/design.md 0.1).
func (l *Ledger) Adopt(ctx context.Context, key kind.Key, a Adoption) error {
	k, err := kindOf(key)
	if err != nil {
		return err
	}
	_, err = l.change(ctx, key, move{event: evAdopt, by: a.By, detail: a.Reason}, func(r Record) (Record, error) {
		if k.SentOnce() {
			return r.adopted(a)
		}
		r.Applied, r.NotConverged = a.Spec, false
		r.Outcome = &Outcome{How: AdoptedByOperator, Reason: clip(a.Reason), By: a.By}
		return r.withRemote(a.RemoteName, a.UID, a.CreationTimestamp), nil
	})
	return err
}

// sendable refuses to begin a write to an address that the ledger can't check,
// and returns the terms of the key's area.
func (l *Ledger) sendable(ctx context.Context, key kind.Key) (Terms, error) {
	k, err := kindOf(key)
	if err != nil {
		return Terms{}, err
	}
	if l.cfg.Origins[k.Area] == "" {
		return Terms{}, fmt.Errorf("no address of the %s area is configured", k.Area)
	}
	g, err := l.usable(ctx, []kind.Key{key})
	return l.terms(g, k.Area), err
}

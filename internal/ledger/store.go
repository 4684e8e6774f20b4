package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"trueup/internal/blob"
	"trueup/internal/kind"
)

// ErrConflict says that a record, or the genesis, is not at the seq that was
// expected: somebody else changed it meanwhile, and nothing was written.
var ErrConflict = errors.New("another run changed it meanwhile")

// ErrNoGenesis says that there is no ledger in the store. It is never treated
// as an empty one.
var ErrNoGenesis = errors.New("no ledger here")

// ErrStore says that a store is refused, whatever is in it: it is for something
// else, or somebody else could write there.
var ErrStore = blob.ErrStore

// Key is a record's place in a store (docs/design.md A2).
type Key struct {
	// Workspace is {workspace_uuid}.
	Workspace string
	kind.Key
}

// check refuses what can't be part of a path.
func (k Key) check() error {
	if !part().MatchString(k.Workspace) || !part().MatchString(k.Kind) {
		return fmt.Errorf("read record of %s: workspace %q or kind %q can't be part of a path", k.Key, k.Workspace, k.Kind)
	}
	return nil
}

// Store keeps one genesis and one record a key, each replaced as a whole by
// compare-and-swap on its Seq. Every call but WriteGenesis, Forget and Scratch gives
// ErrNoGenesis where there is no genesis. What can't be read or is damaged is an
// error that names it, never an absent record.
//
// A write is durable when it returns nil, and was not done when it returns
// ErrConflict. After any other error it may or may not have been done; a store
// that can tell by reading back the nonce does so itself.
type Store interface {
	// ReadGenesis returns the ledger's genesis.
	ReadGenesis(ctx context.Context) (Genesis, error)
	// WriteGenesis replaces the genesis of seq expectSeq; 0 creates it, and
	// only then may it make room for the store.
	WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error
	// Read returns the records of those keys that have one.
	Read(ctx context.Context, keys []Key) (map[Key]Record, error)
	// Put replaces the record of seq expectSeq by rec, whose seq is higher; 0 creates it.
	Put(ctx context.Context, expectSeq int, rec Record) error
	// Recent returns the keys of the workspace's records that were claimed or
	// accepted since then, and of all whose request is open; it may return others
	// too.
	Recent(ctx context.Context, workspace string, since time.Time) ([]Key, error)
	// All calls each for every record, in no particular order, and for what should be one
	// and is damaged with an error that names it. What each returns ends it.
	All(ctx context.Context, each func(Record, error) error) error
	// Forget makes the next call look for what others wrote: a store may keep what it
	// read until it meets a conflict.
	Forget()
	// Scratch names an empty store of the same make beside this one, for a proof. Each
	// call of open is another run that uses it; remove ends them and removes it.
	Scratch(name string) (open func() Store, remove func(context.Context) error)
}

// held gives the spec that somebody holds anyway for an object, or nil.
type held func(kind.Key) []byte

// share gives a record the specs that are held anyway, where its own are the
// same.
func (h held) share(rec *Record) {
	if h == nil {
		return
	}
	spec := h(rec.Key)
	for _, own := range []*JSON{&rec.Spec, &rec.Applied} {
		if bytes.Equal(*own, spec) && spec != nil {
			*own = spec
		}
	}
}

// putAll is Put for many, which some stores do at less cost together; the errors
// are in their order.
func putAll(ctx context.Context, s Store, changes []change) []error {
	if many, ok := s.(interface {
		putAll(ctx context.Context, changes []change) []error
	}); ok {
		return many.putAll(ctx, changes)
	}
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	for i, c := range changes {
		wg.Go(func() { errs[i] = recoverPanic(func() error { return s.Put(ctx, c.expectSeq, c.rec) }) })
	}
	wg.Wait()
	return errs
}

// proofWriters is how many writers race in a proof.
const proofWriters = 4

// prove shows on a scratch store that this one's compare-and-swap holds where
// it is: a create, creates that must be refused, a race with one winner, an
// update, and a stale update that must be refused. Stores that ignore such
// conditions exist, and on them a request could be sent twice.
func prove(ctx context.Context, s Store, newID func() string) (err error) {
	open, remove := s.Scratch(newID())
	defer func() {
		// What was made is removed even if the proof was interrupted.
		if rerr := remove(context.WithoutCancel(ctx)); rerr != nil {
			err = errors.Join(err, fmt.Errorf("remove the proof: %w", rerr))
		}
	}()
	if err := proveGenesis(ctx, open(), newID); err != nil {
		return fmt.Errorf("prove the ledger's store: %w", err)
	}
	if err := proveRecord(ctx, open, newID); err != nil {
		return fmt.Errorf("prove the ledger's store: %w", err)
	}
	return nil
}

func proveGenesis(ctx context.Context, s Store, newID func() string) error {
	g := Genesis{Schema: Schema, Seq: 1, LedgerID: newID(), Workspace: "proof"}
	if err := s.WriteGenesis(ctx, 0, g); err != nil {
		return err
	}
	return refused(s.WriteGenesis(ctx, 0, g), "a second creation of the genesis")
}

func proveRecord(ctx context.Context, open func() Store, newID func() string) error {
	at := func(seq int) Record {
		return Record{
			Schema: Schema, Workspace: "proof", Key: kind.Key{Kind: "proof", Name: "proof"},
			Seq: seq, Nonce: newID(),
		}
	}
	nonce, err := race(ctx, open, at)
	if err != nil {
		return err
	}
	s, key := open(), at(1).key()
	have, err := s.Read(ctx, []Key{key})
	if err != nil {
		return err
	}
	if have[key].Nonce != nonce {
		return fmt.Errorf("a record read back is not the one that was written")
	}
	if err := s.Put(ctx, 1, at(2)); err != nil {
		return err
	}
	if have, err = s.Read(ctx, []Key{key}); err != nil {
		return err
	}
	if have[key].Seq != 2 {
		return errors.New("a record read back is not the one that was written last")
	}
	if err := refused(s.Put(ctx, 1, at(2)), "a stale update"); err != nil {
		return err
	}
	return refused(s.Put(ctx, 0, at(1)), "a second creation")
}

// race lets runs that know that there is no record create it at once, and returns the
// nonce of the only one that may win.
func race(ctx context.Context, open func() Store, at func(int) Record) (string, error) {
	var wg sync.WaitGroup
	recs, errs, runs := make([]Record, proofWriters), make([]error, proofWriters), make([]Store, proofWriters)
	for i := range runs {
		recs[i], runs[i] = at(1), open()
		if _, err := runs[i].Read(ctx, []Key{recs[i].key()}); err != nil {
			return "", err
		}
	}
	for i, run := range runs {
		wg.Go(func() { errs[i] = run.Put(ctx, 0, recs[i]) })
	}
	wg.Wait()
	var winners []string
	for i, err := range errs {
		if err == nil {
			winners = append(winners, recs[i].Nonce)
		} else if !errors.Is(err, ErrConflict) {
			return "", err
		}
	}
	if len(winners) != 1 {
		return "", fmt.Errorf("%d writers at once created the same record %d times", proofWriters, len(winners))
	}
	return winners[0], nil
}

func refused(err error, what string) error {
	if err == nil {
		return fmt.Errorf("it accepted %s, which it must refuse: it is not safe for a ledger", what)
	}
	if !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/kind"
)

var (
	// ErrConflict says that a record, or the genesis, does not have the expected seq: another run changed it,
	// and nothing was written.
	ErrConflict = errors.New("another run changed it meanwhile")
	// ErrNoGenesis says that there is no ledger in the store, which is not the same as an empty one.
	ErrNoGenesis = errors.New("no ledger here")
	// ErrStore says that trueup refuses a store, whatever is in it: it is for something else, or others could
	// write there.
	ErrStore = blob.ErrStore
)

// Store has one genesis, and one record a key (docs/design.md A2), each replaced as a whole by compare-and-swap
// on its Seq. Every call but WriteGenesis, Forget and Prove returns ErrNoGenesis if there is no genesis. What
// can't be read or is damaged is an error that names it, never an absent record.
//
// A write is durable when it returns nil, and was not done when it returns ErrConflict. After any other error
// it may or may not have been done.
type Store interface {
	ReadGenesis(ctx context.Context) (Genesis, error)
	// WriteGenesis replaces the genesis of seq expectSeq; 0 creates it.
	WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error
	// Read returns the records of those keys that have one.
	Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error)
	// Put replaces the record of seq expectSeq by rec, whose seq is higher; 0 creates it.
	Put(ctx context.Context, expectSeq int, rec Record) error
	// Recent returns the keys of records that were claimed or accepted since then, and of all whose request is
	// open; it may return others too.
	Recent(ctx context.Context, since time.Time) ([]kind.Key, error)
	// All calls each for every record, in no particular order, and with an error for a damaged one. An error of
	// each ends it.
	All(ctx context.Context, each func(Record, error) error) error
	// Forget makes the next call look for what others wrote.
	Forget()
	// Prove returns an error unless compare-and-swap works there.
	Prove(ctx context.Context) error
}

// putAll calls Put for many records, in one write if the store can. The errors are in the same order.
func putAll(ctx context.Context, s Store, changes []change) []error {
	if log, ok := s.(*logStore); ok {
		return log.putAll(ctx, changes)
	}
	errs := make([]error, len(changes))
	for i, c := range changes {
		errs[i] = s.Put(ctx, c.expectSeq, c.rec)
	}
	return errs
}

const proofRuns, proofRounds = 3, 2

// Prove lets runs race to write the same genesis in a scratch folder: one must win, and all must see what it
// wrote. With a store that ignores conditions, a request could be sent twice.
func (s *logStore) Prove(ctx context.Context) (err error) {
	folder := path.Join("tmp", "proof-"+uuid.NewString())
	var runs []*logStore
	for range proofRuns {
		runs = append(runs, newLogStore(s.blobs.Below(folder), nil, s.moment))
	}
	defer func() {
		// An interruption does not keep it from removing the folder.
		err = errors.Join(err, runs[0].blobs.Clear(context.WithoutCancel(ctx)))
		for _, run := range runs {
			err = errors.Join(err, run.Close())
		}
		if err != nil {
			err = fmt.Errorf("prove the ledger's store: %w", err)
		}
	}()
	winner := ""
	for round := range proofRounds + 1 {
		for _, run := range runs {
			run.Forget()
			g, err := run.ReadGenesis(ctx)
			if err != nil && (round > 0 || !errors.Is(err, ErrNoGenesis)) {
				return err
			}
			if g.LedgerID != winner {
				return errors.New("it does not show what was written last: it is not safe for a ledger")
			}
		}
		if round < proofRounds {
			if winner, err = race(ctx, runs, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// race lets runs replace the genesis of seq at once, and returns the id that the winner wrote.
func race(ctx context.Context, runs []*logStore, seq int) (winner string, err error) {
	errs := make([]error, len(runs))
	id := func(run int) string { return fmt.Sprintf("round-%d-run-%d", seq, run) }
	var wg sync.WaitGroup
	for i, run := range runs {
		g := Genesis{Schema: Schema, Seq: seq + 1, LedgerID: id(i), Workspace: "proof"}
		wg.Go(func() { errs[i] = run.WriteGenesis(ctx, seq, g) })
	}
	wg.Wait()
	wins := 0
	for i, err := range errs {
		if err == nil {
			winner = id(i)
			wins++
		} else if !errors.Is(err, ErrConflict) {
			return "", err
		}
	}
	if wins != 1 {
		return "", fmt.Errorf("of %d writes that exclude each other, it accepted %d: it is not safe for a ledger", len(runs), wins)
	}
	return winner, nil
}

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
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// Errors that a Store returns.
var (
	ErrConflict  = errors.New("another run changed it meanwhile") // the record or genesis; nothing was written
	ErrNoGenesis = errors.New("no ledger here")                   // not even an empty one
	ErrStore     = blob.ErrStore                                  // it has another use, or others can write there
)

// RecordStore has one genesis, and one record a key (docs/design.md A2). Compare-and-swap on seq replaces each as a whole.
// Except for WriteGenesis, Invalidate and ProveConditions, calls return ErrNoGenesis without a genesis. Damage is an error, never an
// absent record. A write is durable when it returns nil; after an error other than ErrConflict it may have been done.
type RecordStore interface {
	ReadGenesis(ctx context.Context) (Genesis, error)
	// WriteGenesis replaces the genesis that has seq expectSeq; 0 creates it.
	WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error
	// Read returns the records that exist.
	Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error)
	// PutAll makes changes, at once if the store can, and returns one error for each.
	PutAll(ctx context.Context, changes []RecordChange) []error
	// RecentKeys returns at least the keys of requests that are open, or were claimed or accepted since.
	RecentKeys(ctx context.Context, since time.Time) ([]kind.Key, error)
	// EachRecord calls each for every record, in no order and until it returns an error, and with an error for a damaged one.
	EachRecord(ctx context.Context, each func(Record, error) error) error
	// Invalidate makes the next call look for new writes.
	Invalidate()
	// ProveConditions returns an error unless compare-and-swap works there.
	ProveConditions(ctx context.Context) error
}

// ProveConditions lets several runs write the same genesis in a scratch folder: one must win, and all must see its text. A store
// that ignores conditions could let trueup send a request twice.
func (s *logStore) ProveConditions(ctx context.Context) (err error) {
	folder := path.Join("tmp", "proof-"+uuid.NewString())
	runs := make([]*logStore, 3)
	for i := range runs {
		runs[i] = newLogStore(s.blobs.SubStore(folder), nil, s.batchDelay)
	}
	defer func() {
		// It removes the folder even after an interruption.
		err = errors.Join(err, runs[0].blobs.Clear(context.WithoutCancel(ctx)))
		for _, run := range runs {
			err = errors.Join(err, run.Close())
		}
		if err != nil {
			err = fmt.Errorf("prove the ledger's store: %w", err)
		}
	}()
	for seq := range 2 {
		if err := checkGenesisRace(ctx, runs, seq); err != nil {
			return err
		}
	}
	return nil
}

// checkGenesisRace lets all runs replace the genesis of seq, and then read it.
func checkGenesisRace(ctx context.Context, runs []*logStore, seq int) error {
	var winners []string
	var mu sync.Mutex
	err := diag.TryInParallel(ctx, atOnce, len(runs), func(_ context.Context, i int) error {
		g := Genesis{Schema: Schema, Seq: seq + 1, LedgerID: fmt.Sprintf("round-%d-run-%d", seq, i), Workspace: "proof"}
		err := runs[i].WriteGenesis(ctx, seq, g)
		if errors.Is(err, ErrConflict) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		winners = append(winners, g.LedgerID)
		return err
	})
	if err == nil && len(winners) != 1 {
		err = fmt.Errorf("it accepted %d of %d writes that conflict: it is not safe for a ledger", len(winners), len(runs))
	}
	for i := 0; i < len(runs) && err == nil; i++ {
		var g Genesis
		runs[i].Invalidate()
		if g, err = runs[i].ReadGenesis(ctx); err == nil && g.LedgerID != winners[0] {
			err = errors.New("it does not show what was written last: it is not safe for a ledger")
		}
	}
	return err
}

package apply_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// fullDisk stores claims, and no outcome.
type fullDisk struct{ ledger.RecordStore }

func (f fullDisk) PutAll(ctx context.Context, changes []ledger.RecordChange) []error {
	if len(changes) == 1 && changes[0].Rec.State == ledger.Posted {
		return []error{errors.New("no space left on device")}
	}
	return f.RecordStore.PutAll(ctx, changes)
}

// TestWhatTheLedgerLacksIsHandedOut: an outcome that can't be stored is an event,
// so that ledger import can take it.
func TestWhatTheLedgerLacksIsHandedOut(t *testing.T) {
	s := due(t)
	cfg := ledger.Config{
		Store: "file:ledger", Dir: t.TempDir(), Workspace: kind.Workspace{Name: "acme", UUID: "5a1d"},
		Origins: map[kind.Area]string{kind.Delivery: "https://delivery.example.com"}, Now: func() time.Time { return s.now },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	genesis, err := ledger.CreateLedger(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ID = genesis.LedgerID
	store, err := ledger.OpenStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Backend = fullDisk{store}
	l, err := ledger.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.journal = l
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "it was accepted (and the ledger could not record it", "no space left", "ledger import -")
	var rescued ledger.Record
	for _, e := range s.events {
		if e.Phase == apply.PhaseRescue {
			if err := json.Unmarshal([]byte(e.Message), &rescued); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rescued.Key != key(rel) || rescued.State != ledger.Posted || rescued.Seq != 2 || rescued.UID != "uid-rel" {
		t.Errorf("handed out %+v", rescued)
	}
}

package apply_test

import (
	"fmt"
	"testing"

	"trueup/internal/apply"
	"trueup/internal/ledger"
)

// TestWhatThereIsNoRoomForIsDeferred: nothing is sent or claimed for it, and it
// is sent when there is room.
func TestWhatThereIsNoRoomForIsDeferred(t *testing.T) {
	s := due(t)
	for i := range 100 {
		k, at := key(fmt.Sprintf("Purge/old-%d", i)), s.now
		s.records[k] = ledger.Record{Key: k, State: ledger.Posted, AcceptedAt: &at, Spec: []byte(`{"hostname":"shop.example.com","paths":["/x"]}`)}
	}
	o := s.ends(s.run(), rel, apply.Deferred, apply.Partial, "101 purge requests", "can send this from 2026-11-22T10:00Z", "run apply again")
	if o.Sent {
		t.Error("it says that it was sent")
	}
	s.wrote("")
	if _, claimed := s.records[key(rel)]; claimed {
		t.Error("it was claimed")
	}
	delete(s.records, key("Purge/old-7"))
	s.ends(s.run(), rel, apply.Done, apply.OK, "posted")
}

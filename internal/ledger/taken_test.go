package ledger

import (
	"context"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// taken is a store that lost the record which its index has.
type taken struct{ Store }

func (s taken) Read(ctx context.Context, keys []Key) (map[Key]Record, error) {
	found, err := s.Store.Read(ctx, keys)
	for key := range found {
		if key.Key == purgeKey {
			delete(found, key)
		}
	}
	return found, err
}

func TestARecordThatWasTakenAwayIsDamage(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	cfg.Backend = taken{l.store}
	v, err := open(t, cfg).View(t.Context(), []kind.Key{purgeKey})
	if err != nil || !strings.Contains(v.Problem, "names the record of Purge/rel-42, which is missing") {
		t.Errorf("%q, %v", v.Problem, err)
	}
}

package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/kind"
)

// testNow is the present of tests that need one; lately is when its budget
// begins.
var (
	testNow    = time.Date(2026, 11, 21, 9, 40, 0, 0, time.UTC)
	testLately = ago(25 * time.Hour)
)

func ago(d time.Duration) time.Time { return testNow.Add(-d) }

// life is a step of a record: its state, and when it was claimed and accepted,
// before testNow; nothing means not at all.
type life struct {
	state    RequestState
	claimed  time.Duration
	accepted time.Duration
}

const never = time.Duration(-1)

// live puts a record through its steps.
func live(ctx context.Context, s RecordStore, rec Record, steps ...life) error {
	for i, to := range steps {
		rec.Seq, rec.Nonce = i+1, fmt.Sprintf("nonce-%d", i+1)
		if err := putOne(ctx, s, i, rec.after(to)); err != nil {
			return err
		}
	}
	return nil
}

// after is the record in a step of its life.
func (r Record) after(to life) Record {
	r.State, r.ClaimedAt, r.AcceptedAt = to.state, nil, nil
	if to.claimed != never {
		at := ago(to.claimed)
		r.FirstClaimAt, r.ClaimedAt = &at, &at
	}
	if to.accepted != never {
		at := ago(to.accepted)
		r.AcceptedAt = &at
	}
	return r
}

// longLife has every way into what is open, and out of it.
func longLife() []life {
	const long = 100 * time.Hour
	return []life{
		{Claimed, long, never},
		{Claimed, long, never},
		{Unknown, long, never},
		{Posted, long, long},
		{Claimed, long, never},
		{"", never, never},
		{Claimed, long, never},
		{Rejected, long, never},
	}
}

// checkFound fails if the record a is open and not found.
func checkFound(t *testing.T, s RecordStore, when string) {
	t.Helper()
	key := testRecord("a", 1).Key
	got, err := s.Read(t.Context(), []kind.Key{key})
	must(t, err)
	keys, err := s.RecentKeys(t.Context(), testLately)
	must(t, err)
	if rec := got[key]; rec.IsOpen() && !slices.Contains(keys, key) {
		t.Errorf("%s: seq %d is %s and not found", when, rec.Seq, rec.State)
	}
}

func contractRecent(t *testing.T, s RecordStore) {
	const long = 100 * time.Hour
	odd := strings.Repeat("../é A%\n", 30)
	wanted := map[string][]life{
		"claimed":                {{Claimed, 0, never}},
		"claimed at the start":   {{Claimed, 25 * time.Hour, never}},
		"claimed by a fast":      {{Claimed, -time.Hour, never}},
		"accepted late":          {{Claimed, 30 * time.Hour, never}, {Posted, 30 * time.Hour, 0}},
		"accepted at once":       {{Claimed, time.Hour, never}, {Posted, time.Hour, time.Hour}},
		"given up":               {{Claimed, time.Hour, never}, {Abandoned, time.Hour, never}},
		"imported":               {{Posted, long, time.Hour}},
		"forgotten":              {{Claimed, long, never}},
		"unknown for long":       {{Claimed, long, never}, {Unknown, long, never}},
		"imported as unknown":    {{Unknown, long, never}},
		"taken over":             {{Claimed, long, never}, {Claimed, 0, never}},
		"taken over long ago":    {{Claimed, long, never}, {Claimed, long, never}},
		"made again":             {{Claimed, long, never}, {Posted, long, long}, {Claimed, long, never}},
		"released and claimed":   {{Claimed, long, never}, {"", never, never}, {Claimed, long, never}},
		odd:                      {{Claimed, long, never}},
		strings.Repeat("x", 253): {{Claimed, 0, never}},
		strings.Repeat(".", 199): {{Claimed, 0, never}},
		"a":                      {{Claimed, long, never}},
		"A":                      {{Claimed, long, never}},
		"a-1":                    {{Claimed, long, never}, {Claimed, long, never}},
	}
	var wg sync.WaitGroup
	put := func(rec Record, steps ...life) {
		wg.Go(func() {
			if err := live(t.Context(), s, rec, steps...); err != nil {
				t.Error(err)
			}
		})
	}
	for name, steps := range wanted {
		put(testRecord(name, 1), steps...)
	}
	put(testRecord("a=1", 1), life{Claimed, long, never}, life{Posted, long, long})
	put(testRecord("released", 1), life{Claimed, 0, never}, life{"", never, never})
	other := testRecord("claimed", 1)
	other.Kind = "VolumeSnapshot"
	put(other, life{Claimed, 0, never})
	wg.Wait()

	keys, err := s.RecentKeys(t.Context(), testLately)
	must(t, err)
	found := map[kind.Key]bool{}
	for _, key := range keys {
		if found[key] {
			t.Errorf("found %+v twice", key)
		}
		found[key] = true
	}
	for name := range wanted {
		if !found[testRecord(name, 1).Key] {
			t.Errorf("%q is not found", name)
		}
	}
	if !found[other.Key] {
		t.Error("the other kind is not found")
	}
}

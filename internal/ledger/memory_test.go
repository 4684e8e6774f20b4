package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/kind"
)

// Memory is a store that lasts as long as the process.
type Memory struct {
	mu      sync.Mutex
	genesis *Genesis
	records map[kind.Key]Record
}

func NewMemory() *Memory { return &Memory{records: map[kind.Key]Record{}} }

// successor refuses what the stores that last refuse to write.
func successor(expectSeq, seq int, v interface{ validate() error }) error {
	if seq <= expectSeq {
		return fmt.Errorf("seq %d does not follow %d", seq, expectSeq)
	}
	return v.validate()
}

// enter begins a call and returns what ends it.
func (m *Memory) enter(ctx context.Context, born bool) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if born && m.genesis == nil {
		m.mu.Unlock()
		return nil, ErrNoGenesis
	}
	return m.mu.Unlock, nil
}

func (m *Memory) ReadGenesis(ctx context.Context) (Genesis, error) {
	leave, err := m.enter(ctx, true)
	if err != nil {
		return Genesis{}, err
	}
	defer leave()
	return *m.genesis, nil
}

func (m *Memory) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	if err := successor(expectSeq, g.Seq, g); err != nil {
		return err
	}
	leave, err := m.enter(ctx, false)
	if err != nil {
		return err
	}
	defer leave()
	if have := m.genesis; have == nil && expectSeq != 0 || have != nil && have.Seq != expectSeq {
		return ErrConflict
	}
	m.genesis = &g
	return nil
}

func (m *Memory) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	leave, err := m.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	found := map[kind.Key]Record{}
	for _, key := range keys {
		if rec, ok := m.records[key]; ok {
			found[key] = rec
		}
	}
	return found, nil
}

// PutAll records heads apart from records, as a store that has no log.
func (m *Memory) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, m, changes, m.Put)
}

// PutEach makes changes one after the other, each with its head before its record.
func PutEach(ctx context.Context, s RecordStore, changes []RecordChange, put func(ctx context.Context, expectSeq int, rec Record) error) []error {
	errs := make([]error, len(changes))
	for i, c := range changes {
		if errs[i] = c.putHead(ctx, s); errs[i] == nil {
			errs[i] = put(ctx, c.ExpectSeq, c.Rec)
		}
	}
	return errs
}

// putHead records the head, if the change is the first that needs it.
func (c *RecordChange) putHead(ctx context.Context, s RecordStore) error {
	if c.head == nil {
		return nil
	}
	g, err := s.ReadGenesis(ctx)
	hold := FindHold(g.Holds, c.Rec.Key, c.heldAt)
	switch {
	case hold != nil:
		err = &HeldError{*hold}
	case err == nil && !c.fitsHead(g.Head):
		err = errOtherHead
	case err == nil && c.addHead:
		g.Head, g.Seq = c.head, g.Seq+1
		err = s.WriteGenesis(ctx, g.Seq-1, g)
	}
	return err
}

// putOne replaces the record that has seq expectSeq.
func putOne(ctx context.Context, s RecordStore, expectSeq int, rec Record) error {
	return s.PutAll(ctx, []RecordChange{{ExpectSeq: expectSeq, Rec: rec}})[0]
}

func (s *logStore) Put(ctx context.Context, expectSeq int, rec Record) error {
	return putOne(ctx, s, expectSeq, rec)
}

func (m *Memory) Put(ctx context.Context, expectSeq int, rec Record) error {
	if err := successor(expectSeq, rec.Seq, rec); err != nil {
		return err
	}
	leave, err := m.enter(ctx, true)
	if err != nil {
		return err
	}
	defer leave()
	if m.records[rec.Key].Seq != expectSeq {
		return ErrConflict
	}
	m.records[rec.Key] = rec
	return nil
}

func (m *Memory) EachRecord(ctx context.Context, each func(Record, error) error) error {
	leave, err := m.enter(ctx, true)
	if err != nil {
		return err
	}
	records := maps.Clone(m.records)
	leave()
	for _, rec := range records {
		if err := each(rec, nil); err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) RecentKeys(ctx context.Context, since time.Time) ([]kind.Key, error) {
	leave, err := m.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	var keys []kind.Key
	for key, rec := range m.records {
		lately := slices.ContainsFunc([]*time.Time{rec.ClaimedAt, rec.AcceptedAt}, func(at *time.Time) bool {
			return at != nil && !at.Before(since)
		})
		if lately || rec.IsOpen() {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Invalidate does nothing: nothing is kept beside the records.
func (m *Memory) Invalidate() {}

func (m *Memory) ProveConditions(context.Context) error { return nil }

func TestMemoryStore(t *testing.T) { contract(t, func() RecordStore { return NewMemory() }) }

// Gated is a store each of whose calls goes through a gate, which says when and
// whether it is carried out. The store behind it sees no cancellation: what has
// been let through takes place.
type Gated struct {
	RecordStore
	Gate func(call string, do func() error) error
	// Write gets each record that is about to be written, in place of Gate.
	Write func(expectSeq int, rec Record, do func() error) error
}

// through asks the gate, unless the caller was interrupted.
func (g Gated) through(ctx context.Context, call string, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.Gate(call, func() error { return do(context.WithoutCancel(ctx)) })
}

func (g Gated) ReadGenesis(ctx context.Context) (have Genesis, err error) {
	err = g.through(ctx, "read genesis", func(ctx context.Context) (err error) {
		have, err = g.RecordStore.ReadGenesis(ctx)
		return err
	})
	return have, err
}

func (g Gated) WriteGenesis(ctx context.Context, expectSeq int, have Genesis) error {
	return g.through(ctx, "write genesis", func(ctx context.Context) error { return g.RecordStore.WriteGenesis(ctx, expectSeq, have) })
}

func (g Gated) Read(ctx context.Context, keys []kind.Key) (found map[kind.Key]Record, err error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	err = g.through(ctx, "read "+strings.Join(names, " "), func(ctx context.Context) (err error) {
		found, err = g.RecordStore.Read(ctx, keys)
		return err
	})
	return found, err
}

func (g Gated) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, g, changes, g.Put)
}

func (g Gated) Put(ctx context.Context, expectSeq int, rec Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.Write(expectSeq, rec, func() error { return putOne(context.WithoutCancel(ctx), g.RecordStore, expectSeq, rec) })
}

func (g Gated) EachRecord(ctx context.Context, each func(Record, error) error) error {
	return g.through(ctx, "read all", func(ctx context.Context) error { return g.RecordStore.EachRecord(ctx, each) })
}

func (g Gated) RecentKeys(ctx context.Context, since time.Time) (keys []kind.Key, err error) {
	err = g.through(ctx, "read index", func(ctx context.Context) (err error) {
		keys, err = g.RecordStore.RecentKeys(ctx, since)
		return err
	})
	return keys, err
}

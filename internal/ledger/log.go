package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/blob"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// logStore keeps a ledger as a log of blobs. An entry holds the records of one write. Creating it fails if another run
// created an entry with its number: that is the compare-and-swap. An entry also has what earlier ones wrote, and names the
// few others that readers need. The store caches what it read. It looks for newer entries after Invalidate, and if another run
// wrote first.
type logStore struct {
	blobs  blob.Store
	folded blob.Store
	held   func(kind.Key) []byte // Config.Held
	// inGit means that a push compares the whole ref, and that git compresses files by itself.
	inGit      bool
	batchDelay time.Duration // how long a first change waits for others

	// mu guards waiting and flushing, lock the state.
	mu       sync.Mutex
	waiting  []*RecordChange
	flushing bool

	lock   chan struct{}
	state  logState
	proven bool                      // this run saw the store reject a duplicate entry
	fresh  atomic.Bool               // false after Invalidate
	blocks map[string][]foldedRecord // by id
}

var errMissing = fmt.Errorf("%w: it is missing, but later entries exist", ErrDamaged)

func newLogStore(blobs blob.Store, held func(kind.Key) []byte, batchDelay time.Duration) *logStore {
	_, inGit := blobs.(*blob.GitRefStore)
	if held == nil {
		held = func(kind.Key) []byte { return nil }
	}
	return &logStore{
		blobs: blobs, folded: blobs.SubStore(foldedDir), held: held, inGit: inGit, batchDelay: batchDelay,
		lock: make(chan struct{}, 1), blocks: map[string][]foldedRecord{},
	}
}

func (s *logStore) Close() error { return errors.Join(s.blobs.Close(), s.folded.Close()) }

// logState is a log as of its last entry.
type logState struct {
	last int
	// segments have all entries, oldest first. lines points at the newest line of each key in them.
	segments  []segment
	genesis   *Genesis
	genesisAt int
	lines     map[kind.Key]*indexLine
	folded    foldIndex
}

// addSegment adds the next segment. It may have entries that the state has, too; one that begins the log replaces everything.
func (t *logState) addSegment(p segment) error {
	before, kept := p.entryBefore(), t.segments
	for len(kept) > 0 && kept[len(kept)-1].Entry > before {
		kept = kept[:len(kept)-1]
	}
	end := segment{}
	if len(kept) > 0 {
		end = kept[len(kept)-1]
	}
	if end.Entry != before || end.ID != p.After {
		return fmt.Errorf("%w: entry %d does not follow entry %d: the log is a mix of two", ErrDamaged, before+1, before)
	}
	if before == 0 {
		*t = logState{lines: map[kind.Key]*indexLine{}, folded: *cmp.Or(p.Folded, &foldIndex{})}
	}
	if p.Genesis != nil {
		t.genesis, t.genesisAt = p.Genesis, p.GenesisAt
	}
	for i := range p.lines {
		l := &p.lines[i]
		if old := t.lines[l.Key]; old != nil {
			*old = indexLine{} // frees its text, which its segment would keep
		}
		t.lines[l.Key] = l
	}
	t.last, t.segments = p.Entry, append(slices.Clip(kept), p)
	return nil
}

// absorbSegments adds to the next segment what the newest ones have, unless there are few segments, and returns these. Segments are
// absorbed that are not much larger, so that a record is copied seldom.
func (t *logState) absorbSegments(p *segment) []segment {
	kept := t.segments
	for size := len(p.lines); len(t.segments) >= maxSegments && len(kept) > 0 && (len(kept) >= maxSegments || kept[len(kept)-1].Records <= 2*size); {
		size += kept[len(kept)-1].Records
		kept = kept[:len(kept)-1]
	}
	t.continueSegments(p, kept)
	return t.segments[len(kept):]
}

// continueSegments adds to the next segment what the segments after kept have.
func (t *logState) continueSegments(p *segment, kept []segment) {
	before := 0
	for _, k := range kept {
		p.Rest, p.After, before = append(p.Rest, k.Entry), k.ID, k.Entry
	}
	if p.Entries = p.Entry - before; before == 0 && t.folded.Entry > 0 {
		p.Folded = &t.folded
	}
	if p.Genesis == nil && t.genesisAt > before {
		p.Genesis, p.GenesisAt = t.genesis, t.genesisAt
	}
	newer := map[kind.Key]bool{}
	for _, l := range p.lines {
		newer[l.Key] = true
	}
	for _, absorbed := range t.segments[len(kept):] {
		for i := range absorbed.lines {
			if l := &absorbed.lines[i]; l == t.lines[l.Key] && !newer[l.Key] {
				p.lines = append(p.lines, *l)
			}
		}
	}
	p.Records = len(p.lines)
	slices.SortFunc(p.lines, func(a, b indexLine) int { return kind.CompareKeys(a.Key, b.Key) })
}

// withGenesis is locked, but fails if the log has no genesis.
func (s *logStore) withGenesis(ctx context.Context, do func() error) error {
	return s.withState(ctx, func() error {
		if s.state.genesis == nil {
			return s.noGenesisError()
		}
		return do()
	})
}

func (s *logStore) noGenesisError() error {
	return fmt.Errorf("%s: %w", s.blobs.Location(""), ErrNoGenesis)
}

// withState calls do with an up-to-date state and exclusive access.
func (s *logStore) withState(ctx context.Context, do func() error) error {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.lock }()
	if !s.fresh.Swap(true) {
		if err := s.readNewEntries(ctx); err != nil {
			s.fresh.Store(false)
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return do()
}

func (s *logStore) Invalidate() { s.fresh.Store(false) }

// readNewEntries reads the new entries, or all after a rollback, or if a fold has removed one.
func (s *logStore) readNewEntries(ctx context.Context) error {
	err := s.tryReadNew(ctx)
	if errors.Is(err, errMissing) {
		s.state = logState{}
		err = s.tryReadNew(ctx)
	}
	return err
}

// newestEntry returns the number of the newest entry, or 0.
func (s *logStore) newestEntry(ctx context.Context) (int, error) {
	names, err := s.blobs.List(ctx, logDir, 1)
	if err != nil || len(names) == 0 {
		return 0, damagedIfIrregular(err)
	}
	newest, err := entryOfFile(names[0])
	if err != nil {
		err = fmt.Errorf("read ledger %s: %w", s.blobs.Location(names[0]), err)
	}
	return newest, err
}

func (s *logStore) tryReadNew(ctx context.Context) error {
	newest, err := s.newestEntry(ctx)
	if err != nil {
		return err
	}
	switch same, err := s.stateIsCurrent(ctx); {
	case err != nil:
		return err
	case !same:
		s.state = logState{}
	case newest < s.state.last:
		return s.unlistedError(s.state.last)
	}
	if newest == s.state.last {
		return nil
	}
	head, err := s.readSegment(ctx, newest)
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(head.Rest), func(entry int) bool { return entry <= s.state.last })
	segments := make([]segment, len(rest), len(rest)+1)
	err = diag.TryInParallel(ctx, atOnce, len(rest), func(ctx context.Context, i int) (err error) {
		segments[i], err = s.readSegment(ctx, rest[i])
		return err
	})
	for _, p := range append(segments, head) {
		if err == nil {
			err = s.state.addSegment(p)
		}
	}
	if err != nil {
		return fmt.Errorf("read ledger %s: %w", s.blobs.Location(logDir), err)
	}
	return nil
}

// stateIsCurrent reports whether the log still has the last entry of the state. After a rollback it does not, even if other
// runs have written as many entries since.
func (s *logStore) stateIsCurrent(ctx context.Context) (bool, error) {
	if s.state.last == 0 {
		return true, nil
	}
	p, err := s.readSegmentWith(ctx, s.state.last, s.blobs.Get, decodeHead)
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	return err == nil && p.ID == s.state.segments[len(s.state.segments)-1].ID, err
}

// readSegment reads the file of an entry. A missing one is an error.
func (s *logStore) readSegment(ctx context.Context, entry int) (segment, error) {
	return s.readSegmentWith(ctx, entry, s.blobs.Get, s.decodeSegment)
}

func (s *logStore) readSegmentWith(
	ctx context.Context, entry int, get func(ctx context.Context, name string) ([]byte, error), decode func(content []byte, entry int) (segment, error),
) (p segment, err error) {
	name := entryFile(entry)
	b, err := get(ctx, name)
	if errors.Is(err, blob.ErrAbsent) {
		err = errMissing
	} else if err == nil {
		p, err = decode(b, entry)
	}
	if err != nil {
		return segment{}, fmt.Errorf("read ledger file %s: %w", s.blobs.Location(name), damagedIfIrregular(err))
	}
	return p, nil
}

// damagedIfIrregular adds ErrDamaged if a name belongs to something other than a file.
func damagedIfIrregular(err error) error {
	if errors.Is(err, blob.ErrIrregular) {
		return asDamaged(err)
	}
	return err
}

func (s *logStore) ReadGenesis(ctx context.Context) (g Genesis, err error) {
	err = s.withGenesis(ctx, func() error {
		if g = *s.state.genesis; g.Head != nil && s.state.last > s.state.genesisAt {
			head := *g.Head
			head.Tree, g.Head = nil, &head // something was recorded since
		}
		return nil
	})
	return g, err
}

func (s *logStore) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	c := RecordChange{ExpectSeq: expectSeq, genesis: &g}
	if err := c.encodeText(); err == nil && expectSeq == 0 {
		if err := s.blobs.Prepare(ctx); err != nil {
			return fmt.Errorf("write genesis: %w", err)
		}
	}
	return s.PutAll(ctx, []RecordChange{c})[0]
}

func (s *logStore) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	records := make(map[kind.Key]Record, len(keys))
	err := s.withGenesis(ctx, func() error {
		err := s.loadBlocks(ctx, keys)
		if errors.Is(err, errMissing) { // another run has folded since
			if err = s.readNewEntries(ctx); err == nil {
				err = s.loadBlocks(ctx, keys)
			}
		}
		if err != nil {
			return err
		}
		wanted := map[kind.Key]*indexLine{}
		for _, key := range keys {
			if l, ok := s.state.lines[key]; ok {
				wanted[key] = l
			} else if folded, _ := s.findFolded(key); folded != nil {
				records[key] = *folded
			}
		}
		lines := slices.Collect(maps.Values(wanted))
		err = diag.TryInParallel(ctx, atOnce, len(lines), func(_ context.Context, i int) error {
			if lines[i].text == nil {
				return nil
			}
			_, err := lines[i].decodeRecord()
			if err == nil {
				s.shareSpecs(lines[i].rec)
			}
			return err
		})
		for key, l := range wanted {
			if err == nil {
				records[key] = *l.rec
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// shareSpecs replaces specs by equal ones that the caller has in memory.
func (s *logStore) shareSpecs(rec *Record) {
	spec := s.held(rec.Key)
	for _, own := range []*CanonicalJSON{&rec.Spec, &rec.Applied} {
		if bytes.Equal(*own, spec) && spec != nil {
			*own = spec
		}
	}
}

func (s *logStore) RecentKeys(ctx context.Context, since time.Time) (keys []kind.Key, err error) {
	err = s.withGenesis(ctx, func() error {
		for key, l := range s.state.lines {
			if l.isSince(since) {
				keys = append(keys, key)
			}
		}
		return nil
	})
	return keys, err
}

func (s *logStore) EachRecord(ctx context.Context, each func(Record, error) error) error {
	return s.withGenesis(ctx, func() error {
		for _, l := range s.state.lines {
			if err := each(l.decodeRecord()); err != nil {
				return err
			}
		}
		for _, b := range s.state.folded.Blocks {
			records, err := s.readBlock(ctx, b)
			if err != nil {
				err = each(Record{}, err)
			}
			for i := 0; i < len(records) && err == nil; i++ {
				if s.state.lines[records[i].Key] == nil {
					err = each(records[i].Record, nil)
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

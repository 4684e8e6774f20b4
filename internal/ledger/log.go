package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
// created an entry with its number: that is the compare-and-swap. Each fourth, sixteenth … entry comes with a copy that
// combines as many, so that readers of a long log need few files. If a copy is missing, they read its parts.
// The store caches what it read. It looks for newer entries after Forget, and if another run wrote first.
type logStore struct {
	blobs blob.Store
	held  func(kind.Key) []byte // Config.Held
	// packed means that copies are compressed. git compresses by itself.
	packed     bool
	batchDelay time.Duration // how long a first change waits for others

	// mu guards waiting and flushing, lock the state.
	mu       sync.Mutex
	waiting  []*recordChange
	flushing bool

	lock   chan struct{}
	state  logState
	proven bool        // this run saw the store reject a duplicate entry
	fresh  atomic.Bool // false after Forget
}

var errMissing = fmt.Errorf("%w: it is missing, but later entries exist", ErrDamaged)

func newLogStore(blobs blob.Store, held func(kind.Key) []byte, batchDelay time.Duration) *logStore {
	_, ref := blobs.(*blob.GitRefStore)
	if held == nil {
		held = func(kind.Key) []byte { return nil }
	}
	return &logStore{blobs: blobs, held: held, packed: !ref, batchDelay: batchDelay, lock: make(chan struct{}, 1)}
}

func (s *logStore) Close() error {
	if c, ok := s.blobs.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// logState is a log as of its last entry.
type logState struct {
	last int
	// ids has the id of each entry that ends a piece.
	ids       map[int]string
	genesis   *Genesis
	genesisAt int
	lines     map[kind.Key]*indexLine
}

// addPiece applies a piece. It replaces what the state has of the same entries.
func (t *logState) addPiece(p segment) error {
	first := p.entryBefore()
	if p.After != t.ids[first] {
		return fmt.Errorf("%w: entry %d does not follow entry %d: the log is a mix of two", ErrDamaged, first+1, first)
	}
	if t.lines == nil {
		t.lines, t.ids = map[kind.Key]*indexLine{}, map[int]string{}
	}
	if first < t.last {
		maps.DeleteFunc(t.lines, func(_ kind.Key, l *indexLine) bool { return l.At > first })
	}
	t.last = p.Entry
	t.ids[t.last] = p.ID
	if p.Genesis != nil {
		t.genesis, t.genesisAt = p.Genesis, p.GenesisAt
	}
	for i := range p.lines {
		t.lines[p.lines[i].Key] = &p.lines[i]
	}
	return nil
}

// combinePieces returns one piece for as many entries, the last of which is next.
func (t *logState) combinePieces(next segment, entries int) segment {
	p := next
	p.Entries, p.lines = entries, slices.Clone(next.lines)
	first := p.entryBefore()
	p.After = t.ids[first]
	if p.Genesis == nil && t.genesisAt > first {
		p.Genesis, p.GenesisAt = t.genesis, t.genesisAt
	}
	newer := map[kind.Key]bool{}
	for _, l := range next.lines {
		newer[l.Key] = true
	}
	for key, l := range t.lines {
		if l.At > first && !newer[key] {
			p.lines = append(p.lines, *l)
		}
	}
	slices.SortFunc(p.lines, func(a, b indexLine) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return p
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

// readNewEntries reads the new entries, or all after a rollback.
func (s *logStore) readNewEntries(ctx context.Context) error {
	names, err := s.blobs.List(ctx, logDir, 1)
	if err != nil {
		return damagedIfIrregular(err)
	}
	newest := entryRange{}
	if len(names) > 0 {
		if newest, err = parseEntryRange(names[0]); err != nil {
			return fmt.Errorf("read ledger %s: %w", s.blobs.Location(names[0]), err)
		}
	}
	switch same, err := s.stateIsCurrent(ctx); {
	case err != nil:
		return err
	case !same:
		s.state = logState{}
	case newest.Entry < s.state.last:
		return s.unlistedError(s.state.last)
	}
	// A new piece may cover entries that were read already: in git their own files are gone.
	pieces := slices.DeleteFunc(fewestPieces(newest.Entry), func(p entryRange) bool { return p.Entry <= s.state.last })
	read := make([][]segment, len(pieces))
	err = diag.TryInParallel(ctx, atOnce, len(pieces), func(ctx context.Context, i int) (err error) {
		read[i], err = s.readSpan(ctx, pieces[i])
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(read...) {
		if err := s.state.addPiece(p); err != nil {
			return fmt.Errorf("read ledger %s: %w", s.blobs.Location(logDir), err)
		}
	}
	return nil
}

// stateIsCurrent reports whether the log still has the last entry of the state. After a rollback it does not, even if other
// runs have written as many entries since.
func (s *logStore) stateIsCurrent(ctx context.Context) (bool, error) {
	last := s.state.last
	if last == 0 {
		return true, nil
	}
	pieces := fewestPieces(last)
	for _, p := range []entryRange{{last, 1}, pieces[len(pieces)-1]} {
		one, err := s.getPiece(ctx, p)
		if err == nil {
			return one.ID == s.state.ids[last], nil
		}
		if !errors.Is(err, ErrDamaged) {
			return false, err
		}
	}
	return false, nil
}

// readSpan returns a piece, or its parts if it is a copy that can't be read.
func (s *logStore) readSpan(ctx context.Context, p entryRange) ([]segment, error) {
	one, err := s.getPiece(ctx, p)
	if err == nil {
		return []segment{one}, nil
	}
	if p.Entries == 1 || !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	var all []segment
	for _, part := range p.splitSpan() {
		pieces, partErr := s.readSpan(ctx, part)
		if errors.Is(partErr, errMissing) && !errors.Is(err, errMissing) {
			return nil, err // in git the parts are gone, and only the copy can be restored
		}
		if partErr != nil {
			return nil, partErr
		}
		all = append(all, pieces...)
	}
	return all, nil
}

// getPiece reads one piece. A missing one is an error.
func (s *logStore) getPiece(ctx context.Context, at entryRange) (segment, error) {
	return s.getPieceWith(ctx, at, s.blobs.Get)
}

func (s *logStore) getPieceWith(ctx context.Context, at entryRange, get func(ctx context.Context, name string) ([]byte, error)) (p segment, err error) {
	name := at.fileName(s.packed)
	b, err := get(ctx, name)
	if errors.Is(err, blob.ErrAbsent) {
		err = errMissing
	} else if err == nil {
		p, err = decodePiece(b, at, s.held)
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
	c := recordChange{expectSeq: expectSeq, genesis: &g}
	if err := c.encodeText(); err == nil && expectSeq == 0 {
		if err := s.blobs.Prepare(ctx); err != nil {
			return fmt.Errorf("write genesis: %w", err)
		}
	}
	return s.putAll(ctx, []recordChange{c})[0]
}

func (s *logStore) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	records := make(map[kind.Key]Record, len(keys))
	err := s.withGenesis(ctx, func() error {
		wanted := map[kind.Key]*indexLine{}
		for _, key := range keys {
			if l, ok := s.state.lines[key]; ok {
				wanted[key] = l
			}
		}
		lines := slices.Collect(maps.Values(wanted))
		err := diag.TryInParallel(ctx, atOnce, len(lines), func(_ context.Context, i int) error {
			if lines[i].text == nil {
				return nil
			}
			_, err := lines[i].decodeRecord()
			s.shareSpecs(&lines[i].rec)
			return err
		})
		for key, l := range wanted {
			records[key] = l.rec
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
		return nil
	})
}

func (s *logStore) Put(ctx context.Context, expectSeq int, rec Record) error {
	return s.putAll(ctx, []recordChange{{expectSeq: expectSeq, rec: rec}})[0]
}

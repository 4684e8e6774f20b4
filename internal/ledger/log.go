package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"trueup/internal/blob"
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
	waiting  []*change
	flushing bool

	lock   chan struct{}
	state  logState
	proven bool        // this run saw the store reject a duplicate entry
	fresh  atomic.Bool // false after Forget
}

var errMissing = fmt.Errorf("%w: it is missing, but later entries exist", ErrDamaged)

// maxStuck bounds how often a listing may lack an entry that exists.
const maxStuck = 3

func newLogStore(blobs blob.Store, held func(kind.Key) []byte, batchDelay time.Duration) *logStore {
	_, ref := blobs.(*blob.Ref)
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
	lines     map[kind.Key]*line
}

// add applies a piece. It replaces what the state has of the same entries.
func (t *logState) add(p piece) error {
	first := p.before()
	if p.After != t.ids[first] {
		return fmt.Errorf("%w: entry %d does not follow entry %d: the log is a mix of two", ErrDamaged, first+1, first)
	}
	if t.lines == nil {
		t.lines, t.ids = map[kind.Key]*line{}, map[int]string{}
	}
	if first < t.last {
		maps.DeleteFunc(t.lines, func(_ kind.Key, l *line) bool { return l.At > first })
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

// combined returns one piece for as many entries, the last of which is next.
func (t *logState) combined(next piece, entries int) piece {
	p := next
	p.Entries, p.lines = entries, slices.Clone(next.lines)
	first := p.before()
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
	slices.SortFunc(p.lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return p
}

// withGenesis is locked, but fails if the log has no genesis.
func (s *logStore) withGenesis(ctx context.Context, do func() error) error {
	return s.locked(ctx, func() error {
		if s.state.genesis == nil {
			return s.noGenesis()
		}
		return do()
	})
}

func (s *logStore) noGenesis() error { return fmt.Errorf("%s: %w", s.blobs.Place(""), ErrNoGenesis) }

// locked calls do with an up-to-date state and exclusive access.
func (s *logStore) locked(ctx context.Context, do func() error) error {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.lock }()
	if !s.fresh.Swap(true) {
		if err := s.refresh(ctx); err != nil {
			s.fresh.Store(false)
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return do()
}

func (s *logStore) Forget() { s.fresh.Store(false) }

// refresh reads the new entries, or all after a rollback.
func (s *logStore) refresh(ctx context.Context) error {
	names, err := s.blobs.List(ctx, logDir, 1)
	if err != nil {
		return irregular(err)
	}
	newest := span{}
	if len(names) > 0 {
		if newest, err = spanOf(names[0]); err != nil {
			return fmt.Errorf("read ledger %s: %w", s.blobs.Place(names[0]), err)
		}
	}
	switch same, err := s.continues(ctx); {
	case err != nil:
		return err
	case !same:
		s.state = logState{}
	case newest.Entry < s.state.last:
		return s.unlisted(s.state.last)
	}
	// A new piece may cover entries that were read already: in git their own files are gone.
	pieces := slices.DeleteFunc(fewestPieces(newest.Entry), func(p span) bool { return p.Entry <= s.state.last })
	read := make([][]piece, len(pieces))
	err = eachParallel(ctx, len(pieces), func(ctx context.Context, i int) (err error) {
		read[i], err = s.read(ctx, pieces[i])
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(read...) {
		if err := s.state.add(p); err != nil {
			return fmt.Errorf("read ledger %s: %w", s.blobs.Place(logDir), err)
		}
	}
	return nil
}

// continues reports whether the log still has the last entry of the state. After a rollback it does not, even if other
// runs have written as many entries since.
func (s *logStore) continues(ctx context.Context) (bool, error) {
	last := s.state.last
	if last == 0 {
		return true, nil
	}
	pieces := fewestPieces(last)
	for _, p := range []span{{last, 1}, pieces[len(pieces)-1]} {
		one, err := s.get(ctx, p)
		if err == nil {
			return one.ID == s.state.ids[last], nil
		}
		if !errors.Is(err, ErrDamaged) {
			return false, err
		}
	}
	return false, nil
}

// read returns a piece, or its parts if it is a copy that can't be read.
func (s *logStore) read(ctx context.Context, p span) ([]piece, error) {
	one, err := s.get(ctx, p)
	if err == nil {
		return []piece{one}, nil
	}
	if p.Entries == 1 || !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	var all []piece
	for _, part := range p.parts() {
		pieces, partErr := s.read(ctx, part)
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

// get reads one piece. A missing one is an error.
func (s *logStore) get(ctx context.Context, at span) (p piece, err error) {
	name := at.name(s.packed)
	b, err := s.blobs.Get(ctx, name)
	if errors.Is(err, blob.ErrAbsent) {
		err = errMissing
	} else if err == nil {
		p, err = decodePiece(b, at)
	}
	if err != nil {
		return piece{}, fmt.Errorf("read ledger file %s: %w", s.blobs.Place(name), irregular(err))
	}
	return p, nil
}

// irregular adds ErrDamaged if a name belongs to something other than a file.
func irregular(err error) error {
	if errors.Is(err, blob.ErrIrregular) {
		return damage(err)
	}
	return err
}

func (s *logStore) ReadGenesis(ctx context.Context) (g Genesis, err error) {
	err = s.withGenesis(ctx, func() error { g = *s.state.genesis; return nil })
	return g, err
}

func (s *logStore) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	c := change{expectSeq: expectSeq, genesis: &g}
	if err := c.encode(); err == nil && expectSeq == 0 {
		if err := s.blobs.Make(ctx); err != nil {
			return fmt.Errorf("write genesis: %w", err)
		}
	}
	return s.putAll(ctx, []change{c})[0]
}

func (s *logStore) Read(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	records := make(map[kind.Key]Record, len(keys))
	err := s.withGenesis(ctx, func() error {
		wanted := map[kind.Key]*line{}
		for _, key := range keys {
			if l, ok := s.state.lines[key]; ok {
				wanted[key] = l
			}
		}
		lines := slices.Collect(maps.Values(wanted))
		err := eachParallel(ctx, len(lines), func(_ context.Context, i int) error {
			if lines[i].text == nil {
				return nil
			}
			_, err := lines[i].record()
			s.share(&lines[i].rec)
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

// share replaces specs by equal ones that the caller has in memory.
func (s *logStore) share(rec *Record) {
	if s.held == nil {
		return
	}
	spec := s.held(rec.Key)
	for _, own := range []*JSON{&rec.Spec, &rec.Applied} {
		if bytes.Equal(*own, spec) && spec != nil {
			*own = spec
		}
	}
}

func (s *logStore) Recent(ctx context.Context, since time.Time) (keys []kind.Key, err error) {
	err = s.withGenesis(ctx, func() error {
		for key, l := range s.state.lines {
			if l.since(since) {
				keys = append(keys, key)
			}
		}
		return nil
	})
	return keys, err
}

func (s *logStore) All(ctx context.Context, each func(Record, error) error) error {
	return s.withGenesis(ctx, func() error {
		for _, l := range s.state.lines {
			if err := each(l.record()); err != nil {
				return err
			}
		}
		return nil
	})
}

// inspect reads every piece and returns all damage.
func (s *logStore) inspect(ctx context.Context) ([]error, error) {
	names, err := s.blobs.List(ctx, logDir, 0)
	if err != nil {
		return nil, err
	}
	found, pieces := make([]error, len(names)), make([]piece, len(names))
	err = eachParallel(ctx, len(names), func(ctx context.Context, i int) error {
		at, err := spanOf(names[i])
		if err == nil {
			pieces[i], err = s.get(ctx, at)
		}
		if err == nil {
			err = pieces[i].inspect()
		}
		pieces[i].span, pieces[i].lines = at, nil
		if found[i] = err; !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			return err
		}
		return nil
	})
	return append(slices.DeleteFunc(found, func(err error) bool { return err == nil }), s.gaps(pieces)...), err
}

// inspect returns an error if a record is damaged or its index line is wrong.
func (p piece) inspect() error {
	for _, l := range p.lines {
		rec, err := l.record()
		if err != nil {
			return err
		}
		want := rec.line(l.At)
		if want.rec = rec; !reflect.DeepEqual(want, l) {
			return fmt.Errorf("%w: the index of entry %d does not agree with the record of %s", ErrDamaged, p.Entry, rec.Key)
		}
	}
	return nil
}

// gaps returns an error wherever a piece does not follow another one.
func (s *logStore) gaps(pieces []piece) (wrong []error) {
	ids := map[int]string{}
	for _, p := range pieces {
		for entry, id := range map[int]string{p.Entry: p.ID, p.before(): p.After} {
			if was := cmp.Or(ids[entry], id); id != "" && was != id {
				wrong = append(wrong, fmt.Errorf("%w: what follows entry %d belongs to another log", ErrDamaged, entry))
			}
			ids[entry] = cmp.Or(ids[entry], id)
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.before(), b.before()) })
	covered := 0
	for _, p := range pieces {
		if first := p.before(); first > covered {
			wrong = append(wrong, fmt.Errorf("%w: %s is missing, the first of %d missing entries", ErrDamaged,
				s.blobs.Place(span{covered + 1, 1}.name(s.packed)), first-covered))
		}
		covered = max(covered, p.Entry)
	}
	return wrong
}

func (s *logStore) Put(ctx context.Context, expectSeq int, rec Record) error {
	return s.putAll(ctx, []change{{expectSeq: expectSeq, rec: rec}})[0]
}

// write creates the next entry. If another run is faster, it retries with the changes that still apply. The error is
// the result of all changes that it did not finish.
func (s *logStore) write(ctx context.Context, batch []*change) error {
	fit := s.applicable(batch)
	if len(fit) < len(batch) {
		// Only an up-to-date state shows that a change is too late.
		if err := s.refresh(ctx); err != nil {
			return err
		}
		fit = s.applicable(batch)
	}
	stuck := 0
	for pause := time.Millisecond; len(fit) > 0; pause = min(2*pause, time.Second) {
		was := s.state.last
		err := s.append(ctx, fit)
		if err == nil {
			finish(fit, nil)
			break
		}
		if errors.Is(err, blob.ErrExists) {
			// Another run wrote first. A random pause lets it finish.
			err = errors.Join(s.refresh(ctx), blob.Sleep(ctx, rand.N(pause)))
			if stuck++; s.state.last != was {
				stuck = 0
			}
		}
		if stuck == maxStuck {
			err = s.unlisted(was + 1)
		}
		if err != nil {
			s.Forget() // it may have been done
			return err
		}
		fit = s.applicable(batch)
	}
	if s.state.genesis == nil {
		return s.noGenesis()
	}
	return ErrConflict
}

// unlisted returns the error for a listing that lacks an entry that exists.
func (s *logStore) unlisted(entry int) error {
	return fmt.Errorf("entry %d exists, but no listing of %s shows it: the store is not safe for a ledger", entry, s.blobs.Place(logDir))
}

// applicable returns the changes whose record has the expected seq, and only the first one of each record.
func (s *logStore) applicable(batch []*change) (fit []*change) {
	taken := map[kind.Key]bool{}
	for _, c := range batch {
		key, have, there := c.rec.Key, 0, s.state.genesis != nil
		if l := s.state.lines[key]; l != nil {
			have = l.Seq
		} else if c.genesis != nil && there {
			have = s.state.genesis.Seq
		}
		if have == c.expectSeq && !taken[key] && (there || c.genesis != nil) {
			taken[key] = true
			fit = append(fit, c)
		}
	}
	return fit
}

func (s *logStore) append(ctx context.Context, changes []*change) error {
	if err := s.proveOnce(ctx); err != nil {
		return err
	}
	at := s.state.last + 1
	p := piece{span: span{at, 1}, ID: uuid.NewString(), After: s.state.ids[s.state.last]}
	var note strings.Builder
	if len(changes) > 1 {
		fmt.Fprintf(&note, "%d changes\n\n", len(changes))
	}
	for _, c := range changes {
		note.WriteString(c.note() + "\n")
		if c.genesis != nil {
			p.Genesis, p.GenesisAt = c.genesis, at
			continue
		}
		l := c.rec.line(at)
		l.text = c.text
		p.lines = append(p.lines, l)
	}
	content, err := p.encode(s.packed)
	if err != nil {
		return err
	}
	copies := s.copies(p)
	if len(copies) > 0 {
		// A copy hides entries that it lacks.
		if same, err := s.continues(ctx); err != nil || !same {
			return cmp.Or(err, blob.ErrExists)
		}
	}
	err = s.blobs.Create(ctx, blob.Blob{Name: p.name(s.packed), Content: content, Note: note.String()}, copies...)
	if errors.Is(err, blob.ErrAbsent) {
		err = fmt.Errorf("%w: %w", ErrNoGenesis, err) // somebody removed the directory
	}
	if err != nil {
		return err
	}
	return s.state.add(p)
}

// copies returns the copies to create with an entry. Readers can do without one that is too long.
func (s *logStore) copies(next piece) (copies []blob.Copy) {
	for entries := pieceFactor; next.Entry%entries == 0; entries *= pieceFactor {
		p := s.state.combined(next, entries)
		content, err := p.encode(s.packed)
		if err != nil {
			return copies
		}
		one := blob.Copy{Blob: blob.Blob{Name: p.name(s.packed), Content: content}}
		for _, part := range p.parts() {
			one.Of = append(one.Of, part.name(s.packed))
		}
		copies = append(copies, one)
	}
	return copies
}

// proveOnce creates the newest entry again, before the first write of a run. If the store accepts it, two runs could
// claim the same request.
func (s *logStore) proveOnce(ctx context.Context) error {
	if s.proven || s.state.last == 0 {
		return nil
	}
	newest := span{s.state.last, 1}.name(s.packed)
	err := s.blobs.RefusesCreation(ctx, newest)
	if errors.Is(err, blob.ErrAbsent) {
		err = fmt.Errorf("read ledger file %s: %w", s.blobs.Place(newest), errMissing)
	}
	s.proven = err == nil
	return err
}

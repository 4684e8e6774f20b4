package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// A purge that ended long ago needs only its name, its digest and when it ended. A fold moves such records from the log
// into blocks, and lets the log begin anew. It writes the blocks, then the entry with their index, and then removes what
// the fold before it replaced. checkFirst says why no two runs can write the same entry, whatever a fold has removed.
const (
	foldedDir  = "folded"  // the store of blocks, below that of the log
	foldAge    = recentAge // how old what is folded must be, and the last fold
	foldEvery  = 320       // how many entries, or records to fold, make a fold worthwhile
	maxInBlock = 1024
)

// foldIndex finds folded records. The segment that begins the log has it.
type foldIndex struct {
	At      time.Time `json:"at"` // of the last fold, which is Entry
	Entry   int       `json:"entry"`
	Begin   LogBegin  `json:"begin,omitzero"`
	Records int       `json:"records,omitempty"`
	// Sum is the sum of the records' checksums. Each fold adds those of its own, whatever the blocks have.
	Sum    uint64        `json:"sum,omitempty"`
	Blocks []recordBlock `json:"blocks,omitempty"` // sorted
}

// LogBegin is the oldest entry that a ledger keeps, or zero if it keeps all.
type LogBegin struct {
	Entry int       `json:"entry"`
	At    time.Time `json:"at"`
}

// recordBlock is a file of folded records, from the one of the key First up to the next block's.
type recordBlock struct {
	ID      string `json:"id"`
	First   string `json:"first"`
	Records int    `json:"records"`
}

func (b recordBlock) fileName() string { return path.Join(logDir, b.ID+".jsonl") }

// blockOf returns the place of the block that may have the record of a key, or -1.
func (f *foldIndex) blockOf(key kind.Key) int {
	k, known := kind.FindKind(key.Kind)
	if !known || !k.IsRequestOnly() {
		return -1
	}
	i, found := slices.BinarySearchFunc(f.Blocks, key.String(), func(b recordBlock, key string) int { return strings.Compare(b.First, key) })
	if found {
		return i
	}
	return i - 1
}

// mayFold reports whether a request needs no record of its own if its outcome is final.
func (l *indexLine) mayFold(since time.Time) bool {
	k, known := kind.FindKind(l.Kind)
	return known && k.IsRequestOnly() && !l.isSince(since)
}

// isFoldable reports whether the outcome of a request is final, and nothing happened since.
func (r Record) isFoldable(since time.Time) bool {
	l := r.newIndexLine(0)
	return r.isFinal() && l.mayFold(since) && r.lastStep().At.Before(since)
}

// folded returns what stays of a record.
func (r Record) folded() Record {
	f := Record{
		Schema: r.Schema, Workspace: r.Workspace, Key: r.Key, Seq: r.Seq, Nonce: r.Nonce, State: r.State, Folded: true,
		SpecDigest: r.SpecDigest, FirstClaimAt: r.FirstClaimAt, AcceptedAt: r.AcceptedAt,
	}
	if last := r.lastStep(); last.Seq > 0 {
		f.History = []LogStep{{Seq: last.Seq, Nonce: last.Nonce, At: last.At, Event: last.Event}}
	}
	return f
}

// loadBlocks reads the blocks that may have the records of the keys, and goes on after an error.
func (s *logStore) loadBlocks(ctx context.Context, keys []kind.Key) error {
	var missing []recordBlock
	for _, key := range keys {
		i := s.state.folded.blockOf(key)
		if i >= 0 && s.state.lines[key] == nil && s.blocks[s.state.folded.Blocks[i].ID] == nil {
			missing = append(missing, s.state.folded.Blocks[i])
		}
	}
	slices.SortFunc(missing, func(a, b recordBlock) int { return strings.Compare(a.ID, b.ID) })
	missing = slices.Compact(missing)
	read, errs := make([][]foldedRecord, len(missing)), make([]error, len(missing))
	diag.InParallelWith(atOnce, len(missing), func(_ *struct{}, i int) (more bool) {
		read[i], errs[i] = s.readBlock(ctx, missing[i])
		return true
	})
	for i, b := range missing {
		if errs[i] == nil {
			s.blocks[b.ID] = read[i]
		}
	}
	return cmp.Or(errs...)
}

// findFolded returns the folded record of a key, or nil. If its block is not loaded, there may be one.
func (s *logStore) findFolded(key kind.Key) (rec *Record, loaded bool) {
	i := s.state.folded.blockOf(key)
	if i < 0 {
		return nil, true
	}
	records, loaded := s.blocks[s.state.folded.Blocks[i].ID]
	if at, found := slices.BinarySearchFunc(records, key.String(), compareFolded); found {
		rec = &records[at].Record
	}
	return rec, loaded
}

func (s *logStore) readBlock(ctx context.Context, b recordBlock) ([]foldedRecord, error) {
	name := b.fileName()
	content, err := s.folded.Get(ctx, name)
	var records []foldedRecord
	if errors.Is(err, blob.ErrAbsent) {
		err = errMissing
	} else if err == nil {
		records, err = decodeBlock(content, b)
	}
	if err != nil {
		return nil, fmt.Errorf("read ledger file %s: %w", s.folded.Location(name), damagedIfIrregular(err))
	}
	return records, nil
}

// fold moves records that are final for long into blocks, if that is worthwhile. The times are those of two clocks, and
// each decision uses the safer one: what is removed is old by all clocks.
func (s *logStore) fold(ctx context.Context, early, late time.Time) error {
	defer s.Invalidate() // a removal moves what git compares a push with
	return s.withGenesis(ctx, func() error {
		since := early.Add(-foldAge)
		if early.Sub(s.state.folded.At).Abs() < foldAge { // one by a clock that is far ahead does not count
			return nil
		}
		records, err := s.finalRecords(since)
		if err != nil || max(len(records), s.state.last-s.state.folded.Entry) < foldEvery {
			return err
		}
		return s.foldSince(ctx, late, since)
	})
}

func (s *logStore) foldSince(ctx context.Context, now, since time.Time) error {
	old := s.state.folded
	entries, blocks, err := s.listUnneeded(ctx)
	if err == nil {
		err = s.readNewEntries(ctx) // a store may accept an entry that follows what it listed last
	}
	if err == nil && s.state.folded.Entry != old.Entry {
		err = ErrConflict
	}
	if err != nil {
		return err
	}
	records, err := s.finalRecords(since)
	if err != nil {
		return err
	}
	index, err := s.writeBlocks(ctx, records)
	if err != nil {
		return err
	}
	if index.At = now.UTC(); old.Entry > 0 {
		index.Begin = LogBegin{old.Entry, old.At}
	}
	if err := s.publishFold(ctx, index, records); err != nil {
		return err
	}
	_ = s.blobs.Remove(ctx, entries...) // what an apply may not remove stays, and a later fold tries again
	_ = s.folded.Remove(ctx, blocks...)
	return nil
}

// finalRecords returns the records to fold, by key.
func (s *logStore) finalRecords(since time.Time) (records []Record, err error) {
	for _, l := range s.state.lines {
		if !l.mayFold(since) {
			continue
		}
		line := *l // a decoded record is large
		rec, err := line.decodeRecord()
		if err != nil {
			return nil, err
		}
		if rec.isFoldable(since) {
			records = append(records, rec.folded())
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return kind.CompareKeys(a.Key, b.Key) })
	return records, nil
}

// listUnneeded lists what no reader needs who began after the last fold: entries before it, and blocks that are not in
// its index. Names of blocks are never used again, so what a fold lists before it writes can't become needed later.
func (s *logStore) listUnneeded(ctx context.Context) (entries, blocks []string, err error) {
	if entries, err = s.blobs.List(ctx, logDir, 0); err != nil {
		return nil, nil, err
	}
	entries = slices.DeleteFunc(entries, func(name string) bool {
		entry, err := entryOfFile(name)
		return err != nil || entry >= s.state.folded.Entry
	})
	used := map[string]bool{}
	for _, b := range s.state.folded.Blocks {
		used[b.fileName()] = true
	}
	blocks, err = s.folded.List(ctx, logDir, 0)
	slices.Reverse(entries) // the oldest first
	return entries, slices.DeleteFunc(blocks, func(name string) bool { return used[name] }), err
}

// publishFold creates the entry with an index, which lets the log begin anew without the records. It returns ErrConflict if
// another run has folded, or changed one of them.
func (s *logStore) publishFold(ctx context.Context, index foldIndex, records []Record) error {
	folded, was := map[kind.Key]bool{}, s.state.folded.Entry
	for range writeTries {
		if s.state.folded.Entry != was {
			return ErrConflict
		}
		for _, rec := range records {
			if l := s.state.lines[rec.Key]; l == nil || l.Seq != rec.Seq {
				return ErrConflict
			}
			folded[rec.Key] = true
		}
		p := segment{Entry: s.state.last + 1, ID: uuid.NewString()}
		s.state.continueSegments(&p, nil)
		p.lines = slices.DeleteFunc(p.lines, func(l indexLine) bool { return folded[l.Key] })
		index.Entry = p.Entry
		p.Records, p.Folded = len(p.lines), &index
		if p.GenesisAt == s.state.last { // still the newest
			p.GenesisAt = p.Entry
		}
		err := s.createEntry(ctx, p, blob.Blob{Note: fmt.Sprintf("fold %d purges that ended long ago", len(records)), Whole: true}, s.state.segments)
		if !errors.Is(err, blob.ErrExists) {
			return err
		}
		if err := s.readNewEntries(ctx); err != nil {
			return err
		}
	}
	return ErrConflict
}

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

const (
	batchTime = 3 * time.Minute // bounds one write with its retries
	batchMost = 1000            // bounds the changes of a batch
	batchSize = maxFile / 4     // ends a batch that has so many bytes
	atOnce    = 32              // bounds the goroutines of one call
)

// RecordChange replaces the record, or the genesis, that has seq ExpectSeq by a later one; 0 creates it.
type RecordChange struct {
	ExpectSeq int
	Rec       Record
	genesis   *Genesis
	// head, unless it is nil, is the head that the ledger must have. If addHead is set and the ledger has one of the state
	// from, the entry of the change replaces it.
	head    *ApplyHead
	from    string
	addHead bool
	// heldAt is the time by which holds end, or zero if none keeps the change from being written.
	heldAt time.Time
	text   []byte
	// unread is why the record that the change replaces could not be read, or nil.
	unread error
	done   chan error
}

// noteForPeople returns one line for people, such as the message of a git commit.
func (c *RecordChange) noteForPeople() string {
	if c.genesis != nil {
		return fmt.Sprintf("genesis of ledger %s, seq %d", c.genesis.LedgerID, c.genesis.Seq)
	}
	line := fmt.Sprintf("%s %s, seq %d, nonce %s", cmp.Or(c.Rec.State, "recorded"), c.Rec.Key, c.Rec.Seq, c.Rec.Nonce)
	if c.Rec.Claim != nil {
		line += ", sent by " + senderOf(c.Rec.Claim)
	}
	return strings.Join(strings.FieldsFunc(line, unicode.IsControl), " ")
}

// encodeText sets text. It rejects a change that readers could not read, or whose seq does not follow.
func (c *RecordChange) encodeText() (err error) {
	var v interface{ validate() error } = c.Rec
	seq := c.Rec.Seq
	if c.genesis != nil {
		v, seq = *c.genesis, c.genesis.Seq
	}
	if c.text, err = encodeLine(v); err == nil && seq <= c.ExpectSeq {
		err = fmt.Errorf("seq %d does not follow %d", seq, c.ExpectSeq)
	}
	c.done = make(chan error, 1)
	return err
}

// finish sends the result, unless the change has one already.
func (c *RecordChange) finish(err error) {
	select {
	case c.done <- err:
	default:
	}
}

func finishChanges(batch []*RecordChange, err error) {
	for _, c := range batch {
		c.finish(err)
	}
}

// PutAll writes changes and returns one error for each. Concurrent calls share an entry.
func (s *logStore) PutAll(ctx context.Context, changes []RecordChange) []error {
	errs := make([]error, len(changes))
	var valid []*RecordChange
	for i := range changes {
		if errs[i] = cmp.Or(ctx.Err(), changes[i].encodeText()); errs[i] == nil {
			valid = append(valid, &changes[i])
		}
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, valid...)
	if !s.flushing && len(s.waiting) > 0 {
		s.flushing = true
		// If one caller gives up, the other changes of the batch are still written.
		go s.flushQueue(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		if errs[i] == nil {
			errs[i] = s.waitForWrite(ctx, c)
		}
		switch {
		case errs[i] != nil && c.genesis != nil:
			errs[i] = fmt.Errorf("write genesis: %w", errs[i])
		case errs[i] != nil:
			errs[i] = fmt.Errorf("write record of %s: %w", c.Rec, errs[i])
		}
	}
	return errs
}

func (s *logStore) waitForWrite(ctx context.Context, c *RecordChange) error {
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, c); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return ctx.Err()
	}
	return fmt.Errorf("stopped waiting for a write in progress, which may still succeed: %w", ctx.Err())
}

// flushQueue writes batches until no change waits. First it pauses, so that more changes join.
func (s *logStore) flushQueue(ctx context.Context) {
	_ = blob.Sleep(ctx, s.batchDelay)
	for more := true; more; {
		s.waitWhileMoreJoin(ctx)
		var batch []*RecordChange
		bounded, cancel := context.WithTimeout(ctx, batchTime)
		err := recoverPanic(func() error {
			return s.withState(bounded, func() error {
				batch = s.takeBatch()
				return s.writeEntry(bounded, batch)
			})
		})
		cancel()
		if err != nil && batch == nil {
			batch = s.takeBatch()
		}
		finishChanges(batch, err)
		s.mu.Lock()
		more = len(s.waiting) > 0
		s.flushing = more
		s.mu.Unlock()
	}
}

// waitWhileMoreJoin waits in git, where a push takes the time of many changes, as long as more of them join.
func (s *logStore) waitWhileMoreJoin(ctx context.Context) {
	for had := 0; s.inGit; {
		s.mu.Lock()
		n := len(s.waiting)
		s.mu.Unlock()
		if n == had || blob.Sleep(ctx, s.batchDelay) != nil {
			return
		}
		had = n
	}
}

// takeBatch removes the next batch from the queue and returns it.
func (s *logStore) takeBatch() (batch []*RecordChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for size := 0; len(batch) < min(len(s.waiting), batchMost) && size < batchSize; {
		size += len(s.waiting[len(batch)].text)
		batch = append(batch, s.waiting[len(batch)])
	}
	s.waiting = slices.Delete(s.waiting, 0, len(batch))
	return batch
}

// maxStuck bounds how often a listing may lack an entry that exists.
const maxStuck = 3

// writeEntry creates the next entry. If another run is faster, it retries with the changes that still apply. The error is
// the result of all changes that it did not finish.
func (s *logStore) writeEntry(ctx context.Context, batch []*RecordChange) error {
	fit := s.fittingChanges(ctx, batch)
	if len(fit) < len(batch) {
		// Only an up-to-date state shows that a change is too late.
		if err := s.readNewEntries(ctx); err != nil {
			return err
		}
		fit = s.fittingChanges(ctx, batch)
	}
	stuck := 0
	for pause := time.Millisecond; len(fit) > 0; pause = min(2*pause, time.Second) {
		was := s.state.last
		err := s.appendChanges(ctx, fit)
		if err == nil {
			finishChanges(fit, nil)
			break
		}
		if errors.Is(err, blob.ErrExists) || errors.Is(err, errMissing) && stuck == 0 {
			// Another run wrote first, or folded. A random pause lets it finish.
			err = errors.Join(s.readNewEntries(ctx), blob.Sleep(ctx, rand.N(pause)))
			if stuck++; s.state.last != was {
				stuck = 0
			}
		}
		if stuck == maxStuck {
			err = s.unlistedError(was + 1)
		}
		if err != nil {
			s.Invalidate() // it may have been done
			return err
		}
		fit = s.fittingChanges(ctx, batch)
	}
	if s.state.genesis == nil {
		return s.noGenesisError()
	}
	for _, c := range batch {
		if why := c.refusedBy(s.state.genesis); why != nil {
			c.finish(why)
		}
	}
	return ErrConflict
}

// refusedBy returns why a ledger with this genesis takes no such change, or nil.
func (c *RecordChange) refusedBy(g *Genesis) error {
	switch hold := FindHold(g.Holds, c.Rec.Key, c.heldAt); {
	case hold != nil:
		return &HeldError{*hold}
	case c.unread != nil:
		return c.unread
	case !c.fitsHead(g.Head):
		return errOtherHead
	}
	return nil
}

// unlistedError returns the error for a listing that lacks an entry that exists.
func (s *logStore) unlistedError(entry int) error {
	return fmt.Errorf("entry %d exists, but no listing of %s shows it: the store is not safe for a ledger", entry, s.blobs.Location(logDir))
}

// fittingChanges returns the changes whose record has the expected seq, and only the first one of each record.
func (s *logStore) fittingChanges(ctx context.Context, batch []*RecordChange) (fit []*RecordChange) {
	keys := diag.MapList(batch, func(c *RecordChange) kind.Key { return c.Rec.Key })
	err := s.loadBlocks(ctx, keys)
	taken := map[kind.Key]bool{}
	for _, c := range batch {
		key, have, there := c.Rec.Key, 0, s.state.genesis != nil
		if c.unread = nil; s.state.lines[key] != nil {
			have = s.state.lines[key].Seq
		} else if c.genesis != nil && there {
			have = s.state.genesis.Seq
		} else if folded, loaded := s.findFolded(key); !loaded {
			c.unread = err
		} else if folded != nil {
			have = folded.Seq
		}
		if have == c.ExpectSeq && !taken[key] && (there && c.refusedBy(s.state.genesis) == nil || c.genesis != nil && c.unread == nil) {
			taken[key] = true
			fit = append(fit, c)
		}
	}
	return fit
}

func (s *logStore) appendChanges(ctx context.Context, changes []*RecordChange) error {
	at := s.state.last + 1
	p := segment{Entry: at, ID: uuid.NewString()}
	var note strings.Builder
	if len(changes) > 1 {
		fmt.Fprintf(&note, "%d changes\n\n", len(changes))
	}
	var head *ApplyHead
	for _, c := range changes {
		note.WriteString(c.noteForPeople() + "\n")
		if c.addHead {
			head = c.head
		}
		if c.genesis != nil {
			p.Genesis, p.GenesisAt = c.genesis, at
			continue
		}
		l := c.Rec.newIndexLine(at)
		l.setText(c.text, s.held(c.Rec.Key))
		p.lines = append(p.lines, l)
	}
	if head != nil {
		g := *cmp.Or(p.Genesis, s.state.genesis)
		g.Head, g.Seq, g.Schema = head, g.Seq+1, Schema
		p.Genesis, p.GenesisAt = &g, at
		fmt.Fprintf(&note, "apply of commit %s\n", head)
	}
	absorbed := s.state.absorbSegments(&p)
	return s.createEntry(ctx, p, blob.Blob{Note: note.String()}, absorbed)
}

// createEntry creates the next entry, as b, in place of those that it absorbed.
func (s *logStore) createEntry(ctx context.Context, p segment, b blob.Blob, absorbed []segment) (err error) {
	if len(absorbed) > 0 {
		// An entry hides earlier ones that it lacks.
		if same, err := s.stateIsCurrent(ctx); err != nil || !same {
			return cmp.Or(err, blob.ErrExists)
		}
	}
	if b.Content, err = p.encodeSegment(!s.inGit); err == nil {
		err = s.proveOnce(ctx)
	}
	if err != nil {
		return err
	}
	b.Name = entryFile(p.Entry)
	b.Replaces = diag.MapList(absorbed, func(old segment) string { return entryFile(old.Entry) })
	err = s.blobs.Create(ctx, b)
	if errors.Is(err, blob.ErrAbsent) {
		err = fmt.Errorf("%w: %w", ErrNoGenesis, err) // somebody removed the directory
	}
	if err == nil {
		err = s.state.addSegment(p)
	}
	if err != nil {
		return err
	}
	return s.checkFirst(ctx, p.Entry)
}

// checkFirst returns ErrExists if the entry that was just created may be a second one of its number: two runs could claim
// the same request. Each fold publishes an index before it removes entries, and removes only entries before its Begin. So if
// the newest index begins at or before an entry that exists, no other had its number, whatever the clocks of any run say. A
// git ref needs no look: it takes no push of a run that has not seen its newest commit.
func (s *logStore) checkFirst(ctx context.Context, entry int) error {
	if s.inGit {
		return nil
	}
	newest, err := s.newestEntry(ctx)
	if err == nil && newest != entry {
		err = s.readNewEntries(ctx)
	}
	if err == nil && s.state.folded.Begin.Entry > entry {
		err = blob.ErrExists
	}
	return err
}

// proveOnce creates a small entry again, before the first write of a run. If the store accepts it, two runs could
// claim the same request.
func (s *logStore) proveOnce(ctx context.Context) error {
	if s.proven || s.state.last == 0 {
		return nil
	}
	small := slices.MinFunc(s.state.segments, func(a, b segment) int { return cmp.Compare(a.Records, b.Records) })
	name := entryFile(small.Entry)
	err := s.blobs.CheckRefusesCreation(ctx, name)
	if errors.Is(err, blob.ErrAbsent) {
		err = fmt.Errorf("read ledger file %s: %w", s.blobs.Location(name), errMissing)
	}
	s.proven = err == nil
	return err
}

// recoverPanic returns a panic as an error.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("ledger: internal error: %.300v; this is a bug", value)
		}
	}()
	return do()
}

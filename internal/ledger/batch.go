package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"trueup/internal/blob"
)

const (
	// batchTime bounds one write with its retries, batchMost its changes. A batch ends once it has batchSize bytes.
	batchTime = 3 * time.Minute
	batchMost = 1000
	batchSize = maxFile / 4
	// parallel bounds the goroutines of one call.
	parallel = 32
)

// change replaces the record, or the genesis, that has seq expectSeq.
type change struct {
	expectSeq int
	rec       Record
	genesis   *Genesis
}

// note returns one line for people, such as the message of a git commit.
func (c change) note() string {
	if c.genesis != nil {
		return fmt.Sprintf("genesis of ledger %s, seq %d", c.genesis.LedgerID, c.genesis.Seq)
	}
	line := fmt.Sprintf("%s %s, seq %d, nonce %s", cmp.Or(c.rec.State, "recorded"), c.rec.Key, c.rec.Seq, c.rec.Nonce)
	if c.rec.Claim != nil {
		line += ", sent by " + sender(c.rec.Claim)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
}

// queued is a change that waits for its result.
type queued struct {
	change
	text []byte
	done chan error
}

// queue rejects a change that readers could not read, or whose seq does not follow.
func (c change) queue() (w *queued, err error) {
	w = &queued{change: c, done: make(chan error, 1)}
	seq := c.rec.Seq
	if c.genesis != nil {
		seq = c.genesis.Seq
		w.text, err = encode(*c.genesis)
	} else {
		w.text, err = encode(c.rec)
	}
	if err == nil && seq <= c.expectSeq {
		err = fmt.Errorf("seq %d does not follow %d", seq, c.expectSeq)
	}
	return w, err
}

// finish sends the result to each change that has none yet.
func finish(batch []*queued, err error) {
	for _, w := range batch {
		select {
		case w.done <- err:
		default:
		}
	}
}

// putAll writes changes and returns one error for each. Concurrent calls share an entry.
func (s *logStore) putAll(ctx context.Context, changes []change) []error {
	errs, waits := make([]error, len(changes)), make([]*queued, len(changes))
	for i, c := range changes {
		w, err := c.queue()
		waits[i], errs[i] = w, cmp.Or(ctx.Err(), err)
	}
	s.mu.Lock()
	for i, w := range waits {
		if errs[i] == nil {
			s.waiting = append(s.waiting, w)
		}
	}
	if !s.flushing && len(s.waiting) > 0 {
		s.flushing = true
		// If one caller gives up, the other changes of the batch are still written.
		go s.flush(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	for i, w := range waits {
		if errs[i] == nil {
			errs[i] = s.wait(ctx, w)
		}
		switch {
		case errs[i] != nil && w.genesis != nil:
			errs[i] = fmt.Errorf("write genesis: %w", errs[i])
		case errs[i] != nil:
			errs[i] = fmt.Errorf("write record of %s: %w", w.rec, errs[i])
		}
	}
	return errs
}

func (s *logStore) wait(ctx context.Context, w *queued) error {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return ctx.Err()
	}
	return fmt.Errorf("stopped waiting for a write in progress, which may still succeed: %w", ctx.Err())
}

// flush writes batches until no change waits. First it pauses, so that more changes join.
func (s *logStore) flush(ctx context.Context) {
	_ = blob.Sleep(ctx, s.batchDelay)
	for more := true; more; {
		var batch []*queued
		bounded, cancel := context.WithTimeout(ctx, batchTime)
		err := recoverPanic(func() error {
			return s.locked(bounded, func() error {
				batch = s.take()
				return s.write(bounded, batch)
			})
		})
		cancel()
		if err != nil && batch == nil {
			batch = s.take()
		}
		finish(batch, err)
		s.mu.Lock()
		more = len(s.waiting) > 0
		s.flushing = more
		s.mu.Unlock()
	}
}

// take removes the next batch from the queue and returns it.
func (s *logStore) take() (batch []*queued) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for size := 0; len(batch) < min(len(s.waiting), batchMost) && size < batchSize; {
		w := s.waiting[len(batch)]
		batch = append(batch, w)
		size += len(w.text)
	}
	s.waiting = slices.Delete(s.waiting, 0, len(batch))
	return batch
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

// eachParallel calls do for 0 to n-1 concurrently and returns the first error, which cancels the rest.
func eachParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		slots <- struct{}{}
		wg.Go(func() {
			if err := recoverPanic(func() error { return do(ctx, i) }); err != nil {
				cancel(err)
			}
			<-slots
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

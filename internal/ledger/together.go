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
)

const (
	// batchTime bounds one write with all its tries, batchMost how many changes are in it,
	// batchSize how many bytes more than one.
	batchTime = 3 * time.Minute
	batchMost = 1000
	batchSize = maxFile / 4
	// parallel bounds what is under way for one call.
	parallel = 32
)

// change replaces the record, or the genesis, whose seq is expectSeq.
type change struct {
	expectSeq int
	rec       Record
	genesis   *Genesis
}

func (c change) what() string {
	if c.genesis != nil {
		return "genesis"
	}
	return "record of " + c.rec.String()
}

// note describes the change in one line, with the nonce.
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

// encode returns the new record or genesis as one line of JSON. It rejects what a reader
// would reject, and a seq that does not follow.
func (c change) encode() (text []byte, err error) {
	seq := c.rec.Seq
	if c.genesis != nil {
		seq = c.genesis.Seq
		text, err = encodeLine(*c.genesis)
	} else {
		text, err = encodeLine(c.rec)
	}
	if err == nil && seq <= c.expectSeq {
		err = fmt.Errorf("seq %d does not follow %d", seq, c.expectSeq)
	}
	return text, err
}

// pendingChange is a change that waits for its result.
type pendingChange struct {
	change
	text []byte
	done chan error
}

func (c change) waiter() (*pendingChange, error) {
	text, err := c.encode()
	return &pendingChange{change: c, text: text, done: make(chan error, 1)}, err
}

// finish sends the result to the changes that have none yet.
func finish(batch []*pendingChange, err error) {
	for _, w := range batch {
		select {
		case w.done <- err:
		default:
		}
	}
}

// batcher combines changes that are made at the same time into one write. Its zero value
// is ready to use.
type batcher struct {
	mu      sync.Mutex
	waiting []*pendingChange
	working bool
}

// writer writes the batch that take returns. Its error is the result of every change for
// which it did not call finish.
type writer func(ctx context.Context, take func() []*pendingChange) error

// put writes changes and returns their errors, in the same order. It first waits a moment
// for the changes of others.
func (t *batcher) put(ctx context.Context, moment time.Duration, changes []change, write writer) []error {
	errs := make([]error, len(changes))
	all := make([]*pendingChange, len(changes))
	var ready []*pendingChange
	for i, c := range changes {
		w, err := c.waiter()
		if errs[i] = cmp.Or(ctx.Err(), err); errs[i] == nil {
			all[i], ready = w, append(ready, w)
		}
	}
	t.mu.Lock()
	t.waiting = append(t.waiting, ready...)
	if !t.working && len(t.waiting) > 0 {
		t.working = true
		// A caller that gives up must not end the others of its batch.
		go t.work(context.WithoutCancel(ctx), moment, write)
	}
	t.mu.Unlock()
	for i, w := range all {
		if w != nil {
			errs[i] = t.wait(ctx, w)
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("write %s: %w", changes[i].what(), errs[i])
		}
	}
	return errs
}

func (t *batcher) wait(ctx context.Context, w *pendingChange) error {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return ctx.Err()
	}
	return fmt.Errorf("a write was in progress and was not waited for: %w", ctx.Err())
}

// work writes batches until no change is waiting.
func (t *batcher) work(ctx context.Context, moment time.Duration, write writer) {
	_ = sleep(ctx, moment)
	for more := true; more; {
		var batch []*pendingChange
		take := func() []*pendingChange {
			t.mu.Lock()
			defer t.mu.Unlock()
			for size := 0; len(batch) < min(len(t.waiting), batchMost) && size < batchSize; {
				batch = append(batch, t.waiting[len(batch)])
				size += len(batch[len(batch)-1].text)
			}
			t.waiting = slices.Delete(t.waiting, 0, len(batch))
			return batch
		}
		bounded, cancel := context.WithTimeout(ctx, batchTime)
		err := recoverPanic(func() error { return write(bounded, take) })
		cancel()
		if batch == nil {
			take() // write failed before it called take
		}
		finish(batch, err)
		t.mu.Lock()
		more = len(t.waiting) > 0
		t.working = more
		t.mu.Unlock()
	}
}

// recoverPanic calls do and returns a panic in it as an error, so that other work goes on.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("ledger: internal error: %.300v; this is a bug", value)
		}
	}()
	return do()
}

// eachParallel calls do for 0 to n-1, some at once, and returns the first error,
// which stops the rest.
func eachParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, parallel) {
		wg.Go(func() {
			for i := range next {
				if err := recoverPanic(func() error { return do(ctx, i) }); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// sleep returns early when the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

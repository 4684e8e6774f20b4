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

// change is a record that is to replace the one of seq expectSeq, or such a genesis.
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

// note says what changes, with the nonce; texts from outside stay on the line.
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

// encode is the JSON of what is to be written, on one line. What could not be read, or does
// not follow, is refused.
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

// waiter is a change that waits for its end.
type waiter struct {
	change
	text []byte
	done chan error
}

func (c change) waiter() (*waiter, error) {
	text, err := c.encode()
	return &waiter{change: c, text: text, done: make(chan error, 1)}, err
}

// finish ends those that have not ended.
func finish(batch []*waiter, err error) {
	for _, w := range batch {
		select {
		case w.done <- err:
		default:
		}
	}
}

// together lets those who write at the same time write in one go: who is first takes
// along what waits. Its zero value is ready.
type together struct {
	mu      sync.Mutex
	waiting []*waiter
	working bool
}

// writer takes a batch when it can write, and ends each of it that does not end as its
// error says.
type writer func(ctx context.Context, take func() []*waiter) error

// put hands changes over and waits for each; the errors are in their order. First a moment
// is left for others to come.
func (t *together) put(ctx context.Context, moment time.Duration, changes []change, write writer) []error {
	errs := make([]error, len(changes))
	all := make([]*waiter, len(changes))
	var ready []*waiter
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
		// One that gives up must not take the others of the batch with it.
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

func (t *together) wait(ctx context.Context, w *waiter) error {
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
	return fmt.Errorf("a write was under way, and it was not waited for: %w", ctx.Err())
}

// work writes until nothing waits.
func (t *together) work(ctx context.Context, moment time.Duration, write writer) {
	_ = sleep(ctx, moment)
	for more := true; more; {
		var batch []*waiter
		take := func() []*waiter {
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
		err := surviving(func() error { return write(bounded, take) })
		cancel()
		if batch == nil {
			take() // it could not even begin
		}
		finish(batch, err)
		t.mu.Lock()
		more = len(t.waiting) > 0
		t.working = more
		t.mu.Unlock()
	}
}

// surviving calls do; a panic in it is its error, so that the work of others goes
// on to its end.
func surviving(do func() error) (err error) {
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
				if err := surviving(func() error { return do(ctx, i) }); err != nil {
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

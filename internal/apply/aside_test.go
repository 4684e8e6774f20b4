package apply_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// busy counts who is at something at once.
type busy struct {
	mu        sync.Mutex
	now, most int
}

func (b *busy) while(do func()) {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	do()
	b.mu.Lock()
	b.now--
	b.mu.Unlock()
}

// farLedger writes only when so many wait for it, or when no more will come.
type farLedger struct {
	apply.Journal
	busy
	together int
	left     int
	begun    []kind.Key
	cond     *sync.Cond
}

func (f *farLedger) RecordPending(ctx context.Context, k kind.Key, spec []byte, before *ledger.LiveBefore) (err error) {
	f.while(func() {
		f.cond.L.Lock()
		f.begun = append(f.begun, k)
		want := min((len(f.begun)+f.together-1)/f.together*f.together, f.left)
		f.cond.Broadcast()
		for len(f.begun) < want {
			f.cond.Wait()
		}
		f.cond.L.Unlock()
		err = f.Journal.RecordPending(ctx, k, spec, before)
	})
	return err
}

func (f *farLedger) RecordApplied(ctx context.Context, k kind.Key, a ledger.AppliedSpec) (err error) {
	f.while(func() { err = f.Journal.RecordApplied(ctx, k, a) })
	return err
}

// countedWriter counts requests at once.
type countedWriter struct {
	apply.PlatformClient
	busy
}

func (c *countedWriter) Get(ctx context.Context, k *kind.Kind, name string) (o kind.LiveObject, err error) {
	c.while(func() { o, err = c.PlatformClient.Get(ctx, k, name) })
	return o, err
}

func (c *countedWriter) Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (o kind.LiveObject, err error) {
	c.while(func() { o, err = c.PlatformClient.Patch(ctx, k, name, body) })
	return o, err
}

// TestWhoWaitsForAFarLedgerLeavesRoom: a batch is recorded together although few
// requests are under way at once.
func TestWhoWaitsForAFarLedgerLeavesRoom(t *testing.T) {
	const n, parallelism, batch = 30, 2, 10
	var documents []string
	for i := range n {
		documents = append(documents, cdn(fmt.Sprintf("c%02d", i), fmt.Sprintf(`{hostname: c%02d.example.com, tls: {forced: "true"}}`, i)))
	}
	s := begin(t, documents...)
	for i := range n {
		s.has(fmt.Sprintf("CDN/c%02d", i), fmt.Sprintf(`{hostname: c%02d.example.com, tls: {forced: "false"}}`, i))
	}
	far := &farLedger{Journal: s, together: batch, left: n, cond: sync.NewCond(&sync.Mutex{})}
	wire := &countedWriter{PlatformClient: s}
	s.journal, s.writer = far, wire
	s.options = apply.SendOptions{Parallelism: parallelism, Batch: batch}
	res := s.run()
	for _, o := range res.Outcomes {
		if o.Verdict != apply.OK || !o.Sent {
			t.Errorf("%s: %s", o.Key, o.Message)
		}
	}
	if far.most < batch || far.most > parallelism+batch-1 {
		t.Errorf("%d waited for the ledger at once", far.most)
	}
	if wire.most > parallelism {
		t.Errorf("%d requests were under way at once", wire.most)
	}
	if calls := len(s.named("GET")) + len(s.named("PATCH")) + len(s.named("pending")) + len(s.named("applied")); calls != 5*n {
		t.Errorf("%d calls for %d objects", calls, n)
	}
}

// TestAStopWhileTheLedgerIsWaitedFor: what was begun and not sent is taken back.
func TestAStopWhileTheLedgerIsWaitedFor(t *testing.T) {
	const n = 6
	var documents []string
	for i := range n {
		documents = append(documents, cdn(fmt.Sprintf("c%d", i), fmt.Sprintf(`{hostname: c%d.example.com, tls: {forced: "true"}}`, i)))
	}
	s := begin(t, documents...)
	for i := range n {
		s.has(fmt.Sprintf("CDN/c%d", i), fmt.Sprintf(`{hostname: c%d.example.com, tls: {forced: "false"}}`, i))
		s.on(fmt.Sprintf("PATCH CDN/c%d", i), 1, denied(), false)
	}
	far := &farLedger{Journal: s, together: n, left: n, cond: sync.NewCond(&sync.Mutex{})}
	s.journal, s.options = far, apply.SendOptions{Parallelism: 1, Batch: n}
	res := s.run()
	skipped := 0
	for _, o := range res.Outcomes {
		if o.Status == apply.Skipped && strings.Contains(o.Message, "authentication") {
			skipped++
		}
	}
	if skipped != n-1 || len(s.named("PATCH")) != 1 || len(s.named("drop")) != n {
		t.Errorf("%d were skipped: %s", skipped, s.took())
	}
}

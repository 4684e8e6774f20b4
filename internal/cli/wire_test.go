package cli

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// wire is what a run hangs on: each of its calls to the store and to the
// platform goes through it. At one of them it breaks, and from then on it is as
// if the run had been killed: whatever it still wants to do, it does to nobody.
type wire struct {
	mu sync.Mutex
	// at is the call at which it breaks, counted from 1; 0 never.
	at int
	// after says that this call is made, and only its answer is lost.
	after  bool
	broken bool
	// calls are those that were made or wanted, while it held.
	calls []string
}

var errBroken = errors.New("the run was stopped here")

func (w *wire) call(what string, do func() error) error {
	if w == nil {
		return do()
	}
	w.mu.Lock()
	if w.broken {
		w.mu.Unlock()
		return errBroken
	}
	w.calls = append(w.calls, what)
	here := len(w.calls) == w.at
	w.broken = here
	w.mu.Unlock()
	if here && !w.after {
		return errBroken
	}
	err := do()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return errBroken
	}
	return err
}

// serve answers a request as the platform does, if it comes through.
func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	s.serving.RLock()
	defer s.serving.RUnlock()
	wire := s.wire.Load()
	if wire == nil {
		s.server.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	err := wire.call(r.Method+" "+r.URL.Path, func() error {
		s.server.ServeHTTP(answer, r)
		return nil
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// wiredStore is a store at the end of a wire.
type wiredStore struct {
	under ledger.RecordStore
	wire  *wire
}

func (s wiredStore) ReadGenesis(ctx context.Context) (g ledger.Genesis, err error) {
	err = s.wire.call("read genesis", func() (err error) { g, err = s.under.ReadGenesis(ctx); return err })
	return g, err
}

func (s wiredStore) WriteGenesis(ctx context.Context, expectSeq int, g ledger.Genesis) error {
	return s.wire.call("write genesis", func() error { return s.under.WriteGenesis(ctx, expectSeq, g) })
}

func (s wiredStore) Read(ctx context.Context, keys []kind.Key) (found map[kind.Key]ledger.Record, err error) {
	err = s.wire.call("read", func() (err error) { found, err = s.under.Read(ctx, keys); return err })
	return found, err
}

func (s wiredStore) PutAll(ctx context.Context, changes []ledger.RecordChange) []error {
	errs := make([]error, len(changes))
	for i, c := range changes {
		errs[i] = s.wire.call("put "+c.Rec.String(), func() error { return s.under.PutAll(ctx, changes[i:i+1])[0] })
	}
	return errs
}

func (s wiredStore) EachRecord(ctx context.Context, each func(ledger.Record, error) error) error {
	return s.wire.call("all", func() error { return s.under.EachRecord(ctx, each) })
}

func (s wiredStore) Invalidate() { s.under.Invalidate() }

func (s wiredStore) ProveConditions(ctx context.Context) error { return s.under.ProveConditions(ctx) }

func (s wiredStore) RecentKeys(ctx context.Context, since time.Time) ([]kind.Key, error) {
	var keys []kind.Key
	err := s.wire.call("recent", func() (err error) { keys, err = s.under.RecentKeys(ctx, since); return err })
	return keys, err
}

func (s wiredStore) Close() error {
	if c, ok := s.under.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

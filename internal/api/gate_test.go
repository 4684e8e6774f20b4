package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

// respond makes an answer of a transport that is no network.
func respond(r *http.Request, status int, header map[string]string, body string) *http.Response {
	h := http.Header{}
	for name, value := range header {
		h.Set(name, value)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// platform answers requests inside a bubble and notes when they came.
type platform struct {
	mu     sync.Mutex
	begun  time.Time
	at     []time.Duration
	answer func(n int, r *http.Request) *http.Response
}

// RoundTrip answers after a tenth of a second.
func (p *platform) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.at = append(p.at, time.Since(p.begun))
	n := len(p.at)
	p.mu.Unlock()
	select {
	case <-time.After(100 * time.Millisecond):
		return p.answer(n, r), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// during counts the requests between two times.
func (p *platform) during(from, to time.Duration) (n int) {
	for _, at := range p.at {
		if at > from && at < to {
			n++
		}
	}
	return n
}

// bubble runs a test in which time costs nothing; retries go by the defaults.
func bubble(t *testing.T, answer func(n int, r *http.Request) *http.Response, do func(t *testing.T, c *api.Client, p *platform)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &platform{begun: time.Now(), answer: answer}
		cfg := config(t, "http://127.0.0.1:1")
		cfg.Retry, cfg.RequestTimeout, cfg.Transport = api.RetryPolicy{}, 0, p
		do(t, api.NewClient(cfg), p)
	})
}

func found(r *http.Request) *http.Response {
	if r.Method != http.MethodGet {
		return respond(r, 204, nil, "")
	}
	k := "CDN"
	if strings.Contains(r.URL.Path, "volumesnapshots") {
		k = "VolumeSnapshot"
	}
	return respond(r, 200, nil, `{"kind":"`+k+`","metadata":{"name":"`+path.Base(r.URL.Path)+`"},"spec":{}}`)
}

// TestAPauseHoldsForAll: after one 429 nothing goes until the time that it asks
// for is over, neither a read nor a write; then all go on, not at once, and
// nobody has given up.
func TestAPauseHoldsForAll(t *testing.T) {
	const asked, workers = 30 * time.Second, 8
	for name, header := range map[string]map[string]string{
		"seconds": {"Retry-After": "30"},
		"a date":  {"Retry-After": "Sat, 21 Nov 2026 10:00:30 GMT", "Date": "Sat, 21 Nov 2026 10:00:00 GMT"},
	} {
		for _, status := range []int{429, 503} {
			var once sync.Once
			var begun time.Time
			bubble(t, func(n int, r *http.Request) *http.Response {
				if n > 8 && r.Method == http.MethodGet {
					first := false
					once.Do(func() { begun, first = time.Now(), true })
					if first {
						return respond(r, status, header, `{"message":"slow down"}`)
					}
				}
				return found(r)
			}, func(t *testing.T, c *api.Client, p *platform) {
				work(t, c, workers)
				paused := begun.Sub(p.begun)
				if n := p.during(paused, paused+asked); n > 0 {
					t.Errorf("%s, %d: %d requests during the pause: %v", name, status, n, p.at)
				}
				after := p.at[slices.IndexFunc(p.at, func(at time.Duration) bool { return at >= paused+asked }):]
				if len(after) < workers || len(slices.Compact(slices.Clone(after[:workers]))) < workers-1 || after[workers-1]-after[0] > 2*time.Second {
					t.Errorf("%s, %d: after the pause they went at %v", name, status, after)
				}
			})
		}
	}
}

// work lets workers read and write, four objects each, none of which may fail.
func work(t *testing.T, c *api.Client, workers int) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range 4 {
				name := fmt.Sprintf("c%d-%d", w, i)
				if w%2 == 0 {
					if _, err := c.Get(t.Context(), named(t, "CDN"), name); err != nil {
						t.Error(err)
					}
					continue
				}
				if err := patch(t.Context(), c, named(t, "CDN"), name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// patch sends as apply does: a turn for each try, and another try where nothing
// was sent.
func patch(ctx context.Context, c *api.Client, k *kind.Kind, name string) error {
	for {
		if err := c.WaitForRateLimit(ctx, k); err != nil {
			return err
		}
		_, err := c.Patch(ctx, k, name, []byte(`{}`))
		var e *api.Error
		if !errors.As(err, &e) || !e.NotSent() || e.Hopeless {
			return err
		}
	}
}

// TestAPauseIsOfOneArea: the other one goes on.
func TestAPauseIsOfOneArea(t *testing.T) {
	bubble(t, func(n int, r *http.Request) *http.Response {
		if n == 1 {
			return respond(r, 429, map[string]string{"Retry-After": "50"}, "")
		}
		return found(r)
	}, func(t *testing.T, c *api.Client, p *platform) {
		if _, err := c.Create(t.Context(), named(t, "Purge"), []byte(`{}`)); !asError(t, err).NotSent() || asError(t, err).RetryAfter != 50*time.Second {
			t.Errorf("%v", err)
		}
		if _, err := c.Get(t.Context(), named(t, "VolumeSnapshot"), "db"); err != nil {
			t.Error(err)
		}
		if err := c.WaitForRateLimit(t.Context(), named(t, "VolumeSnapshot")); err != nil || len(p.at) != 2 || time.Since(p.begun) > time.Second {
			t.Errorf("%v, requests at %v", err, p.at)
		}
		// A write that had its turn before does not go, and does not wait.
		_, err := c.Create(t.Context(), named(t, "CDN"), []byte(`{"metadata":{"name":"a"}}`))
		if e := asError(t, err); !e.NotSent() || e.Hopeless || len(p.at) != 2 || !strings.Contains(err.Error(), "create CDN/a: not sent, because the platform asks to wait until 2000-01-01T00:00:50Z") {
			t.Errorf("%v, requests at %v", err, p.at)
		}
	})
}

// TestAPauseIsReported: once, although several answers ask for it.
func TestAPauseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		p := &platform{begun: time.Now(), answer: func(n int, r *http.Request) *http.Response {
			if n <= 4 {
				return respond(r, 429, map[string]string{"Retry-After": "30"}, "")
			}
			return found(r)
		}}
		cfg := config(t, "http://127.0.0.1:1")
		cfg.Retry, cfg.Transport = api.RetryPolicy{}, p
		cfg.Warn = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
		}
		r := api.NewReader(cfg)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := r.Get(t.Context(), named(t, "CDN"), "a"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(told) != 1 || told[0] != "the platform asks to wait until 2000-01-01T00:00:30Z; trueup sends no request to the delivery area before that" {
			t.Errorf("%q", told)
		}
	})
}

// TestALongPauseSaysUntilWhen: what is longer than what is waited for, or than
// what the run has left, is not waited for.
func TestALongPauseSaysUntilWhen(t *testing.T) {
	for asked, tt := range map[string]struct {
		limit time.Duration
		says  string
	}{
		"86400": {0, "get CDN/a: not sent, because the platform asks to wait until 2000-01-02T00:00:00Z, which is more than the 15m0s that trueup waits"},
		"901":   {0, "until 2000-01-01T00:15:01Z, which is more than the 15m0s that trueup waits"},
		"40":    {30 * time.Second, "until 2000-01-01T00:00:40Z, which is after the run's time limit, 2000-01-01T00:00:30Z"},
	} {
		bubble(t, func(_ int, r *http.Request) *http.Response {
			return respond(r, 429, map[string]string{"Retry-After": asked}, "")
		}, func(t *testing.T, c *api.Client, p *platform) {
			ctx := t.Context()
			if tt.limit > 0 {
				limited, cancel := context.WithTimeout(ctx, tt.limit)
				defer cancel()
				ctx = limited
			}
			_, err := c.Get(ctx, named(t, "CDN"), "a")
			if _ = asError(t, err); !strings.Contains(err.Error(), tt.says) || len(p.at) != 1 || time.Since(p.begun) > time.Second {
				t.Errorf("%s: %v, requests at %v", asked, err, p.at)
			}
			if turn := c.WaitForRateLimit(ctx, named(t, "CDN")); !asError(t, turn).NotSent() || !asError(t, turn).Hopeless || !strings.HasPrefix(turn.Error(), "write CDN: not sent, because the platform asks to wait until") {
				t.Errorf("%s: %v", asked, turn)
			}
		})
	}
}

// TestWhatIsNoPause: what can't be read of a Retry-After is not waited for, but
// the way of the tries is.
func TestWhatIsNoPause(t *testing.T) {
	for _, header := range []string{"", "-5", "soon", "NaN", "Infinity", "Fri, 20 Nov 2026 10:00:00 GMT", "0"} {
		bubble(t, func(n int, r *http.Request) *http.Response {
			if n < 4 {
				return respond(r, 429, map[string]string{"Retry-After": header, "Date": "Sat, 21 Nov 2026 10:00:00 GMT"}, "")
			}
			return found(r)
		}, func(t *testing.T, c *api.Client, p *platform) {
			if _, err := c.Get(t.Context(), named(t, "CDN"), "a"); err != nil || time.Since(p.begun) > 10*time.Second || len(p.at) != 4 {
				t.Errorf("%q: %v, requests at %v", header, err, p.at)
			}
		})
	}
}

// TestAnInterruptionEndsAPause: nobody waits for the end of one.
func TestAnInterruptionEndsAPause(t *testing.T) {
	bubble(t, func(_ int, r *http.Request) *http.Response {
		return respond(r, 429, map[string]string{"Retry-After": "50"}, "")
	}, func(t *testing.T, c *api.Client, p *platform) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		if _, err := c.Get(ctx, named(t, "CDN"), "a"); !errors.Is(err, context.Canceled) || time.Since(p.begun) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(p.begun))
		}
		if err := c.WaitForRateLimit(ctx, named(t, "CDN")); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// TestARefusedTokenStopsEverything of its area, before anything is dialled.
func TestARefusedTokenStopsEverything(t *testing.T) {
	bubble(t, func(_ int, r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, "cdns") {
			return respond(r, 401, nil, `{"message":"bad token"}`)
		}
		return found(r)
	}, func(t *testing.T, c *api.Client, p *platform) {
		cdn := named(t, "CDN")
		_, first := c.Get(t.Context(), cdn, "a")
		_, get := c.Get(t.Context(), cdn, "b")
		_, _, list := names(t, c.Reader)
		_, create := c.Create(t.Context(), named(t, "Purge"), []byte(`{}`))
		for _, err := range []error{first, get, list, create, c.WaitForRateLimit(t.Context(), cdn)} {
			if e := asError(t, err); !e.IsAuth() || !strings.Contains(err.Error(), "401 Unauthorized: bad token: check TRUEUP_DELIVERY_TOKEN") || e.NotSent() != (err != first) { //nolint:errorlint // the very same error is meant
				t.Errorf("%v", err)
			}
		}
		if !strings.HasPrefix(get.Error(), "get CDN/b: not sent, because the token of the delivery area was refused before: get CDN/a: 401") || len(p.at) != 1 {
			t.Errorf("%v, %d requests", get, len(p.at))
		}
		if _, err := c.Get(t.Context(), named(t, "VolumeSnapshot"), "db"); err != nil {
			t.Errorf("the other area: %v", err)
		}
	})
}

// TestARefusalEndsThePause: whoever waits for the end of a pause while the
// token is refused sends it no more, and does not wait on.
func TestARefusalEndsThePause(t *testing.T) {
	bubble(t, func(n int, r *http.Request) *http.Response {
		if n == 1 {
			return respond(r, 429, map[string]string{"Retry-After": "30"}, "")
		}
		time.Sleep(5 * time.Second)
		return respond(r, 401, nil, "")
	}, func(t *testing.T, c *api.Client, p *platform) {
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); asError(t, err).Class != api.Denied {
					t.Errorf("the read ended with %v", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(p.begun); len(p.at) != 2 || took > 10*time.Second {
			t.Errorf("requests at %v, and the end after %s", p.at, took)
		}
	})
}

// TestManyServerErrorsEndTheReading: after five in a row no read is begun, and
// those that were begun use up their tries; an answer in between lets all go on.
func TestManyServerErrorsEndTheReading(t *testing.T) {
	down := func(_ int, r *http.Request) *http.Response { return respond(r, 502, nil, "bad gateway") }
	bubble(t, down, func(t *testing.T, c *api.Client, p *platform) {
		var failed, refused int
		cfg := config(t, "http://127.0.0.1:1")
		cfg.Retry, cfg.Transport = api.RetryPolicy{}, p
		r := api.NewReader(cfg)
		for i := range 10_000 {
			_, err := r.Get(t.Context(), named(t, "CDN"), fmt.Sprint(i))
			switch e := asError(t, err); {
			case e.Status == 502:
				failed++
			case e.Class == api.Unavailable && strings.Contains(err.Error(), "not sent, because the last 5 answers of the delivery area were server errors: try again later: get CDN/0: 502 Bad Gateway: bad gateway (GET"):
				refused++
			default:
				t.Fatal(err)
			}
		}
		if failed != 1 || refused != 9999 || len(p.at) != 5 {
			t.Errorf("%d failed, %d were refused, %d requests", failed, refused, len(p.at))
		}
		// Who writes counts what failed itself.
		for range 3 {
			if _, err := c.Get(t.Context(), named(t, "CDN"), "a"); asError(t, err).Status != 502 {
				t.Errorf("%v", err)
			}
		}
	})
	// The first object of each of four readers fails three times, so six answers or
	// more do so in a row, and no reader uses up its tries.
	var mu sync.Mutex
	tries := map[string]int{}
	bubble(t, func(n int, r *http.Request) *http.Response {
		mu.Lock()
		defer mu.Unlock()
		if tries[r.URL.Path]++; strings.HasSuffix(r.URL.Path, "0") && tries[r.URL.Path] <= 3 {
			return down(n, r)
		}
		return found(r)
	}, func(t *testing.T, _ *api.Client, p *platform) {
		cfg := config(t, "http://127.0.0.1:1")
		cfg.Retry, cfg.Transport = api.RetryPolicy{}, p
		r := api.NewReader(cfg)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 10 {
					if _, err := r.Get(t.Context(), named(t, "CDN"), fmt.Sprint(w*10+i)); err != nil {
						t.Errorf("a short failure ends the reading: %v", err)
					}
				}
			})
		}
		wg.Wait()
	})
}

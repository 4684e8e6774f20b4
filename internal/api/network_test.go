package api_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

func TestReadsAreRetriedAndWritesNot(t *testing.T) {
	for status, tries := range map[int]int{
		200: 1, 400: 1, 401: 1, 403: 1, 404: 1, 409: 1, 410: 1, 408: 5, 429: 5, 500: 5, 502: 5, 503: 5, 504: 5, 302: 1,
	} {
		requests := 0
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, cdn("shop"))
		})
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		if requests != tries || (err == nil) != (status == 200) {
			t.Errorf("%d: %d tries, %v", status, requests, err)
		}
		if err != nil && asError(t, err).RetryAfter != time.Millisecond {
			t.Errorf("%d: Retry-After is %v", status, asError(t, err).RetryAfter)
		}
		requests = 0
		_ = c.WaitForRateLimit(t.Context(), named(t, "CDN"))
		_, _ = c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
		if requests != 1 && status != 401 {
			t.Errorf("%d: %d tries of a write", status, requests)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "86400": 24 * time.Hour, "1e300": 366 * 24 * time.Hour, "NaN": 0, "soon": 0,
		"Sat, 21 Nov 2026 10:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 09:00:00 GMT": 0, "Sun, 21 Nov 2027 09:00:00 GMT": 8759 * time.Hour,
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(429)
		}, func(cfg *api.ClientConfig) { cfg.Retry = api.RetryPolicy{Tries: 1} })
		_, err := c.Create(t.Context(), named(t, "CDN"), []byte(`{}`))
		if e := asError(t, err); e.RetryAfter != want || !e.NotSent() {
			t.Errorf("%q: %v, %v", header, e.RetryAfter, err)
		}
	}
	c := serve(t, say(429, jsonType, `{"details":{"retryAfterSeconds":9}}`), func(cfg *api.ClientConfig) { cfg.Retry = api.RetryPolicy{} })
	if _, err := c.Create(t.Context(), named(t, "CDN"), []byte(`{}`)); asError(t, err).RetryAfter != 9*time.Second {
		t.Errorf("%v", err)
	}
}

func TestARetrySucceedsAndTheContextBoundsThem(t *testing.T) {
	requests := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		if requests < 3 {
			w.WriteHeader(503)
			return
		}
		_, _ = io.WriteString(w, cdn("shop"))
	})
	if o, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil || o.Host != "shop.example.com" {
		t.Errorf("%+v, %v", o, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(503)
	}, func(cfg *api.ClientConfig) { cfg.Retry = api.RetryPolicy{Initial: time.Hour, Max: time.Hour} })
	if _, err := c.Get(ctx, named(t, "CDN"), "shop"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestLocalhostIsThisMachine whatever DNS says of it: tokens go there by plain http.
func TestLocalhostIsThisMachine(t *testing.T) {
	resolver := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = resolver })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("DNS was asked")
		return nil, errors.New("no DNS here")
	}}
	for _, host := range []string{"localhost", "api.localhost", "a.b.LOCALHOST"} {
		c := serve(t, say(200, "application/json", cdn("shop")), func(cfg *api.ClientConfig) {
			for area, e := range cfg.Endpoints {
				e.Base.Host = net.JoinHostPort(host, e.Base.Port())
				cfg.Endpoints[area] = e
			}
		})
		if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if _, err := c.CheckReachability(t.Context(), kind.Delivery); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		requests := 0
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			http.Redirect(w, r, other.URL+"/?token="+url.QueryEscape(canary), status)
		})
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		if _ = asError(t, err); !strings.Contains(err.Error(), "redirected to "+strconv.Itoa(len(other.URL)+len("/?token=")+len(url.QueryEscape(canary)))+" bytes, not shown") {
			t.Errorf("%d: %v", status, err)
		}
		_, err = c.Create(t.Context(), named(t, "Purge"), []byte(`{}`))
		if e := asError(t, err); (e.Class == api.Unknown) != (status < 307) || e.NotSent() {
			t.Errorf("%d: %s, %v", status, e.Class, err)
		}
		if requests != 2 {
			t.Errorf("%d: %d requests", status, requests)
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// purge sends the one request that must never be sent twice.
func purge(t *testing.T, c *api.Client) *api.Error {
	t.Helper()
	_, err := c.Create(t.Context(), named(t, "Purge"), []byte(`{"metadata":{"name":"rel-1"}}`))
	return asError(t, err)
}

func TestNothingWasSent(t *testing.T) {
	secure := httptest.NewUnstartedServer(say(201, jsonType, ""))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(say(201, jsonType, ""))
	defer plain.Close()
	for address, want := range map[string]string{
		"http://127.0.0.1:1": "connection refused",
		secure.URL:           "certificate",
		strings.Replace(plain.URL, "http://", "https://", 1): "HTTP response to HTTPS client",
	} {
		c := api.NewClient(config(t, address))
		if e := purge(t, c); !e.NotSent() || e.Class == api.Unknown || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %s, %v, want %q", address, e.Class, e, want)
		}
		c.Close()
	}
	c := serve(t, say(201, "", ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Create(ctx, named(t, "Purge"), []byte(`{}`))
	if e := asError(t, err); !e.NotSent() || !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended before: %s, %v", e.Class, err)
	}
}

func TestTrustedCertificatesAndHopelessOnes(t *testing.T) {
	secure := httptest.NewUnstartedServer(say(200, jsonType, cdn("shop")))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	tries := 0
	cfg := config(t, secure.URL)
	cfg.Trace = func(api.TraceEvent) { tries++ }
	if _, err := api.NewReader(cfg).Get(t.Context(), named(t, "CDN"), "shop"); err == nil || tries != 1 {
		t.Errorf("a bad certificate is tried %d times: %v", tries, err)
	}
	cfg.RootCAs = x509.NewCertPool()
	cfg.RootCAs.AddCert(secure.Certificate())
	r := api.NewReader(cfg)
	defer r.Close()
	if _, err := r.Get(t.Context(), named(t, "CDN"), "shop"); err != nil {
		t.Errorf("a trusted certificate: %v", err)
	}
}

func TestItMayHaveBeenSent(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if e := purge(t, c); e.Class != api.Unknown || e.NotSent() {
		t.Errorf("reset after the request: %s, %v", e.Class, e)
	}
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "500")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, `{"kind":"Purge",`)
	})
	if e := purge(t, c); e.Class != api.Unknown {
		t.Errorf("half an answer: %s, %v", e.Class, e)
	}
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, cdn(path.Base(r.URL.Path)))
	})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name := fmt.Sprint(i)
			if o, err := c.Get(t.Context(), named(t, "CDN"), name); err != nil || o.Name != name {
				t.Errorf("%+v, %v", o, err)
			}
			if _, err := c.Patch(t.Context(), named(t, "CDN"), name, []byte(`{}`)); err != nil {
				t.Error(err)
			}
			c.ServerTime()
		})
	}
	wg.Wait()
}

// TestAConnectionThatDiedIdle: the server hangs up between two requests, so of
// the second nothing may have been written, or it may: never a second POST.
func TestAConnectionThatDiedIdle(t *testing.T) {
	var mu sync.Mutex
	posts := 0
	var conns []net.Conn
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			posts++
		}
		_, _ = io.WriteString(w, cdn("shop"))
	}))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		}
	}
	server.Start()
	defer server.Close()
	c := api.NewClient(config(t, server.URL))
	defer c.Close()
	for range 50 {
		if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		conns, posts = nil, 0
		mu.Unlock()
		_, err := c.Create(t.Context(), named(t, "CDN"), []byte(cdn("shop")))
		mu.Lock()
		switch seen := posts; {
		case seen > 1:
			t.Fatalf("the server saw %d POST", seen)
		case err == nil && seen != 1:
			t.Fatal("success without a POST")
		case err != nil && seen == 1 && asError(t, err).Class != api.Unknown:
			t.Fatalf("the server saw the POST: %v", err)
		}
		mu.Unlock()
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	short := func(cfg *api.ClientConfig) {
		cfg.RequestTimeout = time.Second
		cfg.Retry.Tries = 2
	}
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	c := serve(t, hang, short)
	drip := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `[`)
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	}, short)
	var posted, got, listed, created error
	var wg sync.WaitGroup
	wg.Go(func() { _, posted = c.Create(t.Context(), named(t, "Purge"), []byte(`{}`)) })
	wg.Go(func() { _, got = c.Get(t.Context(), named(t, "CDN"), "shop") })
	wg.Go(func() { _, _, listed = names(t, drip.Reader) })
	wg.Go(func() { _, created = drip.Create(t.Context(), named(t, "CDN"), []byte(`{}`)) })
	wg.Wait()
	if e := asError(t, posted); e.Class != api.Unknown || !errors.Is(posted, context.DeadlineExceeded) || !strings.Contains(posted.Error(), "no answer within 1s") {
		t.Errorf("%s, %v", e.Class, posted)
	}
	if asError(t, got).Class != api.Unavailable {
		t.Errorf("%v", got)
	}
	if listed == nil || !strings.Contains(listed.Error(), "no answer within 1s") {
		t.Errorf("%v", listed)
	}
	if asError(t, created).Class != api.Unknown {
		t.Errorf("%v", created)
	}
}

func TestWritesAreLimited(t *testing.T) {
	cfg := config(t, "https://platform.example/")
	cfg.WritesPerSecond = 0.001
	sent := 0
	cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	c := api.NewClient(cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	first, second := c.WaitForRateLimit(ctx, named(t, "CDN")), c.WaitForRateLimit(ctx, named(t, "CDN"))
	if first != nil || second == nil || !asError(t, second).NotSent() || !strings.HasPrefix(second.Error(), "write CDN: waiting for the rate limit: ") {
		t.Errorf("%v, %v", first, second)
	}
	// Whoever has had the last turn is not made to wait for another.
	if _, err := c.Create(ctx, named(t, "CDN"), []byte(`{}`)); err != nil || sent != 1 {
		t.Errorf("%v, %d sent", err, sent)
	}
	loopback := serve(t, say(204, "", ""), func(cfg *api.ClientConfig) { cfg.WritesPerSecond = 0.001 })
	for range 3 {
		if err := loopback.WaitForRateLimit(ctx, named(t, "CDN")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAForeignTransportProvesNothing(t *testing.T) {
	cfg := config(t, "http://127.0.0.1:1")
	cfg.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("broke") })
	_, err := api.NewClient(cfg).Create(t.Context(), named(t, "Purge"), []byte(`{}`))
	if e := asError(t, err); e.Class != api.Unknown {
		t.Errorf("%s, %v", e.Class, err)
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	server := httptest.NewServer(say(200, jsonType, listOf(500)))
	c := api.NewClient(config(t, server.URL))
	stop := errors.New("stop")
	for range 20 {
		_, _ = c.List(t.Context(), named(t, "CDN"), func(kind.LiveObject) error { return stop })
		_, _, _ = names(t, c.Reader)
	}
	c.Close()
	server.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

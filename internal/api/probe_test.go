package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

// reacher is a Reader of one area at an address.
func reacher(t *testing.T, address string, change ...func(*api.ClientConfig)) *api.Reader {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	token, err := api.NewToken(canary)
	if err != nil {
		t.Fatal(err)
	}
	cfg := api.ClientConfig{
		Endpoints: map[kind.Area]api.Endpoint{kind.Delivery: {Base: base, Token: token}},
		Now:       time.Now, RequestTimeout: time.Minute,
	}
	for _, do := range change {
		do(&cfg)
	}
	r := api.NewReader(cfg)
	t.Cleanup(r.Close)
	return r
}

// TestReachCountsAnyAnswerAndCarriesNoToken also of a server that is not well.
func TestReachCountsAnyAnswerAndCarriesNoToken(t *testing.T) {
	for _, status := range []int{200, 301, 401, 404, 503} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/delivery" || r.Header.Get("Authorization") != "" {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
			}
			w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
			w.Header().Set("Age", "60")
			w.WriteHeader(status)
		}))
		seen, err := reacher(t, web.URL+"/delivery").CheckReachability(t.Context(), kind.Delivery)
		web.Close()
		want := time.Date(2026, 11, 21, 10, 1, 0, 0, time.UTC)
		if err != nil || seen.Status != status || !seen.Clock.Server.Equal(want) || seen.Clock.Wall.IsZero() ||
			seen.TLS+seen.Issuer+seen.Proxy != "" {
			t.Errorf("%d: %+v, %v", status, seen, err)
		}
	}
}

func TestReachSaysWhyThereIsNoAnswer(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	seen, err := reacher(t, secure.URL).CheckReachability(t.Context(), kind.Delivery)
	if err == nil || !strings.Contains(err.Error(), "certificate") || !strings.Contains(seen.Issuer, "Acme Co") || seen.Expires.IsZero() {
		t.Errorf("%+v, %v", seen, err)
	}
	short := func(cfg *api.ClientConfig) { cfg.RequestTimeout = 20 * time.Millisecond }
	if _, err := reacher(t, silent.URL, short).CheckReachability(t.Context(), kind.Delivery); err == nil || err.Error() != "no answer within 20ms" {
		t.Errorf("%v", err)
	}
	if _, err := reacher(t, "http://127.0.0.1:1").CheckReachability(t.Context(), kind.Delivery); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
	if _, err := reacher(t, silent.URL).CheckReachability(t.Context(), kind.Compute); err == nil || !strings.Contains(err.Error(), "set TRUEUP_COMPUTE_URL") {
		t.Errorf("%v", err)
	}
}

// TestATokenIsAskedForWhenItIsNeeded and a failure to get it is no request.
func TestATokenIsAskedForWhenItIsNeeded(t *testing.T) {
	var requests []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Header.Get("Authorization"))
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Set-Cookie", "session=secret")
		_, _ = io.WriteString(w, cdn("shop"))
	}))
	defer web.Close()
	asked, failure := 0, error(nil)
	var trace bytes.Buffer
	r := reacher(t, web.URL, func(cfg *api.ClientConfig) {
		e := cfg.Endpoints[kind.Delivery]
		token := e.Token
		e.Token, e.TokenFrom = api.Token{}, "token of a profile"
		e.Ask = func(context.Context) (api.Token, error) { asked++; return token, failure }
		cfg.Endpoints[kind.Delivery] = e
		cfg.Trace = func(event api.TraceEvent) {
			fmt.Fprint(&trace, event)
		}
	})
	if asked != 0 {
		t.Error("asked before it was needed")
	}
	if _, err := r.Get(t.Context(), named(t, "CDN"), "shop"); err != nil || len(requests) != 1 || requests[0] != "Bearer "+canary {
		t.Errorf("%v, %q", err, requests)
	}
	if text := trace.String(); strings.Contains(text, canary) || strings.Contains(text, "session") {
		t.Errorf("the trace shows %s", text)
	}
	failure = errors.New("no session")
	_, err := r.Get(t.Context(), named(t, "CDN"), "shop")
	if e := asError(t, err); len(requests) != 1 || !e.IsAuth() || !e.NotSent() || !errors.Is(err, failure) || e.Method != "" ||
		!strings.Contains(err.Error(), "no token for the delivery area: no session") {
		t.Errorf("%v, %d requests", err, len(requests))
	}
}

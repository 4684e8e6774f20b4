package api_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"sync/atomic"
	"testing"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// tlsServer serves with TLS, and with HTTP/2 where it is wanted; it counts
// connections, and is trusted by the configuration that it returns.
func tlsServer(t *testing.T, http2 bool, handler http.HandlerFunc) (cfg api.ClientConfig, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	cfg = config(t, server.URL)
	cfg.RootCAs = x509.NewCertPool()
	cfg.RootCAs.AddCert(server.Certificate())
	return cfg, connections
}

func isList(t *testing.T, r *http.Request) bool {
	return path.Base(r.URL.Path) == path.Base(named(t, "CDN").CollectionPath(workspace))
}

// TestConnectionsAreUsedAgain: what the list shows is one request, what it does
// not show one each. With HTTP/2 they share a connection; without it there may be
// some more than requests at a time, because one is free a moment after its
// answer was read.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const objects, parallelism = 200, 4
	for _, c := range []struct {
		name                  string
		http2                 bool
		body                  string
		requests, connections int64
	}{
		{"the list shows all", true, listOf(objects), 1, 1},
		{"the list shows none", true, `{"items":[]}`, 1 + objects, 1},
		{"the list shows none, without HTTP/2", false, `{"items":[]}`, 1 + objects, objects / 4},
	} {
		var requests atomic.Int64
		cfg, connections := tlsServer(t, c.http2, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			body := cdn(path.Base(r.URL.Path))
			if isList(t, r) {
				body = c.body
			}
			say(200, jsonType, body)(w, r)
		})
		cfg.Parallelism = parallelism
		reader := api.NewReader(cfg)
		set := &manifest.Set{}
		for i := range objects {
			set.Objects = append(set.Objects, &manifest.Object{Kind: named(t, "CDN"), Name: fmt.Sprintf("c%d", i)})
		}
		s, err := api.FetchState(t.Context(), reader, set, api.FetchOptions{Parallelism: parallelism})
		if err != nil || len(s.Objects) != objects || s.Lists["CDN"] != (kind.ListInfo{Complete: c.requests == 1, Items: s.Lists["CDN"].Items, Requests: 1}) {
			t.Errorf("%s: %d objects, %v, %v", c.name, len(s.Objects), s.Lists, err)
		}
		if requests.Load() != c.requests || connections.Load() > c.connections {
			t.Errorf("%s: %d requests over %d connections, want %d and no more than %d", c.name, requests.Load(), connections.Load(), c.requests, c.connections)
		}
		reader.Close()
	}
}

// TestAStreamThatEndsIsReadAgain: one that ends before its body did is no answer,
// whatever came of it.
func TestAStreamThatEndsIsReadAgain(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		var requests atomic.Int64
		cfg, _ := tlsServer(t, http2, func(w http.ResponseWriter, r *http.Request) {
			body := cdn("shop")
			if isList(t, r) {
				body = listOf(3)
			}
			if requests.Add(1)%2 == 0 {
				say(200, jsonType, body)(w, r)
				return
			}
			w.Header().Set("Content-Type", jsonType)
			_, _ = io.WriteString(w, body[:len(body)-4])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		reader := api.NewReader(cfg)
		var names []string
		info, err := reader.List(t.Context(), named(t, "CDN"), func(o kind.LiveObject) error {
			names = append(names, o.Name)
			return nil
		})
		if err != nil || len(names) != 3 || !info.Complete || requests.Load() != 2 {
			t.Errorf("HTTP/2 %t: list: %q, %+v, %d requests, %v", http2, names, info, requests.Load(), err)
		}
		if o, err := reader.Get(t.Context(), named(t, "CDN"), "shop"); err != nil || o.Name != "shop" || requests.Load() != 4 {
			t.Errorf("HTTP/2 %t: get: %q, %d requests, %v", http2, o.Name, requests.Load(), err)
		}
		reader.Close()
	}
}

// TestWritesSpeakHTTP1: one request at a time on a connection, of which the bytes
// are counted, tells whether a write has left.
func TestWritesSpeakHTTP1(t *testing.T) {
	spoke := make(chan int, 2)
	cfg, _ := tlsServer(t, true, func(w http.ResponseWriter, r *http.Request) {
		spoke <- r.ProtoMajor
		say(200, jsonType, cdn("shop"))(w, r)
	})
	reader, client := api.NewReader(cfg), api.NewClient(cfg)
	defer reader.Close()
	defer client.Close()
	if _, err := reader.Get(t.Context(), named(t, "CDN"), "shop"); err != nil || <-spoke != 2 {
		t.Errorf("a read does not speak HTTP/2: %v", err)
	}
	if _, err := client.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{"spec":{}}`)); err != nil || <-spoke != 1 {
		t.Errorf("a write does not speak HTTP/1.1: %v", err)
	}
}

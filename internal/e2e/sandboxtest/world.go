// Package sandboxtest calls a sandbox over HTTP in tests. It imports no package of the program: what it sends and reads is as
// the platform's document has it.
package sandboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Server is a sandbox.
type Server interface {
	http.Handler
	Close() error
	Advance(time.Duration) error
	SetQuirks(names ...string) error
}

// World is a server on loopback.
type World struct {
	T      *testing.T
	URL    string
	server Server
}

// Start is what a clock that stands still says.
var Start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// Standing is a clock that stands still.
func Standing() time.Time { return Start }

// Serve serves a sandbox until the test ends.
func Serve(t *testing.T, s Server) *World {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return &World{T: t, URL: web.URL, server: s}
}

// Answer is a response that was read to its end; Err is why it could not be.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
	Err    error
	// Took is the time until the end of the body.
	Took time.Duration
}

// Object returns the body as a JSON object, or nil if it is none.
func (a Answer) Object() map[string]any {
	var out map[string]any
	if json.Unmarshal([]byte(a.Body), &out) != nil {
		return nil
	}
	return out
}

// At returns the member of a JSON answer that a dotted path names.
func (a Answer) At(path string) any { return Dig(a.Object(), path) }

// Dig returns the member of a JSON value that a dotted path names.
func Dig(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// Do sends a request with a token and a media type, if they are not empty.
func (w *World) Do(method, path, token, media, body string) Answer {
	w.T.Helper()
	req, err := http.NewRequestWithContext(w.T.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	return Send(req)
}

// Send sends a request and reads the answer to its end. It follows no redirect.
func Send(req *http.Request) Answer {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	begun := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return Answer{Err: err}
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return Answer{Code: res.StatusCode, Header: res.Header, Body: string(raw), Err: err, Took: time.Since(begun)}
}

// The collections of a sandbox, with its own workspace.
const (
	compute   = "/compute/v1/region-1"
	delivery  = "/delivery/v2.1/global/workspaces/5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c10"
	CDNs      = delivery + "/cdns"
	Purges    = delivery + "/purges"
	Snapshots = compute + "/apis/snapshot.storage.k8s.io/v1/namespaces/acme/volumesnapshots"
)

// TokenFor returns the token of the area that a path is in.
func TokenFor(path string) string {
	if strings.HasPrefix(path, compute) {
		return "sandbox-compute"
	}
	return "sandbox-delivery"
}

// Request is a creation that is not sent yet.
func (w *World) Request(ctx context.Context, method, path, body string) *http.Request {
	w.T.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+TokenFor(path))
	req.Header.Set("Content-Type", "application/json")
	return req
}

// Get reads with the token of the area.
func (w *World) Get(path string) Answer {
	w.T.Helper()
	return w.Do(http.MethodGet, path, TokenFor(path), "", "")
}

// Post creates an object.
func (w *World) Post(path, body string) Answer {
	w.T.Helper()
	return w.Do(http.MethodPost, path, TokenFor(path), "application/json", body)
}

// Patch sends a merge patch.
func (w *World) Patch(path, body string) Answer {
	w.T.Helper()
	return w.Do(http.MethodPatch, path, TokenFor(path), "application/merge-patch+json", body)
}

// Delete deletes an object.
func (w *World) Delete(path string) Answer {
	w.T.Helper()
	return w.Do(http.MethodDelete, path, TokenFor(path), "", "")
}

// Advance moves the clock of the server.
func (w *World) Advance(d time.Duration) {
	w.T.Helper()
	if err := w.server.Advance(d); err != nil {
		w.T.Fatal(err)
	}
}

// SetQuirks replaces the quirks that are on.
func (w *World) SetQuirks(names ...string) {
	w.T.Helper()
	if err := w.server.SetQuirks(names...); err != nil {
		w.T.Fatal(err)
	}
}

// Want fails the test unless the answer has a status.
func (a Answer) Want(t *testing.T, code int) Answer {
	t.Helper()
	if a.Err != nil || a.Code != code {
		t.Fatalf("status %d (%v), want %d: %s", a.Code, a.Err, code, a.Body)
	}
	return a
}

// WantAt fails the test unless the answer has a value at a dotted path.
func (a Answer) WantAt(t *testing.T, path string, want any) Answer {
	t.Helper()
	if got := a.At(path); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s is %v (%T), want %v: %s", path, got, got, want, a.Body)
	}
	return a
}

// CDNBody returns a CDN with two locations and two upstreams.
func CDNBody(name, host string) string {
	return fmt.Sprintf(`{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":%q,"namespace":"acme"},"spec":{
		"hostname":%q,"tls":{"enabled":"true","forced":"false"},
		"locations":[{"path":"/a/*","upstream":"origin","cache":{"edgeTTL":"3600"}},{"path":"/b/*","upstream":"origin"}],
		"upstreams":[{"name":"origin","servers":[{"host":"a.example.net","port":"443","weight":"5"},{"host":"b.example.net","port":"80"}]},
		             {"name":"media","scheme":"http","servers":[]}]}}`, name, host)
}

// PurgeBody returns a purge.
func PurgeBody(name, host string, paths ...string) string {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "delivery/v2.1", "kind": "Purge", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"hostname": host, "paths": paths},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// SnapshotBody returns a snapshot of a disk.
func SnapshotBody(name, disk string) string {
	return fmt.Sprintf(`{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"name":%q,"namespace":"acme"},
		"spec":{"source":{"persistentVolumeClaimName":%q},"volumeSnapshotClassName":"general-purpose"}}`, name, disk)
}

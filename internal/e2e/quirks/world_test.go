package quirks

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"trueup/internal/sandbox"
)

// world is a server on loopback with a clock that stands still.
type world struct {
	t   *testing.T
	s   *Server
	url string
}

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func standing() time.Time { return start }

func newWorld(t *testing.T, quirks ...string) *world {
	t.Helper()
	return openWorld(t, sandbox.ServerOptions{Now: standing, Quirks: quirks})
}

func openWorld(t *testing.T, opts sandbox.ServerOptions) *world {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return &world{t: t, s: s, url: web.URL}
}

// answer is a response that was read to its end; err is why it could not be.
type answer struct {
	code   int
	header http.Header
	body   string
	err    error
	// took is the time until the end of the body.
	took time.Duration
}

func (a answer) object() map[string]any {
	var out map[string]any
	if json.Unmarshal([]byte(a.body), &out) != nil {
		return nil
	}
	return out
}

// at returns the member of a JSON answer that a dotted path names.
func (a answer) at(path string) any { return dig(a.object(), path) }

func dig(v any, path string) any {
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

func (w *world) do(method, path, token, media, body string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	return send(req)
}

func send(req *http.Request) answer {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	begun := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return answer{code: res.StatusCode, header: res.Header, body: string(raw), err: err, took: time.Since(begun)}
}

const (
	cdns      = sandbox.DeliveryBase + "/global/workspaces/" + sandbox.WorkspaceUUID + "/cdns"
	purges    = sandbox.DeliveryBase + "/global/workspaces/" + sandbox.WorkspaceUUID + "/purges"
	snapshots = sandbox.ComputeBase + "/apis/snapshot.storage.k8s.io/v1/namespaces/" + sandbox.WorkspaceName + "/volumesnapshots"
)

func tokenFor(path string) string {
	if strings.HasPrefix(path, sandbox.ComputeBase) {
		return sandbox.ComputeToken
	}
	return sandbox.DeliveryToken
}

func (w *world) get(path string) answer {
	w.t.Helper()
	return w.do(http.MethodGet, path, tokenFor(path), "", "")
}

func (w *world) post(path, body string) answer {
	w.t.Helper()
	return w.do(http.MethodPost, path, tokenFor(path), "application/json", body)
}

func (w *world) patch(path, body string) answer {
	w.t.Helper()
	return w.do(http.MethodPatch, path, tokenFor(path), "application/merge-patch+json", body)
}

func (w *world) delete(path string) answer {
	w.t.Helper()
	return w.do(http.MethodDelete, path, tokenFor(path), "", "")
}

func (w *world) advance(d time.Duration) {
	w.t.Helper()
	if err := w.s.Advance(d); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) quirks(names ...string) {
	w.t.Helper()
	if err := w.s.SetQuirks(names...); err != nil {
		w.t.Fatal(err)
	}
}

func (a answer) want(t *testing.T, code int) answer {
	t.Helper()
	if a.err != nil || a.code != code {
		t.Fatalf("status %d (%v), want %d: %s", a.code, a.err, code, a.body)
	}
	return a
}

func (a answer) wantAt(t *testing.T, path string, want any) answer {
	t.Helper()
	if got := a.at(path); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s is %v (%T), want %v: %s", path, got, got, want, a.body)
	}
	return a
}

func cdnBody(name, host string) string {
	return fmt.Sprintf(`{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":%q,"namespace":"acme"},"spec":{
		"hostname":%q,"tls":{"enabled":"true","forced":"false"},
		"locations":[{"path":"/a/*","upstream":"origin","cache":{"edgeTTL":"3600"}},{"path":"/b/*","upstream":"origin"}],
		"upstreams":[{"name":"origin","servers":[{"host":"a.example.net","port":"443","weight":"5"},{"host":"b.example.net","port":"80"}]},
		             {"name":"media","scheme":"http","servers":[]}]}}`, name, host)
}

func purgeBody(name, host string, paths ...string) string {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "delivery/v2.1", "kind": "Purge", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"hostname": host, "paths": paths},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func snapshotBody(name, disk string) string {
	return fmt.Sprintf(`{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"name":%q,"namespace":"acme"},
		"spec":{"source":{"persistentVolumeClaimName":%q},"volumeSnapshotClassName":"general-purpose"}}`, name, disk)
}

// withShop is a world that has one CDN, shop.
func withShop(t *testing.T, quirks ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.post(cdns, cdnBody("shop", "shop.example.com")).want(t, 201)
	w.quirks(quirks...)
	return w
}

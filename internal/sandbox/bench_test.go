package sandbox

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"trueup/internal/e2e/sample"

	"trueup/internal/e2e/sandboxtest"
)

// benchWorld is a server that holds n sandboxtest.CDNs; ask sends a request without a wire.
func benchWorld(b *testing.B, n int) (w *Server, ask func(method, path, body string) *httptest.ResponseRecorder) {
	b.Helper()
	s, err := Open(ServerOptions{Dir: b.TempDir(), Now: sandboxtest.Standing})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	var all []json.RawMessage
	for sample := range (sample.World{CDNs: n}).Objects() {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": sample.APIVersion, "kind": sample.Kind, "metadata": map[string]any{"name": sample.Name}, "spec": sample.Live,
		})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, raw)
	}
	if err := s.PutJSON(all...); err != nil {
		b.Fatal(err)
	}
	return s, func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+DeliveryToken)
		r.Header.Set("Content-Type", "application/merge-patch+json")
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if rec.Code != http.StatusOK {
			b.Fatal(rec.Code, rec.Body)
		}
		return rec
	}
}

func BenchmarkList(b *testing.B) {
	_, ask := benchWorld(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(ask(http.MethodGet, sandboxtest.CDNs, "").Body.Len()))
	}
}

func BenchmarkGet(b *testing.B) {
	_, ask := benchWorld(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		ask(http.MethodGet, sandboxtest.CDNs+"/shop-00042", "")
	}
}

func BenchmarkPatch(b *testing.B) {
	_, ask := benchWorld(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		ask(http.MethodPatch, sandboxtest.CDNs+"/shop-00042", `{"spec":{"tls":{"forced":"true"}}}`)
	}
}

// BenchmarkPut is of a thousand objects at once.
func BenchmarkPut(b *testing.B) {
	s, _ := benchWorld(b, 1000)
	all, err := s.Objects()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Put(all...); err != nil {
			b.Fatal(err)
		}
	}
}

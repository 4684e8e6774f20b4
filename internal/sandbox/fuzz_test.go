package sandbox

import (
	"net/http/httptest"
	"strings"
	"testing"

	"trueup/internal/e2e/sandboxtest"
)

// Whatever is sent, the platform answers, and an answer is never its own fault.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		sandboxtest.CDNBody("shop", "shop.example.com"), sandboxtest.PurgeBody("p", "shop.example.com", "/", "/*"), sandboxtest.SnapshotBody("db", "d"),
		`{"spec":{"upstreams":[null,{"servers":[null]}],"locations":null}}`, `{"metadata":[]}`, `{"spec":[]}`, `null`, `{`, `7`,
	} {
		f.Add(uint8(len(body)), body)
	}
	s, err := Open(ServerOptions{Now: sandboxtest.Standing})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	if err := s.LoadSeed(LiveExamples()); err != nil {
		f.Fatal(err)
	}
	calls := []struct{ method, path, media string }{
		{"POST", sandboxtest.CDNs, typeJSON}, {"PATCH", sandboxtest.CDNs + "/shop", "application/merge-patch+json"}, {"POST", sandboxtest.Purges, typeJSON}, {"POST", sandboxtest.Snapshots, typeJSON},
	}
	sets := [][]string{nil, {"defaults", "typed-scalars"}, {"normalises", "sorts-locations", "status"}}
	f.Fuzz(func(t *testing.T, pick uint8, body string) {
		if err := s.SetQuirks(sets[int(pick/4)%len(sets)]...); err != nil {
			t.Fatal(err)
		}
		call := calls[pick%4]
		req := httptest.NewRequestWithContext(t.Context(), call.method, call.path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+sandboxtest.TokenFor(call.path))
		req.Header.Set("Content-Type", call.media)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		if rec.Code >= 500 {
			t.Errorf("%s %s: %d %s", call.method, call.path, rec.Code, rec.Body)
		}
		for _, path := range []string{sandboxtest.CDNs, sandboxtest.CDNs + "/shop", sandboxtest.Snapshots} {
			read := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			read.Header.Set("Authorization", "Bearer "+sandboxtest.TokenFor(path))
			rec := httptest.NewRecorder()
			if s.ServeHTTP(rec, read); rec.Code != 200 {
				t.Errorf("GET %s afterwards: %d %s", path, rec.Code, rec.Body)
			}
		}
	})
}

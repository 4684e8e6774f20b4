package config

import (
	"net/http"
	"strings"
	"testing"
)

// TestTheSandboxAnswersNoBrowser: a page elsewhere may reach this machine by its address, or by a name of its own.
func TestTheSandboxAnswersNoBrowser(t *testing.T) {
	base, stop, err := ServeSandbox(t.Context(), http.NotFoundHandler(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	port := base[strings.LastIndex(base, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 404, "localhost" + port: 404, "localhost": 404, "[::1]" + port: 404,
		"evil.example.com" + port: 403, "evil.example.com": 403, "127.0.0.1.evil.example.com": 403, "192.0.2.1" + port: 403,
	} {
		for _, origin := range []string{"", "null", "https://evil.example.com", "http://127.0.0.1:1"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			want := want
			if origin != "" {
				req.Header.Set("Origin", origin)
				want = http.StatusForbidden
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("host %s, origin %q: %d, want %d", host, origin, resp.StatusCode, want)
			}
		}
	}
}

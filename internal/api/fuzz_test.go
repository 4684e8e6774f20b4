package api_test

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"trueup/internal/api"
	"trueup/internal/kind"
)

// FuzzAnswer answers each operation with any status, header and body. No answer
// makes a panic, an unsafe text, or the wrong conclusion: that an object is
// absent, or was not sent, has its own answers.
func FuzzAnswer(f *testing.F) {
	object := cdn("a.b c")
	for i, body := range []string{
		object, `{"items":[` + object + `]}`, "", "null", `{"kind":"Status","status":"Failure","reason":"Invalid","message":"no","details":{"causes":[{"field":"f","message":"m"}],"retryAfterSeconds":3}}`,
		`{"metadata":{"name":"a.b c","continue":"x"},"items":[]}`, "<html><title>x</title>", `{"metadata":{"name":"a.b c"},"spec":{"x":1,"x":2}}`, "\x1b[2J::error::", canary, `{"error":"` + canary + `"}`,
	} {
		for j, header := range []string{"", "Retry-After: 3", "Retry-After: Sat, 21 Nov 2026 10:00:30 GMT", `Warning: 299 - "x\"y" "date"`, "Link: <?page=2>; rel=next", "Content-Encoding: br", "X-Request-Id: \x1b[2J", "Location: " + canary} {
			f.Add(uint16([]int{200, 201, 404, 400, 401, 409, 429, 503}[(i+j)%8]), header, body)
		}
	}
	f.Fuzz(func(t *testing.T, status uint16, header, body string) {
		requests := 0
		cfg := config(t, "http://127.0.0.1:1")
		cfg.Retry = api.RetryPolicy{Tries: 1, Initial: time.Nanosecond, MaxRetryAfter: time.Nanosecond, Second: time.Nanosecond}
		cfg.MaxPages = 3
		cfg.Warn = func(text string) { visible(t, text) }
		cfg.Trace = func(e api.TraceEvent) { visible(t, e.Err, e.RequestID.String()) }
		status = 200 + status%400
		cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			requests++
			name, value, _ := strings.Cut(header, ": ")
			return respond(r, int(status), map[string]string{name: value}, body), nil
		})
		for _, asked := range slices.Sorted(maps.Keys(documented)) {
			verb, name, _ := strings.Cut(asked, " ")
			err := operate(t.Context(), api.NewClient(cfg), verb, named(t, name))
			if err != nil {
				judgeAnswer(t, verb, int(status), asError(t, err))
			} else if status >= 300 {
				t.Fatalf("%s: %d is a success", asked, status)
			}
		}
		c := api.NewClient(cfg)
		_, _ = c.ReadClock(t.Context(), named(t, "CDN"), "a")
		_, _, _ = names(t, c.Reader)
		if requests > 9+1+3+3 {
			t.Fatalf("%d requests", requests)
		}
	})
}

// FuzzAddress: whatever base address is accepted, and whatever an object or the
// workspace is called, a request goes to that origin, below that path, and to as
// many segments as the operation has; or to nowhere.
func FuzzAddress(f *testing.F) {
	for _, base := range []string{"https://api.example.com/delivery/v2.1", "http://127.0.0.1:80/x%2Fy/", "http://[::1]", "https://a@b", "https://x.example//..//", "https://0:", "https://%2525", "HTTPS://X", "https://x/?a#b", "https://[fe80::1%25eth0]/"} {
		for _, name := range []string{"shop", "../x", "a/b", "?x", "%2f", "..", "a#b", "\x00", "\u202e", "a%2e%2e/", ";x", "", " ", "\\..\\", "%", "//x"} {
			f.Add(base, name, "acme", "5a1d")
			f.Add(base, "shop", name, name)
		}
	}
	f.Fuzz(func(t *testing.T, base, name, workspace, uuid string) {
		u, err := api.ParseBaseURL(base)
		if err != nil {
			if len(base) > 20 && strings.Contains(err.Error(), base) {
				t.Fatalf("%q is quoted: %v", base, err)
			}
			return
		}
		cfg := config(t, "http://127.0.0.1:1")
		endpoint := api.Endpoint{Base: u, Token: token(t)}
		cfg.Endpoints = map[kind.Area]api.Endpoint{kind.Delivery: endpoint, kind.Compute: endpoint}
		cfg.Workspace = kind.Workspace{Name: workspace, UUID: uuid}
		cfg.Retry.Tries = 1
		var want int
		cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Scheme != "https" && !strings.HasSuffix("."+strings.ToLower(r.URL.Hostname()), ".localhost") && !net.ParseIP(r.URL.Hostname()).IsLoopback() {
				t.Fatalf("%q leads to %s", base, r.URL)
			}
			rest, below := strings.CutPrefix(r.URL.EscapedPath(), strings.TrimRight(u.EscapedPath(), "/")+"/")
			segments := strings.Split(rest, "/")
			if !below || r.URL.Hostname() != u.Hostname() || r.URL.Port() != u.Port() || r.URL.User != nil || r.URL.RawQuery != "" || r.URL.Fragment != "" || len(segments) != want || slices.Contains(segments, "..") || slices.Contains(segments, ".") {
				t.Fatalf("%q, %q, %q, %q leads to %s, which is not of %d segments", base, name, workspace, uuid, r.URL, want)
			}
			return respond(r, 404, nil, ""), nil
		})
		c := api.NewClient(cfg)
		for area, k := range map[string]*kind.Kind{"delivery": named(t, "CDN"), "compute": named(t, "VolumeSnapshot")} {
			want = map[string]int{"delivery": 5, "compute": 7}[area]
			_, _ = c.Get(t.Context(), k, name)
			want--
			_, _ = c.Create(t.Context(), k, []byte(`{}`))
		}
	})
}

// judgeAnswer holds an error to what its answer lets it say.
func judgeAnswer(t *testing.T, verb string, status int, e *api.Error) {
	t.Helper()
	write := verb != "list" && verb != "get"
	refused := status == 401 || status == 403
	if e.NotFound() && (status != 404 || verb == "list" || verb == "create") || e.NotSent() && status != 429 ||
		e.Class == api.Unknown && !write || write && status < 300 && e.Class != api.Unknown ||
		e.IsAuth() && !refused || status == 401 && !write && !e.IsAuth() {
		t.Fatalf("%s, %d: %s, %v", verb, status, e.Class, e)
	}
	visible(t, e.Error())
}

// visible holds that texts are of one line, and hold neither what a terminal
// obeys nor the token.
func visible(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.Contains(text, canary) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q is shown", text)
		}
	}
}

package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"trueup/internal/api"
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
		cfg.Retry = api.Retry{Tries: 1, Initial: time.Nanosecond, MaxRetryAfter: time.Nanosecond, Second: time.Nanosecond}
		cfg.MaxPages = 3
		cfg.Warn = func(w api.Warning) { visible(t, w.Text) }
		cfg.Trace = func(e api.TraceEvent) {
			visible(t, e.Err, e.ContentType, e.RequestID)
			for name, values := range e.Answer {
				visible(t, append(slices.Clone(values), name)...)
			}
		}
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
		_, _ = c.Clock(t.Context(), named(t, "CDN"), "a")
		_, _, _ = names(t, c.Reader)
		if requests > 9+1+3+3 {
			t.Fatalf("%d requests", requests)
		}
	})
}

// judgeAnswer holds an error to what its answer lets it say.
func judgeAnswer(t *testing.T, verb string, status int, e *api.Error) {
	t.Helper()
	write := verb != "list" && verb != "get"
	if e.NotFound() && (status != 404 || verb == "list" || verb == "create") || e.NotSent() && status != 429 ||
		e.Uncertain() && !write || write && status < 300 && !e.Uncertain() || e.Auth() != (status == 401 || status == 403) {
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

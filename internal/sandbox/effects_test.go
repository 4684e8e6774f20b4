package sandbox

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"trueup/internal/e2e/sandboxtest"
)

// effectCases show what a plain client sees of each effect, asking for the list
// of two sandboxtest.CDNs.
var effectCases = map[string][]struct {
	effect string
	check  func(a answer) bool
}{
	"NNN": {
		{"503", func(a answer) bool {
			return a.Code == 503 && a.At("kind") == "Status" && a.At("reason") == "ServiceUnavailable"
		}},
		{"404", func(a answer) bool { return a.Code == 404 && a.At("reason") == "NotFound" }},
		{"200", func(a answer) bool { return a.Code == 200 && a.Body == "{}\n" }},
		{"204", func(a answer) bool { return a.Code == 204 && a.Body == "" }},
		{"429 retry-after=30", retryAfter("30")},
		{"429 retry-after=-5", retryAfter("-5")},
		{"503 retry-after=soon", retryAfter("soon")},
		{"429 retry-after=+30s", retryAfter("Sat, 21 Nov 2026 09:00:30 GMT")},
		{"429 retry-after=-1h", retryAfter("Sat, 21 Nov 2026 08:00:00 GMT")},
		{"429 retry-after=later", retryAfter("later")},
	},
	"drop":  {{"drop x*", func(a answer) bool { return a.Code == 0 && errors.Is(a.Err, io.EOF) }}},
	"reset": {{"reset x*", func(a answer) bool { return a.Code == 0 && errors.Is(a.Err, syscall.ECONNRESET) }}},
	"redirect": {{"redirect=http://127.0.0.1:9/x", func(a answer) bool {
		return a.Code == 307 && a.Header.Get("Location") == "http://127.0.0.1:9/x"
	}}},
	"delay": {{"delay=20ms", whole(20 * time.Millisecond)}, {"delay=20ms after-commit", whole(20 * time.Millisecond)}},
	"partial-list": {
		{"partial-list=1", listed(1, "", nil)},
		{"partial-list=2", listed(2, "", nil)},
	},
	"partial-list-counted": {{"partial-list-counted=1", listed(1, "", float64(1))}},
	"partial-list-paged":   {{"partial-list-paged=1", listed(1, "a token", float64(1))}},
	"clock": {
		{"clock=+25h", dated("Sun, 22 Nov 2026 10:00:00 GMT")},
		{"clock=-7m", dated("Sat, 21 Nov 2026 08:53:00 GMT")},
	},
	"duplicate-executes": {{"duplicate-executes", func(a answer) bool { return a.Code == 200 && a.At("items.1.kind") == "CDN" }}},
}

func retryAfter(want string) func(answer) bool {
	return func(a answer) bool {
		return (a.Code == 429 || a.Code == 503) && a.Header.Get("Retry-After") == want && a.At("status") == "Failure"
	}
}

func dated(want string) func(answer) bool {
	return func(a answer) bool { return a.Code == 200 && a.Header.Get("Date") == want }
}

// whole is the list as it should be, after no less than a time.
func whole(least time.Duration) func(answer) bool {
	return func(a answer) bool { return a.At("items.1.kind") == "CDN" && a.Took >= least }
}

func listed(items int, token string, remain any) func(answer) bool {
	return func(a answer) bool {
		got, _ := a.At("items").([]any)
		return len(got) == items && (a.At("metadata.continue") != "") == (token != "") && a.At("metadata.remainingItemCount") == remain
	}
}

func TestEffects(t *testing.T) {
	for _, e := range FaultKinds() {
		newWorld(t).fault(e.Example)
		if len(effectCases[e.Name]) == 0 && e.Name != "stall" {
			t.Errorf("no case shows %s", e.Name)
		}
		for _, tc := range effectCases[e.Name] {
			t.Run(tc.effect, func(t *testing.T) {
				w := withShop(t)
				w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("docs", "docs.example.com")).Want(t, 201)
				w.fault("GET */cdns: " + tc.effect)
				if got := w.Get(sandboxtest.CDNs); !tc.check(got) {
					t.Errorf("%d %v %v %.300v\n%.300s", got.Code, got.Err, got.Took, got.Header, got.Body)
				}
			})
		}
	}
}

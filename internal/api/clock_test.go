package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"trueup/internal/api"
)

func TestClock(t *testing.T) {
	const date = "Sat, 21 Nov 2026 10:00:00 GMT"
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		status          int
		date, age, body string
		want            time.Time
	}{
		"an object":       {200, date, "", cdn("shop"), at},
		"no object":       {404, date, "", `{"kind":"Status","reason":"NotFound"}`, at},
		"no date":         {200, "", "5", cdn("shop"), time.Time{}},
		"no sense":        {200, "tomorrow", "", cdn("shop"), time.Time{}},
		"kept for a day":  {200, date, "90000", cdn("shop"), at.Add(25 * time.Hour)},
		"an absurd age":   {200, date, "1e300", cdn("shop"), at.Add((1 << 31) * time.Second)},
		"an age below 0":  {200, date, "-60", cdn("shop"), at},
		"another object":  {200, date, "", cdn("other"), at},
		"not even JSON":   {200, date, "", `{"kind":"C`, at},
		"nothing at all":  {204, date, "", "", at},
		"no such address": {404, date, "", "404 page not found", time.Time{}},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.Header.Get("Cache-Control") != "no-cache" || r.URL.Path != delivery+"/cdns/shop" {
				t.Errorf("%s: %s %s %v", name, r.Method, r.URL, r.Header)
			}
			w.Header()["Date"] = nil
			if tc.date != "" {
				w.Header().Set("Date", tc.date)
			}
			w.Header().Set("Age", tc.age)
			w.WriteHeader(tc.status)
			_, _ = w.Write([]byte(tc.body))
		})
		before := time.Now()
		got, err := c.ReadClock(t.Context(), named(t, "CDN"), "shop")
		if name == "no such address" {
			if e := asError(t, err); e.Class != api.Misdirected {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !got.Server.Equal(tc.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		// A time with a monotonic part would not be the same without it.
		if got.Wall != got.Wall.Round(0) || got.Wall.Before(before.Round(0)) || got.Wall.After(time.Now()) {
			t.Errorf("%s: wall %v, not before %v", name, got.Wall, before)
		}
	}
}

func TestClockErrors(t *testing.T) {
	page := "<!DOCTYPE html><html><title>Log in</title></html>"
	for name, tc := range map[string]struct {
		status int
		body   string
		class  api.ErrorClass
	}{
		"no token":  {401, "", api.Denied},
		"no right":  {403, "", api.Denied},
		"too many":  {429, "", api.Unsent},
		"broken":    {503, "", api.Unavailable},
		"a portal":  {200, page, api.Unreadable},
		"moved":     {307, "", api.Misdirected},
		"a refusal": {422, "{}", api.Rejected},
	} {
		c := serve(t, say(tc.status, "", tc.body))
		got, err := c.ReadClock(t.Context(), named(t, "CDN"), "shop")
		if e := asError(t, err); e.Class != tc.class || got != (api.TimeReading{}) {
			t.Errorf("%s: %s, %v, %+v", name, e.Class, err, got)
		}
	}
}

func TestClockIsTheLastAttempts(t *testing.T) {
	tries := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		tries++
		w.Header().Set("Date", time.Date(2026, 11, 21, 10, 0, tries, 0, time.UTC).Format(http.TimeFormat))
		if tries < 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	got, err := c.ReadClock(t.Context(), named(t, "CDN"), "shop")
	if err != nil || got.Server.Second() != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestClockLeavesTheConnection(t *testing.T) {
	addresses := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		addresses[r.RemoteAddr] = true
		_, _ = w.Write([]byte(cdn("shop")))
	})
	if _, err := c.ReadClock(t.Context(), named(t, "CDN"), "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), named(t, "CDN"), []byte(cdn("shop"))); err != nil {
		t.Fatal(err)
	}
	if len(addresses) != 1 {
		t.Errorf("the request came over another connection: %v", addresses)
	}
}

func TestClockAsksNothingThatHasNoGet(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request") })
	if _, err := c.ReadClock(t.Context(), named(t, "Purge"), "rel"); !asError(t, err).NotSent() {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ReadClock(ctx, named(t, "CDN"), "shop"); err == nil {
		t.Error("a reading after the end")
	}
}

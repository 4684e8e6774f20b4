package quirks

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/e2e/sandboxtest"
)

// faultCases show what a plain client sees of each fault, asking for the list of two sandboxtest.CDNs.
var faultCases = map[string][]struct {
	effect string
	check  func(a answer) bool
}{
	"html": {{"html", func(a answer) bool {
		return a.Code == 200 && strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") && strings.Contains(a.Body, "<html>")
	}}},
	"empty":    {{"empty", func(a answer) bool { return a.Code == 200 && a.Body == "" }}},
	"not-json": {{"not-json", func(a answer) bool { return a.Code == 200 && a.Body != "" && a.Object() == nil }}},
	"status-failure": {{"status-failure", func(a answer) bool {
		return a.Code == 200 && a.At("kind") == "Status" && a.At("status") == "Failure"
	}}},
	"drip": {{"drip=300", func(a answer) bool { return a.At("items.1.kind") == "CDN" && a.Took >= 3*slowPause }}},
	"truncate": {
		{"truncate", func(a answer) bool {
			return a.Code == 200 && errors.Is(a.Err, io.ErrUnexpectedEOF) && a.Header.Get("Content-Length") == "1619" && len(a.Body) == 1619/2
		}},
		{"truncate=10", func(a answer) bool { return len(a.Body) == 10 && errors.Is(a.Err, io.ErrUnexpectedEOF) }},
	},
	"truncate-unseen": {
		{"truncate-unseen", func(a answer) bool {
			return a.Err == nil && a.Header.Get("Content-Length") == "" && a.Header.Get("Transfer-Encoding") == "" && len(a.Body) > 100 && a.Object() == nil
		}},
	},
	"gzip-bomb": {{"gzip-bomb=1", func(a answer) bool {
		return len(a.Body) > 1<<20 && a.At("items.1.kind") == "CDN" && a.Header.Get("Content-Length") == ""
	}}},
	"huge": {{"huge=1", func(a answer) bool {
		return len(a.At("padding").(string)) == 1<<20 && a.At("items.1.kind") == "CDN" && a.Header.Get("Content-Length") == strconv.Itoa(len(a.Body))
	}}},
	"wrong-kind":      {{"wrong-kind", func(a answer) bool { return a.At("items.0.kind") == "ConfigMap" && a.At("items.1.kind") == "ConfigMap" }}},
	"wrong-name":      {{"wrong-name", func(a answer) bool { return a.At("items.1.metadata.name") == "other-shop" }}},
	"wrong-namespace": {{"wrong-namespace", func(a answer) bool { return a.At("items.1.metadata.namespace") == "other-acme" }}},
	"date":            {{"date=soon", func(a answer) bool { return a.Code == 200 && a.Header.Get("Date") == "soon" }}},
	"bad-header":      {{"bad-header", func(a answer) bool { return a.Code == 200 && len(a.Header.Get("X-Padding")) == 2<<20 }}},
}

func TestFaults(t *testing.T) {
	for _, e := range Faults() {
		if err := newWorld(t).s.AddFaults(e.Example); err != nil || len(faultCases[e.Name]) == 0 {
			t.Errorf("%s: %v", e.Name, err)
		}
		for _, tc := range faultCases[e.Name] {
			t.Run(tc.effect, func(t *testing.T) {
				w := withShop(t)
				w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("docs", "docs.example.com")).Want(t, 201)
				if err := w.s.AddFaults("GET */cdns: " + tc.effect); err != nil {
					t.Fatal(err)
				}
				if got := w.Get(sandboxtest.CDNs); !tc.check(got) {
					t.Errorf("%d %v %v %.300v\n%.300s", got.Code, got.Err, got.Took, got.Header, got.Body)
				}
			})
		}
	}
}

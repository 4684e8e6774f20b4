package quirks

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
)

// faultCases show what a plain client sees of each fault, asking for the list of two CDNs.
var faultCases = map[string][]struct {
	effect string
	check  func(a answer) bool
}{
	"html": {{"html", func(a answer) bool {
		return a.code == 200 && strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && strings.Contains(a.body, "<html>")
	}}},
	"empty":    {{"empty", func(a answer) bool { return a.code == 200 && a.body == "" }}},
	"not-json": {{"not-json", func(a answer) bool { return a.code == 200 && a.body != "" && a.object() == nil }}},
	"status-failure": {{"status-failure", func(a answer) bool {
		return a.code == 200 && a.at("kind") == "Status" && a.at("status") == "Failure"
	}}},
	"drip": {{"drip=300", func(a answer) bool { return a.at("items.1.kind") == "CDN" && a.took >= 3*slowPause }}},
	"truncate": {
		{"truncate", func(a answer) bool {
			return a.code == 200 && errors.Is(a.err, io.ErrUnexpectedEOF) && a.header.Get("Content-Length") == "1619" && len(a.body) == 1619/2
		}},
		{"truncate=10", func(a answer) bool { return len(a.body) == 10 && errors.Is(a.err, io.ErrUnexpectedEOF) }},
	},
	"truncate-unseen": {
		{"truncate-unseen", func(a answer) bool {
			return a.err == nil && a.header.Get("Content-Length") == "" && a.header.Get("Transfer-Encoding") == "" && len(a.body) > 100 && a.object() == nil
		}},
	},
	"gzip-bomb": {{"gzip-bomb=1", func(a answer) bool {
		return len(a.body) > 1<<20 && a.at("items.1.kind") == "CDN" && a.header.Get("Content-Length") == ""
	}}},
	"huge": {{"huge=1", func(a answer) bool {
		return len(a.at("padding").(string)) == 1<<20 && a.at("items.1.kind") == "CDN" && a.header.Get("Content-Length") == strconv.Itoa(len(a.body))
	}}},
	"wrong-kind":      {{"wrong-kind", func(a answer) bool { return a.at("items.0.kind") == "ConfigMap" && a.at("items.1.kind") == "ConfigMap" }}},
	"wrong-name":      {{"wrong-name", func(a answer) bool { return a.at("items.1.metadata.name") == "other-shop" }}},
	"wrong-namespace": {{"wrong-namespace", func(a answer) bool { return a.at("items.1.metadata.namespace") == "other-acme" }}},
	"date":            {{"date=soon", func(a answer) bool { return a.code == 200 && a.header.Get("Date") == "soon" }}},
	"bad-header":      {{"bad-header", func(a answer) bool { return a.code == 200 && len(a.header.Get("X-Padding")) == 2<<20 }}},
}

func TestFaults(t *testing.T) {
	for _, e := range Faults() {
		if err := newWorld(t).s.AddFaults(e.Example); err != nil || len(faultCases[e.Name]) == 0 {
			t.Errorf("%s: %v", e.Name, err)
		}
		for _, tc := range faultCases[e.Name] {
			t.Run(tc.effect, func(t *testing.T) {
				w := withShop(t)
				w.post(cdns, cdnBody("docs", "docs.example.com")).want(t, 201)
				if err := w.s.AddFaults("GET */cdns: " + tc.effect); err != nil {
					t.Fatal(err)
				}
				if got := w.get(cdns); !tc.check(got) {
					t.Errorf("%d %v %v %.300v\n%.300s", got.code, got.err, got.took, got.header, got.body)
				}
			})
		}
	}
}

package yamledit

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/manifest"
)

const benchHead = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: shop\nspec:\n  hostname: shop.example.com\n"

// times writes a text n times, with its number for each %d.
func times(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// largeInputs are single files that grow with n: what is usual, and what gives
// a finding for each of their parts.
func largeInputs() map[string]func(n int) string {
	purge := func(paths string) string {
		return "apiVersion: delivery/v2.1\nkind: Purge\nmetadata:\n  name: rel-1\nspec:\n  hostname: shop.example.com\n  paths:\n" + paths
	}
	return map[string]func(n int) string{
		"locations": func(n int) string {
			return benchHead + "  locations:\n" + times(n, "    - path: /part-%d/*\n      upstream: origin\n      cache:\n        edgeTTL: \"60\"\n") + "  upstreams:\n    - name: origin\n"
		},
		"same-locations": func(n int) string {
			return benchHead + "  locations:\n" + times(n, "    - path: /*\n      host: h%[1]d\n    - path: /*\n      host: h%[1]d\n")
		},
		"unknown-upstream": func(n int) string {
			return benchHead + "  locations:\n" + times(n, "    - path: /part-%[1]d/*\n      upstream: orgin-%[1]d\n") + "  upstreams:\n" + times(n, "    - name: origin-%d\n")
		},
		"unknown-fields": func(n int) string { return benchHead + times(n, "  filed%d: a\n") },
		"unknown-values": func(n int) string {
			return benchHead + "  locations:\n" + times(n, "    - path: /part-%d/*\n      action: proxy\n")
		},
		"wrong-types":   func(n int) string { return benchHead + "  locations:\n" + times(n, "    - path: {a%d: b}\n") },
		"repeated-keys": func(n int) string { return benchHead + times(n, "  tls: {}\n  hostname: a%d\n") },
		"comments": func(n int) string {
			return benchHead + "  upstreams:\n" + times(n, "    - name: a%d\n      # trueup:ignore upstream-unused why\n") + "  locations: []\n"
		},
		"paths": func(n int) string { return purge(times(n, "    - /img/part/of/a/path/%d.png\n")) },
		"covered-paths": func(n int) string {
			return purge(times(n, "    - /img/%[1]d/*\n    - /img/%[1]d/a\n    - /img/%[1]d/b/*\n"))
		},
		"odd-paths":       func(n int) string { return purge(times(n, "    - /img//%d\n")) },
		"bracketed-paths": func(n int) string { return purge("    [" + times(n, "/img/%d.png, ") + "/]\n") },
		"objects": func(n int) string {
			return times(n, "---\napiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: shop-%[1]d\nspec:\n  hostname: s%[1]d.example.com\n")
		},
		"same-hostname": func(n int) string {
			return times(n, "---\napiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: shop-%d\nspec:\n  hostname: shop.example.com\n")
		},
		"purges-of-one-host": func(n int) string {
			return times(n, "---\napiVersion: delivery/v2.1\nkind: Purge\nmetadata:\n  name: rel-%[1]d\nspec:\n  hostname: shop.example.com\n  paths: [/a%[1]d, /b/*]\n")
		},
		"long-host": func(n int) string {
			return benchHead + "  locations:\n    - path: /*\n      host: \"" + strings.Repeat("a.", 10*n) + "com\"\n"
		},
	}
}

// examine loads a text, checks it, takes the advice, and lays it out.
func examine(tb testing.TB, text string) {
	tb.Helper()
	set, found, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: []byte(text)}}, manifest.LoadSettings{Parallelism: 1})
	if err != nil {
		tb.Fatal(err)
	}
	if found = append(found, manifest.CheckSet(set, manifest.LoadSettings{})...); len(set.Objects) == 0 {
		tb.Fatal(found)
	}
	for _, o := range set.Objects {
		manifest.Advise(o, o.Tree(), manifest.LoadSettings{})
	}
	if _, err := Format([]byte(text)); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkLarge(b *testing.B) {
	for name, text := range largeInputs() {
		for _, n := range []int{500, 5000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				data := text(n)
				b.ReportAllocs()
				for b.Loop() {
					examine(b, data)
				}
			})
		}
	}
}

// BenchmarkSet is the rules that take all objects.
func BenchmarkSet(b *testing.B) {
	for name, text := range largeInputs() {
		if !strings.Contains(text(2), "---") {
			continue
		}
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				set, _, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: []byte(text(n))}}, manifest.LoadSettings{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					manifest.CheckSet(set, manifest.LoadSettings{})
				}
			})
		}
	}
}

// BenchmarkWrite writes manifests of many locations.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			set, _, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: []byte(largeInputs()["locations"](n))}}, manifest.LoadSettings{})
			if err != nil {
				b.Fatal(err)
			}
			o := set.Objects[0]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := WriteManifest(Draft{Kind: o.Kind, Name: o.Name, Spec: o.Spec, Silence: "why"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNothingIsQuadratic: ten times as much takes no more than about ten times
// as many allocations and bytes.
func TestNothingIsQuadratic(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: large, and slow with the race detector")
	}
	const n, most = 100, 12
	for name, text := range largeInputs() {
		var took [2]runtime.MemStats
		for i, n := range []int{n, 10 * n} {
			data := text(n)
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			examine(t, data)
			runtime.ReadMemStats(&took[i])
			took[i].Mallocs -= before.Mallocs
			took[i].TotalAlloc -= before.TotalAlloc
		}
		if took[1].Mallocs > most*took[0].Mallocs || took[1].TotalAlloc > most*took[0].TotalAlloc {
			t.Errorf("%s: %d allocations of %d bytes became %d of %d",
				name, took[0].Mallocs, took[0].TotalAlloc, took[1].Mallocs, took[1].TotalAlloc)
		}
	}
}

package sandbox

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
)

// World is a made-up world of any size: the same numbers make the same objects,
// and a larger one has those of a smaller.
type World struct {
	CDNs, Purges, Snapshots int
	Seed                    uint64
	// Changed is how many of a hundred CDNs somebody has changed at the platform.
	Changed int
}

// Len is how many objects there are.
func (w World) Len() int {
	if w.CDNs == 0 {
		return w.Snapshots
	}
	return w.CDNs + w.Purges + w.Snapshots
}

// Sample is an object of a made-up world.
type Sample struct {
	APIVersion, Kind, Name string
	// Spec is what a manifest says, and Live what the platform holds: nothing, of
	// a request that was not sent yet.
	Spec, Live map[string]any
}

// Samples returns the objects, CDNs first. Purges are of the CDNs' hostnames, in
// turn, and there are none without a CDN.
func (w World) Samples() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		changed := w.changed()
		for i := range w.CDNs {
			if !yield(w.cdn(i, changed[i])) {
				return
			}
		}
		for i := range w.Purges {
			if w.CDNs == 0 || !yield(w.purge(i)) {
				return
			}
		}
		for i := range w.Snapshots {
			if !yield(w.snapshot(i)) {
				return
			}
		}
	}
}

// changed tells which CDNs differ at the platform: at least the share that was
// asked for, and of a larger share those of a smaller.
func (w World) changed() []bool {
	differs := make([]bool, w.CDNs)
	for _, i := range rand.New(rand.NewPCG(w.Seed, ^uint64(0))).Perm(w.CDNs)[:(w.CDNs*w.Changed+99)/100] {
		differs[i] = true
	}
	return differs
}

// maker makes one object; all chance is of its seed.
type maker struct {
	*rand.Rand
	number     int
	name, host string
}

// The streams of chance: an object's own, and that of what somebody changed.
const (
	streamMade = iota << 32
	streamChanged
)

func (w World) maker(stream uint64, i int) maker {
	m := maker{Rand: rand.New(rand.NewPCG(w.Seed, stream+uint64(i))), number: i}
	product := []string{"shop", "blog", "media", "docs", "tickets", "portal"}[i%6]
	m.name = fmt.Sprintf("%s-%05d", product, i)
	m.host = fmt.Sprintf("%s.n%05d.example.com", product, i)
	return m
}

func (m maker) of(choices ...string) string { return choices[m.IntN(len(choices))] }

// flag is a boolean of the platform: text.
func (m maker) flag() string { return m.of("true", "false") }

// upTo is a number between low and high, as text.
func (m maker) upTo(low, high int) string { return strconv.Itoa(low + m.IntN(high-low+1)) }

func (w World) cdn(i int, changed bool) Sample {
	m := w.maker(streamMade, i)
	spec := map[string]any{
		"hostname":   m.host,
		"firewall":   map[string]any{"enabled": true, "rules": m.rules(1 + m.IntN(3))},
		"secureLink": map[string]any{"tokenName": m.of("md5", "token"), "expireName": "expires"},
		"tls":        map[string]any{"enabled": "true", "auto": m.flag(), "forced": "true"},
	}
	upstreams := 2 + m.IntN(3)
	spec["locations"] = m.locations(4+m.IntN(5), upstreams)
	spec["upstreams"] = m.upstreams(upstreams)
	live := spec
	if changed {
		live, _ = copyTree(spec).(map[string]any)
		w.maker(streamChanged, i).change(live)
	}
	return Sample{APIVersion: "delivery/v2.1", Kind: "CDN", Name: m.name, Spec: spec, Live: live}
}

func (m maker) rules(n int) []any {
	rules := make([]any, n)
	for i := range rules {
		rules[i] = map[string]any{
			"name":    fmt.Sprintf("limit-%d", i),
			"enabled": true,
			"constraints": []any{[]any{map[string]any{
				"type": "known_bots", "known_bots": map[string]any{"expected": m.flag(), "operator": "equals"},
			}}},
			"action": map[string]any{"type": "ratelimit", "ratelimit": map[string]any{
				"algorithm": "sliding_window", "rate": 50 * (1 + m.IntN(20)), "period": 60, "penalty_period": 60 * (1 + m.IntN(5)),
				"identifier": map[string]any{"type": "ip"}, "statusCode": "429", "validationStatusCode": m.of("200", "403"),
			}},
		}
	}
	return rules
}

// locations are n special paths and what is left, whose upstreams are all used.
func (m maker) locations(n, upstreams int) []any {
	paths := []string{"/fonts/*", "/img/*", "/video/*", "/static/*", "/downloads/*", "/api/v2/*", "/api/*", "/feed.xml"}
	paths = append(paths[:n-1], "/*")
	locations := make([]any, n)
	for i, path := range paths {
		cache := map[string]any{
			"level": "standard", "edgeTTL": m.upTo(1, 1440) + "0", "browserTTL": m.upTo(1, 60) + "0", "ttlTimeUnit": "second",
		}
		if m.IntN(4) == 0 {
			cache["detectDevice"] = m.flag()
		}
		location := map[string]any{
			"path": path, "host": m.host, "action": "proxy_http", "upstream": upstreamName(i % upstreams), "cache": cache,
			"imgsvc":  map[string]any{"enabled": m.flag(), "forcedFilter": map[string]any{"enabled": m.IntN(2) == 0}},
			"headers": map[string]any{}, "rewrite": map[string]any{},
		}
		if m.IntN(2) == 0 {
			location["cors"] = map[string]any{
				"enabled": "true", "allowOrigins": "https://" + m.host, "allowMethods": m.of("GET, HEAD", "GET, HEAD, OPTIONS"),
				"allowHeaders": m.of("*", "Range", "Content-Type"),
			}
		}
		locations[i] = location
	}
	return locations
}

func upstreamName(i int) string { return fmt.Sprintf("origin-%d", i) }

func (m maker) upstreams(n int) []any {
	upstreams := make([]any, n)
	for i := range upstreams {
		servers := make([]any, 1+m.IntN(2))
		for j := range servers {
			servers[j] = map[string]any{
				"host": fmt.Sprintf("%c%d-%05d.origin.example.net", 'a'+j, i, m.number), "port": m.of("443", "8443"), "weight": m.upTo(1, 100),
			}
		}
		upstreams[i] = map[string]any{
			"name": upstreamName(i), "scheme": "https", "preferredHealthCheckVersion": "2", "smartRouting": m.flag(),
			"hc2": map[string]any{"protocol": "tcp"}, "servers": servers,
		}
	}
	return upstreams
}

// change is what somebody does to a CDN in the console.
func (m maker) change(spec map[string]any) {
	switch m.IntN(4) {
	case 0:
		spec["tls"] = map[string]any{"enabled": "true", "auto": "true", "forced": "false"}
	case 1:
		m.one(spec["locations"])["cache"] = map[string]any{"level": "standard", "edgeTTL": "1", "browserTTL": "1", "ttlTimeUnit": "second"}
	case 2:
		rule := m.one(object(spec).child("firewall")["rules"])
		object(rule.child("action")).child("ratelimit")["rate"] = 7
	case 3:
		m.one(m.one(spec["upstreams"])["servers"])["weight"] = "0"
	}
}

// one is some element of a list.
func (m maker) one(of any) object {
	all := list(of)
	return asObject(all[m.IntN(len(all))])
}

func (w World) purge(i int) Sample {
	host := w.maker(streamMade, i%w.CDNs).host
	paths := []any{fmt.Sprintf("/static/rel-%05d/*", i)}
	for n := range 5 {
		paths = append(paths, fmt.Sprintf("/img/%05d/banner-%d.jpg", i, n))
	}
	return Sample{
		APIVersion: "delivery/v2.1", Kind: "Purge", Name: fmt.Sprintf("rel-%05d", i),
		Spec: map[string]any{"hostname": host, "paths": paths},
	}
}

func (w World) snapshot(i int) Sample {
	spec := map[string]any{
		"source": map[string]any{"persistentVolumeClaimName": fmt.Sprintf("disk-%05d", i)}, "volumeSnapshotClassName": snapshotClass,
	}
	return Sample{
		APIVersion: "snapshot.storage.k8s.io/v1", Kind: "VolumeSnapshot", Name: fmt.Sprintf("nightly-%05d", i), Spec: spec, Live: spec,
	}
}

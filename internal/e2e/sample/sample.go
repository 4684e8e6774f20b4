// Package sample makes projects of any size for tests, with objects to seed a sandbox with. It sends nothing.
package sample

import (
	"bytes"
	_ "embed" // for the samples
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"text/template"
)

//go:embed cdn.json.tmpl
var cdnText string

var cdnTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("cdn").Parse(cdnText)) })

// World is a sample of any size. Equal parameters make equal objects, and a larger
// World contains the objects of a smaller one.
type World struct {
	CDNs, Purges, Snapshots int
	Seed                    uint64
	Changed                 int // the percentage of CDNs that another client changed
}

// Len returns the number of objects.
func (w World) Len() int {
	if w.CDNs == 0 {
		return w.Snapshots
	}
	return w.CDNs + w.Purges + w.Snapshots
}

// Object is one object of a World.
type Object struct {
	APIVersion, Kind, Name string
	// Spec is the manifest's, and Live the platform's, which is nil for purges.
	Spec, Live map[string]any
}

// Objects returns the objects, CDNs first. Purges take the CDNs' hostnames in turn;
// without a CDN there are none.
func (w World) Objects() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		changed := w.changed()
		for i := range w.Len() {
			var o Object
			switch {
			case i < w.CDNs:
				o = w.cdn(i, changed[i])
			case w.CDNs > 0 && i < w.CDNs+w.Purges:
				o = w.purge(i - w.CDNs)
			default:
				o = snapshot(i - (w.Len() - w.Snapshots))
			}
			if !yield(o) {
				return
			}
		}
	}
}

// changed reports for each CDN whether its live spec differs. The CDNs of a smaller
// percentage are among those of a larger one.
func (w World) changed() []bool {
	differs := make([]bool, w.CDNs)
	for _, i := range rand.New(rand.NewPCG(w.Seed, ^uint64(0))).Perm(w.CDNs)[:(w.CDNs*w.Changed+99)/100] {
		differs[i] = true
	}
	return differs
}

// maker makes one object. Its random numbers depend only on the seed and the
// object's number. The template uses its exported methods.
type maker struct {
	random             *rand.Rand
	Number, Name, Host string
}

// The streams of random numbers: for objects, and for what another client changed.
const (
	streamMade = iota << 32
	streamChanged
)

func (w World) maker(stream uint64, i int) maker {
	product := []string{"shop", "blog", "media", "docs", "tickets", "portal"}[i%6]
	number := fmt.Sprintf("%05d", i)
	return maker{
		random: rand.New(rand.NewPCG(w.Seed, stream+uint64(i))), Number: number,
		Name: product + "-" + number, Host: product + ".n" + number + ".example.com",
	}
}

// Of returns one of the choices.
func (m maker) Of(choices ...string) string { return choices[m.random.IntN(len(choices))] }

// Flag returns "true" or "false".
func (m maker) Flag() string { return m.Of("true", "false") }

// UpTo returns a number between low and high.
func (m maker) UpTo(low, high int) int { return low + m.random.IntN(high-low+1) }

// Times returns unit times a number from 1 to most.
func (m maker) Times(unit, most int) int { return unit * m.UpTo(1, most) }

// OneIn returns true with a probability of 1/n.
func (m maker) OneIn(n int) bool { return m.random.IntN(n) == 0 }

// Mod returns the remainder of a division.
func (maker) Mod(a, b int) int { return a % b }

// Paths returns some paths for locations, with the catch-all last.
func (m maker) Paths() []string {
	all := []string{"/fonts/*", "/img/*", "/video/*", "/static/*", "/downloads/*", "/api/v2/*", "/api/*", "/feed.xml"}
	return append(all[:m.UpTo(3, 7)], "/*")
}

func (w World) cdn(i int, changed bool) Object {
	m := w.maker(streamMade, i)
	var text bytes.Buffer
	if err := cdnTemplate().Execute(&text, m); err != nil {
		panic(err) // the template is built in
	}
	o := Object{APIVersion: "delivery/v2.1", Kind: "CDN", Name: m.Name, Spec: decode(text.Bytes())}
	o.Live = o.Spec
	if changed {
		o.Live = decode(text.Bytes())
		w.maker(streamChanged, i).change(o.Live)
	}
	return o
}

// decode decodes built-in JSON.
func decode(raw []byte) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(err)
	}
	return v
}

// change edits a CDN as another client would.
func (m maker) change(spec map[string]any) {
	some := func(of any) map[string]any {
		all := of.([]any)
		return all[m.random.IntN(len(all))].(map[string]any)
	}
	switch m.random.IntN(4) {
	case 0:
		spec["tls"] = map[string]any{"enabled": "true", "auto": "true", "forced": "false"}
	case 1:
		some(spec["locations"])["cache"] = map[string]any{"level": "standard", "edgeTTL": "1", "browserTTL": "1", "ttlTimeUnit": "second"}
	case 2:
		action := some(spec["firewall"].(map[string]any)["rules"])["action"].(map[string]any)
		action["ratelimit"].(map[string]any)["rate"] = 7
	case 3:
		some(some(spec["upstreams"])["servers"])["weight"] = "0"
	}
}

func (w World) purge(i int) Object {
	paths := []any{fmt.Sprintf("/static/rel-%05d/*", i)}
	for n := range 5 {
		paths = append(paths, fmt.Sprintf("/img/%05d/banner-%d.jpg", i, n))
	}
	return Object{
		APIVersion: "delivery/v2.1", Kind: "Purge", Name: fmt.Sprintf("rel-%05d", i),
		Spec: map[string]any{"hostname": w.maker(streamMade, i%w.CDNs).Host, "paths": paths},
	}
}

func snapshot(i int) Object {
	spec := map[string]any{
		"source":                  map[string]any{"persistentVolumeClaimName": fmt.Sprintf("disk-%05d", i)},
		"volumeSnapshotClassName": "general-purpose",
	}
	return Object{
		APIVersion: "snapshot.storage.k8s.io/v1", Kind: "VolumeSnapshot", Name: fmt.Sprintf("nightly-%05d", i), Spec: spec, Live: spec,
	}
}

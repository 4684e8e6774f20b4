package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

func kindNamed(name string) *kind.Kind {
	k, ok := kind.FindKind(name)
	if !ok {
		panic(name)
	}
	return k
}

func object(kindName, name, host string) kind.LiveObject {
	spec := []byte(`{"hostname":"` + host + `"}`)
	return kind.LiveObject{
		Kind: kindNamed(kindName), Name: name, Namespace: "acme", UID: "u-" + name, Host: host,
		Spec: spec, Digest: canon.Digest(spec), Status: []byte(`{"status":"OK"}`),
	}
}

func bare(o kind.LiveObject) kind.LiveObject {
	o.Spec, o.Status, o.Host, o.Digest = nil, nil, "", canon.Sum{}
	return o
}

func manifests(objects ...kind.LiveObject) *manifest.Set {
	set := &manifest.Set{}
	for _, o := range objects {
		set.Objects = append(set.Objects, &manifest.Object{Kind: o.Kind, Name: o.Name, Spec: o.Spec, Host: o.Host})
	}
	return set
}

type absent struct{ error }

func (absent) NotFound() bool { return true }

// fixedPlatform is a Reader over fixed answers.
type fixedPlatform struct {
	lists map[string][]kind.LiveObject
	info  map[string]kind.ListInfo
	gets  map[kind.Key]kind.LiveObject
	fails map[string]error

	mu    sync.Mutex
	asked []string
	busy  atomic.Int32
	peak  atomic.Int32
}

func (p *fixedPlatform) ask(what string) func() {
	p.mu.Lock()
	p.asked = append(p.asked, what)
	p.mu.Unlock()
	for now := p.busy.Add(1); ; {
		peak := p.peak.Load()
		if now <= peak || p.peak.CompareAndSwap(peak, now) {
			break
		}
	}
	return func() { p.busy.Add(-1) }
}

func (p *fixedPlatform) List(ctx context.Context, k *kind.Kind, each func(kind.LiveObject) error) (kind.ListInfo, error) {
	defer p.ask("list " + k.Name)()
	if err := errors.Join(p.fails["list "+k.Name], ctx.Err()); err != nil {
		return kind.ListInfo{}, err
	}
	for _, o := range p.lists[k.Name] {
		if err := each(o); err != nil {
			return kind.ListInfo{}, err
		}
	}
	info, ok := p.info[k.Name]
	if !ok {
		info = kind.ListInfo{Complete: true, Items: len(p.lists[k.Name]), Requests: 1}
	}
	return info, nil
}

func (p *fixedPlatform) Get(ctx context.Context, k *kind.Kind, name string) (kind.LiveObject, error) {
	key := kind.Key{Kind: k.Name, Name: name}
	defer p.ask("get " + key.String())()
	if err := errors.Join(p.fails["get "+key.String()], ctx.Err()); err != nil {
		return kind.LiveObject{}, err
	}
	o, ok := p.gets[key]
	if !ok {
		return kind.LiveObject{}, fmt.Errorf("wrapped: %w", absent{errors.New("not found")})
	}
	return o, nil
}

func (p *fixedPlatform) requests() []string {
	slices.Sort(p.asked)
	return p.asked
}

func fetch(t *testing.T, p *fixedPlatform, set *manifest.Set) kind.LiveState {
	t.Helper()
	s, err := api.FetchState(context.Background(), p, set, api.FetchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantRequests(t *testing.T, p *fixedPlatform, want ...string) {
	t.Helper()
	if got := p.requests(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

func TestWhatTheListShowsNeedsNoGet(t *testing.T) {
	shop, other := object("CDN", "shop", "shop.example.com"), object("CDN", "other", "other.example.com")
	p := &fixedPlatform{lists: map[string][]kind.LiveObject{"CDN": {shop, other}}}
	s := fetch(t, p, manifests(shop))
	wantRequests(t, p, "list CDN")
	if got := s.Objects[shop.Key()]; string(got.Spec) != string(shop.Spec) || string(got.Status) != string(shop.Status) {
		t.Errorf("managed object is %+v", got)
	}
	if len(s.Unmanaged) != 1 {
		t.Fatalf("unmanaged objects are %+v", s.Unmanaged)
	}
	if u := s.Unmanaged[0]; u.Name != "other" || u.UID == "" || u.Spec == nil || u.Status != nil {
		t.Errorf("unmanaged object is %+v", u)
	}
	if s.Hosts["shop.example.com"] != shop.Key() || s.Hosts["other.example.com"] != other.Key() {
		t.Errorf("hosts are %v", s.Hosts)
	}
	if want := (kind.ListInfo{Complete: true, Items: 2, Requests: 1}); len(s.Absent) != 0 || s.Lists["CDN"] != want {
		t.Errorf("absent %v, lists %v", s.Absent, s.Lists)
	}
}

func TestAbsenceComesFromGetOnly(t *testing.T) {
	shop := object("CDN", "shop", "shop.example.com")
	p := &fixedPlatform{}
	s := fetch(t, p, manifests(shop))
	wantRequests(t, p, "get CDN/shop", "list CDN")
	if !s.Absent[shop.Key()] || len(s.Objects) != 0 || !s.Lists["CDN"].Complete {
		t.Errorf("state is %+v", s)
	}
}

func TestFoundByGetMakesTheListIncomplete(t *testing.T) {
	shop, blog := object("CDN", "shop", "shop.example.com"), object("CDN", "blog", "blog.example.com")
	p := &fixedPlatform{
		lists: map[string][]kind.LiveObject{"CDN": {blog}},
		gets:  map[kind.Key]kind.LiveObject{shop.Key(): shop},
	}
	s := fetch(t, p, manifests(shop, blog))
	wantRequests(t, p, "get CDN/shop", "list CDN")
	if s.Lists["CDN"].Complete || s.Objects[shop.Key()].Host != shop.Host || s.Hosts[shop.Host] != shop.Key() {
		t.Errorf("state is %+v", s)
	}
}

func TestItemsWithoutSpecAreReadByName(t *testing.T) {
	shop, other, gone := object("CDN", "shop", "shop.example.com"), object("CDN", "other", "other.example.com"), object("CDN", "gone", "")
	snapshot := object("VolumeSnapshot", "foreign", "")
	p := &fixedPlatform{
		lists: map[string][]kind.LiveObject{"CDN": {bare(shop), bare(other), bare(gone)}, "VolumeSnapshot": {bare(snapshot)}},
		gets:  map[kind.Key]kind.LiveObject{shop.Key(): shop, other.Key(): other},
	}
	s := fetch(t, p, manifests(shop, object("VolumeSnapshot", "db", "")))
	// Nothing of an unmanaged snapshot is needed but that it is there.
	wantRequests(t, p, "get CDN/gone", "get CDN/other", "get CDN/shop", "get VolumeSnapshot/db", "list CDN", "list VolumeSnapshot")
	if string(s.Objects[shop.Key()].Spec) != string(shop.Spec) || s.Hosts["other.example.com"] != other.Key() {
		t.Errorf("state is %+v", s)
	}
	if len(s.Unmanaged) != 2 || s.Unmanaged[0].Spec == nil || s.Unmanaged[1].Name != "foreign" {
		t.Errorf("unmanaged objects are %+v", s.Unmanaged)
	}
	if !s.Lists["CDN"].Complete || s.Absent[gone.Key()] {
		t.Errorf("an object that vanished after the list counts: %+v", s)
	}
}

func TestOnlyKindsInUseAreRead(t *testing.T) {
	p := &fixedPlatform{}
	fetch(t, p, manifests())
	wantRequests(t, p)
	fetch(t, p, manifests(object("Purge", "rel-1", "shop.example.com")))
	wantRequests(t, p, "list CDN")
}

// TestTheServerMayCallAnObjectOtherwise: a snapshot's name may differ from the
// one that was asked for (docs/platform.md 1).
func TestTheServerMayCallAnObjectOtherwise(t *testing.T) {
	listed, unlisted := object("VolumeSnapshot", "content-1", ""), object("VolumeSnapshot", "content-2", "")
	db, logs := kind.Key{Kind: "VolumeSnapshot", Name: "db"}, kind.Key{Kind: "VolumeSnapshot", Name: "logs"}
	p := &fixedPlatform{
		lists: map[string][]kind.LiveObject{"VolumeSnapshot": {listed}},
		gets:  map[kind.Key]kind.LiveObject{unlisted.Key(): unlisted},
	}
	s, err := api.FetchState(context.Background(), p, manifests(object("VolumeSnapshot", "db", ""), object("VolumeSnapshot", "logs", "")),
		api.FetchOptions{Names: map[kind.Key]string{db: "content-1", logs: "content-2"}})
	if err != nil {
		t.Fatal(err)
	}
	wantRequests(t, p, "get VolumeSnapshot/content-2", "list VolumeSnapshot")
	if s.Objects[db].Name != "content-1" || s.Objects[logs].Name != "content-2" || len(s.Unmanaged) != 0 {
		t.Errorf("state is %+v", s)
	}
}

func TestTerminatingObjectsAreKeptButServeNothing(t *testing.T) {
	shop := object("CDN", "shop", "shop.example.com")
	shop.Terminating = true
	p := &fixedPlatform{lists: map[string][]kind.LiveObject{"CDN": {shop}}}
	s := fetch(t, p, manifests(shop))
	if !s.Objects[shop.Key()].Terminating || len(s.Hosts) != 0 || len(s.Absent) != 0 {
		t.Errorf("state is %+v", s)
	}
}

// TestHostsHaveNoCase: a hostname is found however the server writes it.
func TestHostsHaveNoCase(t *testing.T) {
	shop, dotted := object("CDN", "shop", "Shop.Example.com"), object("CDN", "dotted", "dotted.example.com.")
	p := &fixedPlatform{lists: map[string][]kind.LiveObject{"CDN": {shop, dotted}}}
	s := fetch(t, p, manifests(shop))
	if s.Hosts["shop.example.com"] != shop.Key() || s.Hosts["dotted.example.com"] != dotted.Key() || len(s.Hosts) != 2 {
		t.Errorf("hosts are %v", s.Hosts)
	}
	if s.Objects[shop.Key()].Host != "Shop.Example.com" {
		t.Errorf("the object's own hostname is %q", s.Objects[shop.Key()].Host)
	}
}

func TestFailuresAreErrors(t *testing.T) {
	shop := object("CDN", "shop", "shop.example.com")
	refused := errors.New("403")
	for name, tt := range map[string]struct {
		p    *fixedPlatform
		want string
	}{
		"list":               {&fixedPlatform{fails: map[string]error{"list CDN": refused}}, "403"},
		"get":                {&fixedPlatform{fails: map[string]error{"get CDN/shop": refused}}, "403"},
		"twice":              {&fixedPlatform{lists: map[string][]kind.LiveObject{"CDN": {shop, shop}}}, "it has CDN/shop twice"},
		"twice without spec": {&fixedPlatform{lists: map[string][]kind.LiveObject{"CDN": {bare(shop), shop}}}, "it has CDN/shop twice"},
		"no spec":            {&fixedPlatform{gets: map[kind.Key]kind.LiveObject{shop.Key(): bare(shop)}}, "without a spec"},
	} {
		s, err := api.FetchState(context.Background(), tt.p, manifests(shop), api.FetchOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		if s.Objects != nil || s.Absent != nil {
			t.Errorf("%s: a failed fetch returns a state", name)
		}
	}
}

func TestTheFirstRealFailureIsReported(t *testing.T) {
	var set []kind.LiveObject
	p := &fixedPlatform{fails: map[string]error{}}
	for i := range 20 {
		o := object("CDN", fmt.Sprintf("c%02d", i), "h")
		set = append(set, o)
		p.fails["get "+o.Key().String()] = context.Canceled
	}
	p.fails["get CDN/c00"] = errors.New("reset by peer")
	_, err := api.FetchState(context.Background(), p, manifests(set...), api.FetchOptions{Parallelism: 1})
	if err == nil || !strings.Contains(err.Error(), "reset by peer") {
		t.Errorf("error is %v", err)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := api.FetchState(ctx, &fixedPlatform{}, manifests(object("CDN", "shop", "h")), api.FetchOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestParallelismIsBounded(t *testing.T) {
	p := &fixedPlatform{}
	var set []kind.LiveObject
	for i := range 50 {
		set = append(set, object("CDN", fmt.Sprint(i), "h"))
	}
	if _, err := api.FetchState(context.Background(), p, manifests(set...), api.FetchOptions{Parallelism: 3}); err != nil {
		t.Fatal(err)
	}
	if p.peak.Load() > 3 {
		t.Errorf("%d requests at a time", p.peak.Load())
	}
}

// drawPlatform makes a platform and the objects of it that git names.
func drawPlatform(t *rapid.T) (*fixedPlatform, []kind.LiveObject) {
	p := &fixedPlatform{lists: map[string][]kind.LiveObject{}, gets: map[kind.Key]kind.LiveObject{}}
	var wanted []kind.LiveObject
	for i := range rapid.IntRange(0, 8).Draw(t, "objects") {
		o := object("CDN", fmt.Sprint(i), rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "host"))
		if rapid.Bool().Draw(t, "in git") {
			wanted = append(wanted, o)
		}
		if !rapid.Bool().Draw(t, "exists") {
			continue
		}
		p.gets[o.Key()] = o
		switch rapid.SampledFrom([]string{"whole", "bare", "not"}).Draw(t, "listed") {
		case "whole":
			p.lists["CDN"] = append(p.lists["CDN"], o)
		case "bare":
			p.lists["CDN"] = append(p.lists["CDN"], bare(o))
		}
	}
	return p, wanted
}

// TestEveryWantedKeyIsSettled: whatever a list shows, each key that a manifest
// names ends up in exactly one of Objects and Absent, as the platform has it,
// and the answer does not depend on the order of the list.
func TestEveryWantedKeyIsSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, wanted := drawPlatform(t)
		read := func() kind.LiveState {
			s, err := api.FetchState(context.Background(), p, manifests(wanted...), api.FetchOptions{Parallelism: 2})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := read()
		for _, o := range wanted {
			found, ok := s.Objects[o.Key()]
			_, exists := p.gets[o.Key()]
			if ok != exists || s.Absent[o.Key()] == exists || ok && string(found.Spec) != string(o.Spec) {
				t.Fatalf("%s: exists %v, state %+v", o.Key(), exists, s)
			}
		}
		slices.Reverse(p.lists["CDN"])
		if again := read(); fmt.Sprintf("%v", again) != fmt.Sprintf("%v", s) {
			t.Fatalf("another order of the list, another state:\n%v\n%v", again, s)
		}
	})
}

// TestKindsThatNoManifestIsOf: what left git is looked for where nothing is left.
func TestKindsThatNoManifestIsOf(t *testing.T) {
	old := object("VolumeSnapshot", "old", "")
	p := &fixedPlatform{lists: map[string][]kind.LiveObject{"VolumeSnapshot": {old}}}
	s, err := api.FetchState(context.Background(), p, manifests(), api.FetchOptions{Also: []*kind.Kind{old.Kind}})
	if err != nil {
		t.Fatal(err)
	}
	wantRequests(t, p, "list VolumeSnapshot")
	if len(s.Unmanaged) != 1 || string(s.Unmanaged[0].Spec) != string(old.Spec) || s.Unmanaged[0].Status != nil {
		t.Errorf("state is %+v", s)
	}
}

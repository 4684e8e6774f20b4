package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// ObjectReader reads objects of the platform, and rejects those of another kind or workspace.
type ObjectReader interface {
	// List calls each for every item of the kind's list, as it decodes it.
	List(ctx context.Context, k *kind.Kind, each func(kind.LiveObject) error) (kind.ListInfo, error)
	// Get returns one object. Only an error with NotFound() true proves that there is none.
	Get(ctx context.Context, k *kind.Kind, name string) (kind.LiveObject, error)
}

func newLiveState(objects int) kind.LiveState {
	return kind.LiveState{
		Objects: make(map[kind.Key]kind.LiveObject, objects), Absent: map[kind.Key]bool{},
		Hosts: make(map[string]kind.Key, objects), Lists: map[string]kind.ListInfo{},
	}
}

// FetchOptions of FetchState.
type FetchOptions struct {
	// Parallelism is the number of lists that are read at once, by default 4. Single objects are small:
	// eight times as many are.
	Parallelism int
	// Names are the server's names of objects, if they differ from git (docs/platform.md 1: {snapshot_name}).
	Names map[kind.Key]string
	Also  []*kind.Kind // kinds to list even without manifests
	Whole bool         // Whole keeps the specs of objects that no manifest names
	// Doubt, if set, reports whether to read an object of a list by name instead; key is the manifest's.
	Doubt    func(key kind.Key, listed kind.LiveObject) bool
	Progress func(done int) // Progress, if set, is called after every object
}

// FetchState reads the objects that manifests name: presence and content from lists, absence only from a GET
// that returns 404 (docs/design.md 0.14). It skips kinds that can't be read. Any failure to read is an error.
func FetchState(ctx context.Context, r ObjectReader, set *manifest.Set, opts FetchOptions) (kind.LiveState, error) {
	f := &fetch{
		reader: r, opts: opts, inGit: map[kind.Key]kind.Key{}, listed: map[kind.Key]bool{},
		wanted: make(map[kind.Key]*manifest.Object, len(set.Objects)),
		state:  newLiveState(len(set.Objects)),
	}
	for key, name := range opts.Names {
		f.inGit[kind.Key{Kind: key.Kind, Name: name}] = key
	}
	for _, o := range set.Objects {
		if o.Kind.Documents(kind.List) && o.Kind.Documents(kind.Get) {
			f.wanted[o.Key()] = o
		}
	}
	workers := cmp.Or(max(opts.Parallelism, 0), 4)
	kinds := f.kindsToList(set)
	err := diag.TryInParallel(ctx, workers, len(kinds), func(ctx context.Context, i int) error { return f.listKind(ctx, kinds[i]) })
	if err != nil {
		return kind.LiveState{}, err
	}
	for key := range f.wanted {
		if !f.listed[key] {
			f.open = append(f.open, key)
		}
	}
	slices.SortFunc(f.open, kind.CompareKeys)
	err = diag.TryInParallel(ctx, 8*workers, len(f.open), func(ctx context.Context, i int) error { return f.getObject(ctx, f.open[i]) })
	if err != nil {
		return kind.LiveState{}, err
	}
	slices.SortFunc(f.state.Unmanaged, func(a, b kind.LiveObject) int { return kind.CompareKeys(a.Key(), b.Key()) })
	return f.state, nil
}

// FetchAreas is FetchState for each area alone. It returns what it read of all.
func FetchAreas(ctx context.Context, r ObjectReader, set *manifest.Set, opts FetchOptions) (kind.LiveState, kind.Unread) {
	all, unread := newLiveState(len(set.Objects)), kind.Unread{}
	for _, area := range kind.Areas() {
		part := opts
		part.Also = slices.DeleteFunc(slices.Clone(opts.Also), func(k *kind.Kind) bool { return k.Area != area })
		of := slices.DeleteFunc(slices.Clone(set.Objects), func(o *manifest.Object) bool { return o.Kind.Area != area })
		state, err := FetchState(ctx, r, &manifest.Set{Objects: of}, part)
		if err != nil {
			unread[area] = err
			continue
		}
		maps.Copy(all.Objects, state.Objects)
		maps.Copy(all.Absent, state.Absent)
		maps.Copy(all.Hosts, state.Hosts)
		maps.Copy(all.Lists, state.Lists)
		all.Unmanaged = append(all.Unmanaged, state.Unmanaged...)
	}
	return all, unread
}

type fetch struct {
	reader ObjectReader
	opts   FetchOptions
	wanted map[kind.Key]*manifest.Object // the manifests of kinds that can be listed and read
	inGit  map[kind.Key]kind.Key         // inGit maps the server's key of an object to the manifest's, if they differ

	mu    sync.Mutex
	done  int // done counts the objects that were read
	state kind.LiveState
	// listed are the keys in lists; open those to read by name: items without spec, and wanted
	// objects that no list has.
	listed map[kind.Key]bool
	open   []kind.Key
}

func (f *fetch) countRequest() {
	if f.done++; f.opts.Progress != nil {
		f.opts.Progress(f.done)
	}
}

// kindsToList returns the kinds to list: those wanted, those of the options, and for send-once requests those
// that may serve their hostnames.
func (f *fetch) kindsToList(set *manifest.Set) []*kind.Kind {
	needed := map[string]bool{}
	for key := range f.wanted {
		needed[key.Kind] = true
	}
	requests := slices.ContainsFunc(set.Objects, func(o *manifest.Object) bool {
		return o.Kind.IsRequestOnly() && o.Kind.HostField != ""
	})
	var kinds []*kind.Kind
	for _, k := range kind.AllKinds() {
		hosts := requests && k.CanPatch() && k.HostField != "" && k.Documents(kind.List)
		if needed[k.Name] || hosts || slices.Contains(f.opts.Also, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (f *fetch) listKind(ctx context.Context, k *kind.Kind) error {
	info, err := f.reader.List(ctx, k, func(o kind.LiveObject) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.countRequest()
		key := cmp.Or(f.inGit[o.Key()], o.Key())
		if f.listed[key] {
			return fmt.Errorf("list %s: it has %s twice", k.Name, key)
		}
		f.listed[key] = true
		doubtful := o.Spec != nil && f.opts.Doubt != nil && f.opts.Doubt(key, o)
		if doubtful || o.Spec == nil && (f.wanted[key] != nil || k.HostField != "" || f.opts.Whole) {
			f.open = append(f.open, key)
		} else {
			f.addObject(key, o)
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Lists[k.Name] = info
	return err
}

func (f *fetch) getObject(ctx context.Context, key kind.Key) error {
	k, _ := kind.FindKind(key.Kind)
	o, err := f.reader.Get(ctx, k, cmp.Or(f.opts.Names[key], key.Name))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.countRequest()
	var absence interface{ NotFound() bool }
	switch {
	case errors.As(err, &absence) && absence.NotFound():
		if f.wanted[key] != nil { // else it was deleted after the list was read
			f.state.Absent[key] = true
		}
		return nil
	case err != nil:
		return err
	case o.Spec == nil && !o.Terminating:
		return fmt.Errorf("get %s: the platform returns it without a spec", key)
	}
	if !f.listed[key] {
		info := f.state.Lists[key.Kind]
		info.Complete = false
		f.state.Lists[key.Kind] = info
	}
	f.addObject(cmp.Or(f.inGit[o.Key()], o.Key()), o)
	return nil
}

// addObject adds an object to the state. It drops what nobody needs of unmanaged objects, and shares the bytes of
// a spec with an equal manifest. If two objects serve one hostname, the first by name counts; a terminating
// one serves nothing.
func (f *fetch) addObject(key kind.Key, o kind.LiveObject) {
	if wanted := f.wanted[key]; wanted != nil {
		if bytes.Equal(o.Spec, wanted.Spec) {
			o.Spec = wanted.Spec
		}
		f.state.Objects[key] = o
	} else {
		answers := o.Kind.CanPatch() && o.Kind.HostField != "" // requests for a host that git may be about, too
		if o.Status = nil; !answers && !o.Kind.IsCreateOnly() && !f.opts.Whole {
			o.Spec = nil
		}
		f.state.Unmanaged = append(f.state.Unmanaged, o)
	}
	host := kind.HostKey(o.Host)
	if host == "" || o.Terminating {
		return
	}
	if has, ok := f.state.Hosts[host]; !ok || kind.CompareKeys(key, has) < 0 {
		f.state.Hosts[host] = key
	}
}

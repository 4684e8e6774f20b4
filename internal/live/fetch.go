package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// Options say how to fetch.
type Options struct {
	// Workspace is the project's; an object of another one is an error.
	Workspace kind.Workspace
	// Parallelism bounds the requests at a time; default 4.
	Parallelism int
	// Names are the server's names of objects that it calls otherwise than git
	// (docs/platform.md 1: {snapshot_name}).
	Names map[kind.Key]string
	// Also are kinds to list although no manifest may be of them.
	Also []*kind.Kind
	// Whole keeps the specs of objects that no manifest names.
	Whole bool
	// Progress, where it is set, is told of every object that was read; calls come
	// from several goroutines.
	Progress func(done int)
}

// Fetch reads what the manifests name: presence and content from the lists,
// absence only from a GET that says so (docs/design.md 0.14). Kinds that can't be read
// are passed over. Any failure to read is an error: nothing is guessed.
func Fetch(ctx context.Context, r Reader, set *manifest.Set, opts Options) (State, error) {
	f := &fetch{reader: r, opts: opts, wanted: wanted(set), inGit: map[kind.Key]kind.Key{}}
	for key, name := range opts.Names {
		f.inGit[kind.Key{Kind: key.Kind, Name: name}] = key
	}
	kinds := f.kinds(set)
	lists := make([]*listed, len(kinds))
	err := parallel(ctx, f.workers(), len(kinds), func(ctx context.Context, i int) (err error) {
		lists[i], err = f.list(ctx, kinds[i])
		return err
	})
	if err != nil {
		return State{}, err
	}
	asks := f.open(lists)
	err = parallel(ctx, f.workers(), len(asks), func(ctx context.Context, i int) error {
		return f.get(ctx, asks[i])
	})
	if err != nil {
		return State{}, err
	}
	return f.state(lists, asks), nil
}

type fetch struct {
	reader Reader
	opts   Options
	// wanted are the manifests of what can be read.
	wanted map[kind.Key]*manifest.Object
	// inGit maps the server's key of an object to git's, where they differ.
	inGit map[kind.Key]kind.Key
	// done counts the objects that were read.
	done atomic.Int64
}

// tell tells that one object more was read.
func (f *fetch) tell() {
	if done := f.done.Add(1); f.opts.Progress != nil {
		f.opts.Progress(int(done))
	}
}

// key returns git's key of an object.
func (f *fetch) key(o kind.Object) kind.Key {
	if key, ok := f.inGit[o.Key()]; ok {
		return key
	}
	return o.Key()
}

// name returns the server's name of an object.
func (f *fetch) name(key kind.Key) string {
	if name, ok := f.opts.Names[key]; ok {
		return name
	}
	return key.Name
}

// listed is what one list showed.
type listed struct {
	kind *kind.Kind
	info kind.ListInfo
	// names are git's names of the items.
	names map[string]bool
	whole []kind.Object
	// bare are items whose list says too little of them.
	bare []kind.Key
}

// ask is an object to read by its name.
type ask struct {
	list *listed
	key  kind.Key
	// shown says that the list had it.
	shown  bool
	absent bool
	object kind.Object
}

func (f *fetch) workers() int {
	if f.opts.Parallelism > 0 {
		return f.opts.Parallelism
	}
	return 4
}

// wanted collects the manifests whose kind can be listed and read.
func wanted(set *manifest.Set) map[kind.Key]*manifest.Object {
	keys := make(map[kind.Key]*manifest.Object, len(set.Objects))
	for _, o := range set.Objects {
		if o.Kind.Can(kind.List) && o.Kind.Can(kind.Get) {
			keys[o.Key()] = o
		}
	}
	return keys
}

// share gives an object that is as its manifest the bytes of that, so that they
// are held once.
func share(o *kind.Object, wanted *manifest.Object) {
	if wanted != nil && bytes.Equal(o.Spec, wanted.Spec) {
		o.Spec = wanted.Spec
	}
}

// kinds returns the kinds to list: those wanted, those that the options name, and
// where there are once-only requests those that may serve the hostnames of these.
func (f *fetch) kinds(set *manifest.Set) []*kind.Kind {
	needed := map[string]bool{}
	for key := range f.wanted {
		needed[key.Kind] = true
	}
	requests := slices.ContainsFunc(set.Objects, func(o *manifest.Object) bool {
		return o.Kind.RequestOnly() && o.Kind.HostField != ""
	})
	var kinds []*kind.Kind
	for _, k := range kind.All() {
		hosts := requests && k.CanPatch() && k.HostField != "" && k.Can(kind.List)
		if needed[k.Name] || hosts || slices.Contains(f.opts.Also, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// list reads one kind's list. Of objects that nobody wants only the identity
// is kept, and of those that are made once the spec.
func (f *fetch) list(ctx context.Context, k *kind.Kind) (*listed, error) {
	l := &listed{kind: k, names: map[string]bool{}}
	info, err := f.reader.List(ctx, k, func(o kind.Object) error {
		if err := f.check(k, o); err != nil {
			return err
		}
		f.tell()
		key := f.key(o)
		if l.names[key.Name] {
			return fmt.Errorf("list %s: it has %s twice", k.Name, key)
		}
		l.names[key.Name] = true
		wanted, managed := f.wanted[key]
		if o.Spec == nil && (managed || k.HostField != "" || f.opts.Whole) {
			l.bare = append(l.bare, key)
			return nil
		}
		if !managed {
			o.Status = nil
		}
		if !managed && !k.CreateOnly() && !f.opts.Whole {
			o.Spec = nil
		}
		share(&o, wanted)
		l.whole = append(l.whole, o)
		return nil
	})
	l.info = info
	return l, err
}

// check refuses what the project's workspace can't hold.
func (f *fetch) check(k *kind.Kind, o kind.Object) error {
	ws := f.opts.Workspace
	switch {
	case o.Kind != k || o.Name == "":
		return fmt.Errorf("list %s: an item has another kind or no name", k.Name)
	case o.Namespace != "" && ws.Name != "" && o.Namespace != ws.Name && o.Namespace != ws.UUID:
		return fmt.Errorf("wrong workspace: %s is in %q, the project's is %q", o.Key(), o.Namespace, ws.Name)
	}
	return nil
}

// open returns what the lists leave open, in the order of the keys: items
// without a spec, and wanted objects that no list shows.
func (f *fetch) open(lists []*listed) []*ask {
	var asks []*ask
	for _, l := range lists {
		for _, key := range l.bare {
			asks = append(asks, &ask{list: l, key: key, shown: true})
		}
		for key := range f.wanted {
			if key.Kind == l.kind.Name && !l.names[key.Name] {
				asks = append(asks, &ask{list: l, key: key})
			}
		}
	}
	slices.SortFunc(asks, func(a, b *ask) int { return compareKeys(a.key, b.key) })
	return asks
}

// get settles one ask.
func (f *fetch) get(ctx context.Context, a *ask) error {
	o, err := f.reader.Get(ctx, a.list.kind, f.name(a.key))
	f.tell()
	var absence interface{ NotFound() bool }
	switch {
	case errors.As(err, &absence) && absence.NotFound():
		a.absent = true
		return nil
	case err != nil:
		return err
	case o.Spec == nil && !o.Terminating:
		return fmt.Errorf("get %s: the platform returns it without a spec", a.key)
	}
	if err := f.check(a.list.kind, o); err != nil {
		return err
	}
	share(&o, f.wanted[a.key])
	a.object = o
	return nil
}

// state puts together what was read.
func (f *fetch) state(lists []*listed, asks []*ask) State {
	s := State{
		Objects: make(map[kind.Key]kind.Object, len(f.wanted)),
		Absent:  map[kind.Key]bool{},
		Hosts:   make(map[string]kind.Key, len(f.wanted)),
		Lists:   map[string]kind.ListInfo{},
	}
	for _, l := range lists {
		s.Lists[l.kind.Name] = l.info
		for _, o := range l.whole {
			f.place(&s, o)
		}
	}
	for _, a := range asks {
		switch {
		case a.absent && f.wanted[a.key] != nil:
			s.Absent[a.key] = true
		case a.absent:
			// It went away after the list was read, and nobody wants it.
		default:
			f.place(&s, a.object)
		}
		if !a.absent && !a.shown {
			info := s.Lists[a.key.Kind]
			info.Complete = false
			s.Lists[a.key.Kind] = info
		}
	}
	slices.SortFunc(s.Unmanaged, func(a, b kind.Object) int { return compareKeys(a.Key(), b.Key()) })
	return s
}

// place puts an object where it belongs. Of two that serve one hostname the
// first by name is the host's; one that is terminating serves nothing.
func (f *fetch) place(s *State, o kind.Object) {
	key := f.key(o)
	if f.wanted[key] != nil {
		s.Objects[key] = o
	} else {
		if !o.Kind.CreateOnly() && !f.opts.Whole {
			o.Spec = nil
		}
		o.Status = nil
		s.Unmanaged = append(s.Unmanaged, o)
	}
	host := kind.HostKey(o.Host)
	if host == "" || o.Terminating {
		return
	}
	if has, ok := s.Hosts[host]; !ok || compareKeys(key, has) < 0 {
		s.Hosts[host] = key
	}
}

func compareKeys(a, b kind.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

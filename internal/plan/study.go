package plan

import (
	"slices"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/parallel"
	"trueup/internal/purge"
	"trueup/internal/route"
)

// batch is how many objects are planned before the results of all are collected.
const batch = 512

// maxContext is how many live objects a plan may change before it only counts the requests that are answered as before.
const maxContext = 1000

// study is what follows from each manifest, its live object and its record, before the plan as a whole is known.
type study struct {
	// items and findings are in the order of the manifests.
	items    []Item
	findings diag.List
	ops      map[kind.Key]Op
	// advice is for the objects that have any. It counts if the plan sends something for them.
	advice map[kind.Key]advised
	// waiting are the requests that are still to be sent, by the kind.HostKey of their hostname.
	waiting map[string][]*manifest.Object
	// changed counts the live objects that the plan changes.
	changed int
}

// advised is the advice on one object, and what comments silence of it.
type advised struct{ shown, silenced diag.List }

// study plans each object alone, several at once. The result does not depend on their order.
func (p *Planner) study(decide func(*decision)) *study {
	objects := p.in.Set.Objects
	s := &study{
		items: make([]Item, len(objects)), ops: make(map[kind.Key]Op, len(objects)),
		advice: map[kind.Key]advised{}, waiting: map[string][]*manifest.Object{},
	}
	var requests, others []int
	for i, o := range objects {
		if o.Kind.RequestOnly() {
			requests = append(requests, i)
		} else {
			others = append(others, i)
		}
	}
	// The advice on other objects says what no request purges.
	for i := range slices.Chunk(requests, batch) {
		p.studyBatch(s, i, decide)
	}
	purged := map[kind.Key]bool{}
	for _, i := range requests {
		if op := s.items[i].Op; op == Post || op == Blocked || op == InFlight {
			host := kind.HostKey(objects[i].Host)
			s.waiting[host], purged[p.serves(host)] = append(s.waiting[host], objects[i]), true
		}
	}
	for i := range slices.Chunk(others, batch) {
		p.studyBatch(s, i, decide)
		p.release(s.items, i, purged)
	}
	for i := range s.items {
		if a := s.items[i].Answers; s.changed > maxContext && a != nil {
			a.Unchanged = nil
		}
	}
	return s
}

// release drops the specs of live objects that were planned. The advice on requests needs those that they purge.
func (p *Planner) release(items []Item, indices []int, purged map[kind.Key]bool) {
	for _, i := range indices {
		key := items[i].Key
		if o, live := p.in.Live.Objects[key]; p.in.Release && live && !purged[key] {
			o.Spec = nil
			p.in.Live.Objects[key] = o
		}
	}
}

func (p *Planner) studyBatch(s *study, indices []int, decide func(*decision)) {
	findings, advice := make([]diag.List, len(indices)), make([]advised, len(indices))
	parallel.Each(len(indices), func(n int) {
		o := p.in.Set.Objects[indices[n]]
		d := p.decisionOf(o)
		decide(d)
		if d.item.Op.sends() && !o.Kind.RequestOnly() && p.targeted(o.Key()) {
			advice[n] = d.advise(s)
		}
		s.items[indices[n]], findings[n] = d.item, d.findings
	})
	for n, i := range indices {
		key := s.items[i].Key
		s.ops[key], s.findings = s.items[i].Op, append(s.findings, findings[n]...)
		if s.ops[key] == Patch && p.targeted(key) {
			s.changed++
		}
		if len(advice[n].shown)+len(advice[n].silenced) > 0 {
			s.advice[key] = advice[n]
		}
	}
}

// advise collects the advice on what is created or changed, and says what that does to requests.
func (d *decision) advise(s *study) advised {
	o, precedence := d.manifest, d.in.Project.Platform.Precedence
	a := newAdvised(manifest.Advise(o, d.tree(), manifest.Options{Precedence: precedence}))
	if served, ok := d.sites(); ok {
		change := route.Compare(served.before, served.after, route.ReadingsOf(precedence)...)
		if s.changed > maxContext {
			change.Same = nil
		}
		d.item.Answers = d.item.answers(served, change)
		specs := each(s.waiting[kind.HostKey(o.Host)], func(o *manifest.Object) purge.Spec { return parseSpec(o.Spec) })
		a.add(o.Sift(d.unpurged(specs, change)))
	}
	return a
}

func newAdvised(shown, silenced diag.List) advised { return advised{shown, silenced} }

func (a *advised) add(shown, silenced diag.List) {
	a.shown, a.silenced = append(a.shown, shown...), append(a.silenced, silenced...)
}

// tree returns the spec of the manifest.
func (d *decision) tree() map[string]any {
	if d.git == nil && len(d.manifest.Spec) > 0 {
		d.git = canon.MustDecode(d.manifest.Spec)
	}
	tree, _ := d.git.(map[string]any)
	return tree
}

// sites are an object before and after a request.
type sites struct{ before, after *route.Site }

// sites returns what serves requests before and after a patch or a creation; ok is false for other items.
func (d *decision) sites() (s sites, ok bool) {
	switch {
	case d.manifest.Kind.HostField == "":
		return sites{}, false
	case d.item.Op == Create:
		return sites{route.Read(nil), route.Read(d.tree())}, true
	case d.item.Op != Patch:
		return sites{}, false
	}
	was, _ := d.was.(map[string]any)
	is := d.tree()
	if d.item.Request != nil {
		is, _ = effect.Apply(d.patch, was).(map[string]any)
	}
	return sites{route.Read(was), route.Read(is)}, true
}

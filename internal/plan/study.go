package plan

import (
	"slices"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/parallel"
)

// batch is how many objects are planned before the results of all are collected.
const batch = 512

// study is what follows from each manifest, its live object and its record, before the plan as a whole is known.
type study struct {
	// items and findings are in the order of the manifests.
	items    []Item
	findings diag.List
	ops      map[kind.Key]Op
	// advice is for the objects that have any. It counts if the plan sends something for them.
	advice map[kind.Key]advised
	// waiting are the requests that are still to be sent, by the kind.HostKey of their hostname.
	waiting  map[string][]*manifest.Object
	requests *requests
}

// advised is the advice on one object, and what comments silence of it.
type advised struct{ shown, silenced diag.List }

// planObjects plans each object alone, several at once. The result does not depend on their order.
func (p *Planner) planObjects(decide func(*decision)) *study {
	objects := p.in.Set.Objects
	s := &study{
		items: make([]Item, len(objects)), ops: make(map[kind.Key]Op, len(objects)),
		advice: map[kind.Key]advised{}, waiting: map[string][]*manifest.Object{}, requests: p.newRequests(),
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
			s.waiting[host], purged[p.servedBy(host)] = append(s.waiting[host], objects[i]), true
		}
	}
	for i := range slices.Chunk(others, batch) {
		p.studyBatch(s, i, decide)
		p.dropLiveSpecs(s, i, purged)
	}
	return s
}

// dropLiveSpecs drops the specs of live objects that were planned. The advice on requests needs those that they purge, and
// other objects may claim the hosts of some.
func (p *Planner) dropLiveSpecs(s *study, indices []int, purged map[kind.Key]bool) {
	for _, i := range indices {
		key := s.items[i].Key
		if o, live := p.in.Live.Objects[key]; p.in.Release && live && !purged[key] && !s.requests.site().Shares(key) {
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
		switch {
		case o.Kind.RequestOnly() || !p.isTargeted(o.Key()):
		case p.in.ForDrift:
			s.requests.addOutside(d)
		case d.item.Op.sendsRequest():
			advice[n] = d.collectAdvice(s.requests)
		}
		s.items[indices[n]], findings[n] = d.item, d.findings
	})
	for n, i := range indices {
		key := s.items[i].Key
		s.ops[key], s.findings = s.items[i].Op, append(s.findings, findings[n]...)
		if len(advice[n].shown)+len(advice[n].silenced) > 0 {
			s.advice[key] = advice[n]
		}
	}
}

// collectAdvice collects the advice on what is created or changed, and compares what that does to requests.
func (d *decision) collectAdvice(r *requests) advised {
	o := d.manifest
	a := newAdvised(manifest.Advise(o, d.manifestSpec(), manifest.LoadSettings{Precedence: d.in.Project.Platform.Precedence}))
	if c, ok := d.routingChange(); ok {
		r.addChange(c)
		a.addFindings(o.Sift(d.adviseSharedHost(r)))
	}
	return a
}

func newAdvised(shown, silenced diag.List) advised { return advised{shown, silenced} }

func (a *advised) addFindings(shown, silenced diag.List) {
	a.shown, a.silenced = append(a.shown, shown...), append(a.silenced, silenced...)
}

// manifestSpec returns the spec of the manifest.
func (d *decision) manifestSpec() map[string]any {
	if d.git == nil && len(d.manifest.Spec) > 0 {
		d.git = canon.MustDecode(d.manifest.Spec)
	}
	tree, _ := d.git.(map[string]any)
	return tree
}

package plan

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// Inputs are everything that a plan depends on, as values.
type Inputs struct {
	Tool    string
	Sandbox bool
	Target  Destination
	Set     *manifest.Set
	Live    kind.LiveState
	// Release drops the spec of each live object once it is planned, to save memory. Explain then needs a base with
	// the same overrides.
	Release bool
	// ReadOnly says that no request of the plan is sent: no ledger has to keep what live was before.
	ReadOnly bool
	Ledger   ledger.View
	// LedgerStore is where the ledger is kept, for people.
	LedgerStore string
	// At is the time that budgets, and the outcomes of open requests, depend on.
	At      ledger.Instant
	Options Options
	// Project is trueup.yaml; it has no Path where there is none.
	Project ProjectSettings
	// Base proves that manifests were in git before; only deletions rest on it.
	Base PruneBase
}

// Options are what the user allowed or narrowed.
type Options struct {
	// Targets narrows the plan to matching objects, which the user named by Patterns; nil
	// means all. An object that it leaves out is not planned, and never looks removed.
	Targets  func(kind.Key) bool
	Patterns []string
	Drift    DriftPolicy
	// TakeOver and AllowRecreate name the objects of --accept.
	TakeOver, AllowRecreate map[kind.Key]bool
	// AllowEmptyLive lets objects be created although nothing that the ledger
	// knows is live any more.
	AllowEmptyLive bool
	// PartOfTree says that only some of the project's manifests were read.
	PartOfTree bool
	// Unread says that something that may hold manifests was not read.
	Unread bool
	// ForDrift says that the plan is made for NarrowToDrift, which needs no advice.
	ForDrift bool
	// ShowUnmanaged lists the fields of live that git does not mention.
	ShowUnmanaged bool
	// Prune deletes objects that left git.
	Prune bool
}

// Override changes how a field is compared, for servers that sort or rewrite (docs/design.md 0.20).
type Override struct {
	Kind     string   `json:"kind"`
	Path     string   `json:"path"`
	Ignore   bool     `json:"ignore,omitempty"`
	ReadOnly bool     `json:"readonly,omitempty"`
	Omit     bool     `json:"omit,omitempty"`
	Order    string   `json:"order,omitempty"`
	Key      []string `json:"key,omitzero"` // empty pairs by position, nil says nothing
	Type     string   `json:"type,omitempty"`
	// Undocumented are fields of the object at the path, or values of the text, that
	// the platform's document lacks. Such an override changes no comparison.
	Undocumented []string `json:"undocumented,omitempty"`
}

// choicesOf returns what was chosen for a plan, by options and by the project, as schemas/plan.schema.json
// has it, independent of the order of the command line.
func choicesOf(in Inputs) map[string]any {
	names := func(keys map[kind.Key]bool) (list []string) {
		for key := range keys {
			list = append(list, key.String())
		}
		slices.Sort(list)
		return list
	}
	o, project := in.Options, in.Project
	chosen := map[string]any{
		"drift": cmp.Or(o.Drift, OverwriteDrift), "targets": slices.Compact(slices.Sorted(slices.Values(o.Patterns))),
		"takeOver": names(o.TakeOver), "allowRecreate": names(o.AllowRecreate), "allowEmptyLive": o.AllowEmptyLive,
		"maxCreates": project.MaxCreates, "prune": o.Prune, "maxDeletes": project.DeletesAllowed(), "partOfTree": o.PartOfTree,
		"duplicate": project.Purge.Duplicate.String(), // it decides whether a purge counts as executed
	}
	if len(project.Overrides) > 0 {
		chosen["overrides"] = project.Overrides
	}
	for _, terms := range in.Ledger.Terms {
		chosen["window"] = terms.Window.String() // it is the project's, and so of all areas
	}
	maps.DeleteFunc(chosen, func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
	return chosen
}

// batch is how many objects are planned before the results of all are collected.
const batch = 512

// plannedObjects is what follows from each manifest, its live object and its record, before the plan as a whole is known.
type plannedObjects struct {
	// items and findings are in the order of the manifests.
	items    []Item
	findings diag.List
	ops      map[kind.Key]Op
	// advice is for the objects that have any. It counts if the plan sends something for them.
	advice map[kind.Key]objectAdvice
	// waiting are the requests that are still to be sent, by the kind.HostKey of their hostname.
	waiting  map[string][]*manifest.Object
	requests *requestComparer
}

// objectAdvice is the advice on one object, and what comments silence of it.
type objectAdvice struct{ shown, silenced diag.List }

// planObjects plans each object alone, several at once. The result does not depend on their order.
func (p *Planner) planObjects(decide func(*objectPlanner)) *plannedObjects {
	objects := p.in.Set.Objects
	s := &plannedObjects{
		items: make([]Item, len(objects)), ops: make(map[kind.Key]Op, len(objects)),
		advice: map[kind.Key]objectAdvice{}, waiting: map[string][]*manifest.Object{}, requests: p.newRequests(),
	}
	var requests, others []int
	for i, o := range objects {
		if o.Kind.IsRequestOnly() {
			requests = append(requests, i)
		} else {
			others = append(others, i)
		}
	}
	// The advice on other objects says what no request purges.
	for i := range slices.Chunk(requests, batch) {
		p.planBatch(s, i, decide)
	}
	purged := map[kind.Key]bool{}
	for _, i := range requests {
		if op := s.items[i].Op; op == Post || op == Blocked || op == InFlight {
			host := kind.HostKey(objects[i].Host)
			s.waiting[host], purged[p.servingObject(host)] = append(s.waiting[host], objects[i]), true
		}
	}
	for i := range slices.Chunk(others, batch) {
		p.planBatch(s, i, decide)
		p.dropLiveSpecs(s, i, purged)
	}
	return s
}

// dropLiveSpecs drops the specs of live objects that were planned. The advice on requests needs those that they purge, and
// other objects may claim the hosts of some.
func (p *Planner) dropLiveSpecs(s *plannedObjects, indices []int, purged map[kind.Key]bool) {
	for _, i := range indices {
		key := s.items[i].Key
		if o, live := p.in.Live.Objects[key]; p.in.Release && live && !purged[key] && !s.requests.site().SharesHosts(key) {
			o.Spec = nil
			p.in.Live.Objects[key] = o
		}
	}
}

func (p *Planner) planBatch(s *plannedObjects, indices []int, decide func(*objectPlanner)) {
	findings, advice := make([]diag.List, len(indices)), make([]objectAdvice, len(indices))
	diag.InParallel(len(indices), func(n int) {
		o := p.in.Set.Objects[indices[n]]
		d := &objectPlanner{Planner: p, manifest: o, rec: p.in.Ledger.Records[o.Key()]}
		d.live = p.in.Live.Objects[o.Key()]
		decide(d)
		switch {
		case !p.isTargeted(o.Key()):
		case p.in.Options.ForDrift:
			s.requests.addDrift(d)
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

// collectAdvice collects the advice on what is sent that needs only the manifest, and compares what a change does to requests.
func (d *objectPlanner) collectAdvice(r *requestComparer) (a objectAdvice) {
	settings := manifest.LoadSettings{Precedence: d.in.Project.Platform.Precedence}
	a.shown, a.silenced = manifest.Advise(d.manifest, d.manifestSpec(), settings)
	if c, ok := d.routingChange(); ok {
		r.addChange(c)
		a.addFindings(d.manifest.SplitSilenced(d.adviseSharedHost(r)))
	}
	return a
}

func (a *objectAdvice) addFindings(shown, silenced diag.List) {
	a.shown, a.silenced = append(a.shown, shown...), append(a.silenced, silenced...)
}

// manifestSpec returns the spec of the manifest.
func (d *objectPlanner) manifestSpec() map[string]any {
	if d.git == nil && len(d.manifest.Spec) > 0 {
		d.git = canon.DecodeTrusted(d.manifest.Spec)
	}
	return canon.Object(d.git)
}

package plan

import (
	"maps"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// maxAdvice is how many findings of one rule are shown of one object, maxPlaced
// how many are looked for: to place one takes as long as its object is large.
const (
	maxAdvice = 10
	maxPlaced = 100
)

// adviser finds what reviewers should know about a plan. It changes no request.
type adviser struct {
	*Planner
	// before is the spec of an object that is to change, as it is now; nil where it
	// is not known.
	before func(kind.Key) []byte
	// waiting are the requests that are still to be sent, by the kind.HostKey of
	// their hostname.
	waiting map[string][]purge.Spec
	routes  map[kind.Key]served
	// reached is what objects serve of hosts.
	reached map[string]reach
}

// advise collects advice on what the plan creates, changes and posts.
func (p *Planner) advise(out *Plan, ops map[kind.Key]Op, before func(kind.Key) []byte) {
	a := &adviser{Planner: p, before: before, waiting: p.waiting(ops), routes: map[kind.Key]served{}, reached: map[string]reach{}}
	for i := range out.Items {
		it := &out.Items[i]
		o := p.in.Set.Find(it.Key)
		if o == nil || !sends(it.Op) && it.Op != Deferred {
			continue
		}
		shown, silenced := manifest.Advise(o)
		more, hidden := o.Sift(a.ownRules(o, it))
		out.Advice = append(out.Advice, few(append(shown, more...))...)
		out.Silenced = append(out.Silenced, few(append(silenced, hidden...))...)
	}
	out.Advice.Sort()
	out.Silenced.Sort()
}

// ownRules runs the rules that take more than the manifest.
func (a *adviser) ownRules(o *manifest.Object, it *Item) diag.List {
	switch it.Op {
	case Patch:
		return a.unpurged(o, it)
	case Post, Deferred:
		return append(a.everything(o), a.unmatched(o)...)
	case None, Create, Delete, Blocked, InFlight, Kept:
	}
	return nil
}

// waiting returns the requests in git that were not sent, for any reason.
func (p *Planner) waiting(ops map[kind.Key]Op) map[string][]purge.Spec {
	waiting := map[string][]purge.Spec{}
	for _, o := range p.in.Set.Objects {
		op := ops[o.Key()]
		if !o.Kind.RequestOnly() || op != Post && op != Blocked && op != InFlight {
			continue
		}
		if spec, err := parseSpec(o.Spec); err == nil {
			host := kind.HostKey(spec.Hostname)
			waiting[host] = append(waiting[host], spec)
		}
	}
	return waiting
}

// served is the object that serves a hostname, with its routes.
type served struct {
	key kind.Key
	// was are its live routes, will those after apply.
	was, will manifest.Routes
}

// servesPaths returns the object that serves a hostname, or false if none is known.
func (a *adviser) servesPaths(hostname string) (served, bool) {
	host := kind.HostKey(hostname)
	key, ok := a.in.Live.Hosts[host]
	if in := a.hosts[host]; len(in) > 0 {
		key, ok = in[len(in)-1].Key(), true
	}
	if !ok {
		return served{}, false
	}
	s, seen := a.routes[key]
	if !seen {
		s = served{key: key, was: routesOf(a.before(key))}
		s.will = s.was
		if o := a.in.Set.Find(key); o != nil {
			if s.will = routesOf(o.Spec); s.will.Locations == nil {
				s.will.Locations = s.was.Locations
			}
		}
		a.routes[key] = s
	}
	return s, true
}

func routesOf(spec []byte) manifest.Routes {
	if spec == nil {
		return manifest.Routes{}
	}
	return manifest.RoutesOf(canon.MustDecode(spec))
}

// advice is a finding at a place of a manifest.
func advice(o *manifest.Object, rule, field, message, fix string) diag.Finding {
	line, column := o.Place(field)
	return diag.Finding{
		Path: o.Path, Line: line, Column: column, Field: field,
		Rule: rule, Message: message, Fix: fix, Severity: diag.Advice,
	}
}

// few keeps maxAdvice findings of each rule. The last one says that there are more.
func few(found diag.List) diag.List {
	counts, last := map[string]int{}, map[string]int{}
	var out diag.List
	for _, f := range found {
		switch counts[f.Rule]++; {
		case counts[f.Rule] <= maxAdvice:
			last[f.Rule] = len(out)
			out = append(out, f)
		case counts[f.Rule] == maxAdvice+1:
			out[last[f.Rule]].Message += "; the same object has more of these"
		}
	}
	return out
}

// reach returns the paths of some hosts that the object serves.
func (a *adviser) reach(by served, hosts map[string]bool) reach {
	name := by.key.String() + " " + strings.Join(slices.Sorted(maps.Keys(hosts)), " ")
	r, seen := a.reached[name]
	if !seen {
		r = newReach(append(slices.Clone(by.was.Locations), by.will.Locations...), hosts)
		a.reached[name] = r
	}
	return r
}

// purgedHosts are the hosts that a request is for, by kind.HostKey.
func purgedHosts(spec purge.Spec) map[string]bool {
	hosts := map[string]bool{kind.HostKey(spec.Hostname): true}
	for _, sub := range spec.Subdomains {
		hosts[kind.HostKey(sub+"."+spec.Hostname)] = true
	}
	return hosts
}

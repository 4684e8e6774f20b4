package plan

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/purge"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// maxAdvice is how many findings of one rule are shown of one object, maxPlaced
// how many are looked for: to place one takes as long as its object is large.
const (
	maxAdvice = 10
	maxPlaced = 100
)

// adviser finds what reviewers should know about the requests of a plan. It changes none.
type adviser struct {
	*Planner
	routes map[kind.Key]servingCDN
	// hostnames are those that purges may name.
	hostnames func() purge.Hosts
}

// adviseOnPlan collects advice on what the plan creates, changes and posts. It has the cached copies that each object
// outdates.
func (p *Planner) adviseOnPlan(out *Plan, all *plannedObjects, outdated map[kind.Key][]routing.OutdatedCopies) {
	a := &adviser{Planner: p, routes: map[kind.Key]servingCDN{}}
	a.hostnames = sync.OnceValue(func() purge.Hosts { return purge.NewHosts(slices.Collect(maps.Keys(p.hosts))) })
	for i := range out.Items {
		it := &out.Items[i]
		if !it.Op.sendsRequest() && it.Op != Deferred {
			continue
		}
		found, o := all.advice[it.Key], p.in.Set.Find(it.Key)
		if (it.Op == Patch || it.Op == Create) && o != nil {
			found.addFindings(o.SplitSilenced(a.adviseOnUnpurged(it, o, all.waiting, outdated[it.Key])))
		}
		if o != nil && o.Kind.IsRequestOnly() {
			spec := parseSpec(o.Spec)
			by, hosts := a.lookUpServed(spec.Hostname), hostsOf(spec.Hostname, spec.Subdomains)
			found.addFindings(o.SplitSilenced(append(adviseOnPurgeAll(o, spec, by, hosts), adviseOnUnmatched(o, spec, by, hosts)...)))
		}
		out.Advice = append(out.Advice, limitPerRule(found.shown)...)
		out.Silenced = append(out.Silenced, limitPerRule(found.silenced)...)
	}
	out.Advice.Sort()
	out.Silenced.Sort()
}

// servingCDN is the object that serves a hostname, before and after apply.
type servingCDN struct {
	key           kind.Key
	before, after *routing.CDNConfig
}

// servingObject returns the object that serves a kind.HostKey, once git is applied.
func (p *Planner) servingObject(host string) kind.Key {
	if in := p.hosts[host]; len(in) > 0 {
		return in[len(in)-1].Key()
	}
	return p.in.Live.Hosts[host]
}

// lookUpServed returns the object that serves a hostname; it has no locations if none is known.
func (a *adviser) lookUpServed(hostname string) servingCDN {
	key := a.servingObject(kind.HostKey(hostname))
	s, seen := a.routes[key]
	if !seen {
		was := configOf(a.in.Live.Objects[key].Spec)
		s = servingCDN{key, was, was}
		if o := a.in.Set.Find(key); o != nil {
			if s.after = configOf(o.Spec); s.after.Locations == nil {
				s.after.Locations = was.Locations
			}
		}
		a.routes[key] = s
	}
	return s
}

func configOf(spec []byte) *routing.CDNConfig {
	if spec == nil {
		return &routing.CDNConfig{}
	}
	return routing.ReadConfigJSON(spec)
}

// newAdvice is a finding at a place of a manifest.
func newAdvice(o *manifest.Object, rule, field, message, fix string) diag.Finding {
	line, column := o.Position(field)
	return diag.Finding{
		Path: o.Path, Line: line, Column: column, Field: field,
		Rule: rule, Message: message, Fix: fix, Severity: diag.Advice,
	}
}

// limitPerRule keeps maxAdvice findings of each rule. The last one says that there are more.
func limitPerRule(found diag.List) diag.List {
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

// hostsOf returns a hostname and its subdomains, by kind.HostKey.
func hostsOf(hostname string, subdomains []string) map[string]bool {
	hosts := map[string]bool{kind.HostKey(hostname): true}
	for _, sub := range subdomains {
		hosts[kind.HostKey(sub+"."+hostname)] = true
	}
	return hosts
}

// adviseOnPurgeAll advises on a request that invalidates all of a hostname.
func adviseOnPurgeAll(o *manifest.Object, spec purge.Spec, by servingCDN, hosts map[string]bool) diag.List {
	at := slices.Index(spec.Paths, allPaths)
	if at < 0 {
		at = widestPath(spec.Paths, locationsOf(by.after, hosts))
	}
	if at < 0 {
		return nil
	}
	return diag.List{newAdvice(o, rules.PurgeEverything, fmt.Sprintf("spec.paths[%d]", at),
		fmt.Sprintf("%s invalidates everything cached for %s", spec.Paths[at], diag.JoinFirst(slices.Sorted(maps.Keys(hosts)), 5)),
		"name the paths that changed, or send it when the servers can handle every request")}
}

// locationsOf returns the locations of a site that are for some of the hosts.
func locationsOf(s *routing.CDNConfig, hosts map[string]bool) (list []*routing.Location) {
	names := slices.Collect(maps.Keys(hosts))
	for i := range s.Locations {
		if l := &s.Locations[i]; slices.ContainsFunc(names, l.MayServe) {
			list = append(list, l)
		}
	}
	return list
}

// widestPath returns the path that covers the first location, or -1 unless the paths cover all.
func widestPath(paths []string, locations []*routing.Location) int {
	cover, at := purge.NewPrefixIndex(paths), -1
	for _, l := range locations {
		by, ok := cover.CoveredBy(l.PurgePath(), nil)
		if !ok {
			return -1
		}
		if at < 0 {
			at = slices.Index(paths, by)
		}
	}
	return at
}

// adviseOnUnmatched advises on paths that no location serves, live or in git.
func adviseOnUnmatched(o *manifest.Object, spec purge.Spec, by servingCDN, hosts map[string]bool) diag.List {
	if len(by.before.Locations)+len(by.after.Locations) == 0 {
		return nil
	}
	serves := routing.NewPurgeReach(append(locationsOf(by.before, hosts), locationsOf(by.after, hosts)...))
	outside := slices.DeleteFunc(slices.Clone(spec.Paths), serves.ReachesAny)
	if len(outside) == 0 {
		return nil
	}
	return diag.List{newAdvice(o, rules.PurgeUnmatched, fmt.Sprintf("spec.paths[%d]", slices.Index(spec.Paths, outside[0])),
		fmt.Sprintf("no location of %s serves %s", by.key, diag.JoinFirst(outside, 5)), "correct the path, or add the location")}
}

func countNoun(n int, noun string) string { return diag.Plural(n, noun, noun+"s") }

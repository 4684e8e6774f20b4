package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// requestComparer is what a plan does to requests. Objects whose hosts no other one may claim are compared alone.
type requestComparer struct {
	site        func() *routing.Site
	precedences []routing.Precedence
	mutex       sync.Mutex
	alone       map[kind.Key]routing.SiteEffects
	// shared are the changes that are compared together.
	shared []routing.CDNChange
}

func (p *Planner) newRequests() *requestComparer {
	return &requestComparer{
		site: sync.OnceValue(p.newSite), precedences: routing.PrecedencesOf(p.in.Project.Platform.Precedence),
		alone: map[kind.Key]routing.SiteEffects{},
	}
}

// newSite returns the CDNs of git and of live, with the hosts that they claim in one of them. Each answers as live does.
func (p *Planner) newSite() *routing.Site {
	set := slices.DeleteFunc(slices.Clone(p.in.Set.Objects), func(o *manifest.Object) bool { return !answersRequests(o.Kind) })
	others := slices.DeleteFunc(slices.Clone(p.in.Live.Unmanaged), func(o kind.LiveObject) bool { return !answersRequests(o.Kind) || o.Terminating })
	cdns := make([]routing.CDN, len(set)+len(others))
	hosts, all := make([]string, len(cdns)), make([]*routing.CDN, len(cdns))
	diag.InParallel(len(cdns), func(i int) {
		c := &cdns[i]
		var o kind.LiveObject
		if i < len(set) {
			c.Key = set[i].Key() // by which git knows it
			o = p.findLive(c.Key)
		} else {
			o = others[i-len(set)]
			c.Key = o.Key()
		}
		hosts[i] = kind.HostKey(o.Host)
		c.Config = sync.OnceValue(func() *routing.CDNConfig { return p.readLiveConfig(c.Key) })
		c.Claims = routing.AppendHosts(hosts[i:i+1:i+1], o.Spec)
		if i < len(set) && set[i].Digest != o.Digest {
			c.Claims = append(c.Claims, routing.ClaimsOf(set[i].Spec)...)
		}
		all[i] = c
	})
	return routing.NewSite(all...)
}

func answersRequests(k *kind.Kind) bool { return k.CanPatch() && k.HostField != "" }

// ChangesServedObject reports whether apply changes an object that answers requests.
func (it Item) ChangesServedObject() bool {
	k, ok := kind.FindKind(it.Kind)
	return ok && answersRequests(k) && (it.Op == Patch || it.Op == Create) && !it.Happened
}

// findLive returns the live object of a manifest, or none if it is being deleted.
func (p *Planner) findLive(key kind.Key) kind.LiveObject {
	if o := p.in.Live.Objects[key]; !o.Terminating {
		return o
	}
	return kind.LiveObject{}
}

// readLiveConfig returns the config of a live object, which study releases only if nobody else may claim its hosts.
func (p *Planner) readLiveConfig(key kind.Key) *routing.CDNConfig {
	o := p.findLive(key)
	if i := slices.IndexFunc(p.in.Live.Unmanaged, func(o kind.LiveObject) bool { return o.Key() == key }); o.Kind == nil && i >= 0 {
		o = p.in.Live.Unmanaged[i]
	}
	if o.Spec == nil {
		return routing.ReadConfig(map[string]any{"hostname": o.Host})
	}
	return routing.ReadConfigJSON(o.Spec)
}

// routingChange returns what a decision does to a CDN; ok is false if it changes none.
func (d *objectPlanner) routingChange() (c routing.CDNChange, ok bool) {
	if !answersRequests(d.manifest.Kind) || d.item.Op != Create && d.item.Op != Patch {
		return c, false
	}
	was := canon.Object(d.was)
	is, before := d.manifestSpec(), routing.ReadConfig(was)
	if d.item.Op == Patch {
		if d.item.Request != nil {
			is = canon.Object(effect.ApplyPatch(d.patch, was))
		}
		c.Before = routing.NewCDNFromConfig(d.item.Key, before)
	}
	c.After = routing.NewCDNFromConfig(d.item.Key, before.ReadChanged(was, is))
	return c, true
}

// addChange compares a change, now or together with others. It is safe for concurrent use.
func (r *requestComparer) addChange(c routing.CDNChange) {
	isAlone := !r.site().SharesHosts(c.Key())
	var result routing.SiteEffects
	if isAlone {
		result = routing.Compare([]routing.CDNChange{c}, nil, r.precedences)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if isAlone {
		r.alone[c.Key()] = result
	} else {
		r.shared = append(r.shared, c)
	}
}

// compareShared compares the rest, and returns what the plan does to requests.
func (r *requestComparer) compareShared() (all routing.SiteEffects) {
	byKey := func(a, b kind.Key) int { return strings.Compare(a.String(), b.String()) }
	if slices.SortFunc(r.shared, func(a, b routing.CDNChange) int { return byKey(a.Key(), b.Key()) }); len(r.shared) > 0 {
		all = routing.Compare(r.shared, r.site(), r.precedences)
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.alone), byKey) {
		all.Append(r.alone[key])
	}
	all.Lines = routing.MergeLines(all.Lines, false)
	return all
}

// addDrift compares, for NarrowToDrift, how live answers requests otherwise than git because of an object that was changed
// outside git alone, or deleted there.
func (r *requestComparer) addDrift(d *objectPlanner) {
	notDrift := func(c Change) bool {
		of := tableOfClasses[c.Class]
		return !of.unsent && (!of.drift || c.Left)
	}
	if d.item.Deleted && answersRequests(d.manifest.Kind) {
		r.addChange(routing.CDNChange{Before: routing.NewCDN(d.item.Key, d.manifest.Spec)})
	} else if d.item.Op == Patch && len(d.item.Collateral) == 0 && !slices.ContainsFunc(d.item.Changes, notDrift) {
		if c, ok := d.routingChange(); ok {
			r.addChange(routing.CDNChange{Before: c.After, After: c.Before})
		}
	}
}

// addRequests adds to a plan what it does to requests, and to its items what they stop serving; or what drift did. It returns
// the cached copies that are outdated, by object.
func (p *Plan) addRequests(r *requestComparer, drift bool) map[kind.Key][]routing.OutdatedCopies {
	result := r.compareShared()
	sent := map[kind.Key]*Item{}
	for i := range p.Items {
		if it := &p.Items[i]; drift || it.Op == Create || it.Op == Patch {
			sent[it.Key] = it
		}
	}
	isSent := func(key kind.Key) bool { return sent[key] != nil }
	for _, l := range result.Lines {
		if l.Drift = drift; slices.ContainsFunc(l.Objects, isSent) {
			p.Requests = append(p.Requests, l)
		}
	}
	addStops(sent, result.Stops)
	outdated := map[kind.Key][]routing.OutdatedCopies{}
	for _, c := range result.Outdated {
		for _, key := range c.Objects {
			outdated[key] = append(outdated[key], c)
		}
	}
	return outdated
}

func addStops(items map[kind.Key]*Item, stops []routing.UnansweredRequests) {
	for _, stop := range stops {
		for _, key := range stop.Objects {
			if it := items[key]; it != nil {
				it.Stops = append(it.Stops, stop)
			}
		}
	}
}

// adviseSharedHost advises on a new hostname that a location of another CDN has: one of both answers its requests.
func (d *objectPlanner) adviseSharedHost(r *requestComparer) (found diag.List) {
	o, host := d.manifest, kind.HostKey(d.manifest.Host)
	if d.item.Live.Exists && kind.HostKey(d.live.Host) == host {
		return nil
	}
	for _, c := range r.site().Claimants(host) {
		if d.in.Set.Find(c.Key) != nil || !c.Config().HasHost(host) { // manifests are compared when they are read
			continue
		}
		found = append(found, newAdvice(o, rules.HostnameTaken, "spec."+o.Kind.HostField,
			fmt.Sprintf("%s has the host %s, too, and no document says which of the two CDNs answers it", c.Key, o.Host),
			fmt.Sprintf("remove the locations of this host from %s, or use another hostname", c.Key)))
	}
	return found
}

package routing

import (
	"maps"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// CDNChange is a CDN before and after; either may be nil.
type CDNChange struct{ Before, After *CDN }

// Key returns the key of the CDN.
func (c CDNChange) Key() kind.Key { return c.cdns()[0].Key }

// cdns returns the CDNs of the change.
func (c CDNChange) cdns() []*CDN {
	return slices.DeleteFunc([]*CDN{c.Before, c.After}, func(cdn *CDN) bool { return cdn == nil })
}

// OutdatedCopies are the copies of answers that the edges cached and that a change makes stale: those of requests of a host that
// match the same locations.
type OutdatedCopies struct {
	Host, Pattern string
	Except        []string
	// Objects are the CDNs whose change does it.
	Objects []kind.Key
	// Location has the host and the path of the location that answers the requests now, and Facets what it answers otherwise:
	// under the first precedence under which copies are stale. IsCertain says that they are so under all.
	Location  [2]string
	Facets    []Facet
	IsCertain bool
	// Stay is how long copies stay at most.
	Stay time.Duration
}

// SiteEffects is what changes of CDNs do to the requests of a site. Without lines, every request is answered as before.
type SiteEffects struct {
	Lines    []RequestChange
	Outdated []OutdatedCopies
	Stops    []UnansweredRequests
}

// Append adds another result.
func (r *SiteEffects) Append(other SiteEffects) {
	r.Lines, r.Outdated, r.Stops = append(r.Lines, other.Lines...), append(r.Outdated, other.Outdated...), append(r.Stops, other.Stops...)
}

// UnansweredRequests is what no CDN answers any more, under any reading: requests of a host, all of them if there is no Pattern.
type UnansweredRequests struct {
	Name string `json:"name"`
	Host string `json:"host"`
	PathSet
	// Objects are the CDNs whose change does it.
	Objects []kind.Key `json:"-"`
}

// WasServedBy reports whether a location with a host and a path may have answered some of the requests.
func (s UnansweredRequests) WasServedBy(host, path string) bool {
	l, was, stop := Location{Host: kind.HostKey(host)}, newNode(path), newNode(s.Pattern)
	isKept := func(outside string) bool { return newNode(outside).covers(was) }
	return l.MayServe(s.Host) && (s.Pattern == "" || was.covers(stop) || stop.covers(was) && !slices.ContainsFunc(s.Outside, isKept))
}

// siteComparison compares a site before and after.
type siteComparison struct {
	precedences []Precedence
	changed     map[kind.Key]CDNChange
	// sides have all CDNs, before and after.
	sides [2]*Site
	SiteEffects
	outcomes *outcomeCache
}

// Compare returns what changes do to the requests of a site, of which others may have all CDNs. It reads only those that
// claim a host which a changed one claims.
func Compare(changes []CDNChange, others *Site, precedences []Precedence) SiteEffects {
	c := &siteComparison{precedences: precedences, changed: map[kind.Key]CDNChange{}, outcomes: newOutcomeCache()}
	var before, after []*CDN
	for _, change := range changes {
		c.changed[change.Key()] = change
		before, after = append(before, change.Before), append(after, change.After)
	}
	if others != nil {
		for _, cdn := range others.cdns {
			if _, changes := c.changed[cdn.Key]; !changes {
				before, after = append(before, cdn), append(after, cdn)
			}
		}
	}
	c.sides = [2]*Site{NewSite(before...), NewSite(after...)}
	renamed := map[string]bool{}
	for _, change := range changes {
		renamed[c.addRename(change)] = true
	}
	for _, host := range c.hostsOfChangedCDNs() {
		if !renamed[host] {
			c.addHost(host)
		}
	}
	told := map[string]bool{}
	for _, l := range c.Lines {
		for _, key := range l.Objects {
			told[key.String()+l.DescribeEffect(All)] = true
			for _, d := range l.findCertain() {
				told[key.String()+d.String()] = true
			}
		}
	}
	for _, change := range changes {
		c.addUnnamedHosts(change, told)
		c.addUnclear(change)
	}
	c.Lines = MergeLines(c.Lines, false)
	return c.SiteEffects
}

// hostsOfChangedCDNs returns the hosts that changed CDNs claim, and those below their wildcards.
func (c *siteComparison) hostsOfChangedCDNs() []string {
	hosts := map[string]bool{}
	for _, change := range c.changed {
		for _, cdn := range change.cdns() {
			for _, host := range cdn.Claims {
				hosts[host] = true
				for _, below := range c.hostsBelow(host) {
					hosts[below] = true
				}
			}
		}
	}
	delete(hosts, "")
	return slices.Sorted(maps.Keys(hosts))
}

// hostsBelow returns the hosts below a wildcard that some CDN may claim.
func (c *siteComparison) hostsBelow(wildcard string) (hosts []string) {
	domain, isWildcard := strings.CutPrefix(wildcard, "*")
	if !isWildcard {
		return nil
	}
	for _, site := range c.sides {
		for host := range site.hosts {
			if host != wildcard && strings.HasSuffix(host, domain) {
				hosts = append(hosts, host)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// newTable returns the table of a host, which may have another name after than before.
func (c *siteComparison) newTable(before, after string) *hostTable {
	return newHostTable([]string{before, after}, c.precedences, [][]*CDN{c.sides[0].Claimants(before), c.sides[1].Claimants(after)}, c.outcomes)
}

// addHost compares the requests of a host.
func (c *siteComparison) addHost(name string) {
	h := c.newTable(name, name)
	groups, changed := h.findChanges()
	if len(groups) == 0 {
		return
	}
	host, causes := HostSet{Name: name, Except: c.hostsBelow(name)}, c.findCauses(h, name)
	c.Outdated = append(c.Outdated, h.findOutdated(name, changed, causes)...)
	for _, g := range groups {
		c.Lines = append(c.Lines, RequestChange{Effect: g.effect(), Hosts: []HostSet{host}, RequestPart: g.RequestPart, Objects: causes})
		for _, paths := range h.findStops(g) {
			c.Stops = append(c.Stops, UnansweredRequests{nameRequests([]HostSet{host}, []PathSet{paths}, All), name, paths, causes})
		}
	}
}

// findCauses returns the changed CDNs because of which a host is answered in another way: those that answer it before and
// after, or claim it less than before, or more. If that explains nothing, all that may claim it count.
func (c *siteComparison) findCauses(h *hostTable, host string) (keys []kind.Key) {
	claimOf := func(cdn *CDN) int {
		if cdn == nil {
			return 0
		}
		return cdn.claimStrength(host, Nothing)
	}
	var all []kind.Key
	for _, cdn := range slices.Concat(h.claimants...) {
		change, changed := c.changed[cdn.Key]
		if !changed || slices.Contains(all, cdn.Key) {
			continue
		}
		all = append(all, cdn.Key)
		isCause := claimOf(change.Before) != claimOf(change.After)
		for r := range h.readings {
			before, after := h.owner(0, r), h.owner(1, r)
			isCause = isCause || before == change.Before && after == change.After
		}
		if isCause {
			keys = append(keys, cdn.Key)
		}
	}
	if len(keys) == 0 {
		keys = all
	}
	slices.SortFunc(keys, func(a, b kind.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// addRename adds the line of a hostname that nothing answered before and that is now answered by a CDN which had another
// one. It returns the host, or "" if there is no such line.
func (c *siteComparison) addRename(change CDNChange) string {
	if change.Before == nil || change.After == nil {
		return ""
	}
	from, to := change.Before.Config().Hostname, change.After.Config().Hostname
	if from == to || from == "" || to == "" || len(c.sides[0].Claimants(to)) > 0 {
		return ""
	}
	h := c.newTable(from, to)
	if !h.isOwnedBy(change) {
		return ""
	}
	l := RequestChange{Effect: First, Hosts: []HostSet{{Name: to}}, As: from, Objects: []kind.Key{change.After.Key}, Nothing: true}
	for i := range h.tree {
		l.Nothing = l.Nothing && h.responder(i, 1, 0).Location == nil
	}
	groups, _ := h.findChanges()
	for _, g := range groups {
		l.Effect, l.Exceptions = min(l.Effect, g.effect()), append(l.Exceptions, g.RequestPart)
	}
	for _, cdn := range findOwners(from, c.sides[1].Claimants(from), Nothing) {
		l.Still, l.StillBy = true, append(l.StillBy, cdn.describeClaim(from))
	}
	c.Lines = append(c.Lines, l)
	return to
}

// isOwnedBy reports whether the CDN that changes answers the host before and after, under any reading, and no other one.
func (h *hostTable) isOwnedBy(change CDNChange) bool {
	for r := range h.readings {
		if h.owner(0, r) != change.Before || h.owner(1, r) != change.After {
			return false
		}
	}
	return !h.matters[OneCDN]
}

// addUnnamedHosts adds what a change does to requests for hosts that nothing names, if lines do not tell the same of others.
func (c *siteComparison) addUnnamedHosts(change CDNChange, told map[string]bool) {
	if change.Before == nil || change.After == nil {
		return
	}
	key := change.Key()
	isNew := func(d PropertyDifference) bool { return !told[key.String()+d.String()] }
	groups, _ := newHostTable([]string{"", ""}, c.precedences, [][]*CDN{{change.Before}, {change.After}}, c.outcomes).findChanges()
	for _, g := range groups {
		l := RequestChange{Effect: Unclear, RequestPart: g.RequestPart, Objects: []kind.Key{key}}
		certain := l.findCertain()
		if !told[key.String()+l.DescribeEffect(All)] && (len(certain) == 0 || slices.ContainsFunc(certain, isNew)) {
			c.Lines = append(c.Lines, l)
		}
	}
}

// addUnclear adds the locations of a changed CDN of which no document says what they match, if any location differs.
func (c *siteComparison) addUnclear(change CDNChange) {
	configs := diag.MapList(change.cdns(), func(c *CDN) *CDNConfig { return c.Config() })
	isSame := func(a, b Location) bool {
		copy(a.Behaviour[ofCDN:], b.Behaviour[ofCDN:])
		return a == b
	}
	if len(configs) == 2 && slices.EqualFunc(configs[0].Locations, configs[1].Locations, isSame) {
		return
	}
	hosts := map[string][]string{}
	for _, from := range configs {
		for _, l := range from.unclear {
			hosts[l.Host] = append(hosts[l.Host], l.Path)
		}
		hosts[from.Hostname] = append(hosts[from.Hostname], hosts[""]...) // a location without a host is for that of the CDN
	}
	delete(hosts, "")
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		l := RequestChange{Effect: Unclear, Hosts: []HostSet{{Name: name}}, Objects: []kind.Key{change.Key()}}
		slices.Sort(hosts[name])
		for _, path := range slices.Compact(hosts[name]) {
			l.Paths = append(l.Paths, PathSet{Pattern: path})
		}
		if l.Paths != nil {
			c.Lines = append(c.Lines, l)
		}
	}
}

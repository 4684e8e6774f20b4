package routing

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"trueup/internal/kind"
)

// Change is a CDN before and after; either may be nil.
type Change struct{ Before, After *CDN }

// Key returns the key of the CDN.
func (c Change) Key() kind.Key {
	if c.Before != nil {
		return c.Before.Key
	}
	return c.After.Key
}

// Class has the requests of a host that match the same locations, if their answer changes under some reading. Before and
// After have an element for each precedence.
type Class struct {
	Host, Pattern string
	Except        []string
	Before, After []Answer
	// Objects are the CDNs whose change does it.
	Objects []kind.Key
}

// Result is what changes of CDNs do to the requests of a site. Without lines, every request is answered as before.
type Result struct {
	Lines   []Line
	Classes []Class
	Stops   []Stop
}

// Stop is what no CDN answers any more: the location with the host and path did, or the CDN that had the hostname if both
// are empty.
type Stop struct {
	Name string `json:"name"`
	Host string `json:"host,omitempty"`
	Path string `json:"path,omitempty"`
	// Objects are the CDNs whose change does it.
	Objects []kind.Key `json:"-"`
}

// comparison compares a site before and after.
type comparison struct {
	precedences []Precedence
	changed     map[kind.Key]Change
	// sides have the changed CDNs, and others also the CDNs that stay.
	sides  [2]*Site
	others *Site
	Result
	lines lineSet
	known map[outcomeID]*outcome
}

// Compare returns what changes do to the requests of a site, of which others may have all CDNs. It reads only those that
// claim a host which a changed one claims.
func Compare(changes []Change, others *Site, precedences []Precedence) Result {
	c := &comparison{precedences: precedences, changed: map[kind.Key]Change{}, others: others, known: map[outcomeID]*outcome{}}
	var lists [2][]*CDN
	for _, change := range changes {
		c.changed[change.Key()] = change
		for side, cdn := range []*CDN{change.Before, change.After} {
			if cdn != nil {
				lists[side] = append(lists[side], cdn)
			}
		}
	}
	for side, list := range lists {
		c.sides[side] = NewSite(list...)
	}
	renamed := map[string]bool{}
	for _, change := range changes {
		if host := c.rename(change); host != "" {
			renamed[host] = true
		}
	}
	for _, host := range c.hosts() {
		if !renamed[host] {
			c.host(host)
		}
	}
	for _, change := range changes {
		c.elsewhere(change)
		c.unclear(change)
	}
	c.Lines = c.lines.sorted()
	return c.Result
}

// hosts returns the hosts that changed CDNs claim, and those below their wildcards.
func (c *comparison) hosts() []string {
	hosts := map[string]bool{}
	for _, side := range c.sides {
		for host := range side.hosts {
			hosts[host] = true
			if strings.HasPrefix(host, "*") {
				for _, below := range c.below(host) {
					hosts[below] = true
				}
			}
		}
	}
	delete(hosts, "")
	return slices.Sorted(maps.Keys(hosts))
}

// below returns the hosts below a wildcard that some CDN may claim.
func (c *comparison) below(wildcard string) (hosts []string) {
	domain := strings.TrimPrefix(wildcard, "*")
	for _, site := range []*Site{c.others, c.sides[0], c.sides[1]} {
		if site == nil {
			continue
		}
		for host := range site.hosts {
			if host != wildcard && strings.HasSuffix(host, domain) {
				hosts = append(hosts, host)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// claimants returns the CDNs of a side that may claim a host.
func (c *comparison) claimants(side int, host string) []*CDN {
	list := c.sides[side].Claimants(host)
	if c.others == nil {
		return list
	}
	for _, cdn := range c.others.Claimants(host) {
		if _, changed := c.changed[cdn.Key]; !changed {
			list = append(list, cdn)
		}
	}
	slices.SortFunc(list, func(a, b *CDN) int { return compareKeys(a.Key, b.Key) })
	return list
}

// host compares the requests of a host.
func (c *comparison) host(name string) {
	names, claimants := []string{name, name}, [][]*CDN{c.claimants(0, name), c.claimants(1, name)}
	h := newHostTable(names, c.precedences, claimants)
	h.known = c.known
	host := Host{Name: name}
	if strings.HasPrefix(name, "*") {
		host.Except = c.below(name)
	}
	groups, classes := h.changes(name)
	if len(groups) == 0 && !h.hasCapitals {
		return
	}
	causes := c.causes(h, name)
	for _, class := range classes {
		class.Objects = causes
		c.Classes = append(c.Classes, class)
	}
	for _, g := range groups {
		c.lines.add(Line{Effect: g.effect(), Hosts: []Host{host}, Paths: g.paths, Answers: g.answers, Unless: g.unless, Objects: causes})
		for _, stop := range h.stops(g, host) {
			stop.Objects = causes
			c.Stops = append(c.Stops, stop)
		}
	}
	if instead, differs := c.ignoringCase(h, claimants); differs && len(instead)+len(groups) > 0 {
		l := Line{Effect: Unclear, Hosts: []Host{host}, IgnoringCase: true, Exceptions: instead, Objects: causes}
		for _, g := range groups {
			l.Effect = min(l.Effect, g.effect())
		}
		c.lines.add(l)
	}
}

// ignoringCase returns what happens to the requests of a host if the case of paths plays no part, and whether that may be
// something else than what happens if it does: a path is then below another one, or the same.
func (c *comparison) ignoringCase(h *hostTable, claimants [][]*CDN) (instead []Exception, differs bool) {
	if !h.hasCapitals {
		return nil, false
	}
	folded := newFoldedTable(h.names, c.precedences, claimants)
	differs = len(folded.tree) != len(h.tree)
	parents := map[string]string{}
	for i, n := range folded.tree {
		if i > 0 {
			parents[n.pattern] = folded.tree[n.parent].pattern
		}
	}
	for i, n := range h.tree {
		differs = differs || i > 0 && parents[strings.ToLower(n.pattern)] != strings.ToLower(h.tree[n.parent].pattern)
	}
	groups, _ := folded.changes("")
	for _, g := range groups {
		instead = append(instead, Exception{g.paths, g.answers, g.unless})
	}
	return instead, differs
}

// causes returns the changed CDNs because of which a host is answered in another way: of two that answer it before and
// after, one that claims it less than before, or more.
func (c *comparison) causes(h *hostTable, host string) (keys []kind.Key) {
	for _, all := range []bool{false, true} { // if the claims explain nothing, all count
		for r := range h.readings {
			before, after := h.owner(0, r), h.owner(1, r)
			same := before != nil && after != nil && before.Key == after.Key
			for _, cdn := range []*CDN{before, after} {
				if cdn != nil && !slices.Contains(keys, cdn.Key) && c.causesChange(cdn.Key, host, same || all) {
					keys = append(keys, cdn.Key)
				}
			}
		}
		if len(keys) > 0 {
			break
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// causesChange reports whether a CDN changed, and claims a host otherwise than before if that must be so.
func (c *comparison) causesChange(key kind.Key, host string, anyway bool) bool {
	change, changed := c.changed[key]
	if !changed || anyway {
		return changed
	}
	strength := func(cdn *CDN) int {
		if cdn == nil {
			return 0
		}
		return cdn.strength(host, Nothing)
	}
	return strength(change.Before) != strength(change.After)
}

// rename adds the line of a hostname that nothing answered before and that is now answered by a CDN which had another one.
// It returns the host, or "" if there is no such line.
func (c *comparison) rename(change Change) string {
	if change.Before == nil || change.After == nil {
		return ""
	}
	from, to := change.Before.Config().Hostname, change.After.Config().Hostname
	if from == to || from == "" || to == "" || len(c.claimants(0, to)) > 0 {
		return ""
	}
	claimants := [][]*CDN{c.claimants(0, from), c.claimants(1, to)}
	h := newHostTable([]string{from, to}, c.precedences, claimants)
	if _, differs := c.ignoringCase(h, claimants); differs {
		return ""
	}
	if slices.ContainsFunc(h.owners[:len(h.readings)], func(o *CDN) bool { return o != change.Before }) ||
		slices.ContainsFunc(h.owners[len(h.readings):], func(o *CDN) bool { return o != change.After }) {
		return ""
	}
	l := Line{Effect: First, Hosts: []Host{{Name: to}}, As: from, Objects: []kind.Key{change.After.Key}}
	groups, _ := h.changes("")
	for _, g := range groups {
		l.Effect = min(l.Effect, g.effect())
		l.Exceptions = append(l.Exceptions, Exception{g.paths, g.answers, g.unless})
	}
	l.Still = len(owners(from, c.claimants(1, from), Nothing)) > 0
	l.Nothing = !h.answersAny(1)
	c.lines.add(l)
	return to
}

// elsewhere adds what a change does to requests for hosts that nothing names, if that is not what it does to others.
func (c *comparison) elsewhere(change Change) {
	if change.Before == nil || change.After == nil {
		return
	}
	h := newHostTable([]string{"", ""}, c.precedences, [][]*CDN{{change.Before}, {change.After}})
	groups, _ := h.changes("")
	for _, g := range groups {
		l := Line{Effect: g.effect(), Paths: g.paths, Answers: g.answers, Unless: g.unless, Objects: []kind.Key{change.Before.Key}}
		if !c.lines.says(l) {
			l.Effect = Unclear
			c.lines.add(l)
		}
	}
}

// unclear adds the locations of a changed CDN of which no document says what they match, if any location differs.
func (c *comparison) unclear(change Change) {
	var before, after Config
	if change.Before != nil {
		before.Locations, before.unclear = change.Before.Config().Locations, change.Before.Config().unclear
	}
	if change.After != nil {
		after.Locations, after.unclear = change.After.Config().Locations, change.After.Config().unclear
	}
	if slices.Equal(before.Locations, after.Locations) {
		return
	}
	hosts := map[string][]Paths{}
	for _, l := range slices.Concat(before.unclear, after.unclear) {
		names := []string{l.Host}
		if l.Host == "" {
			names = names[:0]
			for _, cdn := range []*CDN{change.Before, change.After} {
				if cdn != nil {
					names = append(names, cdn.Config().Hostname)
				}
			}
		}
		for _, name := range slices.Compact(names) {
			if p := (Paths{Pattern: l.Path}); !slices.ContainsFunc(hosts[name], func(o Paths) bool { return o.Pattern == p.Pattern }) {
				hosts[name] = append(hosts[name], p)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		slices.SortFunc(hosts[name], func(a, b Paths) int { return cmp.Compare(a.Pattern, b.Pattern) })
		c.lines.add(Line{Effect: Unclear, Hosts: []Host{{Name: name}}, Paths: hosts[name], Objects: []kind.Key{change.Key()}})
	}
}

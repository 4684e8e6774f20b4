package traffic

import (
	"cmp"
	"slices"

	"trueup/internal/accesslog"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/served"
)

// Weigh adds to a plan what logs say of the requests that it changes, whichever of the rules selects locations. The
// first side has the CDNs of git, the last those before.
func Weigh(p *plan.Plan, sides []served.Side, logs []Log, rules []route.Reading) error {
	git, before := sides[0].Catalog, sides[len(sides)-1].Catalog
	s, several, err := weigh([]*served.Catalog{before, applied(p, git, before)}, logs)
	if err != nil {
		return err
	}
	p.Traffic = &plan.Traffic{Logs: s.logs, Several: several}
	items := map[kind.Key]*plan.Item{}
	for i := range p.Items {
		it := &p.Items[i]
		if git.CDN(it.Key) == nil && before.CDN(it.Key) == nil {
			continue
		}
		items[it.Key], it.Traffic = it, &plan.Weight{}
		for _, list := range groups(it) {
			for i := range list {
				list[i].Traffic = &accesslog.Class{}
			}
		}
	}
	for _, c := range s.classes {
		w := c.weight(rules)
		p.Traffic.Add(w)
		for _, cdn := range c.cdns() {
			if it := items[cdn.Key]; it != nil {
				it.Traffic.Add(w)
				c.addTo(groups(it))
			}
		}
	}
	p.Notes = append(append(p.Notes, p.Traffic.Words()), accesslog.Notes(s.logs, p.Traffic.Requests, several)...)
	return nil
}

// applied returns the CDNs after apply: those before, with what the plan sends.
func applied(p *plan.Plan, git, before *served.Catalog) *served.Catalog {
	var cdns []*served.CDN
	sent := map[kind.Key]bool{}
	for _, it := range p.Items {
		isThere := it.Op == plan.Create || it.Op == plan.Patch
		if isThere {
			cdns = append(cdns, git.CDN(it.Key))
		}
		sent[it.Key] = isThere || it.Op == plan.Delete
	}
	for _, cdn := range before.CDNs() {
		if !sent[cdn.Key] {
			cdns = append(cdns, cdn)
		}
	}
	return served.NewCatalog(cdns...)
}

// cdns returns the CDNs of a pair, each once.
func (p pair) cdns() (cdns []*served.CDN) {
	if p.before != nil {
		cdns = append(cdns, p.before)
	}
	if p.after != nil && (p.before == nil || p.after.Key != p.before.Key) {
		cdns = append(cdns, p.after)
	}
	return cdns
}

// groups returns the classes of the requests for an object, those that change and the others.
func groups(it *plan.Item) [][]plan.RequestGroup {
	if it.Answers == nil {
		return nil
	}
	return [][]plan.RequestGroup{it.Answers.Groups, it.Answers.Unchanged}
}

// addTo counts the requests of a class in its group, if the same CDN has them before and after.
func (c counted) addTo(groups [][]plan.RequestGroup) {
	if c.before == nil || c.after == nil || len(c.cdns()) > 1 {
		return
	}
	for _, list := range groups {
		for _, g := range list {
			if g.Pattern == c.Pattern && (slices.Contains(g.Hosts, c.Host) || c.Host == "" && len(g.Hosts) == 0) {
				g.Traffic.Requests, g.Traffic.Slack = g.Traffic.Requests+c.traffic.Requests, max(g.Traffic.Slack, c.traffic.Slack)
				g.Traffic.Addresses = most(append(g.Traffic.Addresses, c.traffic.Addresses...))
			}
		}
	}
}

func most(list []accesslog.Address) []accesslog.Address {
	slices.SortStableFunc(list, func(a, b accesslog.Address) int { return cmp.Compare(b.Requests, a.Requests) })
	return list[:min(addresses, len(list))]
}

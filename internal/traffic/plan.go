package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"trueup/internal/accesslog"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/served"
)

// Weigh adds to a plan what logs say of the requests that it changes. The first side is after, the last before.
func Weigh(p *plan.Plan, sides []served.Side, logs []Log) error {
	s, err := weigh(sides, logs)
	if err != nil {
		return err
	}
	answers := map[kind.Key]*plan.Answers{}
	for i := range p.Items {
		if it := &p.Items[i]; it.Answers != nil {
			answers[it.Key] = it.Answers
			it.Answers.Traffic = &plan.Weight{}
			for _, groups := range [][]plan.RequestGroup{it.Answers.Groups, it.Answers.Unchanged} {
				for g := range groups {
					groups[g].Traffic = &accesslog.Class{}
				}
			}
		}
	}
	p.Traffic = &plan.Traffic{Logs: s.logs}
	for _, c := range s.classes {
		p.Traffic.Requests += c.traffic.Requests
		if a := answers[c.Key]; a != nil {
			a.Traffic.Requests += c.traffic.Requests
			add(p.Traffic, a, c)
		}
	}
	p.Notes = append(p.Notes, notes(p.Traffic)...)
	return nil
}

// add counts the requests of a class.
func add(t *plan.Traffic, a *plan.Answers, c counted) {
	n, groups := c.traffic.Requests, a.Groups
	switch c.Severity() {
	case route.Unchanged:
		groups = a.Unchanged
	case route.Unserved:
		t.Unserved, a.Traffic.Unserved = t.Unserved+n, a.Traffic.Unserved+n
		fallthrough
	case route.Served, route.Otherwise:
		t.Changed, a.Traffic.Changed = t.Changed+n, a.Traffic.Changed+n
	}
	for _, g := range groups {
		if g.Pattern == c.Pattern && (slices.Contains(g.Hosts, c.Host) || c.Host == "" && len(g.Hosts) == 0) {
			g.Traffic.Requests, g.Traffic.Slack = g.Traffic.Requests+n, max(g.Traffic.Slack, c.traffic.Slack)
			g.Traffic.Addresses = most(append(g.Traffic.Addresses, c.traffic.Addresses...))
		}
	}
}

func most(list []accesslog.Address) []accesslog.Address {
	slices.SortStableFunc(list, func(a, b accesslog.Address) int { return cmp.Compare(b.Requests, a.Requests) })
	return list[:min(addresses, len(list))]
}

func notes(t *plan.Traffic) []string {
	text := fmt.Sprintf("of %s requests in the logs, %s are in classes that change", accesslog.Amount(t.Requests), accesslog.Share(t.Changed, t.Requests))
	if t.Unserved > 0 {
		text += fmt.Sprintf(" and %s are served by nothing any more", accesslog.Share(t.Unserved, t.Requests))
	}
	return append([]string{text}, accesslog.Notes(t.Logs, t.Requests)...)
}

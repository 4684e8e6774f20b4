// Package served says how git, live and a base serve the request of a URL, and which location wins against which
// others. It sends no request, and reads no file.
package served

import (
	"fmt"
	"slices"

	"trueup/internal/route"
)

// Side has the CDNs of git, live or a base.
type Side struct {
	Name string
	*Catalog
}

// The names of sides.
const (
	Git  = "git"
	Live = "live"
	Base = "base"
)

// Result is what the sides do with requests (schemas/request.schema.json).
type Result struct {
	Format   string    `json:"format"`
	Sandbox  bool      `json:"sandbox"`
	Sides    []string  `json:"sides"`
	Rules    []string  `json:"rules"`
	Requests []Request `json:"requests"`
}

// Request is what the sides do with one request.
type Request struct {
	URL  string `json:"url"`
	Host string `json:"host"`
	// Path is compared with locations. Rewritten is true if the URL has another.
	Path      string `json:"path"`
	Rewritten bool   `json:"rewritten"`
	// Differs is true if the sides do not serve the request alike.
	Differs bool    `json:"differs"`
	Sides   []Found `json:"sides"`
	// Site is what all requests of the hostname have in common.
	Site []Line `json:"site"`
	// Answers has one entry, or several if what serves the request depends on the platform.
	Answers []Answer `json:"answers"`
}

// Found is the CDN of a side, and its locations that match. Without a CDN it is empty.
type Found struct {
	Side     string `json:"side"`
	Object   string `json:"object,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	// Note says what else is to know of the CDN.
	Note string `json:"note,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Matching are in the order of the list. It is not documented whether Unclear locations match.
	Matching []Match `json:"matching"`
	Unclear  []Match `json:"unclear,omitempty"`
	// Listed are both, in the order of the list.
	Listed []Match `json:"-"`

	site    *route.Site
	winners route.Winners
}

// Match is a location.
type Match struct {
	Path string `json:"path"`
	Host string `json:"host,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Rules are those that select the location.
	Rules []string `json:"rules"`
	// IsUnclear is true if it is not documented whether the location matches.
	IsUnclear bool `json:"-"`
}

// Answer is how the request is served under some rules.
type Answer struct {
	Rules []string `json:"rules"`
	Lines []Line   `json:"properties"`
	// Summaries have the location, the origin and the edge TTL of each side; "" without a CDN.
	Summaries map[string]string `json:"-"`
}

// Line is one property of how a request is served, in words. Values has one for each side that has the property, and
// Place is FILE:LINE of git's.
type Line struct {
	What    string            `json:"what"`
	Values  map[string]string `json:"values"`
	Place   string            `json:"place,omitempty"`
	Differs bool              `json:"differs"`
}

// Ask returns what the sides do with the requests of URLs, whichever of the rules selects locations. If some can't be
// answered, the error says which.
func Ask(sides []Side, urls []URL, rules []route.Reading) (Result, error) {
	r := Result{Format: "trueup.request/v1", Rules: words(rules), Requests: make([]Request, len(urls))}
	for _, s := range sides {
		r.Sides = append(r.Sides, s.Name)
	}
	var wrong []error
	unknown := NewUnknown(sides...)
	for i, u := range urls {
		var err error
		if r.Requests[i], err = ask(sides, u, rules, unknown); err != nil {
			wrong = append(wrong, err)
		}
	}
	return r, joined(wrong)
}

func ask(sides []Side, u URL, rules []route.Reading, unknown *Unknown) (Request, error) {
	r := Request{URL: u.Text, Host: u.Host, Path: u.Path, Rewritten: u.Rewritten}
	isKnown := false
	for _, s := range sides {
		cdn, err := s.Find(u.Host)
		if err != nil {
			return r, u.wrong(fmt.Errorf("in %s, %w", s.Name, err))
		}
		isKnown = isKnown || cdn != nil
		r.Sides = append(r.Sides, find(s.Name, cdn, u, rules))
	}
	if !isKnown {
		return r, u.wrong(unknown.Host(u.Host))
	}
	r.Site = r.siteLines(u.Plain)
	lines := r.Site
	for _, group := range r.groups(rules) {
		a := Answer{Rules: words(group), Lines: r.lines(group), Summaries: map[string]string{}}
		for _, f := range r.Sides {
			a.Summaries[f.Side] = a.Lines[0].Values[f.Side]
			if l := f.winners[group[0]]; l != nil {
				a.Summaries[f.Side] += " from " + l.String()
			}
			a.Summaries[f.Side] += f.Unless()
		}
		r.Answers, lines = append(r.Answers, a), append(lines, a.Lines...)
	}
	r.Differs = slices.ContainsFunc(lines, func(l Line) bool { return l.Differs })
	return r, nil
}

// groups returns the rules by what serves the request: those together under which each side serves it in one way.
func (r *Request) groups(rules []route.Reading) (groups [][]route.Reading) {
	for _, reading := range rules {
		same := slices.IndexFunc(groups, func(group []route.Reading) bool {
			return !slices.ContainsFunc(r.Sides, func(f Found) bool { return !f.winners[group[0]].Alike(f.winners[reading]) })
		})
		if same < 0 {
			same, groups = len(groups), append(groups, nil)
		}
		groups[same] = append(groups[same], reading)
	}
	return groups
}

func words(rules []route.Reading) []string {
	out := make([]string, len(rules))
	for i, rule := range rules {
		out[i] = rule.String()
	}
	return out
}

// find returns what a side has for a URL. The CDN may be nil.
func find(side string, cdn *CDN, u URL, rules []route.Reading) Found {
	f := Found{Side: side, Matching: []Match{}}
	if cdn == nil {
		return f
	}
	f.Object, f.Hostname, f.Note, f.site = cdn.String(), cdn.Hostname, cdn.Note, cdn.Site()
	matching, unclear := f.site.Matching(u.Request)
	f.winners = route.Select(matching)
	if m := cdn.Manifest; m != nil {
		f.File, f.Line = m.Path, m.Line
	}
	all := slices.Concat(matching, unclear)
	slices.SortFunc(all, func(a, b *route.Location) int { return a.Index - b.Index })
	for _, l := range all {
		m := Match{Path: l.Path, Host: l.Host, File: f.File, Line: cdn.Line(l), Rules: []string{}, IsUnclear: slices.Contains(unclear, l)}
		for _, reading := range rules {
			if f.winners[reading] == l {
				m.Rules = append(m.Rules, reading.String())
			}
		}
		if f.Listed = append(f.Listed, m); m.IsUnclear {
			f.Unclear = append(f.Unclear, m)
		} else {
			f.Matching = append(f.Matching, m)
		}
	}
	return f
}

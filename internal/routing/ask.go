package routing

import (
	"fmt"
	"slices"
	"strings"
)

// Side is the site of git, live or a base.
type Side struct {
	Name string
	*Site
}

// The names of sides.
const (
	Git  = "git"
	Live = "live"
	Base = "base"
)

// RequestResult is what the sides do with requests (schemas/request.schema.json).
type RequestResult struct {
	Format   string          `json:"format"`
	Sandbox  bool            `json:"sandbox"`
	Sides    []string        `json:"sides"`
	Rules    []string        `json:"rules"`
	Requests []RequestAnswer `json:"requests"`
}

// RequestAnswer is what the sides do with one request.
type RequestAnswer struct {
	URL  string `json:"url"`
	Host string `json:"host"`
	// Path is compared with locations. Rewritten is true if the URL has another.
	Path      string `json:"path"`
	Rewritten bool   `json:"rewritten"`
	// Differs is true if the sides do not answer the request alike under some reading.
	Differs bool    `json:"differs"`
	Sides   []Found `json:"sides"`
	// Site is what all requests of the hostname have in common.
	Site []Property `json:"site"`
	// Answers has one entry, or several if what answers the request depends on the platform.
	Answers []Reply `json:"answers"`

	table *hostTable
	node  int
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

	cdn *CDN
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

// Reply is how the request is answered if one of the Rules is so.
type Reply struct {
	Rules []string   `json:"rules"`
	Lines []Property `json:"properties"`
	// Summaries have the location, the origin and the edge TTL of each side; "" without a CDN.
	Summaries map[string]string `json:"-"`
}

// Ask returns what the sides do with the requests of URLs, under each reading. If some can't be answered, the error says
// which.
func Ask(sides []Side, urls []URL, precedences []Precedence, unknown *Unknown) (RequestResult, error) {
	r := RequestResult{Format: "trueup.request/v1", Requests: make([]RequestAnswer, len(urls))}
	for _, p := range precedences {
		r.Rules = append(r.Rules, p.String())
	}
	for _, s := range sides {
		r.Sides = append(r.Sides, s.Name)
	}
	var wrong []error
	selector := NewSelector(sides, precedences)
	for i, u := range urls {
		var err error
		if r.Requests[i], err = ask(selector.table(u.Host), sides, u, unknown); err != nil {
			wrong = append(wrong, err)
		}
	}
	return r, joinedErrors(wrong)
}

func ask(h *hostTable, sides []Side, u URL, unknown *Unknown) (RequestAnswer, error) {
	q := RequestAnswer{URL: u.Text, Host: u.Host, Path: u.Path, Rewritten: u.Rewritten, table: h, node: h.tree.find(u.Path)}
	isKnown := false
	for i, s := range sides {
		cdn, err := s.Owner(u.Host)
		if err != nil {
			return q, u.wrong(fmt.Errorf("in %s, %w", s.Name, err))
		}
		isKnown = isKnown || cdn != nil
		q.Sides = append(q.Sides, h.found(i, s.Name, cdn, q.node, u.Path))
	}
	if !isKnown {
		return q, u.wrong(unknown.Host(u.Host))
	}
	q.Site = q.siteLines(u.Plain)
	groups := q.groups()
	for _, group := range groups {
		a := Reply{Rules: make([]string, 0, len(group)), Lines: q.lines(group), Summaries: map[string]string{}}
		for _, r := range group {
			a.Rules = append(a.Rules, ruleOf(h.readings[r]))
		}
		for i, f := range q.Sides {
			a.Summaries[f.Side] = a.Lines[0].Values[f.Side]
			if l := h.answer(q.node, i, group[0]).Location; l != nil {
				a.Summaries[f.Side] += " from " + l.String()
			}
			a.Summaries[f.Side] += f.Unless()
		}
		q.Answers = append(q.Answers, a)
	}
	for r, reading := range h.readings {
		for i := range sides {
			q.Differs = q.Differs || !reading.alike(h.answer(q.node, 0, r), h.answer(q.node, i, r))
		}
	}
	return q, nil
}

// ruleOf returns the name of a precedence, or a reading in words.
func ruleOf(r Reading) string {
	if r.Without == Nothing {
		return r.Precedence.String()
	}
	return r.Precedence.String() + ", and " + r.Without.Broken()
}

// groups returns the indices of readings by what answers the request: those together under which each side answers it in
// one way. A reading in which an assumption does not hold is left out if that makes no difference.
func (q *RequestAnswer) groups() (groups [][]int) {
	h := q.table
	same := func(a, b int) bool {
		for side := range q.Sides {
			if !h.readings[b].alike(h.answer(q.node, side, a), h.answer(q.node, side, b)) {
				return false
			}
		}
		return true
	}
	for r, reading := range h.readings {
		if reading.Without != Nothing && same(slices.Index(h.readings, Reading{Precedence: reading.Precedence}), r) {
			continue
		}
		at := slices.IndexFunc(groups, func(group []int) bool { return same(group[0], r) })
		if at < 0 {
			at, groups = len(groups), append(groups, nil)
		}
		groups[at] = append(groups[at], r)
	}
	return groups
}

// found returns what a side has for a path. The CDN may be nil.
func (h *hostTable) found(side int, name string, cdn *CDN, at int, path string) Found {
	f := Found{Side: name, Matching: []Match{}, cdn: cdn}
	if cdn == nil {
		return f
	}
	f.Object, f.Hostname, f.Note, f.File, f.Line = cdn.String(), cdn.Config().Hostname, cdn.Note, cdn.Path, cdn.Line
	all := h.matching(side, cdn, at)
	unclear := h.unclear(&node{pattern: path, stem: path}, side)
	all = append(all, unclear...)
	slices.SortFunc(all, func(a, b *Location) int { return a.Index - b.Index })
	for _, l := range all {
		m := Match{Path: l.Path, Host: l.Host, File: f.File, Line: cdn.line(l), Rules: []string{}, IsUnclear: slices.Contains(unclear, l)}
		for r, reading := range h.readings {
			if reading.Without == Nothing && h.answer(at, side, r).Location == l {
				m.Rules = append(m.Rules, reading.Precedence.String())
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

// matching returns the locations of a CDN on a side that match the requests of a node.
func (h *hostTable) matching(side int, cdn *CDN, at int) (all []*Location) {
	for ; at > 0; at = h.tree[at].parent {
		for _, p := range h.tree[at].own {
			if p.side == side && p.cdn == cdn {
				all = append(all, p.Location)
			}
		}
	}
	return all
}

// Selected is what answers a request under some readings.
type Selected struct {
	CDN *CDN
	// Readings are in words, and Locations has the location of each, or nil.
	Readings  []string
	Locations []*Location
	// Unclear are locations of which no document says whether they match.
	Unclear []*Location
	table   *hostTable
	node    int
	side    int
}

// Selector finds what answers requests on some sides. It is not for use by several goroutines at once.
type Selector struct {
	sides       []Side
	precedences []Precedence
	tables      map[string]*hostTable
}

// NewSelector returns the Selector of sides.
func NewSelector(sides []Side, precedences []Precedence) *Selector {
	return &Selector{sides, precedences, map[string]*hostTable{}}
}

func (s *Selector) table(host string) *hostTable {
	h := s.tables[host]
	if h == nil {
		names, claimants := make([]string, len(s.sides)), make([][]*CDN, len(s.sides))
		for i, side := range s.sides {
			names[i], claimants[i] = host, side.Claimants(host)
		}
		h = newHostTable(names, s.precedences, claimants)
		s.tables[host] = h
	}
	return h
}

// Select returns what answers a request on a side. The CDN is nil if none has the host.
func (s *Selector) Select(side int, r Request) (Selected, error) {
	cdn, err := s.sides[side].Owner(r.Host)
	if err != nil || cdn == nil {
		return Selected{}, err
	}
	h := s.table(r.Host)
	found := Selected{CDN: cdn, table: h, node: h.tree.find(r.Path), side: side}
	found.Unclear = h.unclear(&node{pattern: r.Path, stem: r.Path}, side)
	for i, reading := range h.readings {
		found.Readings = append(found.Readings, ruleOf(reading))
		found.Locations = append(found.Locations, h.answer(found.node, side, i).Location)
	}
	return found, nil
}

// Change returns what differs between another side and the selected one under a reading, or "".
func (s Selected) Change(other, reading int) string {
	before, after := s.table.answer(s.node, other, reading), s.table.answer(s.node, s.side, reading)
	o := newOutcome(before, after, s.table.readings[reading])
	if o.effect == Same {
		return ""
	}
	text, _, _ := strings.Cut(o.String(), "; before, ")
	return text
}

// Unless returns what an answer depends on if some locations are unclear, or "".
func (f Found) Unless() string {
	switch len(f.Unclear) {
	case 0:
		return ""
	case 1:
		return ", unless " + f.Unclear[0].Label() + " matches"
	}
	return fmt.Sprintf(", unless one of %d others matches", len(f.Unclear))
}

// Label returns the path and the host of a location.
func (m Match) Label() string {
	if m.Host == "" {
		return m.Path
	}
	return m.Path + " of " + m.Host
}

// Place returns FILE:LINE, or "" for a live location.
func (m Match) Place() string { return place(m.File, m.Line) }

func place(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

func labelOf(l *Location) string { return Match{Path: l.Path, Host: l.Host}.Label() }

func joinLabels(labels []string) string { return strings.Join(slices.Compact(labels), " or ") }

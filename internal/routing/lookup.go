package routing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
)

// Side is the site of git or live.
type Side struct {
	Name string
	*Site
}

// The names of sides. Git is the first one of several.
const (
	Git  = "git"
	Live = "live"
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
	Differs bool          `json:"differs"`
	Sides   []SideMatches `json:"sides"`
	// Site is what all requests of the hostname have in common.
	Site []Property `json:"site"`
	// Answers has one entry, or several if what answers the request depends on the platform.
	Answers []RuleAnswer `json:"answers"`

	table *hostTable
	node  int
}

// SideMatches is the CDN of a side, and its locations that match. Without a CDN it is empty.
type SideMatches struct {
	Side     string `json:"side"`
	Object   string `json:"object,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	// Note says what else is to know of the CDN.
	Note string `json:"note,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Matching are in the order of the list. It is not documented whether Unclear locations match.
	Matching []MatchedLocation `json:"matching"`
	Unclear  []MatchedLocation `json:"unclear,omitempty"`

	CDN *CDN `json:"-"`
}

// MatchedLocation is a location.
type MatchedLocation struct {
	Path string `json:"path"`
	Host string `json:"host,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Rules are those that select the location.
	Rules []string `json:"rules"`
}

// RuleAnswer is how the request is answered if one of the Rules is so.
type RuleAnswer struct {
	Rules      []string   `json:"rules"`
	Properties []Property `json:"properties"`
	// When are the Rules in few words; none if the assumptions hold, whichever location wins.
	When []string `json:"-"`
}

// Lookup finds what answers requests on some sides. It is not for use by several goroutines at once.
type Lookup struct {
	sides       []Side
	precedences []Precedence
	tables      map[string]*hostTable
	// suggest ends a message with the known word that was probably meant. hints has what it returned.
	suggest func(word string, known []string) string
	hints   map[string]string
}

// NewLookup returns the Lookup of sides.
func NewLookup(sides []Side, precedences []Precedence, suggest func(word string, known []string) string) *Lookup {
	return &Lookup{sides, precedences, map[string]*hostTable{}, suggest, map[string]string{}}
}

// AskAll describes what answers the requests of URLs, under each reading. If some can't be answered, the error says which.
func (l *Lookup) AskAll(texts []string) (RequestResult, error) {
	r := RequestResult{Format: "trueup.request/v1", Requests: make([]RequestAnswer, len(texts))}
	for _, p := range l.precedences {
		r.Rules = append(r.Rules, p.String())
	}
	for _, s := range l.sides {
		r.Sides = append(r.Sides, s.Name)
	}
	var wrong []error
	for i, text := range texts {
		u, err := ParseURL(text)
		if err == nil {
			r.Requests[i], err = l.Find(u)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", quoteURL(text), err))
			continue
		}
		r.Requests[i].describe()
	}
	return r, errors.Join(wrong...)
}

// Find returns what answers a request, without what describes it. It is an error if no side has a CDN for the host, or one
// has several.
func (l *Lookup) Find(u URL) (RequestAnswer, error) {
	h := l.tables[u.Host]
	if h == nil {
		claimants := diag.MapList(l.sides, func(s Side) []*CDN { return s.Claimants(u.Host) })
		h = newHostTable(slices.Repeat([]string{u.Host}, len(l.sides)), l.precedences, claimants, newOutcomeCache())
		l.tables[u.Host] = h
	}
	q := RequestAnswer{URL: u.Text, Host: u.Host, Path: u.Path, Rewritten: u.Rewritten, table: h, node: h.tree.findNode(u.Path)}
	isKnown := false
	for i, s := range l.sides {
		cdn, err := s.Owner(u.Host)
		if err != nil {
			return q, fmt.Errorf("in %s, %w", s.Name, err)
		}
		isKnown = isKnown || cdn != nil
		q.Sides = append(q.Sides, q.findSide(i, s.Name, cdn))
	}
	if !isKnown {
		return q, l.unknownHostError(u.Host)
	}
	for r, reading := range h.readings {
		for i := range l.sides {
			q.Differs = q.Differs || !reading.isSame(h.responder(q.node, 0, r), h.responder(q.node, i, r))
		}
	}
	return q, nil
}

// maxHints limits the hosts that are compared with every hostname. So many unknown ones are not misspelt.
const maxHints = 100

// unknownHostError returns the error for a host that no side has. It names the nearest hostname, for the first hosts that it is
// asked for.
func (l *Lookup) unknownHostError(host string) error {
	names := diag.MapList(l.sides, func(s Side) string { return s.Name })
	if _, isFound := l.hints[host]; !isFound && len(l.hints) < maxHints {
		var known []string
		for _, s := range l.sides {
			for _, c := range s.cdns {
				known = append(known, c.Claims[0])
			}
		}
		l.hints[host] = l.suggest(host, known)
	}
	return fmt.Errorf("no CDN in %s has the host %s%s", strings.Join(names, " or "), host, l.hints[host])
}

// findSide returns what a side has for the request. The CDN may be nil.
func (q *RequestAnswer) findSide(side int, name string, cdn *CDN) SideMatches {
	f := SideMatches{Side: name, Matching: []MatchedLocation{}, CDN: cdn}
	if cdn == nil {
		return f
	}
	h := q.table
	f.Object, f.Hostname, f.Note, f.File, f.Line = cdn.String(), cdn.Config().Hostname, cdn.Note, cdn.Path, cdn.Line
	matchOf := func(a Responder) MatchedLocation {
		file, line := a.Place()
		return MatchedLocation{a.Path, a.Host, file, line, []string{}}
	}
	var matching []*Location
	for at := q.node; at > 0; at = h.tree[at].parent {
		for _, p := range h.tree[at].own {
			if p.side == side && p.cdn == cdn {
				matching = append(matching, p.Location)
			}
		}
	}
	slices.SortFunc(matching, func(a, b *Location) int { return a.Index - b.Index })
	for _, l := range matching {
		m := matchOf(Responder{cdn, l})
		for r, reading := range h.readings {
			if reading.Without == Nothing && q.Location(side, r) == l {
				m.Rules = append(m.Rules, reading.String())
			}
		}
		f.Matching = append(f.Matching, m)
	}
	for _, a := range h.findUnclear(&pathNode{stem: q.Path}, side) {
		f.Unclear = append(f.Unclear, matchOf(a))
	}
	return f
}

// Location returns the location of a side that answers the request under a reading, or nil.
func (q *RequestAnswer) Location(side, reading int) *Location {
	return q.responder(side, reading).Location
}

func (q *RequestAnswer) responder(side, reading int) Responder {
	return q.table.responder(q.node, side, reading)
}

// ListAnswers returns what answers the request on the first side under each of the readings that make a difference.
func (q *RequestAnswer) ListAnswers() (all []Responder) {
	for r := range q.table.readings {
		all = append(all, q.responder(0, r))
	}
	return all
}

// describe sets what describes the answers.
func (q *RequestAnswer) describe() {
	q.Site = q.describeSite()
	for _, group := range q.groupReadings() {
		a := q.ReplyOf(group)
		a.Properties = q.describeLocation(group)
		q.Answers = append(q.Answers, a)
	}
}

// ReplyOf returns the Reply under readings, without what describes it.
func (q *RequestAnswer) ReplyOf(group []int) (a RuleAnswer) {
	var readings []Interpretation
	for _, r := range group {
		readings = append(readings, q.table.readings[r])
		a.Rules = append(a.Rules, q.table.readings[r].String())
	}
	a.When = describeReadings(readings, q.table.countPrecedences())
	return a
}

// Condition says when the answer is so, with so many of its conditions at most.
func (a RuleAnswer) Condition(most int) string {
	when := a.When
	if more := len(when) - most; more > 0 {
		when = append(slices.Clip(when[:most]), fmt.Sprintf("%d more assumptions do not hold", more))
	}
	return cmp.Or(joinConditions(when), "as trueup assumes")
}

// groupReadings returns the indices of readings by what answers the request: those together under which each side answers it
// in one way. A reading in which an assumption does not hold is left out if that makes no difference.
func (q *RequestAnswer) groupReadings() (groups [][]int) {
	h := q.table
	isSame := func(a, b int) bool {
		for side := range q.Sides {
			if !h.readings[b].isSame(h.responder(q.node, side, a), h.responder(q.node, side, b)) {
				return false
			}
		}
		return true
	}
	for r, reading := range h.readings {
		if reading.Without != Nothing && isSame(slices.Index(h.readings, Interpretation{Precedence: reading.Precedence}), r) {
			continue
		}
		at := slices.IndexFunc(groups, func(group []int) bool { return isSame(group[0], r) })
		if at < 0 {
			at, groups = len(groups), append(groups, nil)
		}
		groups[at] = append(groups[at], r)
	}
	return groups
}

// DescribeUnclear returns what an answer depends on if some locations are unclear, or "".
func (f SideMatches) DescribeUnclear() string {
	switch len(f.Unclear) {
	case 0:
		return ""
	case 1:
		return ", unless " + f.Unclear[0].Label() + " matches"
	}
	return fmt.Sprintf(", unless one of %d others matches", len(f.Unclear))
}

// Label returns the path and the host of a location.
func (m MatchedLocation) Label() string {
	if m.Host == "" {
		return m.Path
	}
	return m.Path + " of " + m.Host
}

// Place returns FILE:LINE, or "" for a live location.
func (m MatchedLocation) Place() string { return placeOf(m.File, m.Line) }

func placeOf(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

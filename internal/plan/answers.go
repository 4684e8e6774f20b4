package plan

import (
	"slices"
	"strings"

	"trueup/internal/route"
)

// Answers is what a change does to the requests of a hostname, whichever of several matching locations the
// platform selects (docs/design.md B9). The classes of a new object are only counted.
type Answers struct {
	// Hostname is that of the object after the change.
	Hostname string `json:"hostname"`
	// Classes counts the classes of requests before and after the change, and Changed those that are answered
	// in another way.
	Classes int `json:"classes"`
	Changed int `json:"changed"`
	// Site is what differs for all requests.
	Site []route.Difference `json:"site,omitempty"`
	// Groups are the classes that change, the worst first. More counts those that are too many to list.
	Groups []RequestGroup `json:"groups,omitempty"`
	More   int            `json:"more,omitempty"`
	// Unchanged are the classes that are answered as before, unless they are too many to list, or the plan changes more
	// than maxContext objects.
	Unchanged []RequestGroup `json:"unchanged,omitempty"`
	// Unclear are paths of locations that trueup can't match with requests.
	Unclear []string `json:"unclear,omitempty"`
}

// none reports whether it is proven that no request is answered in another way because of a field. What differs for
// all requests has other reasons than the locations and their upstreams.
func (a *Answers) none(field string) bool {
	ofLocations := strings.HasPrefix(field, locations) || strings.HasPrefix(field, "upstreams")
	return a != nil && a.Changed == 0 && len(a.Unclear) == 0 && (len(a.Site) == 0 || ofLocations)
}

// RequestGroup is a class of requests, or the same class of several hosts.
type RequestGroup struct {
	// Hosts are names or *.NAME; none means all hosts that no location with a host matches.
	Hosts []string `json:"hosts,omitempty"`
	// Pattern is a path of a manifest, or empty for what no location matches; Except are the patterns below it
	// that are other classes.
	Pattern string   `json:"pattern"`
	Except  []string `json:"except,omitempty"`
	// Elsewhere says that the class has no request for a hostname of the CDN, or for a host that a location names.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Apart says that the object names the hosts only before or only after the change.
	Apart bool `json:"apart,omitempty"`
	// Of a class that is not served before or after, Part says that narrower locations then serve some of its pattern,
	// and Unless has the paths of locations that may serve it, which trueup can't match with requests.
	Part   bool     `json:"part,omitempty"`
	Unless []string `json:"unless,omitempty"`
	// Example is a path of the class.
	Example string       `json:"example"`
	Effect  AnswerEffect `json:"effect"`
	// Answers has one element for each answer that the platform may give.
	Answers []Answer `json:"answers"`
}

// AnswerEffect is what a change does to requests.
type AnswerEffect string

// The effects. The first two hold under every reading.
const (
	Unserved    AnswerEffect = "unserved"
	ServedFirst AnswerEffect = "served-first"
	Answered    AnswerEffect = "changed"
	AsBefore    AnswerEffect = "unchanged"
)

// Answer is how requests are served before and after, if the platform selects locations by one of Readings.
type Answer struct {
	// Readings are empty if all agree.
	Readings []string `json:"readings,omitempty"`
	Before   string   `json:"before"`
	After    string   `json:"after"`
	// Differences is empty if nothing changes, or nothing serves the requests before or after.
	Differences []route.Difference `json:"differences,omitempty"`
}

// answers returns what an item does to requests; nil if a new object serves none.
func (it Item) answers(s sites, change route.Change) *Answers {
	hostname, changed := s.after.Facets[route.Hostname].Text, len(change.Classes)+change.More
	switch {
	case it.Op == Create && changed == 0:
		return nil
	case it.Op == Create:
		return &Answers{Hostname: hostname, Classes: changed, Changed: changed}
	}
	return &Answers{
		Hostname: hostname, Classes: change.Of, Changed: changed, More: change.More,
		Site: s.before.Differences(s.after), Unclear: change.Unclear, Groups: groupsOf(change.Classes), Unchanged: groupsOf(change.Same),
	}
}

// groupsOf joins the same class of several hosts.
func groupsOf(classes []route.Class) (groups []RequestGroup) {
	hosts, same := map[string]int{}, map[string]int{}
	for _, c := range classes {
		if c.Host != "" {
			hosts[c.Pattern]++
		}
	}
	for _, c := range classes {
		g := RequestGroup{
			Pattern: c.Pattern, Except: c.Except, Elsewhere: c.Elsewhere, Apart: c.Apart, Part: c.Part, Unless: c.Unless,
			Example: c.Example, Answers: answersOf(c),
			Effect: [...]AnswerEffect{route.Unserved: Unserved, route.Served: ServedFirst, route.Otherwise: Answered, route.Unchanged: AsBefore}[c.Severity()],
		}
		at, id, known := len(groups), "", false
		if c.Host != "" && hosts[c.Pattern] > 1 { // encoding is slow
			id = mustEncode(g)
			if at, known = same[id]; !known {
				at = len(groups)
				same[id] = at
			}
		}
		if !known {
			groups = append(groups, g)
		}
		if c.Host != "" {
			groups[at].Hosts = append(groups[at].Hosts, c.Host)
		}
	}
	return groups
}

// answersOf returns an answer for each way in which readings serve a class.
func answersOf(c route.Class) (answers []Answer) {
	outcomes := c.Outcomes()
	for _, readings := range outcomes {
		before, after := c.Before[readings[0]], c.After[readings[0]]
		a := Answer{Before: before.String()}
		if a.After = a.Before; !before.Alike(after) {
			a.After, a.Differences = after.String(), route.Differences(before, after)
		}
		if len(outcomes) > 1 {
			a.Readings = each(readings, route.Reading.String)
		}
		answers = append(answers, a)
	}
	return answers
}

// reversed returns what the change that undoes this one does to requests.
func (a *Answers) reversed() *Answers {
	r := *a
	r.Site = reversed(a.Site)
	for _, d := range r.Site {
		if d.What == route.Hostname.String() {
			r.Hostname = d.After
		}
	}
	r.Groups = each(a.Groups, func(g RequestGroup) RequestGroup {
		switch g.Effect {
		case Unserved:
			g.Effect = ServedFirst
		case ServedFirst:
			g.Effect = Unserved
		case Answered, AsBefore:
		}
		g.Answers = each(g.Answers, func(x Answer) Answer {
			return Answer{Readings: x.Readings, Before: x.After, After: x.Before, Differences: reversed(x.Differences)}
		})
		return g
	})
	order := []AnswerEffect{Unserved, ServedFirst, Answered}
	slices.SortStableFunc(r.Groups, func(a, b RequestGroup) int { return slices.Index(order, a.Effect) - slices.Index(order, b.Effect) })
	return &r
}

func reversed(list []route.Difference) []route.Difference {
	return each(list, func(d route.Difference) route.Difference {
		return route.Difference{What: d.What, Before: d.After, After: d.Before}
	})
}

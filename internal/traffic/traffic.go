// Package traffic weighs classes of requests by access logs. It opens no file.
package traffic

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"trueup/internal/accesslog"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/served"
)

// Log is an access log.
type Log struct {
	Name string
	// Host is that of requests for which the log has none, or "".
	Host string
	Open func() (io.ReadCloser, error)
}

// ParseLog reads FILE or HOSTNAME=FILE.
func ParseLog(text string) Log {
	host, file, named := strings.Cut(text, "=")
	if named && host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" {
		return Log{Name: file, Host: host}
	}
	return Log{Name: text}
}

// addresses is how many are listed of a class.
const addresses = 3

// scale counts requests by the class that they have on each side and the next.
type scale struct {
	sides   []*served.Catalog
	maps    map[pair]*route.Map
	numbers map[steps]int
	classes []counted
	logs    []accesslog.Log
	// way is that of the last request: most come after one for the same host.
	way way
	// several has the number of the class of all requests that several CDNs may serve, or -1.
	several int
}

// steps are from one side to the next; there are at most three sides.
type steps [2]class

// way is how requests for a host reach CDNs: by which pairs, unless several CDNs may serve them. The host is as a log
// has it, and key is its kind.HostKey.
type way struct {
	host, key      string
	known, several bool
	pairs          [2]pair
	maps           [2]*route.Map
}

// pair has the CDN that serves a request before, and the one after. Either may be nil.
type pair struct{ before, after *served.CDN }

// class is what decides how a request is served. Unclear says that a location may match whose pattern is not
// documented.
type class struct {
	pair
	*route.Class
	unclear bool
}

// counted is a class of requests, by the first step. Example has the address of its first request.
type counted struct {
	class
	example string
	traffic accesslog.Class
}

// weigh counts the requests of logs. It returns those that several CDNs may serve apart.
func weigh(sides []*served.Catalog, logs []Log) (s *scale, several int64, err error) {
	s = &scale{sides: sides, maps: map[pair]*route.Map{}, numbers: map[steps]int{}, several: -1}
	counter := accesslog.NewCounter(s.classOf)
	for _, log := range logs {
		read, err := log.count(counter)
		if err != nil {
			return nil, 0, fmt.Errorf("--log %s: %w", log.Name, err)
		}
		s.logs = append(s.logs, read)
	}
	for i, class := range counter.Classes(addresses) {
		s.classes[i].traffic = class
	}
	if i := s.several; i >= 0 {
		several = s.classes[i].traffic.Requests
		s.classes = slices.Delete(s.classes, i, i+1)
	}
	return s, several, nil
}

func (l Log) count(c *accesslog.Counter) (read accesslog.Log, err error) {
	file, err := l.Open()
	if err != nil {
		return read, err
	}
	defer func() { _ = file.Close() }()
	read, err = c.Read(file, l.Host)
	if err == nil && read.Requests == 0 && read.NoHost.Count > 0 {
		err = fmt.Errorf("no request has a hostname: if all are for one, write --log HOSTNAME=%s", l.Name)
	}
	read.Name = l.Name
	return read, err
}

// classOf implements accesslog.ClassOf.
func (s *scale) classOf(host, path string) (number int, address string) {
	if host != s.way.host {
		s.way = s.wayOf(host)
	}
	switch {
	case s.way.several:
		if s.several < 0 {
			s.several = s.add(counted{})
		}
		return s.several, ""
	case !s.way.known:
		return -1, ""
	}
	r := route.Request{Host: s.way.key, Path: route.Normal(path)}
	var known steps
	for i, m := range s.way.maps[:len(s.sides)-1] {
		known[i] = class{s.way.pairs[i], m.Find(r.Host, r.Path), m.MayDiffer(r)}
	}
	address = r.Host + r.Path
	number, isKnown := s.numbers[known]
	if !isKnown {
		number = s.add(counted{class: known[0], example: address})
		s.numbers[known] = number
	}
	return number, address
}

func (s *scale) wayOf(host string) way {
	w := way{host: host, key: kind.HostKey(host)}
	var last *served.CDN
	for i, side := range s.sides {
		cdn, count := side.Serving(w.key)
		if w.known = w.known || count > 0; count > 1 {
			w.several = true
			break
		}
		if i > 0 {
			w.pairs[i-1] = pairOf(s.sides[i-1:], pair{before: last, after: cdn}, w.key)
			w.maps[i-1] = s.mapOf(w.pairs[i-1])
		}
		last = cdn
	}
	return w
}

// pairOf returns the pair of a host on two sides. If a CDN has lost or got the last location of the host, it is on
// both, and a class says that one of them does not serve the host.
func pairOf(sides []*served.Catalog, p pair, host string) pair {
	switch {
	case p.after == nil && p.before != nil && kind.HostKey(p.before.Hostname) != host:
		p.after = sides[1].CDN(p.before.Key)
	case p.before == nil && p.after != nil && kind.HostKey(p.after.Hostname) != host:
		p.before = sides[0].CDN(p.after.Key)
	}
	return p
}

func (s *scale) mapOf(p pair) *route.Map {
	m := s.maps[p]
	if m == nil {
		m = route.NewMap(p.before.Reads(), p.after.Reads())
		s.maps[p] = m
	}
	return m
}

// add returns the number of a new class.
func (s *scale) add(c counted) int {
	s.classes = append(s.classes, c)
	return len(s.classes) - 1
}

// weight returns the requests of a class by what happens to them, whichever of the rules selects locations.
func (c counted) weight(rules []route.Reading) plan.Weight {
	of := *c.Class
	of.Before, of.After = of.Before.Under(rules), of.After.Under(rules)
	n, severity := c.traffic.Requests, of.Severity()
	w := plan.Weight{Requests: n}
	switch {
	case c.unclear, severity == route.Otherwise && !of.Certain(), severity == route.Unchanged && c.differ():
		w.MayChange = n
	case severity == route.Unserved:
		w.Unserved = n
	case severity == route.Served:
		w.ServedFirst = n
	case severity == route.Otherwise:
		w.Changed = n
	}
	return w
}

// differ reports whether the CDNs differ in what concerns all requests. How a request came to them is no difference.
func (p pair) differ() bool {
	before, after := p.before.Reads().Facets, p.after.Reads().Facets
	before[route.Hostname], after[route.Hostname] = route.Value{}, route.Value{}
	return before != after || (p.before == nil) != (p.after == nil)
}

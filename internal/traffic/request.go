package traffic

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/route"
	"trueup/internal/served"
)

// Ask returns what the sides do with the most requested address of each class, the class with the most requests
// first.
func Ask(sides []served.Side, logs []Log, rules []route.Reading) (r served.Result, err error) {
	var catalogs []*served.Catalog
	for _, side := range sides {
		catalogs = append(catalogs, side.Catalog)
	}
	if len(sides) == 1 {
		catalogs = append(catalogs, catalogs[0])
	}
	s, several, err := weigh(catalogs, logs)
	if err != nil {
		return r, err
	}
	slices.SortStableFunc(s.classes, func(a, b counted) int { return cmp.Compare(b.traffic.Requests, a.traffic.Requests) })
	urls := make([]served.URL, len(s.classes))
	for i, c := range s.classes {
		address := c.example
		if len(c.traffic.Addresses) > 0 {
			address = c.traffic.Addresses[0].Address
		}
		host, path, _ := strings.Cut(address, "/")
		urls[i] = served.URL{Request: route.Request{Host: host, Path: "/" + path}, Text: "https://" + address}
	}
	if r, err = served.Ask(sides, urls, rules); err != nil {
		return r, err
	}
	for i := range r.Requests {
		r.Requests[i].Traffic = &s.classes[i].traffic
	}
	r.Logs, r.Several = s.logs, several
	return r, nil
}

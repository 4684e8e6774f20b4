package requesttest

import (
	"bytes"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// Expectations returns what failed tests would have to expect, by file. It leaves out tests whose requests can't be
// compared, differ from each other, or depend on the platform.
func (r *Result) Expectations() map[string][]manifest.Expectation {
	found := map[string][]manifest.Expectation{}
	sameTest := func(a, b Case) bool { return a.test == b.test }
	for cases := range chunks(r.Cases, sameTest) {
		t := cases[0].test
		if t.sameAs && !t.expects || !slices.ContainsFunc(cases, func(c Case) bool { return c.Result == Failed }) {
			continue
		}
		if value := agreed(cases); value != nil {
			found[t.object.Path] = append(found[t.object.Path], manifest.Expectation{Line: t.object.Line, Test: t.index, Value: value})
		}
	}
	return found
}

// chunks returns the runs of elements that are alike.
func chunks[T any](list []T, alike func(a, b T) bool) func(func([]T) bool) {
	return func(yield func([]T) bool) {
		for start := 0; start < len(list); {
			end := start + 1
			for end < len(list) && alike(list[start], list[end]) {
				end++
			}
			if !yield(list[start:end]) {
				return
			}
			start = end
		}
	}
}

// agreed returns the one expectation that all requests of a test meet, or nil.
func agreed(cases []Case) (value map[string]any) {
	for _, c := range cases {
		if c.unclear || c.selected.CDN == nil {
			return nil
		}
		for _, l := range c.selected.Locations {
			is := observed(c.test.expect, l)
			if value != nil && !bytes.Equal(canon.Bytes(value), canon.Bytes(is)) {
				return nil
			}
			value = is
		}
	}
	return value
}

// Expect returns a first expectation of a request, which a CDN with this spec meets if one location matches.
func Expect(spec map[string]any, url string) map[string]any {
	u, _ := routing.ParseURL(url)
	cdn := routing.ConfigCDN(kind.Key{}, routing.Read(spec))
	side := routing.Side{Name: routing.Git, Site: routing.NewSite(cdn)}
	selected, err := routing.NewSelector([]routing.Side{side}, routing.PrecedencesOf("")).Select(0, u.Request)
	if err != nil || selected.CDN == nil {
		return observed(nil, nil)
	}
	return observed(nil, selected.Locations[0])
}

// observed returns an expectation with the fields of expect that a location meets; nil is no location.
func observed(expect map[string]any, l *routing.Location) map[string]any {
	if l == nil {
		return map[string]any{"served": false}
	}
	is := map[string]any{}
	for _, f := range fields() {
		if want, asked := expect[f.name]; asked || f.isFirst(expect, l) {
			is[f.name] = f.observed(want, l)
		}
	}
	if expect["served"] == true {
		is["served"] = true
	}
	return is
}

// isFirst reports whether the first expectation of a request has the field: one that expects nothing yet, or no location.
func (f field) isFirst(expect map[string]any, l *routing.Location) bool {
	isSet := l.Behaviour[f.facet] != routing.Value{}
	return (len(expect) == 0 || expect["served"] == false) && (f.usual || isSet && f.holds == nil)
}

// observed returns the value of a field that a location meets. A time of an unknown unit can't be expected.
func (f field) observed(want any, l *routing.Location) any {
	v := l.Behaviour[f.facet]
	servers := l.Servers()
	switch {
	case f.holds == nil:
		return project(want, v.Tree())
	case want != nil && f.holds(want, l, f.facet):
		return want
	case f.facet == routing.Origin && len(servers) > 1:
		list := make([]any, len(servers))
		for i, s := range servers {
			list[i] = s
		}
		return list
	case f.facet == routing.Origin && len(servers) == 1:
		return servers[0]
	case f.facet == routing.EdgeTTL || f.facet == routing.BrowserTTL:
		return timeText(v, want)
	case v == routing.Value{}:
		return nil
	}
	return v.Text
}

func timeText(v routing.Value, want any) any {
	switch {
	case v == routing.Value{} || v.Known && v.Time == 0:
		return none
	case v.Known:
		return strings.NewReplacer(" ", "", "min", "m").Replace(kind.DurationText(v.Time))
	}
	return want
}

// project returns a value with the fields that want has.
func project(want, is any) any {
	fields, _ := want.(map[string]any)
	if len(fields) == 0 {
		return is
	}
	out := map[string]any{}
	for name, below := range fields {
		out[name] = project(below, valueOf(is, name))
	}
	return out
}

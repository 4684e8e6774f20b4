package requesttest

import (
	"bytes"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
	"trueup/internal/yamledit"
)

// none is the value of cached for an answer without a time to live.
const none = "none"

// expectedField is a field of expect about a facet of the location.
type expectedField struct {
	name  string
	facet routing.Facet
	// isUsual is true if a first expectation has the field, and isObject if only those of its fields count that are expected.
	isUsual, isObject bool
}

// listFields returns those of expect but served, in the order of the schema.
func listFields() []expectedField {
	return []expectedField{
		{"origin", routing.Origin, true, false},
		{"action", routing.Action, false, false},
		{"level", routing.CacheLevel, false, false},
		{"cached", routing.EdgeTTL, true, false},
		{"browserCached", routing.BrowserTTL, false, false},
		{"cors", routing.CORS, false, true},
		{"headers", routing.Headers, false, true},
		{"rewrite", routing.Rewrite, false, true},
	}
}

// observe returns the value of the field that a location meets: the wanted one if it does.
func (f expectedField) observe(want any, l *routing.Location) any {
	v := l.Behaviour[f.facet]
	switch {
	case f.isObject:
		return selectFields(want, v.Tree())
	case f.facet == routing.Origin:
		return serversAsOrigin(want, l.Servers())
	case f.facet == routing.EdgeTTL || f.facet == routing.BrowserTTL:
		return observeTime(want, v)
	case v == routing.ServedValue{}:
		return nil
	}
	return v.Text
}

// serversAsOrigin returns servers as an origin, or the wanted one if it has the same. A wanted server without a port has any.
func serversAsOrigin(want any, servers []string) any {
	wanted, isList := want.([]any)
	if !isList {
		wanted = []any{want}
	}
	isServer := func(server string, want any) bool {
		text, _ := want.(string)
		text = kind.HostKey(text)
		return server == text || server[:strings.LastIndexByte(server, ':')+1] == text+":"
	}
	isOther := func(server string) bool {
		return !slices.ContainsFunc(wanted, func(w any) bool { return isServer(server, w) })
	}
	isMissing := func(want any) bool {
		return !slices.ContainsFunc(servers, func(s string) bool { return isServer(s, want) })
	}
	switch {
	case len(servers) == 0:
		return nil
	case !slices.ContainsFunc(servers, isOther) && !slices.ContainsFunc(wanted, isMissing):
		return want
	case len(servers) == 1:
		return servers[0]
	}
	return diag.MapList(servers, func(server string) any { return server })
}

// observeTime returns a time to live, or the wanted one if it is as long. One of an unknown unit is no time.
func observeTime(want any, v routing.ServedValue) any {
	text, _ := want.(string)
	d, isTime := kind.ParseDuration(text)
	switch {
	case isTime && v.Known && v.Time == d:
		return want
	case v == routing.ServedValue{} || v.Known && v.Time == 0:
		return none
	case v.Known:
		return strings.NewReplacer(" ", "", "min", "m").Replace(kind.FormatDuration(v.Time))
	}
	return nil
}

// selectFields returns a value with the fields that want has.
func selectFields(want, is any) any {
	fields, _ := want.(map[string]any)
	if len(fields) == 0 {
		return is
	}
	out := map[string]any{}
	for name, wanted := range fields {
		out[name] = selectFields(wanted, fieldOf(is, name))
	}
	return out
}

// fieldOf returns a field of an object. The case of its name plays no part, as in names of headers, unless fields
// differ by it.
func fieldOf(object any, name string) any {
	m, _ := object.(map[string]any)
	if _, has := m[name]; has {
		return m[name]
	}
	for _, other := range canon.SortedKeys(m) {
		if strings.EqualFold(other, name) {
			return m[other]
		}
	}
	return nil
}

// expectation is one value that a test expects.
type expectation struct {
	// name is that of the field, below expect.
	name string
	want any
	// observe returns what a location meets, and describe has its value in words.
	observe  func(*routing.Location) any
	describe func(*routing.Location) string
}

func (e expectation) holds(l *routing.Location) bool {
	return bytes.Equal(canon.Encode(e.want), canon.Encode(e.observe(l)))
}

// expectationsOf returns what expect says of the location: a value for each field, and for each field of an object.
func expectationsOf(expect map[string]any) (all []expectation) {
	for _, f := range listFields() {
		want, has := expect[f.name]
		if !has {
			continue
		}
		if f.isObject {
			all = append(all, expectFields(f.name, want, func(l *routing.Location) any { return l.Behaviour[f.facet].Tree() })...)
			continue
		}
		observe := func(l *routing.Location) any { return f.observe(want, l) }
		all = append(all, expectation{f.name, want, observe, f.describe})
	}
	return all
}

// unitless ends a time whose unit is absent or unknown.
const unitless = ", in no known ttlTimeUnit,"

func (f expectedField) describe(l *routing.Location) string {
	v, text := l.Behaviour[f.facet], l.Describe(f.facet)
	if isTime := f.facet == routing.EdgeTTL || f.facet == routing.BrowserTTL; isTime && !v.Known && v.Text != "" {
		text += unitless
	}
	return text
}

// expectFields returns the values in want, each compared with the value of a location at the same place.
func expectFields(name string, want any, valueOf func(*routing.Location) any) (all []expectation) {
	object, _ := want.(map[string]any)
	if len(object) == 0 {
		return []expectation{{name, routing.NormalizeValue(want), valueOf, func(l *routing.Location) string { return routing.DescribeValue(valueOf(l)) }}}
	}
	for _, key := range canon.SortedKeys(object) {
		all = append(all, expectFields(name+"."+key, object[key], func(l *routing.Location) any { return fieldOf(valueOf(l), key) })...)
	}
	return all
}

// ListUpdates returns what failed tests would have to expect, by file. It leaves out tests whose requests can't be
// compared, differ from each other, or depend on the platform.
func (r *TestResults) ListUpdates() map[string][]yamledit.Expectation {
	found := map[string][]yamledit.Expectation{}
	for _, cases := range diag.GroupBy(r.Cases, func(c Case) *test { return c.test }) {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Result == Failed }) {
			continue
		}
		t, value := cases[0].test, commonExpectation(cases)
		if isNew := !bytes.Equal(canon.Encode(value), canon.Encode(t.expect)); value != nil && isNew {
			found[t.object.Path] = append(found[t.object.Path], yamledit.Expectation{Line: t.object.Line, Test: t.index, Value: value})
		}
	}
	return found
}

// commonExpectation returns the one expectation that all requests of a test meet, or nil.
func commonExpectation(cases []Case) (value map[string]any) {
	for _, c := range cases {
		if c.answer == nil || c.isUnclear() {
			return nil
		}
		for _, a := range c.answer.ListAnswers() {
			is := observe(c.test.expect, a.Location)
			if value != nil && !bytes.Equal(canon.Encode(value), canon.Encode(is)) {
				return nil
			}
			value = is
		}
	}
	return value
}

// ExampleExpectation returns an expectation of a request, which a CDN with this spec meets if one location matches.
func ExampleExpectation(spec map[string]any, url string) map[string]any {
	u, _ := routing.ParseURL(url)
	side := routing.Side{Name: routing.Git, Site: routing.NewSite(routing.NewCDNFromConfig(kind.Key{}, routing.ReadConfig(spec)))}
	q, err := routing.NewLookup([]routing.Side{side}, routing.PrecedencesOf(""), diag.DidYouMean).Find(u)
	if err != nil {
		return observe(nil, nil)
	}
	return observe(nil, q.Location(0, 0))
}

// observe returns an expectation with the fields of expect that a location meets; nil is no location. If it expects nothing
// yet, or no location, it gets the usual fields and those that the location has.
func observe(expect map[string]any, l *routing.Location) map[string]any {
	if l == nil {
		return map[string]any{"served": false}
	}
	is, isFirst := map[string]any{}, len(expect) == 0 || expect["served"] == false
	for _, f := range listFields() {
		isSet := l.Behaviour[f.facet] != routing.ServedValue{}
		want, isAsked := expect[f.name]
		if !isAsked && (!isFirst || !f.isUsual && (!isSet || !f.isObject)) {
			continue
		}
		if v := f.observe(want, l); v != nil || !isSet {
			is[f.name] = v
		} else if isAsked {
			is[f.name] = want // what can't be expected stays
		}
	}
	if expect["served"] == true {
		is["served"] = true
	}
	return is
}

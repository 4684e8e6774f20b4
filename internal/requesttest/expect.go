package requesttest

import (
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/routing"
)

// none is the value of cached for an answer without a time to live.
const none = "none"

// field is a field of expect about a facet of the location.
type field struct {
	name  string
	facet routing.Facet
	// usual is true if a first expectation has the field.
	usual bool
	// holds compares the facet; nil compares each field that is expected of it.
	holds func(want any, l *routing.Location, f routing.Facet) bool
}

// fields are those of expect but served, in the order of the schema.
func fields() []field {
	return []field{
		{"origin", routing.Origin, true, hasServers},
		{"action", routing.Action, false, hasText},
		{"level", routing.CacheLevel, false, hasText},
		{"cached", routing.EdgeTTL, true, hasTime},
		{"browserCached", routing.BrowserTTL, false, hasTime},
		{"cors", routing.CORS, false, nil},
		{"headers", routing.Headers, false, nil},
		{"rewrite", routing.Rewrite, false, nil},
	}
}

// expectation is one value that a test expects.
type expectation struct {
	path string // of the value, below the test
	name string // for messages
	want string
	// holds compares a location, which is not nil, and got has its value in words.
	holds func(*routing.Location) bool
	got   func(*routing.Location) string
}

// expectations returns what expect says of the location: a value for each field, and for each field of an object.
func expectations(expect map[string]any) (all []expectation) {
	for _, f := range fields() {
		want, has := expect[f.name]
		switch {
		case !has:
		case f.holds == nil:
			all = append(all, leaves("expect."+f.name, f.name, want, func(l *routing.Location) any { return l.Behaviour[f.facet].Tree() })...)
		default:
			all = append(all, expectation{
				path: "expect." + f.name, name: f.name, want: words(want),
				holds: func(l *routing.Location) bool { return f.holds(want, l, f.facet) },
				got:   func(l *routing.Location) string { return l.Describe(f.facet) },
			})
		}
	}
	return all
}

// leaves returns the values in want, each compared with the value of a location at the same path.
func leaves(path, name string, want any, of func(*routing.Location) any) (all []expectation) {
	if object, ok := want.(map[string]any); ok && len(object) > 0 {
		for _, key := range canon.SortedKeys(object) {
			all = append(all, leaves(path+"."+key, name+"."+key, object[key], func(l *routing.Location) any {
				return valueOf(of(l), key)
			})...)
		}
		return all
	}
	want = routing.Tidy(want)
	return []expectation{{
		path: path, name: name, want: words(want),
		holds: func(l *routing.Location) bool { return slices.Equal(canon.Bytes(want), canon.Bytes(of(l))) },
		got:   func(l *routing.Location) string { return words(of(l)) },
	}}
}

// valueOf returns a field of an object. The case of its name plays no part, as in names of headers, unless fields
// differ by it.
func valueOf(object any, name string) any {
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

func hasText(want any, l *routing.Location, f routing.Facet) bool {
	text, _ := want.(string)
	return l.Behaviour[f].Text == text
}

func hasTime(want any, l *routing.Location, f routing.Facet) bool {
	v := l.Behaviour[f]
	text, _ := want.(string)
	if want == nil || text == none {
		return v == routing.Value{} || v.Known && v.Time == 0
	}
	d, ok := kind.ParseDuration(text)
	return ok && v.Known && v.Time == d
}

// hasServers reports whether the upstream has the wanted servers and no others. A server without a port has any.
func hasServers(want any, l *routing.Location, f routing.Facet) bool {
	servers := l.Servers()
	if want == nil {
		return l.Behaviour[f] == routing.Value{}
	}
	var wanted []string
	switch want := want.(type) {
	case string:
		wanted = []string{kind.HostKey(want)}
	case []any:
		for _, w := range want {
			text, _ := w.(string)
			wanted = append(wanted, kind.HostKey(text))
		}
	}
	is := func(server, want string) bool {
		return server == want || server[:strings.LastIndexByte(server, ':')+1] == want+":"
	}
	matchAll := func(list []string, matches func(string) bool) bool {
		return !slices.ContainsFunc(list, func(s string) bool { return !matches(s) })
	}
	return len(servers) > 0 &&
		matchAll(servers, func(s string) bool { return slices.ContainsFunc(wanted, func(w string) bool { return is(s, w) }) }) &&
		matchAll(wanted, func(w string) bool { return slices.ContainsFunc(servers, func(s string) bool { return is(s, w) }) })
}

// words returns an expected or a live value for a message.
func words(v any) string {
	switch v := v.(type) {
	case nil:
		return "not set"
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = words(e)
		}
		return strings.Join(parts, ", ")
	}
	return string(canon.Bytes(v))
}

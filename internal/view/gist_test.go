package view

import (
	"encoding/json"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestGist holds that a structure is shown in the words of its schema and that
// whatever the words leave out stands below them.
func TestGist(t *testing.T) {
	for name, c := range map[string]struct{ kind, path, value, words, details string }{
		"a rule": {
			"CDN", "firewall.rules[block-bots]",
			`{"name":"block-bots","action":{"type":"ratelimit","ratelimit":{"rate":100,"period":60,"identifier":{"type":"ip"}}}}`,
			"ratelimit 100 per 60 by ip", "",
		},
		"a rule with more": {
			"CDN", "firewall.rules[r]",
			`{"name":"r","enabled":false,"action":{"type":"ratelimit","ratelimit":{"rate":1,"period":2,"statusCode":"429","identifier":{"type":"ip"}}}}`,
			"ratelimit 1 per 2 by ip, disabled", `action: {ratelimit: {statusCode: "429"}}`,
		},
		"a rule of another type": {
			"CDN", "firewall.rules[r]",
			`{"name":"r","action":{"type":"block"}}`,
			"{action: {type: block}, name: r}", "",
		},
		"a location": {
			"CDN", "locations[shop.example.com/a.b[1]/*]",
			`{"host":"shop.example.com","path":"/a.b[1]/*","action":"proxy_http","upstream":"o","cache":{"level":"standard","edgeTTL":"10","ttlTimeUnit":"second","browserTTL":"5"}}`,
			"proxy_http to o, cached 10 s (standard)", `cache: {browserTTL: "5"}`,
		},
		"a location with a long TTL": {
			"CDN", "locations[/*]",
			`{"path":"/*","action":"proxy_http","upstream":"o","cache":{"level":"standard","edgeTTL":10530,"ttlTimeUnit":"second"}}`,
			"proxy_http to o, cached 2 h 55 min 30 s (standard)", "",
		},
		"a location with a TTL that is not plain": {
			"CDN", "locations[/*]",
			`{"path":"/*","action":"proxy_http","upstream":"o","cache":{"level":"standard","edgeTTL":"1.5","ttlTimeUnit":"fortnight"}}`,
			"proxy_http to o, cached 1.5 fortnight (standard)", "",
		},
		"a location with CORS": {
			"CDN", "locations[/*]", `{"path":"/*","action":"proxy_http","upstream":"o","cors":{"allowOrigins":"*"}}`,
			"proxy_http to o", `cors: {allowOrigins: *}`,
		},
		"TLS":               {"CDN", "tls", `{"enabled":"true","auto":"true","forced":"false"}`, "TLS, automatic certificate, plain HTTP not sent on to TLS", ""},
		"a part of TLS":     {"CDN", "tls", `{"auto":"true","more":"1"}`, "automatic certificate", `more: "1"`},
		"TLS of other text": {"CDN", "tls", `{"enabled":"yes"}`, `{enabled: "yes"}`, ""},
		"a location without all that": {
			"CDN", "locations[/*]",
			`{"path":"/*","action":"proxy_http","cache":{"edgeTTL":"10","level":"standard","ttlTimeUnit":"a very long unit"}}`,
			"5 values:", `action: proxy_http, cache: {edgeTTL: "10", level: standard, ttlTimeUnit: "a very long unit"}, path: /*`,
		},
		"an upstream": {
			"CDN", "upstreams[b]",
			`{"name":"b","scheme":"https","servers":[{"host":"a","port":"1"},{"host":"b","port":"2"}]}`,
			"https to a:1, b:2", "",
		},
		"an upstream with a server of no name": {
			"CDN", "upstreams[b]", `{"name":"b","scheme":"https","servers":[{"host":"a"},{"port":"2"}]}`,
			`{name: b, scheme: https, servers: [{host: a}, {port: "2"}]}`, "",
		},
		"an upstream without servers": {
			"CDN", "upstreams[b]", `{"name":"b","scheme":"https","servers":[]}`, "{name: b, scheme: https, servers: []}", "",
		},
		"a server":           {"CDN", "upstreams[b].servers[c:80]", `{"host":"c","port":"80","weight":"3"}`, "c:80 weight 3", ""},
		"text that confuses": {"CDN", "upstreams[b].servers[c:80]", `{"host":"c weight 1","port":"","weight":"3"}`, `"c weight 1":"" weight 3`, ""},
		"a null":             {"CDN", "upstreams[b].servers[c:80]", `{"host":"c","port":"80","weight":null}`, "c:80", "weight: null"},
		"an object for text": {"CDN", "upstreams[b].servers[c:80]", `{"host":{},"port":[[]],"weight":"1"}`, `{host: {}, port: [[]], weight: "1"}`, ""},
		"another kind":       {"Other", "upstreams[b]", `{"a":"yes"}`, `{a: "yes"}`, ""},
		"another field":      {"CDN", "a]b[.c", `{"a b":"x y","b":"1","c":"-1","d":"true","e":"a,b"}`, `{"a b": "x y", b: "1", c: "-1", d: "true", e: "a,b"}`, ""},
		"a list":             {"CDN", "locations", `["a",{}]`, "[a, {}]", ""},
		"a long text in an object": {
			"CDN", "locations[/a].headers", `{"A":"` + strings.Repeat("x ", 100) + `","B":"b"}`,
			"2 values:", `A: "` + strings.Repeat("x ", 19) + "x… " + strings.Repeat("x ", 19) + `" (202 bytes), B: b`,
		},
		"nothing":     {"CDN", "tls", `{}`, "{}", ""},
		"a text":      {"CDN", "hostname", `"shop"`, `"shop"`, ""},
		"a long text": {"CDN", "hostname", `"` + strings.Repeat("x", 80) + `"`, `"` + strings.Repeat("x", 80) + `"`, ""},
	} {
		words, details := describeValue(valueContext{c.kind, c.path, nil}, decoded(t, c.value))
		if words.String() != c.words || safetext.Join(details, " ").String() != c.details {
			t.Errorf("%s: %s / %s, want %s / %s", name, words, safetext.Join(details, " "), c.words, c.details)
		}
	}
}

// TestANewLocationNamesItsServers: a new object has the servers of a location's upstream.
func TestANewLocationNamesItsServers(t *testing.T) {
	const upstreams = `[{"name":"a","servers":[{"host":"a.example.net","port":"443","weight":"1"},{"host":"b.example.net","port":"80"}]},{"name":"odd","servers":[{"host":"c), cached","port":"1"}]},{"name":"none","servers":[]}]`
	for location, want := range map[string]string{
		`{"path":"/*","action":"proxy_http","upstream":"a","host":"www.example.com"}`: "proxy_http to a (a.example.net:443, b.example.net:80), host www.example.com",
		`{"path":"/*","action":"proxy_http","upstream":"odd"}`:                        `proxy_http to odd ("c), cached:1")`,
		`{"path":"/*","action":"proxy_http","upstream":"none"}`:                       "proxy_http to none",
		`{"path":"/*","action":"proxy_http","upstream":"missing"}`:                    "proxy_http to missing",
	} {
		spec, _ := decoded(t, `{"locations":[`+location+`],"upstreams":`+upstreams+`}`).(map[string]any)
		of := valueContext{"CDN", "locations[/*]", routing.ReadConfig(spec).Locations}
		if words, details := describeValue(of, decoded(t, location)); words.String() != want || details != nil {
			t.Errorf("%s: %s %v, want %s", location, words, details, want)
		}
	}
}

// TestGistLeavesTheValueAlone: the value is the plan's, which others read.
func TestGistLeavesTheValueAlone(t *testing.T) {
	const text = `{"host":"c","passive":{"fails":"3"},"port":"80","weight":"3"}`
	v := decoded(t, text)
	describeValue(valueContext{"CDN", "upstreams[b].servers[c:80]", nil}, v)
	if after, err := json.Marshal(v); err != nil || string(after) != text {
		t.Errorf("%s, %v", after, err)
	}
}

// TestSummariesAreKnown: whatever a schema names has a description.
func TestSummariesAreKnown(t *testing.T) {
	var walk func(f *kind.Field)
	walk = func(f *kind.Field) {
		if f.Summary != "" && tableOfDescriptions[f.Summary] == nil {
			t.Errorf("no description is %q", f.Summary)
		}
		for _, below := range f.Fields {
			walk(below)
		}
		if f.Item != nil {
			walk(f.Item)
		}
	}
	for _, k := range kind.AllKinds() {
		walk(k.Spec())
	}
}

package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
)

const (
	cdnStart = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
`
	purgeStart = `apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-42}
spec:
  hostname: shop.example.com
`
	snapshotStart = `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: db-1, namespace: acme}
spec:
`
)

func purgePaths(paths ...string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = fmt.Sprintf("%q", p)
	}
	return purgeStart + "  paths: [" + strings.Join(quoted, ", ") + "]\n"
}

func subdomains(names string) string {
	return purgeStart + "  subdomains: [" + names + "]\n  paths: [/a]\n"
}

func server(fields string) string {
	return cdnStart + "  upstreams: [{name: o, servers: [{host: a.example.com, " + fields + "}]}]\n"
}

func location(fields string) string {
	return cdnStart + "  locations: [{" + fields + "}]\n"
}

func ratelimit(fields string) string {
	return cdnStart + "  firewall: {rules: [{name: r, action: {type: ratelimit, ratelimit: {" + fields + "}}}]}\n"
}

func action(fields string) string {
	return cdnStart + "  firewall: {rules: [{name: r, action: {" + fields + "}}]}\n"
}

func constraint(fields string) string {
	return cdnStart + "  firewall: {rules: [{name: r, constraints: [[{" + fields + "}]]}]}\n"
}

// locked is a rule that is on, in a firewall that is.
func locked(rule, limit string) string {
	return cdnStart + "  firewall: {enabled: true, rules: [{name: r, " + rule + ", action: {type: ratelimit, ratelimit: {" + limit + "}}}]}\n"
}

func bots(expected string) string {
	return `constraints: [[{type: known_bots, known_bots: {expected: "` + expected + `", operator: equals}}]]`
}

func tls(fields string) string { return cdnStart + "  tls: {" + fields + "}\n" }

func cors(fields string) string { return location("path: /a, cors: {" + fields + "}") }

func locations(paths ...string) string {
	text := cdnStart + "  locations:\n"
	for _, p := range paths {
		text += "  - path: " + p + "\n"
	}
	return text
}

// hosts is a location of all paths of one host above one of some paths of another.
func hosts(above, below string) string {
	return cdnStart + fmt.Sprintf("  locations: [{path: /*, host: %q}, {path: /a/*, host: %q}]\n", above, below)
}

func named(name string) string {
	return strings.Replace(cdnStart, "name: shop", "name: "+name, 1)
}

func hosted(host string) string {
	return strings.Replace(cdnStart, "shop.example.com", fmt.Sprintf("%q", host), 1)
}

func onServer(host string) string {
	return cdnStart + fmt.Sprintf("  upstreams: [{name: o, servers: [{host: %q}]}]\n", host)
}

// TestRuleTable holds what each rule finds beside its own example: the names
// of the rules, or with a colon a part of their messages or fixes.
func TestRuleTable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"no upstreams in git", location("path: /*, upstream: origin"), nil},
		{"no known upstream", cdnStart + "  locations: [{path: /*, upstream: x}]\n  upstreams: []\n", []string{"upstream-unknown"}},
		{"no locations in git", cdnStart + "  upstreams: [{name: origin}]\n", nil},
		{"nothing near", cdnStart + "  locations: [{path: /a, upstream: origin}, {path: /*, upstream: qqq}]\n  upstreams: [{name: origin}]\n", []string{"upstream-unknown: add it"}},
		{"location of another host", cdnStart + "  locations: [{path: /a, host: a.example.com}, {path: /a, host: b.example.com}, {path: /a}]\n", nil},
		{"location of the same host", cdnStart + "  locations: [{path: /a, host: a.example.com}, {path: /a, host: A.example.com}]\n", []string{"duplicate-location: a.example.com/a is already on line 6", "hostname-odd: capitals", "location-host: no location is for shop.example.com"}},
		{"three of one name", cdnStart + "  upstreams:\n  - {name: o}\n  - {name: o}\n  - {name: o}\n", []string{"duplicate-upstream: line 7", "duplicate-upstream: line 7"}},
		{"same server in two upstreams", cdnStart + "  upstreams: [{name: a, servers: [{host: h, port: \"1\"}]}, {name: b, servers: [{host: h, port: \"1\"}]}]\n", nil},
		{"servers without host", cdnStart + "  upstreams: [{name: a, servers: [{port: \"443\"}, {port: \"443\"}]}]\n", []string{"schema", "schema"}},
		{"server without port", cdnStart + "  upstreams: [{name: a, servers: [{host: h}, {host: h}]}]\n", []string{"duplicate-server: the server h "}},

		{"least port", server(`port: "1"`), nil},
		{"greatest port", server(`port: "65535"`), nil},
		{"port 0", server(`port: "0"`), []string{"port-range"}},
		{"port 65536", server(`port: "65536"`), []string{"port-range"}},
		{"signed port", server(`port: "+443"`), []string{"port-range"}},
		{"empty port", server(`port: ""`), []string{"port-range"}},
		{"named port", server(`port: https`), []string{"port-range"}},
		{"port in another base", server("port: 0x1bb"), []string{"port-range"}},
		{"unquoted port out of range", server("port: 65536"), []string{"port-range"}},
		{"boolean port", server("port: on"), []string{"port-range"}},
		{"port that is no number", server("port: .nan"), []string{"port-range"}},
		{"unquoted port", server("port: 443"), []string{`text-unquoted: write port: "443"`}},
		{"unquoted port twice", server("port: 443, port: 444"), []string{"text-unquoted", "yaml-duplicate-key"}},
		{"http to the origin", cdnStart + "  upstreams: [{name: o, scheme: http}]\n", nil},
		{"weight 0", server(`weight: "0"`), nil},
		{"fraction", server(`weight: "0.5"`), []string{"weight-number"}},
		{"TTL 0", location(`path: /a, cache: {edgeTTL: "0", browserTTL: "0"}`), nil},
		{"both TTLs", location(`path: /a, cache: {edgeTTL: "-1", browserTTL: "1 h"}`), []string{"ttl-number", "ttl-number"}},

		{"unquoted TTL with exponent", location("path: /a, cache: {edgeTTL: 1e3}"), []string{"ttl-number"}},
		{"unquoted TTL", location("path: /a, cache: {edgeTTL: 60}"), []string{`text-unquoted: write edgeTTL: "60"`}},
		{"TTL without value", location("path: /a, cache: {edgeTTL: }"), []string{"empty-value"}},
		{"location with empty segments", location("path: //a/*"), []string{"location-path-odd: an empty segment"}},
		{"location with dot segments", location("path: /a/../b"), []string{"location-path-odd: . or .. as a segment"}},

		{"limits at zero", ratelimit("rate: 100, period: 60, penalty_period: 0"), nil},
		{"whole number with a point", ratelimit("rate: 100.0"), nil},
		{"negative limits", ratelimit("rate: -1, period: -60, penalty_period: -0.5"), []string{"ratelimit-odd: rate", "ratelimit-odd: period", "ratelimit-odd: penalty_period"}},
		{"a constraint with the settings of another", constraint("type: ip, known_bots: {expected: 'true'}"), []string{"unknown-value", "type-settings: rename known_bots to ip"}},
		{"a constraint without settings", constraint("type: country, expected: KR, operator: equals"), []string{"unknown-value", "unknown-field", "unknown-field", "type-settings: add country:"}},
		{"a known constraint without settings", constraint("type: known_bots"), []string{"type-settings: add known_bots:"}},
		{"a constraint with nothing for settings", constraint("type: known_bots, known_bots: null"), []string{"type-settings: add known_bots:"}},
		{"a constraint of another type", constraint("type: ip, negate: true, ip: {expected: [192.0.2.0/24], operator: equals}"), []string{"unknown-value", "unknown-field"}},
		{"a type in the other spelling", constraint("type: known-bots, known_bots: {expected: 'true', operator: equals}"), []string{"unknown-value"}},
		{"a type in the other spelling, outside the document", constraint("type: http_version, http-version: {expected: '2'}"), []string{"unknown-value", "misspelt-field"}},
		{"a constraint without a type", constraint("known_bots: {expected: 'true'}"), nil},
		{"a rate limit without settings", action("type: ratelimit"), []string{"type-settings: add ratelimit:"}},
		{"a rate limit with other settings", action("type: ratelimit, captcha: {level: high}"), []string{"unknown-field", "type-settings: rename captcha to ratelimit"}},
		{"an action without settings, which needs none", action("type: allow"), []string{"unknown-value"}},
		{"an action that the document does not show", action("type: captcha, captcha: {level: high}"), []string{"unknown-value"}},
		{"a fraction of a request", ratelimit("rate: 0.5"), []string{"ratelimit-odd: 0.5"}},
		{"greatest number", ratelimit("rate: 1e308"), nil},
		{"number beyond a double", ratelimit("rate: 1e309"), []string{"yaml-number: 1e309"}},
		{"number far beyond a double", ratelimit("rate: -1e999999999"), []string{"yaml-number"}},
		{"number that a double takes for 0", ratelimit("rate: 1e-400"), []string{"yaml-number"}},
		{"tagged number beyond a double", ratelimit("rate: !!float 1e309"), []string{"yaml-tag"}},
		{"number beyond a double in an unknown field", cdnStart + "  extra: {a: [1e309]}\n", []string{"unknown-field", "yaml-number"}},
		{"zero with an exponent", ratelimit("rate: 0e-999"), []string{"ratelimit-locks-out"}},

		{"a limit of nobody", locked("enabled: false", "rate: 0"), nil},
		{"a limit of bots", locked(bots("true"), "rate: 0"), nil},
		{"a limit of everybody but bots", locked(bots("false"), "rate: 0"), []string{"ratelimit-locks-out: no request"}},
		{"an empty group", locked("constraints: [[]]", "rate: 0"), []string{"ratelimit-locks-out"}},
		{"a group of unknown constraints", locked("constraints: [[{type: known_bots, known_bots: {}}]]", "rate: 0"), nil},
		{"one limit for a country", locked("enabled: true", "rate: 100, period: 60, identifier: {type: country}"), []string{"unknown-value", "ratelimit-locks-out: all visitors with the same country share 100 requests in 60"}},
		{"enough for a country", locked("enabled: true", "rate: 6000, period: 60, identifier: {type: country}"), []string{"unknown-value"}},
		{"one request for each visitor", locked("enabled: true", "rate: 1, period: 60, identifier: {type: ip}"), nil},
		{"a limit of a firewall that is off", cdnStart + "  firewall: {enabled: false, rules: [{name: r, action: {ratelimit: {rate: 0}}}]}\n", nil},

		{"TLS off", tls(`enabled: "false", forced: "false"`), nil},
		{"TLS forced", tls(`enabled: "true", forced: "true"`), nil},
		{"TLS not forced, on or not", tls(`forced: "false"`), []string{"tls-not-forced: plain HTTP is not redirected"}},
		{"TLS on and no word of forced", tls(`enabled: "true"`), []string{"tls-not-forced: the manifest does not redirect"}},
		{"no word of either", tls(`auto: "true"`), nil},

		{"every origin with others", cors(`allowOrigins: "https://a.example.com, *", allowCredentials: "true"`), []string{"cors-credentials: /a allows"}},
		{"every origin without credentials", cors(`allowOrigins: "*", allowCredentials: "false"`), nil},
		{"every origin and no word of credentials", cors(`allowOrigins: "*"`), nil},
		{"every name of a domain", cors(`allowOrigins: "https://*.example.com", allowCredentials: "true"`), nil},
		{"CORS that is off", cors(`enabled: "false", allowOrigins: "*", allowCredentials: "true"`), nil},

		{"three hidden by one", locations("/a/*", "/a/b/*", "/a/b/c", "/a/d"), []string{"location-unreachable: /a/* takes all requests of /a/b/*, /a/b/c, /a/d below it if the first match wins"}},
		{"two hidden by two", locations("/b/*", "/a/*", "/b/c", "/a/d"), []string{"location-unreachable: /b/* takes all requests of /b/c below it if the first match wins", "location-unreachable: /a/* takes all requests of /a/d below it if the first match wins"}},
		{"hidden by a pattern of files", locations("/*.gz", "/a.gz"), []string{"location-path-odd"}},
		{"a hidden pattern of files", locations("/iso/*", "/iso/*.sig"), []string{"location-unreachable", "location-path-odd"}},
		{"special above general", locations("/a/b", "/a/*", "/*"), nil},
		{"a pattern of files above", locations("/iso/*.sig", "/iso/*"), []string{"location-path-odd"}},
		{"a prefix without a slash", locations("/rpc*", "/rpc/metrics"), []string{"location-unreachable"}},
		{"hosts that are not the same", hosts("a.example.com", "b.example.com"), []string{"location-host"}},
		{"a misspelt host", hosts("", "shpo.example.com"), []string{"location-unreachable", "location-host: did you mean shop.example.com?"}},
		{"a host with another number or letter", hosts("shop2.example.com", "shoq.example.com"), []string{"location-host: each has another"}},
		{"the same host in other letters", hosts("a.example.com", "A.example.com"), []string{"location-unreachable", "hostname-odd: capitals", "location-host"}},
		{"any host above one", hosts("", "a.example.com"), []string{"location-unreachable: /* takes all requests of a.example.com/a/* below it if the first match wins"}},
		{"one host above any", hosts("a.example.com", ""), nil},
		{"a wildcard above a host", hosts("*.example.com", "a.b.example.com"), []string{"location-unreachable", "hostname-odd: '*'"}},
		{"a wildcard above its domain", hosts("*.example.com", "example.com"), []string{"hostname-odd: '*'"}},

		{"number as path", purgeStart + "  paths: [1]\n", []string{"purge-path: write /1"}},
		{"plain paths", purgePaths("/", "/a", "/b/*", "/c*"), nil},
		{"star alone", purgePaths("*"), []string{"purge-path: write /*"}},
		{"whole address", purgePaths("https://shop.example.com/a/b"), []string{"purge-path: write /a/b"}},
		{"relative", purgePaths("a/b"), []string{"purge-path: write /a/b"}},
		{"inner star", purgePaths("/a/*/b"), []string{"purge-path: write /a/*"}},
		{"inner star widens", purgePaths("/a/*/b"), []string{"purge-path: which purges more"}},
		{"first star widens to all", purgePaths("/*/b"), []string{"purge-path: write each path: /* would purge the whole hostname"}},
		{"only stars", purgePaths("/**"), []string{"purge-path: write /*"}},
		{"two stars", purgePaths("/a/**"), []string{"purge-path: write /a/*"}},
		{"no path", purgePaths(), []string{"schema"}},
		{"empty path", purgePaths(""), []string{"schema"}},
		{"query", purgePaths("/a?b"), []string{"purge-path-odd: a query"}},
		{"fragment", purgePaths("/a#b"), []string{"purge-path-odd: a fragment"}},
		{"space", purgePaths("/a b"), []string{"purge-path-odd: white space"}},
		{"not ASCII", purgePaths("/ä"), []string{"purge-path-odd: not ASCII"}},
		{"empty segment", purgePaths("/a//b"), []string{"purge-path-odd: an empty segment"}},
		{"empty segment first", purgePaths("//a*"), []string{"purge-path-odd: an empty segment"}},
		{"dot segment", purgePaths("/a/./b"), []string{"purge-path-odd: . or .. as a segment"}},
		{"dot segment last", purgePaths("/a/.."), []string{"purge-path-odd: . or .. as a segment"}},
		{"dot segments and more", purgePaths("/../a//ä"), []string{"purge-path-odd: an empty segment and . or .. as a segment and a character"}},
		{"address in a query", purgePaths("/a?u=http://b/../c"), []string{"purge-path-odd: has a query: the"}},
		{"dots in names", purgePaths("/.well-known/*", "/.*", "/b/..*", "/...", "/a.", "/c/", "/a../b"), []string{"purge-path-covered"}},
		{"encoded", purgePaths("/%C3%A4"), nil},
		{"percent alone", purgePaths("/100%"), []string{"purge-path-odd: a % without two hexadecimal digits"}},
		{"percent and one digit", purgePaths("/a%2"), []string{"purge-path-odd: a % without two hexadecimal digits"}},
		{"percent and no digits", purgePaths("/a%zz/b"), []string{"purge-path-odd: a % without two hexadecimal digits"}},
		{"percent before a star", purgePaths("/a%2*"), []string{"purge-path-odd: a % without two hexadecimal digits"}},
		{"encoded in both cases, and a percent encoded", purgePaths("/%c3%A4%25"), nil},
		{"characters that clients encode", purgePaths(`/^`, `/{`, `/}`, `/"`, `/<`, `/>`, `/\`, `/|`, "/`"), slices.Repeat([]string{"purge-path-odd: which clients encode"}, 9)},
		{"a template", purgePaths("/{id}"), []string{"purge-path-odd: the characters { }, which clients encode"}},
		{"characters that clients send as they are", purgePaths("/a:b@c!d$e&f'g(h)i+j,k;l=m~n-o_p.q[0]"), nil},
		{"twice", purgePaths("/a", "/a"), []string{"purge-path-covered: /a is listed more than once"}},
		{"more than are shown", purgePaths("/a*", "/a1", "/a2", "/a3", "/a4", "/a5", "/a6", "/a7"), []string{"purge-path-covered: /a1, /a2, /a3, /a4, /a5 and 2 more"}},
		{"by two prefixes", purgePaths("/a*", "/b*", "/b1", "/a1"), []string{"purge-path-covered: /b* purges", "purge-path-covered: /a* purges"}},

		{"subdomains", subdomains("www, a.b, _x"), []string{"purge-subdomain: not the start of a hostname"}},
		{"the hostname", subdomains("shop.example.com"), []string{"purge-subdomain: remove it"}},
		{"a whole name", subdomains("WWW.Shop.example.com"), []string{"purge-subdomain: write www"}},
		{"the hostname inside", subdomains("shop.example.com.www"), []string{"purge-subdomain: contains the hostname"}},
		{"dot at its end", subdomains("www."), []string{"purge-subdomain: write www"}},
		{"same subdomain", subdomains("www, WWW"), []string{"purge-subdomain: already on line 6"}},
		{"a pattern", subdomains(`"*"`), []string{"purge-subdomain: not the start of a hostname"}},

		{"at the limit", manyPrefixes("rel-42", 0, 1000), nil},
		{"far over the limit", manyPrefixes("rel-42", 0, 2001), []string{"purge-limits: into 3 purges"}},

		{"claim below spec", snapshotStart + "  persistentVolumeClaimName: db\n  volumeSnapshotClassName: general-purpose\n", []string{"snapshot-source: write spec.source", "snapshot-source: move it"}},
		{"no class", snapshotStart + "  source: {persistentVolumeClaimName: db}\n", []string{"snapshot-class: names no class"}},
		{"other class", snapshotStart + "  source: {persistentVolumeClaimName: db}\n  volumeSnapshotClassName: fast\n", []string{"snapshot-class: general-purpose"}},
		{"status of a dry run", cdnStart + "status: {}\n", []string{"server-owned: status"}},
		{"server-owned without a value", strings.Replace(cdnStart, "name: shop", "name: shop, creationTimestamp: null, uid: null", 1), []string{"server-owned: metadata.creationTimestamp", "server-owned: metadata.uid"}},
		{"server-owned with nothing", strings.Replace(cdnStart, "name: shop", "name: shop, creationTimestamp: ", 1), []string{"server-owned: metadata.creationTimestamp"}},
		{"status without a value", cdnStart + "status: null\n", []string{"server-owned: status"}},
		{"finalizers alone", strings.Replace(cdnStart, "name: shop", "name: shop, finalizers: [x]", 1), []string{"unknown-field"}},

		{"a hostname as name", named("shop.example.com"), nil},
		{"dots", named(`".."`), []string{"name-shape: change the path"}},
		{"backslash", named(`"a\\b"`), []string{"name-shape: slash"}},
		{"escaped slash", named("a%2fb"), []string{"name-shape: change the path"}},
		{"question mark", named(`"a?b"`), []string{"name-shape: change the path"}},
		{"number sign", named(`"a#b"`), []string{"name-shape: change the path"}},
		{"matrix parameter", named("a;b"), []string{"name-shape: change the path"}},
		{"fullwidth dots", named("\uff0e\uff0e"), []string{"name-shape: change the path"}},
		{"one dot leaders", named("\u2024\u2024"), []string{"name-shape: change the path"}},
		{"fraction slash", named("a\u2044b"), []string{"name-shape: change the path"}},
		{"line break", named(`"a\nb"`), []string{"name-shape: the name \"a\\nb\" has invisible characters"}},
		{"longest name", named(strings.Repeat("a", 253)), nil},
		{"too long a name", named(strings.Repeat("a", 254)), []string{"name-shape: longer"}},
		{"invisible in names of a spec", cdnStart + `  firewall: {rules: [{name: "a\u200db"}, {name: "a]\u202e: b"}]}
  upstreams: [{name: "o\u0085"}]
  locations: [{path: "/a\u2028b", upstream: "o\e"}]
  secureLink: {tokenName: "t\ufe0f", expireName: "\u2066e"}
`, []string{
			`name-shape: the name "a\u200db" has invisible characters`, `name-shape: the name "a]\u202e: b" has`, `name-shape: the name "/a\u2028b" has`,
			`name-shape: the name "o\x1b" has`, `name-shape: the name "o\u0085" has`, `name-shape: the name "t\ufe0f" has`, `name-shape: the name "\u2066e" has`,
			"upstream-unknown", "upstream-unused", "location-path-odd",
		}},
		{"scripts", cdnStart + "  upstreams: [{name: \u043erigin}, {name: \u0441\u043e\u0440}, {name: \u4e3b\u30b5\u30fc\u30d0}]\n  locations: [{path: /\u0430, upstream: \u043erigin}]\n", []string{
			`name-odd: the name "\u043erigin" has Cyrillic letters`, `name-odd: the name "\u043erigin" has Cyrillic letters`, `name-odd: the name "\u0441\u043e\u0440" has Cyrillic`,
			"upstream-unused", "upstream-unused", "location-path-odd",
		}},
		{"one script", cdnStart + "  upstreams: [{name: \u0441\u043e\u0440}]\n  locations: [{path: /*, upstream: \u0441\u043e\u0440}]\n", nil},
		{"hyphen first", named("-shop"), []string{"name-odd"}},
		{"not ASCII in a name", named("läden"), []string{"name-odd"}},

		{"port in a hostname", hosted("shop.example.com:443"), []string{"hostname-shape: has the character"}},
		{"user in a hostname", hosted("me@shop.example.com"), []string{"hostname-shape: has the character"}},
		{"path in a hostname", hosted("shop.example.com/a"), []string{"hostname-shape: has the character"}},
		{"query in a hostname", hosted("a?b"), []string{"hostname-shape: has the character"}},
		{"fragment in a hostname", hosted("a#b"), []string{"hostname-shape: has the character"}},
		{"path and query in a hostname", hosted("a.example.com/a?b"), []string{"hostname-shape: has the character"}},
		{"IPv6 in brackets", hosted("[::1]"), []string{"hostname-shape: has the character"}},
		{"IPv6", hosted("2001:db8::1"), []string{"hostname-shape: has the character"}},
		{"IPv6 and port", hosted("[::1]:443"), []string{"hostname-shape: has the character"}},
		{"space in a hostname", hosted("shop example.com"), []string{"hostname-shape: has the character"}},
		{"one label", hosted("shop"), []string{"hostname-odd: only one label"}},
		{"dot at the end", hosted("shop.example.com."), []string{"hostname-odd: an empty label"}},
		{"capitals", hosted("Shop.example.com"), []string{"hostname-odd: capitals"}},
		{"wildcard", hosted("*.example.com"), []string{"hostname-odd: '*'"}},
		{"hyphen at an end", hosted("shop-.example.com"), []string{"hostname-odd: hyphen"}},
		{"long label", hosted(strings.Repeat("a", 64) + ".example.com"), []string{"hostname-odd: 63"}},
		{"other letters in a hostname", hosted("b\u00fccher.example.com"), []string{"hostname-shape: write xn--bcher-kva.example.com, which"}},
		{"an xn-- hostname", hosted("xn--bcher-kva.example.com"), nil},
		{"percent in a hostname", hosted("shop%2eexample.com"), []string{"hostname-shape: has the character '%'"}},
		{"backslash in a hostname", hosted(`shop.example.com\evil`), []string{"hostname-shape: has the character"}},
		{"IPv4 as a hostname", hosted("192.0.2.7"), []string{"hostname-odd: a number as its last label"}},
		{"another writing of IPv4 as a hostname", hosted("0x7f.1"), []string{"hostname-shape: ends in a number"}},
		{"underscore in a hostname", hosted("my_shop.example.com"), []string{"hostname-odd: '_'"}},

		{"a plain server", onServer("origin-1.example.net"), nil},
		{"a server of one label", onServer("localhost"), nil},
		{"an xn-- server", onServer("xn--bcher-kva.example.net"), nil},
		{"IPv4 server", onServer("192.0.2.7"), nil},
		{"IPv6 server", onServer("2001:db8::7"), nil},
		{"IPv4 in IPv6 server", onServer("::ffff:192.0.2.7"), nil},
		{"IPv6 server in brackets", onServer("[2001:db8::7]"), []string{"hostname-odd: brackets"}},
		{"IPv6 server with port", onServer("[2001:db8::7]:443"), []string{"hostname-shape: is neither a name nor an address"}},
		{"IPv6 server with zone", onServer("fe80::1%eth0"), []string{"hostname-shape: is neither a name nor an address"}},
		{"server with port", onServer("origin.example.net:443"), []string{"hostname-shape: has the character"}},
		{"server with user", onServer("good.example.net@evil.example"), []string{"hostname-shape: has the character"}},
		{"server with path", onServer("good.example.net/../evil"), []string{"hostname-shape: has the character"}},
		{"server as address", onServer("https://origin.example.net:443"), []string{"hostname-shape: has the character"}},
		{"a very long server in other letters", onServer(strings.Repeat("\u00e9\u043e", 50_000)), []string{"hostname-shape: write the name or address alone"}},
		{"Cyrillic server", onServer("g\u043eod.example.net"), []string{"hostname-shape: 'о' (U+043E), which is not ASCII and may look like one that is"}},
		{"the name of a Cyrillic server", onServer("g\u043eod.example.net"), []string{"hostname-shape: write xn--god-sed.example.net, which is this name in ASCII"}},
		{"full-width dot in a server", onServer("good\uff0eexample.net"), []string{"hostname-shape: write good.example.net"}},
		{"ideographic full stop in a server", onServer("good\u3002example.net"), []string{"hostname-shape: write good.example.net"}},
		{"full-width slash in a server", onServer("good.example.net\uff0fevil"), []string{"hostname-shape: write the name or address alone"}},
		{"space in a server", onServer("good.example.net evil.example"), []string{"hostname-shape: has the character"}},
		{"no-break space in a server", onServer("good.example.net\u00a0"), []string{"hostname-shape: has the character"}},
		{"octal server", onServer("0177.0.0.1"), []string{"hostname-shape: ends in a number and is not an address"}},
		{"short IPv4 server", onServer("127.1"), []string{"hostname-shape: or 192.0.2.7"}},
		{"a number as server", onServer("2130706433"), []string{"hostname-shape: ends in a number"}},
		{"hexadecimal server", onServer("0x7f000001"), []string{"hostname-shape: ends in a number"}},
		{"server in capitals", onServer("Origin.example.net"), []string{"hostname-odd: capitals"}},
		{"underscore in a server", onServer("my_origin"), []string{"hostname-odd: the character '_'"}},
		{"dot at the end of a server", onServer("origin.example.net."), []string{"hostname-odd: an empty label"}},
		{"a list as server", onServer("a.example.net,b.example.net"), []string{"hostname-shape: the character ','"}},
		{"servers of two upstreams", cdnStart + "  upstreams: [{name: a, servers: [{host: h}, {host: a/b}]}, {name: b, servers: [{host: a@b}]}]\n", []string{"hostname-shape: has the character", "hostname-shape: has the character"}},
		{"location of a full-width host", location("path: /a, host: \"shop\uff0eexample.com\""), []string{"hostname-shape: write shop.example.com"}},
		{"location of an address", location("path: /a, host: \"https://shop.example.com\""), []string{"hostname-shape: the host"}},
		{"subdomain in other letters", subdomains("b\u00fccher"), []string{"purge-subdomain: write xn--bcher-kva"}},
		{"subdomain of a number", subdomains(`"1"`), nil},
		{"purge of another hostname", strings.Replace(purgePaths("/a"), "shop.example.com", "sh\u043ep.example.com", 1), []string{"hostname-shape: (U+043E)"}},
		{"long hostname", hosted(strings.Repeat("a.", 127) + "com"), []string{"hostname-odd: 253"}},

		{"same hostname in other letters", cdnStart + "---\n" + strings.Replace(hosted("SHOP.example.com"), "name: shop", "name: other", 1), []string{"hostname-taken: CDN/shop", "hostname-odd"}},
		{"a purge of a CDN's hostname", cdnStart + "---\n" + purgePaths("/a"), nil},
		{"a purge in other capitals", cdnStart + "---\n" + strings.Replace(purgePaths("/a"), "shop.example.com", "Shop.Example.com", 1), []string{"purge-hostname-case: write shop.example.com", "hostname-odd: capitals"}},
		{"a purge with a dot at its end", cdnStart + "---\n" + strings.Replace(purgePaths("/a"), "shop.example.com", "shop.example.com.", 1), []string{"purge-hostname-case: write shop.example.com", "hostname-odd: label"}},
		{"a purge as its CDN, both in capitals", hosted("SHOP.example.com") + "---\n" + strings.Replace(purgePaths("/a"), "shop.example.com", "SHOP.example.com", 1), []string{"hostname-odd", "hostname-odd"}},
		{"a purge of one of two CDNs", cdnStart + "---\n" + strings.Replace(hosted("SHOP.example.com"), "name: shop", "name: other", 1) + "---\n" + purgePaths("/a"), []string{"hostname-taken", "hostname-odd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := findingsOf(t, c.text, LoadSettings{})
			var left []string
			for _, f := range found {
				i := slices.IndexFunc(c.want, func(w string) bool {
					name, part, _ := strings.Cut(w, ": ")
					return f.Rule == name && strings.Contains(f.Message+" "+f.Fix, part)
				})
				if i < 0 {
					left = append(left, f.String()+" "+f.Fix)
					continue
				}
				c.want = slices.Delete(c.want, i, i+1)
			}
			if len(left) > 0 || len(c.want) > 0 {
				t.Errorf("not wanted: %q, missing: %q", left, c.want)
			}
		})
	}
}

func TestWorkspace(t *testing.T) {
	without := strings.Replace(snapshotStart, ", namespace: acme", "", 1)
	rest := "  source: {persistentVolumeClaimName: db}\n  volumeSnapshotClassName: general-purpose\n"
	for _, c := range []struct {
		name, text, workspace string
		refused               bool
	}{
		{"snapshot without one", without + rest, "", true},
		{"snapshot with the project's", without + rest, "acme", false},
		{"snapshot with its own", snapshotStart + rest, "", false},
		{"both the same", snapshotStart + rest, "acme", false},
		{"another", snapshotStart + rest, "other", true},
		{"CDN without one", cdnStart, "", false},
		{"CDN of another", named("shop, namespace: acme"), "other", true},
	} {
		found := findingsOf(t, c.text, LoadSettings{Workspace: c.workspace})
		if refused := len(found) == 1 && found[0].Rule == "namespace"; refused != c.refused || len(found) > 1 {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}

// TestPlaceholders: what names something must be filled in; elsewhere it may be meant.
func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]string{
		named("'shop-${STAGE}'"):         "placeholder",
		hosted("$(HOST).example.com"):    "placeholder",
		hosted("{{ host }}.example.com"): "placeholder",
		hosted("%HOST%.example.com"):     "placeholder",
		onServer("<origin>.example.net"): "placeholder",
		snapshotStart + "  source: {persistentVolumeClaimName: \"${DISK}\"}\n  volumeSnapshotClassName: general-purpose\n": "placeholder",
		purgePaths("/a/${VERSION}/*"):        "placeholder-odd",
		named("shop-$STAGE"):                 "placeholder",
		purgePaths("/a/$VERSION/*"):          "placeholder-odd",
		purgePaths("/a/%2E%2E%41/%E2%82%AC"): "",
		purgePaths("/price/$5/(a)"):          "",
	} {
		var got []string
		for _, f := range findingsOf(t, text, LoadSettings{}) {
			if strings.HasPrefix(f.Rule, "placeholder") || f.Severity == diag.Error {
				got = append(got, f.Rule)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q in %s", got, text)
		}
	}
}

func TestManyPurgesOfOneHostname(t *testing.T) {
	write := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "---\n%s", strings.Replace(purgePaths(fmt.Sprintf("/%d", i)), "rel-42", fmt.Sprintf("rel-%d", 100+i), 1))
		}
		return b.String()
	}
	if found := findingsOf(t, write(100), LoadSettings{}); len(found) > 0 {
		t.Errorf("100 requests: %v", found)
	}
	found := findingsOf(t, write(101), LoadSettings{})
	if len(found) != 1 || found[0].Rule != "purge-limits-set" || !strings.Contains(found[0].Message, "101 purge requests") {
		t.Errorf("101 requests: %v", found)
	}
}

// TestWhatNobodySeesIsRefused holds, over all of Unicode, that a text has no
// character that nobody sees, but for line breaks and tabs and the two joiners that
// some languages write with; and that a key has none at all.
func TestWhatNobodySeesIsRefused(t *testing.T) {
	var c converter
	refused := func(text string, key bool) bool {
		c.reset(&FileState{})
		c.checkText(&yaml.Node{}, text, key)
		return c.file.Findings.HasErrors()
	}
	var seen strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		switch allowed := strings.ContainsRune("\n\t\u200c\u200d", r); {
		case !diag.IsInvisible(r):
			seen.WriteRune(r)
		case !refused("a"+string(r), true), refused("a"+string(r), false) == allowed:
			t.Errorf("U+%04X is not refused, or is in a value that may have it", r)
		}
	}
	if refused(seen.String(), true) || refused(seen.String(), false) {
		t.Error("a character that is seen is refused")
	}
}

// manyPrefixes writes a purge with prefix paths from first to last-1.
func manyPrefixes(name string, first, last int) string {
	b := []byte("apiVersion: delivery/v2.1\nkind: Purge\nmetadata:\n  name: " + name +
		"\nspec:\n  hostname: shop.example.com\n  paths:\n")
	for i := first; i < last; i++ {
		b = fmt.Appendf(b, "    - /product/%d/*\n", i)
	}
	return string(b)
}

package manifest

import (
	"fmt"
	"testing"

	"trueup/internal/diag"
)

// TestWhatPlatformsHaveIsNoMisspelling: fields and values that were observed beside
// the document (docs/platform.md 10) are unknown and no errors.
func TestWhatPlatformsHaveIsNoMisspelling(t *testing.T) {
	text := cdnStart + `  firewall:
    rules:
`
	types := []string{"asn", "cookie", "country", "header", "ip", "method", "uri", "path", "args", "http_version", "http-version", "tls", "known_bots", "known-bots"}
	operators := []string{"equals", "contains", "lesser", "greater"}
	actions := []string{"ratelimit", "allow", "captcha", "block", "deny", "redirect", "log", "challenge"}
	for i, name := range types {
		text += fmt.Sprintf("      - {name: r%[1]d, action: {type: %[2]s, %[2]s: {}}, constraints: [[{type: %[3]s, negate: true, %[3]s: {operator: %[4]s, expected: \"true\"}}]]}\n",
			i, actions[i%len(actions)], name, operators[i%len(operators)])
	}
	text += "  locations:\n"
	for i, level := range []string{"standard", "ignore_query_string", "ignoreQueryString", "bypass", "aggressive"} {
		text += fmt.Sprintf("    - {path: /%d/*, upstream: o, cache: {level: %s, ttlTimeUnit: %s}}\n", i, level, []string{"second", "minute", "hour", "day", "millisecond"}[i])
	}
	text += `  upstreams:
    - name: o
      scheme: http
      hostHeader: a.example.net
      passiveThreshold: 3
      loadBalancer: {method: hash}
      hc: {protocol: http}
      integrity: x
      preferredHealthCheckVersion: "1"
      hc2: {protocol: http, downThreshold: 3, upThreshold: 1, timeoutSeconds: 5, http: {uri: /}}
      servers: [{host: a.example.net, port: "443", passive: true, backup: true}]
`
	for _, f := range findingsOf(t, text, LoadSettings{}) {
		if f.Severity == diag.Error {
			t.Error(f)
		}
	}
}

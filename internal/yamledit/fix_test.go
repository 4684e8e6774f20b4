package yamledit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/e2e/inputs"
	"trueup/internal/manifest"
)

// fixed repairs a text and says by which rules, each with its line.
func fixed(t interface {
	Helper()
	Fatal(...any)
}, text string, ctx *testing.T,
) (string, []string) {
	t.Helper()
	got, repaired, err := fixFile(ctx.Context(), "a.yaml", []byte(text), manifest.LoadSettings{})
	if err != nil {
		t.Fatal(err)
	}
	rules := []string{}
	for _, x := range repaired {
		rules = append(rules, fmt.Sprintf("%s:%d", x.Rule, x.Line))
	}
	return string(got), rules
}

func TestFix(t *testing.T) {
	const head = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: shop\nspec:\n  hostname: shop.example.com\n"
	for _, c := range []struct {
		name, in, want string
		rules          []string
	}{
		{
			"quotes in the spelling of the source", head + "  tls: {forced: true, auto: yes} # c\n  locations:\n    - path: /*\n      cache:\n        edgeTTL:   060 # one minute\n        browserTTL: 0x10\n",
			head + "  tls: {forced: \"true\", auto: \"true\"} # c\n  locations:\n    - path: /*\n      cache:\n        edgeTTL:   \"060\" # one minute\n        browserTTL: 0x10\n",
			[]string{"text-unquoted:7", "text-unquoted:7", "text-unquoted:11"},
		},
		{"keys", head + "  locations:\n    - headers:\n        on: origin\n", head + "  locations:\n    - headers:\n        \"on\": origin\n", []string{"yaml-key:9"}},
		{
			"booleans and numbers", head + "  firewall:\n    enabled: yes\n    rules:\n      - name: a\n        enabled: \"off\"\n        action:\n          type: ratelimit\n          ratelimit:\n            rate: '100'\n",
			head + "  firewall:\n    enabled: true\n    rules:\n      - name: a\n        enabled: false\n        action:\n          type: ratelimit\n          ratelimit:\n            rate: 100\n",
			[]string{"schema:8", "schema:11", "schema:15"},
		},
		{
			"letters of another case", head + "  TLS:\n    Forced: \"True\"\n  locations:\n    - path: /*\n      action: 'PROXY_HTTP'\n      cache: {level: Standard}\n",
			head + "  tls:\n    forced: \"true\"\n  locations:\n    - path: /*\n      action: 'proxy_http'\n      cache: {level: standard}\n",
			[]string{"misspelt-field:7", "misspelt-value:11", "misspelt-value:12", "misspelt-field:8", "schema:8"},
		},
		{"a number that is text for some stays", head + "  firewall:\n    rules:\n      - action:\n          ratelimit: {rate: '1e3'}\n", head + "  firewall:\n    rules:\n      - action:\n          ratelimit: {rate: '1e3'}\n", nil},
		{"what may mean something else stays", head + "  tsl: {}\n  locations:\n    - action: proxy_htp\n", head + "  tsl: {}\n  locations:\n    - action: proxy_htp\n", nil},
		{"a field that is there already stays", head + "  tls: {}\n  TLS: {}\n", head + "  tls: {}\n  TLS: {}\n", nil},
		{"of two that mean one field both stay", head + "  TLS: {}\n  Tls: {}\n", head + "  TLS: {}\n  Tls: {}\n", nil},
		{"a field that is there as null stays", head + "  tls: null\n  TLS: {}\n", head + "  tls: null\n  TLS: {}\n", nil},
		{"an envelope", "apiVersion: Delivery/V2.1\nkind: cdn\nmetadata: {name: a}\nspec: {hostname: a.example.com}\n", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\nspec: {hostname: a.example.com}\n", []string{"unknown-kind:2", "unknown-kind:1"}},
		{"a key that is empty stays", head + "  : a\n", head + "  : a\n", nil},
		{"another kind stays", "apiVersion: apps/v1\nkind: cdn\n", "apiVersion: apps/v1\nkind: cdn\n", nil},
		{"what an alias brings in stays", head + "  firewall:\n    enabled: &t true\n  tls:\n    forced: *t\n", head + "  firewall:\n    enabled: &t true\n  tls:\n    forced: *t\n", nil},
		{
			"several documents, CRLF and a byte order mark", "\uFEFF---\r\n" + strings.ReplaceAll(head, "\n", "\r\n") + "  tls:\r\n    auto: true\r\n---\r\n" + strings.ReplaceAll(strings.ReplaceAll(head, "shop", "b"), "\n", "\r\n") + "  tls: {forced: off}",
			"\uFEFF---\r\n" + strings.ReplaceAll(head, "\n", "\r\n") + "  tls:\r\n    auto: \"true\"\r\n---\r\n" + strings.ReplaceAll(strings.ReplaceAll(head, "shop", "b"), "\n", "\r\n") + "  tls: {forced: \"false\"}",
			[]string{"text-unquoted:9", "text-unquoted:17"},
		},
		{
			"JSON", `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"a"},"spec":{"hostname":"a.example.com","tls":{"FORCED":true}}}`,
			`{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"a"},"spec":{"hostname":"a.example.com","tls":{"forced":"true"}}}`,
			[]string{"misspelt-field:1", "text-unquoted:1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rules := fixed(t, c.in, t)
			if got != c.want || !slices.Equal(rules, c.rules) {
				t.Errorf("%q by %q\nwant\n%q by %q", got, rules, c.want, c.rules)
			}
			if again, rules := fixed(t, got, t); again != got || len(rules) > 0 {
				t.Errorf("again %q, %q", again, rules)
			}
		})
	}
}

// TestFixIsComplete: what is too much to be said at once is repaired too, and each
// repair is said once.
func TestFixIsComplete(t *testing.T) {
	var in, want strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&in, "    - {path: /%d, cache: {edgeTTL: 60}}\n", i)
		fmt.Fprintf(&want, "    - {path: /%d, cache: {edgeTTL: \"60\"}}\n", i)
	}
	head := "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec:\n  hostname: shop.example.com\n  locations:\n"
	got, rules := fixed(t, head+in.String(), t)
	if got != head+want.String() || len(rules) != 1200 {
		t.Errorf("%d repairs", len(rules))
	}
}

// loose is a value as far as repairs never change it: names and words in any
// case, and booleans and numbers as text or not.
func loose(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, e := range v {
			for other := range v {
				if other != name && strings.EqualFold(other, name) {
					out[name] = loose(e) // both are there, so both stay
				}
			}
			if out[name] == nil {
				out[strings.ToLower(name)] = loose(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = loose(e)
		}
		return out
	}
	text := strings.ToLower(fmt.Sprint(v))
	if word, ok := manifest.ParseBool(text); ok {
		return fmt.Sprint(word)
	}
	return text
}

// TestFixChangesWhatARuleSaysAndNothingElse: quotes leave the values alone, other
// repairs a value's spelling, and no comment is lost.
func TestFixChangesWhatARuleSaysAndNothingElse(t *testing.T) {
	cdnLines := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"  tls: {forced: yes, Enabled: \"TRUE\"} # tls", "  TLS:\n    auto: 'on'", "  secureLink: {tokenName: 0x1F, ExpireName: 13}", "  other: {forced: yes, a: &x [1]}",
		"  firewall:\n    # rules\n    enabled: Yes\n    rules:\n      - name: 1\n        action: {type: RateLimit, ratelimit: {rate: '5', period: 1_0, statusCode: 429}}",
		"  locations:\n    - path: /*\n      Action: Proxy_HTTP # what it does\n      cache: {level: STANDARD, edgeTTL: 060}\n    - headers: {on: x, 1: y}",
		"  upstreams:\n  - {name: o, servers: [{host: h, port: 443, weight: 01}]}",
	}), 0, 6, func(s string) string { return s })
	paths := rapid.SliceOfN(rapid.SampledFrom([]string{"/a", "/a/*", "/a/b", "'/a/b'", "/c", "\"/c/*\"", "/c/d/*", "/a # note", "1"}), 1, 8)
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		fmt.Fprintf(&text, "# head\napiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %s}\nspec:\n  hostname: a.example.com\n",
			rapid.SampledFrom([]string{"a", "1", "on", "é"}).Draw(rt, "name"))
		for _, lines := range cdnLines.Draw(rt, "lines") {
			text.WriteString(lines + "\n")
		}
		text.WriteString("---\n" + inputs.PurgeOf("  hostname: a.example.com\n"))
		list := paths.Draw(rt, "paths")
		if rapid.Bool().Draw(rt, "brackets") {
			text.WriteString("  paths: [" + strings.ReplaceAll(strings.Join(list, ", "), " # note", "") + "]\n")
		} else {
			text.WriteString("  paths:\n    - " + strings.Join(list, "\n    - ") + "\n")
		}
		in := []byte(text.String())
		out, repaired, err := fixFile(t.Context(), "", in, manifest.LoadSettings{})
		if err != nil {
			rt.Fatal(err)
		}
		if before, after := commentsOf(in), commentsOf(out); !slices.Equal(before, after) {
			rt.Fatalf("the comments %q became %q", before, after)
		}
		was, before, _ := manifest.Load(t.Context(), []manifest.PathSource{{Data: in}}, manifest.LoadSettings{})
		is, after, _ := manifest.Load(t.Context(), []manifest.PathSource{{Data: out}}, manifest.LoadSettings{})
		if len(repaired) == 0 != bytes.Equal(in, out) || len(was.Objects) != len(is.Objects) || len(after) > len(before) {
			rt.Fatalf("%d repairs, %d objects of %d, %v and then %v in\n%s\nof\n%s", len(repaired), len(is.Objects), len(was.Objects), before, after, out, in)
		}
		quotes := !slices.ContainsFunc(repaired, func(x diag.Finding) bool { return x.Rule != "text-unquoted" && x.Rule != "yaml-key" })
		for i, o := range was.Objects {
			now := is.Objects[i]
			if quotes && o.Digest != now.Digest {
				rt.Fatalf("quotes changed %s to %s in\n%s", o.Spec, now.Spec, in)
			}
			if a, b := loose(canon.MustDecode(o.Spec)), loose(canon.MustDecode(now.Spec)); o.Key() != now.Key() || !bytes.Equal(canon.Encode(a), canon.Encode(b)) {
				rt.Fatalf("%s became %s in\n%s", o.Spec, now.Spec, in)
			}
		}
	})
}

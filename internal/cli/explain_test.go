package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/view"
)

func TestExplainOffersTheNearestField(t *testing.T) {
	dir := projectOf(t, map[string]string{"shop.yaml": cdnNamed("shop")})
	for topic, want := range map[string]string{
		"CDN.spec.tls.froced":             "did you mean forced?",
		"cdn.spec.locations.cache.edgTTL": "did you mean edgeTTL?",
		"cdn.locatoins[/x].cache":         "did you mean locations?",
		"cdn.locations[/x].cahce":         "did you mean cache?",
		"CDN.spce.tls":                    "did you mean spec?",
		"CDN.spec.tls.forced.x":           "has no field",
		"project.ledgr.store":             "did you mean ledger?",
		"config.profiles.x.delivery.tokn": "did you mean token?",
		"prject":                          "did you mean project?",
		"cdn/shpo":                        "there is no manifest of CDN/shpo: did you mean CDN/shop?",
		"cdn/":                            "does not name an object",
		"cdn/shop.tls.froced":             "did you mean forced?",
		"cdn.tls --live":                  "--live needs an object",
		"upstream-unknown --live":         "--live needs an object",
		"plans":                           "did you mean plan?",
		"edgeTTL":                         `there is no topic "edgeTTL"`,
	} {
		if code, _, wrong := ran(t, dir, append([]string{"explain"}, strings.Fields(topic)...)...); code != diag.ExitError || !strings.Contains(wrong, want) {
			t.Errorf("%s: exit %d, want %q, got %s", topic, code, want, wrong)
		}
	}
}

func TestExplainTells(t *testing.T) {
	for topic, want := range map[string][]string{
		"cdn.tls.forced": {
			"CDN.spec.tls.forced  (text)", `values      "true", "false", and no others`, "sent        yes",
			"  spec:\n    tls:\n      forced: \"true\"\n",
		},
		"cdn.locations[/static/*].cache.edgeTTL": {
			"CDN.spec.locations[/static/*].cache.edgeTTL  (text)",
			"  spec:\n    locations:\n      - path: /static/*\n        cache:\n          edgeTTL: \"3600\"\n",
		},
		"cdn.spec.upstreams":            {"matched by name; their order does not matter", ".servers", "owned as a whole"},
		"cdn.spec.locations":            {"matched by host and path; their order matters"},
		"purge.spec.paths":              {"matched by value", "only when the object is created;"},
		"cdn.status":                    {"no: it belongs to the server"},
		"cdn.metadata.labels":           {"no: it stays in git"},
		"cdn.upstreams.scheme":          {`"https", "http", `},
		"cdn":                           {".apiVersion", "required", "hostname: shop.example.com"},
		"project.ledger.store":          {"project.ledger.store  (text)", "store: git:refs/trueup/ledger"},
		"config.profiles.prod.delivery": {"    prod:\n", ".token"},
		"config.profiles":               {".NAME"},
		"upstream-unknown":              {"(error)", "Fix: "},
		"project.manifests":             {"relative to this file.\n\nExample:\n"},
	} {
		_, out, _ := ran(t, t.TempDir(), "explain", topic)
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s: want %q in\n%s", topic, part, out)
			}
		}
	}
}

func TestExplainShowsValues(t *testing.T) {
	dir := projectOf(t, map[string]string{
		"a.yaml": "apiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: legacy-blog\nspec:\n  hostname: \"blog\\e[2J.example.com\"\n" +
			"  locations:\n    - path: /a.b/*\n      cache:\n        edgeTTL: \"5\"\n    - path: /*\n",
		"b.yaml": cdnNamed("shop.example.com"),
	})
	show := func(topic string, args ...string) string {
		_, out, wrong := ran(t, dir, append([]string{"explain", topic}, args...)...)
		return out + wrong
	}
	for topic, want := range map[string]string{
		"cdn/legacy-blog.locations[/a.b/*].cache.edgeTTL": "\nCDN/legacy-blog  (a.yaml:1)\n  spec.locations[/a.b/*].cache.edgeTTL\n    git   \"5\"  a.yaml:10\n",
		"cdn/legacy-blog.locations[0]":                    "          path: /a.b/*\n          cache:\n",
		"cdn/legacy-blog.locations[1].path":               "  spec.locations[/*].path\n    git   \"/*\"  a.yaml:11\n",
		"cdn/legacy-blog.locations.path":                  "spec.locations[/a.b/*].path\n",
		"cdn/legacy-blog.hostname":                        `"blog\x1b[2J.example.com"`,
		"cdn/shop.example.com.hostname":                   "CDN/shop.example.com  (b.yaml:1)\n  spec.hostname\n",
		"cdn/shop.example.com":                            "CDN/shop.example.com  (b.yaml:1)\n",
		"cdn/shop.example.com.tls":                        "  not mentioned\n",
	} {
		if out := show(topic); !strings.Contains(out, want) || strings.Contains(out, "\x1b") {
			t.Errorf("%s: want %q in\n%s", topic, want, out)
		}
	}
	if out := show("cdn/legacy-blog.hostname", "--live", "--sandbox"); !strings.Contains(out, ", live)\n") || !strings.Contains(out, "live  \"blog.") {
		t.Error(out)
	}
	if out := show("cdn/shop.example.com.hostname", "--live", "--sandbox"); !strings.Contains(out, ", not live)\n") {
		t.Error(out)
	}
	if code, out, wrong := ran(t, dir, "explain", "cdn/legacy-blgo.spec.tls", "--live", "--sandbox"); code != diag.ExitError || out != "" ||
		!strings.Contains(wrong, "CDN/legacy-blgo is neither in git nor live: did you mean CDN/legacy-blog?") {
		t.Errorf("exit %d\n%s%s", code, out, wrong)
	}
	if out := show("purge/x.spec.paths", "--live", "--sandbox"); !strings.Contains(out, "has no way") {
		t.Error(out)
	}
	var doc view.FieldFacts
	if err := json.Unmarshal([]byte(show("cdn/legacy-blog.hostname", "--live", "--sandbox", "-o", "json")), &doc); err != nil || doc.Object == nil || !*doc.Object.Live {
		t.Errorf("%v %+v", err, doc)
	}
	// Nothing but reads was sent.
	_, requests, _ := ran(t, dir, "sandbox", "requests")
	for line := range strings.Lines(requests) {
		if !strings.Contains(line, `"GET"`) {
			t.Errorf("sent %s", line)
		}
	}
}

func TestTopicsAreCompleted(t *testing.T) {
	dir := projectOf(t, map[string]string{"a.yaml": cdnNamed("shop"), "b.yaml": cdnNamed("www.example.com")})
	for begun, want := range map[string]string{
		"cdn.spec.tls.":             "cdn.spec.tls.enabled cdn.spec.tls.auto cdn.spec.tls.forced :6",
		"cdn.spec.upstreams.serv":   "cdn.spec.upstreams.name cdn.spec.upstreams.scheme",
		"cdn/":                      "cdn/shop cdn/www.example.com :6",
		"cdn/www.ex":                "cdn/www.example.com ",
		"cdn/www.example.com.tls.":  "cdn/www.example.com.tls.enabled cdn/www.example.com.tls.auto cdn/www.example.com.tls.forced :6",
		"cdn/shop.locations.cache.": "cdn/shop.locations.cache.",
		"cdn.tls.":                  "cdn.tls.enabled ",
		"project.led":               "project.apiVersion",
		"nothing.":                  ":4",
		"":                          "adopt base blocked causes drift ledger lists plan prune risks status tests unknown cdn purge volumesnapshot config project requesttest cors-credentials",
	} {
		words, directive := completed(t, config.Env{Cwd: dir}, "explain", begun)
		if got := strings.Join(append(words, directive), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", begun, got, want)
		}
	}
}

package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/e2e/inputs"
	"trueup/internal/rules"
)

// loadText loads one manifest as standard input.
func loadText(t testing.TB, text string, opts LoadSettings) (*Set, diag.List) {
	t.Helper()
	set, findings, err := Load(context.Background(), []PathSource{{Data: []byte(text)}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return set, findings
}

func TestLoadReducesToCanonicalBytes(t *testing.T) {
	set, findings := loadText(t, inputs.Shop, LoadSettings{})
	if len(findings) != 0 || len(set.Objects) != 1 {
		t.Fatalf("%d objects, %v", len(set.Objects), findings)
	}
	o := set.Objects[0]
	want := `{"firewall":{"enabled":false},"hostname":"shop.example.com","locations":[{"action":"proxy_http",` +
		`"cache":{"edgeTTL":"3600"},"path":"/*","upstream":"origin"}],"tls":{"enabled":"true"},` +
		`"upstreams":[{"name":"origin","scheme":"https","servers":[{"host":"origin.example.net","port":"443","weight":"1"}]}]}`
	if string(o.Spec) != want || o.Digest != canon.Digest([]byte(want)) {
		t.Errorf("spec %s", o.Spec)
	}
	if o.Name != "shop" || o.Namespace != "acme" || o.Host != "shop.example.com" || o.Path != "-" || o.Line != 2 || o.Column != 1 {
		t.Errorf("%+v", o)
	}
	if set.Find(o.Key()) != o {
		t.Error("not found by its key")
	}
}

func TestPlace(t *testing.T) {
	set, _ := loadText(t, inputs.Shop, LoadSettings{})
	o := set.Objects[0]
	for field, at := range map[string]string{
		"":                                   "2:1",
		"metadata":                           "4:1",
		"metadata.name":                      "5:9",
		"metadata.uid":                       "4:1",
		"spec":                               "7:1",
		"spec.hostname":                      "8:13",
		"spec.locations[0].cache.edgeTTL":    "16:18",
		"spec.locations[0].cache.browserTTL": "15:7",
		"spec.locations[7]":                  "11:3",
		"spec.upstreams[0].servers[0].port":  "21:44",
		`spec["hostname"]`:                   "8:13",
		"spec.none.at.all":                   "7:1",
	} {
		if line, column := o.Position(field); fmt.Sprintf("%d:%d", line, column) != at {
			t.Errorf("Place(%s) = %d:%d, want %s", field, line, column, at)
		}
	}
}

func TestFindings(t *testing.T) {
	cdnWith := func(line string) string {
		return "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec:\n  hostname: a.example.com\n" + line + "\n"
	}
	for _, c := range []struct{ name, text, want, fix string }{
		{"number in text", cdnWith("  locations: [{cache: {edgeTTL: 0600}}]"), `6:33: error: 0600 without`, `write edgeTTL: "0600"`},
		{"exponent in text", cdnWith("  secureLink: {tokenName: 1e3}"), "[text-unquoted]", `write tokenName: "1e3"`},
		{"underscore in text", cdnWith("  secureLink: {tokenName: 1_000}"), "[text-unquoted]", `write tokenName: "1_000"`},
		{"sexagesimal in text", cdnWith("  secureLink: {tokenName: 1:30}"), "[text-unquoted]", `write tokenName: "1:30"`},
		{"boolean in text", cdnWith("  tls: {enabled: true}"), "6:18: error: true without", `write enabled: "true"`},
		{"yes in text", cdnWith("  tls: {enabled: yes}"), "[text-unquoted]", `write enabled: "true"`},
		{"text list", inputs.PurgeOf("  hostname: a.example.com\n  paths:\n    - 404\n"), `7:7: error: the path "404" does not start with /`, "write /404"},
		{"text in a block list", inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  subdomains:\n    - 404\n"), "8:7: error: 404 without", `write "404"`},
		{"text in a flow list", inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  subdomains: [404]\n"), "7:16: error: 404 without", `write "404"`},
		{"yes in boolean", cdnWith("  firewall: {enabled: yes}"), "[schema]", "write enabled: true"},
		{"text in boolean", cdnWith(`  firewall: {enabled: "true"}`), "[schema]", "write enabled: true"},
		{"capital boolean in text", cdnWith("  tls: {forced: 'True'}"), "[schema]", `write forced: "true" or "false"`},
		{"text in number", cdnWith(`  firewall: {rules: [{action: {ratelimit: {rate: "10"}}}]}`), "[schema]", "write rate: 10"},
		{"loose number", cdnWith(`  firewall: {rules: [{action: {ratelimit: {rate: 1_0}}}]}`), "[schema]", "plain decimal"},
		{"mapping in text", inputs.PurgeOf("  hostname: {a: b}\n  paths: [/a]\n"), "5:3: error: hostname needs text", "write hostname"},
		{"empty value", inputs.PurgeOf("  hostname:\n  paths: [/a]\n"), "5:3: error: a field with no value", "null"},
		{"tilde", inputs.PurgeOf("  hostname: ~\n  paths: [/a]\n"), "[empty-value]", "null"},
		{"null on required", inputs.PurgeOf("  hostname: null\n  paths: [/a]\n"), "spec.hostname is missing", "write hostname"},
		{"missing", inputs.PurgeOf("  hostname: a.example.com\n"), "4:1: error: spec.paths is missing [schema]", "write paths"},
		{"no paths", inputs.PurgeOf("  hostname: a.example.com\n  paths: []\n"), "6:3: error: paths has no element", "write paths"},
		{"misspelt field", inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  subdomain: [b]\n"), "7:3: error: there is no field \"subdomain\" here: it resembles subdomains [misspelt-field]", "write subdomains; if"},
		{"misspelt name of a type", cdnWith("  firewall: {rules: [{name: r, action: {type: challenge, chalenge: {}}}]}"), "[misspelt-field]", "write challenge; if"},
		{"other case of a type", cdnWith("  firewall: {rules: [{name: r, action: {type: ratelimit, rateLimit: {}}}]}"), "it resembles ratelimit [misspelt-field]", "write ratelimit; if"},
		{"misspelt annotation", "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: p, annotations: {trueup.dev/kept: a}}\nspec: {hostname: a.example.com, paths: [/a]}\n", `3:35: error: there is no field "trueup.dev/kept"`, "write trueup.dev/keep"},
		{"field that is not known", inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  names: [b]\n  domains: [b]\n"), "8:3: warning: ", "did you mean subdomains?"},
		{"misspelt value", cdnWith("  upstreams: [{scheme: httpps}]"), "[misspelt-value]", `write scheme: "https"; if`},
		{"value that is not known", cdnWith("  upstreams: [{scheme: grpc}]"), "[unknown-value]", `check it: the platform documents "https", "http"`},
		{"duplicate key", inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  hostname: b\n"), "7:3: error: the mapping has the key \"hostname\" twice", ""},
		{"merged duplicate", inputs.PurgeOf("  <<: {paths: [/b], paths: [/c]}\n  hostname: a.example.com\n  paths: [/a]\n"), "[yaml-duplicate-key]", "keep one"},
		{"alias without anchor", inputs.PurgeOf("  hostname: a.example.com\n  paths: [*.jpg]\n"), "6:11: error", "quotes"},
		{"cyclic alias", inputs.PurgeOf("  hostname: a.example.com\n  paths: &p [*p]\n"), "[yaml-alias]", "write the value itself"},
		{"cyclic merge", inputs.PurgeOf("  &s\n  <<: *s\n  hostname: a.example.com\n"), "[yaml-alias]", "write the members themselves"},
		{"number key", inputs.PurgeOf("  443: a\n"), `5:3: error: not every YAML parser reads the key "443"`, `write "443":`},
		{"boolean key", inputs.PurgeOf("  on: a\n"), "[yaml-key]", `write "on":`},
		{"mapping key", inputs.PurgeOf("  {{ .Values.host }}: a\n"), "[yaml-key]", "render"},
		{"binary", inputs.PurgeOf("  hostname: !!binary aGk=\n  paths: [/a]\n"), "[yaml-tag]", "remove the tag"},
		{"custom tag", inputs.PurgeOf("  hostname: a.example.com\n  paths: !Ref [/a]\n"), "[yaml-tag]", "remove the tag"},
		{"invisible in name", "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: \"a\\u202eb\"}\nspec: {hostname: a.example.com, paths: [/a]}\n", "has invisible characters [name-shape]", "lower-case"},
		{"nul escape", inputs.PurgeOf("  hostname: \"a\\0\"\n  paths: [/a]\n"), "has the character '\\x00' [hostname-shape]", "write only the domain"},
		{"colon in an anchor", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\nspec:\n  hostname: &h:1 a.example.com\n", "5:13: error: parsers disagree where the name of this anchor ends", "letters"},
		{"raw control", "a: \x01\n", "1:4: error: the control character U+0001", "remove"},
		{"not UTF-8", "a: b\nc: \xff\n", "2:4: error: the byte 0xFF", "UTF-8"},
		{"UTF-16", "\xff\xfea\x00", "1:1: error: the file is UTF-16", "UTF-8"},
		{"UTF-16, big end first", "\xfe\xff\x00a", "1:1: error: the file is UTF-16", "UTF-8"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "1:1: error: the file is UTF-32", "UTF-8"},
		{"UTF-32, big end first", "\x00\x00\xfe\xff\x00\x00\x00a", "1:1: error: the file is UTF-32", "UTF-8"},
		{"tab", "a:\n\tb: c\n", "2:1: error: a tab", "spaces"},
		{"indentation", "a: b\n c: d\n", "2:3: error: a colon", "indentation"},
		{"template", "a:\n  {{- if b }}\n  c: d\n", "error: this is a template", "render"},
		{"directive", "%TAG ! x\n---\na: b\n", "1:1: error: trueup does not read YAML directives", "remove the line"},
		{"trailing", `{"a": 1} x`, "[yaml-trailing]", "---"},
		{"deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), "the document is not a mapping", "apiVersion"},
		{"deep spec", inputs.PurgeOf("  hostname: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n"), "[yaml-depth]", "flatten"},
		{"list kind", "apiVersion: v1\nkind: List\nitems: []\n", "2:7: error: a list of objects", "---"},
		{"other group", "apiVersion: snapshot.storage.k8s.io/v1beta1\nkind: VolumeSnapshot\n", "1:13: error", "write apiVersion: snapshot.storage.k8s.io/v1"},
		{"other kind", "apiVersion: v1\nkind: Pod\n", "[unknown-kind]", "write one of CDN (delivery/v2.1)"},
		{"kind misspelt", "apiVersion: delivery/v2.1\nkind: Prge\n", "[unknown-kind]", "did you mean kind: Purge"},
		{"no kind", "a: b\n", "1:1: error: the document has no kind", "write one of"},
		{"text", "just words\n", "1:1: error: the document is not a mapping", "write apiVersion"},
		{"labels", "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: p, labels: {a: b}}\nspec: {hostname: a.example.com, paths: [/a]}\n", "[metadata-not-sent]", "nothing to fix; to silence this warning,"},
		{"duplicate object", inputs.Shop + "---\n" + inputs.Shop, "29:9: error: CDN/shop is also at -:2 [duplicate-object]", "remove one"},
		{"after a broken document", "a: [\n---\n" + cdnWith("  tls: {enabled: true}"), "8:18: error", `write enabled: "true"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, findings := loadText(t, c.text, LoadSettings{Workspace: "acme"})
			for _, f := range findings {
				if strings.Contains(f.String(), c.want) && strings.Contains(f.Fix, c.fix) {
					return
				}
			}
			t.Errorf("want %q with fix %q, got %+v", c.want, c.fix, findings)
		})
	}
}

func TestLoadAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"CRLF":                               strings.ReplaceAll(inputs.Shop, "\n", "\r\n"),
		"BOM":                                "\xEF\xBB\xBF" + inputs.Shop,
		"comments only":                      "# nothing\n---\n" + inputs.Shop + "---\n# nothing\n",
		"end marker":                         inputs.Shop + "...\n",
		"JSON":                               `{"apiVersion":"delivery/v2.1","kind":"Purge","metadata":{"name":"p"},"spec":{"hostname":"a.example.com","paths":["/a"]}}`,
		"tagged text":                        inputs.PurgeOf("  hostname: !!str 443\n  paths: [/a]\n"),
		"merge":                              inputs.PurgeOf("  <<: [{hostname: b.example.com, paths: [/b]}]\n  hostname: a.example.com\n"),
		"alias":                              inputs.PurgeOf("  hostname: &h a.example.com\n  paths: [/a]\n  subdomains: []\n"),
		"optional null":                      inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  subdomains: null\n"),
		"number in any":                      inputs.Shop + "  extra: {level: 10.0}\n",
		"text that is a date and an address": inputs.PurgeOf("  hostname: 10.0.0.1\n  paths: [2026-11-21]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			set, findings := loadText(t, text, LoadSettings{Workspace: "acme"})
			for _, f := range findings {
				if f.Severity == diag.Error && (strings.HasPrefix(f.Rule, "yaml-") || f.Rule == ruleUnquoted || f.Rule == ruleSchema || f.Rule == ruleEmpty) {
					t.Error(f)
				}
			}
			if len(set.Objects) != 1 {
				t.Errorf("%d objects", len(set.Objects))
			}
		})
	}
}

func TestEveryRuleOfTheLoaderIsInTheTable(t *testing.T) {
	table := map[string]bool{}
	for _, rule := range rules.All() {
		table[rule.Name] = true
	}
	for _, name := range []string{
		RuleSyntax, ruleDuplicateKey, ruleKey, ruleTag, RuleAlias, RuleSize, ruleDepth, RuleEncoding, "yaml-trailing",
		ruleUnquoted, ruleEmpty, ruleUnknownKind, ruleDuplicate, ruleNotRegular, ruleFileCase, ruleSchema, ruleMisspeltField,
		ruleMisspeltValue, RuleUnknownField, RuleUnknownValue, ruleNotSent,
	} {
		if !table[name] {
			t.Errorf("no rule %s", name)
		}
	}
}

func TestProjectFileIsSkipped(t *testing.T) {
	set, findings := loadText(t, "apiVersion: trueup/v1\nkind: Project\n", LoadSettings{})
	if len(set.Objects)+len(findings) != 0 {
		t.Error(set.Objects, findings)
	}
}

func TestAliasBombIsRefusedAndABigPurgeIsNot(t *testing.T) {
	bomb := "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: p}\nspec:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("  a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	_, findings := loadText(t, bomb, LoadSettings{})
	if n := findings.Count(diag.Error); n == 0 || n > 3 {
		t.Errorf("%d findings: %v", n, findings)
	}
	var big strings.Builder
	big.WriteString(inputs.PurgeOf("  hostname: a.example.com\n  paths:\n"))
	for i := range 20_000 {
		fmt.Fprintf(&big, "    - /images/products/%05d/large/photograph.jpg\n", i)
	}
	set, findings := loadText(t, big.String(), LoadSettings{Workspace: "acme"})
	if len(set.Objects) != 1 || findings.HasErrors() {
		t.Errorf("%d objects, %v", len(set.Objects), findings)
	}
}

func TestManyFindingsAreCounted(t *testing.T) {
	unknown := ""
	for i := range 3 * maxFindings {
		unknown += fmt.Sprintf("  odd%d: x\n", i)
	}
	spec := "  hostname: a.example.com\n  paths: [/a]\n"
	_, findings := loadText(t, inputs.PurgeOf(spec+unknown), LoadSettings{Workspace: "acme"})
	if len(findings) != maxFindings+1 || findings.HasErrors() {
		t.Errorf("%d findings, errors: %v", len(findings), findings.HasErrors())
	}
	_, findings = loadText(t, inputs.PurgeOf(spec+unknown+"  subdomains: [1]\n"), LoadSettings{Workspace: "acme"})
	if !findings.HasErrors() {
		t.Error("the error behind many warnings is lost")
	}
	_, findings = loadText(t, inputs.PurgeOf(spec+unknown+"  a: "+strings.Repeat("[", 200)+strings.Repeat("]", 200)+"\n"), LoadSettings{Workspace: "acme"})
	if !findings.HasErrors() {
		t.Error("the error that ends a document is lost behind many warnings")
	}
	_, findings = loadText(t, inputs.PurgeOf(spec+unknown)+"---\n"+inputs.PurgeOf("  paths: 1\n"), LoadSettings{Workspace: "acme"})
	if len(findings) < maxFindings+2 || !findings.HasErrors() {
		t.Error("the errors of a later document are lost behind many warnings")
	}
}

// TestSilencedFindingsTakeNoRoom: however many there are, the others are shown, and there may be no others. The
// places of some findings are known at once, those of others later.
func TestSilencedFindingsTakeNoRoom(t *testing.T) {
	const start = "apiVersion: delivery/v2.1\nkind: %s\nmetadata: {name: rel-42}\nspec:\n  hostname: a.example.com\n"
	unknown := fmt.Sprintf(start, "CDN") + "  tls: # trueup:ignore unknown-field as is\n"
	odd := fmt.Sprintf(start, "Purge") + "  paths: # trueup:ignore purge-path-odd as is\n"
	for i := range 4 * maxFindings {
		unknown += fmt.Sprintf("    odd%d: x\n", i)
		odd += fmt.Sprintf("    - /a//%d\n", i)
	}
	for _, text := range []string{unknown, odd} {
		for behind, want := range map[string]string{"": "", "  other: x\n": "other", "---\na: 1\n": "unknown-kind"} {
			set, findings := loadText(t, text+behind, LoadSettings{Workspace: "acme"})
			got := fmt.Sprint(findings)
			if len(findings) != min(len(want), 1) || !strings.Contains(got, want) || len(set.Silenced) != 4*maxFindings {
				t.Errorf("%.60q%q: %d silenced, shown %.500s", text, behind, len(set.Silenced), got)
			}
		}
	}
}

// TestManyFindingsOfAFileAreCounted over its documents, and over all files.
func TestManyFindingsOfAFileAreCounted(t *testing.T) {
	many := strings.Repeat("a: 1\n---\n", 2*MaxOfFile)
	_, findings := loadText(t, many, LoadSettings{})
	last := findings[len(findings)-1]
	if len(findings) != MaxOfFile+1 || last.Severity != diag.Error || last.Message != "the file has more than 1000 findings; the rest is not shown" {
		t.Errorf("%d findings, the last is %+v", len(findings), last)
	}
	// Behind warnings alone everything is read.
	var warned strings.Builder
	for i := range 20 {
		fmt.Fprintf(&warned, "---\n%s", strings.Replace(inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n"), "name: p", fmt.Sprint("name: p", i), 1))
		for j := range 90 {
			fmt.Fprintf(&warned, "  odd%d: x\n", j)
		}
	}
	set, findings := loadText(t, warned.String(), LoadSettings{Workspace: "acme"})
	if len(set.Objects) != 20 || findings.HasErrors() || len(findings) != MaxOfFile+1 {
		t.Errorf("%d objects, %d findings", len(set.Objects), len(findings))
	}
	if testing.Short() {
		t.Skip("-short: a hundred thousand findings are slow with the race detector")
	}
	files := fstest.MapFS{}
	for i := range maxOfAll/MaxOfFile + 1 {
		files[fmt.Sprintf("f%03d.yaml", i)] = &fstest.MapFile{Data: []byte(many[:len(many)/2])}
	}
	_, all, err := Load(t.Context(), []PathSource{{FS: files, Path: "."}}, LoadSettings{})
	if err != nil || len(all) != 1 || !strings.Contains(all[0].Message, "more than 100000 findings") {
		t.Errorf("%d findings, %v", len(all), err)
	}
}

func TestManyBrokenDocumentsEnd(t *testing.T) {
	_, findings := loadText(t, strings.Repeat("a: [\n---\n", 50_000), LoadSettings{})
	if len(findings) != 20 {
		t.Errorf("%d findings", len(findings))
	}
}

func TestTooLargeAFileIsRefused(t *testing.T) {
	_, findings := loadText(t, strings.Repeat("# filling\n", 1000), LoadSettings{Limits: Limits{File: 9999}})
	if len(findings) != 1 || findings[0].Rule != RuleSize {
		t.Error(findings)
	}
}

func TestStrictMakesWarningsErrors(t *testing.T) {
	text := inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n  other: x\n")
	_, findings := loadText(t, text, LoadSettings{})
	_, strict := loadText(t, text, LoadSettings{Strict: true})
	if findings.Count(diag.Warning) == 0 || strict.Count(diag.Warning) != 0 || len(strict) != len(findings) {
		t.Error(findings, strict)
	}
}

func TestNamespaceIsTheProjectsWhereAbsent(t *testing.T) {
	set, _ := loadText(t, inputs.PurgeOf("  hostname: a.example.com\n  paths: [/a]\n"), LoadSettings{Workspace: "acme"})
	if set.Objects[0].Namespace != "acme" {
		t.Error(set.Objects[0].Namespace)
	}
}

// writeShop writes a manifest with a name of its own.
func writeShop(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	text := strings.ReplaceAll(inputs.Shop, "name: shop", "name: n-"+strings.NewReplacer("/", "-", ".", "-").Replace(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUnreadableIsAnErrorAndNotAnEmptySet(t *testing.T) {
	for name, source := range map[string]PathSource{
		"absent": {FS: fstest.MapFS{}, Path: "none"},
		"folder": {FS: os.DirFS(t.TempDir()), Path: "gone"},
		"opened": {FS: fstest.MapFS{"a.yaml": {Mode: 0o4}}, Path: "../a.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if set, _, err := Load(t.Context(), []PathSource{source}, LoadSettings{}); err == nil || set != nil {
				t.Errorf("set %v, error %v", set, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Load(ctx, []PathSource{{Data: []byte(inputs.Shop)}}, LoadSettings{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancellation", err)
	}
}

func TestResultsAreInFileOrderAtAnyParallelism(t *testing.T) {
	files := manyFiles(60)
	var first []string
	for _, parallelism := range []int{1, 2, 7} {
		set, findings, err := Load(t.Context(), []PathSource{{FS: files, Path: "."}}, LoadSettings{Parallelism: parallelism})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range set.Objects {
			got = append(got, o.Path, o.Digest.String())
		}
		for _, f := range findings {
			got = append(got, f.String())
		}
		if first == nil {
			first = got
		}
		if !reflect.DeepEqual(got, first) {
			t.Errorf("parallelism %d gives another order", parallelism)
		}
	}
}

func manyFiles(n int) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range n {
		text := strings.ReplaceAll(inputs.Shop, "shop", fmt.Sprintf("shop%d", i)) + "  odd: x\n"
		files[fmt.Sprintf("%04d.yaml", i)] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return files
}

func TestSourceLineOfAFinding(t *testing.T) {
	_, findings := loadText(t, strings.ReplaceAll(inputs.PurgeOf("  hostname: true\n  paths: [/a]\n"), "\n", "\r\n"), LoadSettings{Workspace: "acme"})
	for _, f := range findings {
		if f.Rule == ruleUnquoted && f.Source != "  hostname: true" {
			t.Errorf("%+v", f)
		}
	}
	if !findings.HasErrors() {
		t.Error(findings)
	}
}

func BenchmarkLoad(b *testing.B) {
	text := benchmarkManifest()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	w := &worker{loader: &loader{options: LoadSettings{Limits: Limits{}.orDefault()}}}
	for b.Loop() {
		if w.readFile(FileText{Path: "-", Data: text}); len(w.objects) != 1 {
			b.Fatal(w.findings)
		}
	}
}

// benchmarkManifest is a CDN of about 190 lines.
func benchmarkManifest() []byte {
	var b strings.Builder
	b.WriteString("apiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: shop\n  namespace: acme\nspec:\n  hostname: shop.example.com\n")
	b.WriteString("  firewall:\n    enabled: true\n    rules:\n")
	for i := range 2 {
		fmt.Fprintf(&b, "      - name: rule-%d\n        enabled: true\n        constraints:\n          - - type: known_bots\n              known_bots:\n"+
			"                expected: \"true\"\n                operator: equals\n        action:\n          type: ratelimit\n          ratelimit:\n"+
			"            algorithm: sliding_window\n            rate: 100\n            period: 60\n            penalty_period: 600\n"+
			"            identifier:\n              type: ip\n            statusCode: \"429\"\n            validationStatusCode: \"200\"\n", i)
	}
	b.WriteString("  locations:\n")
	for i := range 6 {
		fmt.Fprintf(&b, "    - path: /part-%d/*\n      host: shop.example.com\n      action: proxy_http\n      upstream: origin-%d\n      cache:\n"+
			"        level: standard\n        edgeTTL: \"3600\"\n        browserTTL: \"60\"\n        ttlTimeUnit: second\n      cors:\n        enabled: \"true\"\n"+
			"        allowOrigins: \"*\"\n        allowMethods: GET\n        allowHeaders: \"*\"\n      imgsvc:\n        enabled: \"false\"\n"+
			"      headers: {}\n      rewrite: {}\n", i, i%3)
	}
	b.WriteString("  upstreams:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "    - name: origin-%d\n      scheme: https\n      preferredHealthCheckVersion: \"2\"\n      smartRouting: \"false\"\n"+
			"      hc2:\n        protocol: tcp\n      servers:\n        - host: a%d.example.net\n          port: \"443\"\n          weight: \"1\"\n", i, i)
	}
	b.WriteString("  tls:\n    enabled: \"true\"\n    auto: \"true\"\n    forced: \"true\"\n")
	return []byte(b.String())
}

// TestAPanicReachesTheCaller: a goroutine must not end the process.
func TestAPanicReachesTheCaller(t *testing.T) {
	defer func() {
		if value := recover(); value != "odd" {
			t.Errorf("got %v", value)
		}
	}()
	EachFile(t.Context(), LoadSettings{}, 3, func(*struct{}, int) bool { panic("odd") })
}

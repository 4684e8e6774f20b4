package kind_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"sigs.k8s.io/yaml"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/schemas"
)

// textBool is "string (true/false)" of docs/platform.md 2.2.
const textBool = "string (true/false)"

// documented is docs/platform.md 2, row by row; [] is the element of a list.
var documented = map[string]map[string]string{
	"VolumeSnapshot": {
		"apiVersion":                            "string",
		"kind":                                  "string",
		"metadata.name":                         "string",
		"metadata.namespace":                    "string",
		"spec.source.persistentVolumeClaimName": "string",
		"spec.volumeSnapshotClassName":          "string",
	},
	"CDN": {
		"apiVersion":                                 "string",
		"kind":                                       "string",
		"metadata.name":                              "string",
		"metadata.namespace":                         "string",
		"spec.hostname":                              "string",
		"spec.firewall.enabled":                      "boolean",
		"spec.firewall.rules":                        "array",
		"spec.locations":                             "array",
		"spec.upstreams":                             "array",
		"spec.secureLink.tokenName":                  "string",
		"spec.secureLink.expireName":                 "string",
		"spec.tls.enabled":                           textBool,
		"spec.tls.auto":                              textBool,
		"spec.tls.forced":                            textBool,
		"spec.firewall.rules[].name":                 "string",
		"spec.firewall.rules[].enabled":              "boolean",
		"spec.firewall.rules[].constraints":          "array",
		"spec.firewall.rules[].constraints[]":        "array",
		"spec.firewall.rules[].action.type":          "string",
		"spec.firewall.rules[].constraints[][].type": "string",
		"spec.firewall.rules[].constraints[][].known_bots.expected":   "string",
		"spec.firewall.rules[].constraints[][].known_bots.operator":   "string",
		"spec.firewall.rules[].action.ratelimit.algorithm":            "string",
		"spec.firewall.rules[].action.ratelimit.rate":                 "number",
		"spec.firewall.rules[].action.ratelimit.period":               "number",
		"spec.firewall.rules[].action.ratelimit.penalty_period":       "number",
		"spec.firewall.rules[].action.ratelimit.identifier.type":      "string",
		"spec.firewall.rules[].action.ratelimit.statusCode":           "string",
		"spec.firewall.rules[].action.ratelimit.validationStatusCode": "string",
		"spec.locations[].path":                                       "string",
		"spec.locations[].host":                                       "string",
		"spec.locations[].action":                                     "string",
		"spec.locations[].upstream":                                   "string",
		"spec.locations[].cache.level":                                "string",
		"spec.locations[].cache.edgeTTL":                              "string",
		"spec.locations[].cache.browserTTL":                           "string",
		"spec.locations[].cache.ttlTimeUnit":                          "string",
		"spec.locations[].cache.detectCountry":                        textBool,
		"spec.locations[].cache.detectDevice":                         textBool,
		"spec.locations[].cors.enabled":                               textBool,
		"spec.locations[].cors.allowOrigins":                          "string",
		"spec.locations[].cors.allowMethods":                          "string",
		"spec.locations[].cors.allowHeaders":                          "string",
		"spec.locations[].cors.allowCredentials":                      textBool,
		"spec.locations[].cors.exposeHeaders":                         "string",
		"spec.locations[].imgsvc.enabled":                             textBool,
		"spec.locations[].imgsvc.forcedFilter.enabled":                "boolean",
		"spec.locations[].headers":                                    "object",
		"spec.locations[].rewrite":                                    "object",
		"spec.upstreams[].name":                                       "string",
		"spec.upstreams[].scheme":                                     "string",
		"spec.upstreams[].preferredHealthCheckVersion":                "string",
		"spec.upstreams[].smartRouting":                               textBool,
		"spec.upstreams[].hc2.protocol":                               "string",
		"spec.upstreams[].servers":                                    "array",
		"spec.upstreams[].servers[].host":                             "string",
		"spec.upstreams[].servers[].port":                             "string",
		"spec.upstreams[].servers[].weight":                           "string",
	},
	"Purge": {
		"apiVersion":         "string",
		"kind":               "string",
		"metadata.name":      "string",
		"metadata.namespace": "string",
		"spec.hostname":      "string",
		"spec.subdomains":    "array",
		"spec.subdomains[]":  "string",
		"spec.paths":         "array",
		"spec.paths[]":       "string",
	},
}

// ours are the fields that we know and the document does not type.
var ours = []string{"metadata.labels", "metadata.annotations", "status"}

// flatten lists the fields of a tree but for the objects that only hold others.
func flatten(f *kind.Field, path string, into map[string]*kind.Field) {
	if path != "" && (f.Type != kind.ObjectType || f.Open) {
		into[path] = f
	}
	if f.Item != nil {
		flatten(f.Item, path+"[]", into)
	}
	for name, child := range f.Fields {
		flatten(child, strings.TrimPrefix(path+"."+name, "."), into)
	}
}

// typeName says a field's type in the document's words.
func typeName(f *kind.Field) string {
	if f.Type == kind.Text && slices.Equal(f.Enum, []string{"true", "false"}) {
		return textBool
	}
	return map[kind.FieldType]string{
		kind.Text: "string", kind.Bool: "boolean", kind.Number: "number",
		kind.ObjectType: "object", kind.ListType: "array", kind.AnyType: "any",
	}[f.Type]
}

func TestSchemasHoldTheDocumentedFieldsAndNoOthers(t *testing.T) {
	for _, k := range kind.AllKinds() {
		have := map[string]*kind.Field{}
		flatten(k.Root(), "", have)
		want := documented[k.Name]
		for path, typ := range want {
			f := have[path]
			if f == nil {
				t.Errorf("%s: %s is documented and not in the schema", k.Name, path)
				continue
			}
			if got := typeName(f); got != typ {
				t.Errorf("%s: %s is %s, documented %s", k.Name, path, got, typ)
			}
		}
		for path := range have {
			known := want[path] != "" || slices.Contains(ours, path)
			if !known && !strings.HasSuffix(path, "[]") {
				t.Errorf("%s: %s is in the schema and not documented", k.Name, path)
			}
		}
	}
}

func TestEveryFieldIsExplained(t *testing.T) {
	for _, k := range kind.AllKinds() {
		have := map[string]*kind.Field{}
		flatten(k.Root(), "", have)
		for path, f := range have {
			if f.Title == "" || f.Description == "" {
				t.Errorf("%s: %s has no title or description", k.Name, path)
			}
			if len(f.Examples) == 0 && !strings.HasSuffix(path, "[]") {
				t.Errorf("%s: %s has no example", k.Name, path)
			}
			if f.Section == "" && !f.NotSent {
				t.Errorf("%s: %s does not say where it is documented", k.Name, path)
			}
		}
	}
}

// TestListRules is the table of docs/design.md B3.
func TestListRules(t *testing.T) {
	for _, tt := range []struct {
		kind, path string
		key        []string
		ordered    bool
		join       string
	}{
		{"CDN", "spec.firewall.rules", []string{"name"}, true, ""},
		{"CDN", "spec.firewall.rules.constraints", nil, true, ""},
		{"CDN", "spec.firewall.rules.constraints[]", nil, true, ""},
		{"CDN", "spec.locations", []string{"host", "path"}, true, ""},
		{"CDN", "spec.upstreams", []string{"name"}, false, ""},
		{"CDN", "spec.upstreams.servers", []string{"host", "port"}, false, ":"},
		{"Purge", "spec.subdomains", nil, false, ""},
		{"Purge", "spec.paths", nil, false, ""},
	} {
		f := at(t, tt.kind, tt.path)
		if f.List == nil {
			t.Errorf("%s %s has no list rule", tt.kind, tt.path)
			continue
		}
		if !slices.Equal(f.List.Key, tt.key) || f.List.Ordered != tt.ordered || f.List.Join != tt.join {
			t.Errorf("%s %s: %+v, want key %v, ordered %v, join %q", tt.kind, tt.path, *f.List, tt.key, tt.ordered, tt.join)
		}
	}
	for _, k := range kind.AllKinds() {
		have := map[string]*kind.Field{}
		flatten(k.Root(), "", have)
		for path, f := range have {
			if (f.Type == kind.ListType) != (f.List != nil) {
				t.Errorf("%s: %s: a list has a rule, and nothing else has", k.Name, path)
			}
		}
	}
}

func at(t *testing.T, kindName, path string) *kind.Field {
	t.Helper()
	k, ok := kind.FindKind(kindName)
	if !ok {
		t.Fatalf("no kind %s", kindName)
	}
	f, ok := k.Root().FieldAt(strings.Split(path, "."))
	if !ok {
		t.Fatalf("%s has no field %s", kindName, path)
	}
	return f
}

func TestKeywords(t *testing.T) {
	if !slices.Equal(at(t, "CDN", "spec.upstreams.scheme").Seen, []string{"https", "http"}) {
		t.Error("the values seen of scheme are not read")
	}
	if !slices.Equal(at(t, "VolumeSnapshot", "spec.volumeSnapshotClassName").Enum, []string{"general-purpose"}) {
		t.Error("the one snapshot class is not read")
	}
	for _, path := range []string{"spec.firewall.rules.action", "spec.firewall.rules.constraints[][]"} {
		if at(t, "CDN", path).Discriminator != "type" {
			t.Errorf("%s has no discriminator", path)
		}
	}
	if got := at(t, "CDN", "spec.upstreams.servers[]").Summary; got != "server" {
		t.Errorf("the summary of a server is %q", got)
	}
	for _, path := range []string{"spec.locations.headers", "spec.locations.rewrite"} {
		if !at(t, "CDN", path).Open {
			t.Errorf("%s is not open", path)
		}
	}
	if f := at(t, "VolumeSnapshot", "spec.source.persistentVolumeClaimName"); !f.Immutable || !f.Required {
		t.Error("a field below an immutable spec is not immutable, or not required")
	}
	if !at(t, "Purge", "spec.paths[]").Immutable || at(t, "CDN", "spec.hostname").Immutable {
		t.Error("immutable holds for a purge and not for a CDN")
	}
	if !at(t, "Purge", "metadata.namespace").NotSent || at(t, "CDN", "metadata.namespace").NotSent {
		t.Error("the namespace is sent with a CDN and not with a purge")
	}
	for _, k := range kind.AllKinds() {
		if !k.Root().Fields["status"].ReadOnly {
			t.Errorf("%s: status is not read-only", k.Name)
		}
		if k.NamespaceOnWire == at(t, k.Name, "metadata.namespace").NotSent {
			t.Errorf("%s: table and schema differ on metadata.namespace", k.Name)
		}
	}
	if f := at(t, "CDN", "spec.tls.forced"); f.Title != "TLS only" || f.Section != "docs/platform.md 2.2" {
		t.Errorf("a $ref with siblings became %q, %q", f.Title, f.Section)
	}
}

func TestAt(t *testing.T) {
	cdn, _ := kind.FindKind("CDN")
	for path, want := range map[string]string{
		"spec.locations.cache.edgeTTL":                      "Edge TTL",
		"spec.locations[].cache.edgeTTL":                    "Edge TTL",
		"spec.locations[3].cache.edgeTTL":                   "Edge TTL",
		"spec.locations.3.cache.edgeTTL":                    "Edge TTL",
		"spec.locations.[].cache.edgeTTL":                   "Edge TTL",
		"spec.locations[/static/*].cache.edgeTTL":           "Edge TTL",
		"spec.locations":                                    "Locations",
		"spec.locations[0]":                                 "Location",
		"spec.firewall.rules.constraints.type":              "Constraint type",
		"spec.firewall.rules[0].constraints[1][2].type":     "Constraint type",
		"spec.firewall.rules.0.constraints.1.2.type":        "Constraint type",
		"spec.firewall.rules[0].constraints[1]":             "Constraint group",
		"spec.firewall.rules.constraints.known_bots":        "Known bots",
		"spec.upstreams[origin].servers[a:443].weight":      "Server weight",
		"spec.locations.cache.edgettl":                      "",
		"spec.locations.passive":                            "",
		"spec.hostname[0]":                                  "",
		"spec.hostname[0][1].x":                             "",
		"spec.hostname.0":                                   "",
		"spec.nothing.at.all":                               "",
		"spec.firewall.rules.constraints.header.expected":   "",
		"spec.firewall.rules.constraints[0][0][0].expected": "",
	} {
		f, ok := cdn.Root().FieldAt(strings.Split(path, "."))
		switch {
		case ok != (want != ""):
			t.Errorf("At(%s) = %v", path, ok)
		case ok && f.Title != want:
			t.Errorf("At(%s) is %q, want %q", path, f.Title, want)
		}
	}
	if f, ok := cdn.Root().FieldAt(nil); !ok || f.Title != "CDN" {
		t.Error("the empty path is not the root")
	}
	if f, ok := cdn.Spec().FieldAt([]string{"tls", "auto"}); !ok || f.Name != "auto" {
		t.Error("Spec is not the root's spec")
	}
}

func TestKnows(t *testing.T) {
	constraint := at(t, "CDN", "spec.firewall.rules.constraints[][]")
	headers := at(t, "CDN", "spec.locations.headers")
	server := at(t, "CDN", "spec.upstreams.servers[]")
	for _, tt := range []struct {
		field  *kind.Field
		name   string
		object map[string]any
		want   bool
	}{
		{constraint, "type", nil, true},
		{constraint, "known_bots", map[string]any{"type": "header"}, true},
		{constraint, "header", map[string]any{"type": "header"}, true},
		{constraint, "headers", map[string]any{"type": "header"}, false},
		{constraint, "header", map[string]any{"type": 3}, false},
		{constraint, "header", nil, false},
		{headers, "X-Anything", nil, true},
		{server, "port", nil, true},
		{server, "passive", map[string]any{"host": "passive"}, false},
	} {
		if got := tt.field.KnowsMember(tt.name, tt.object); got != tt.want {
			t.Errorf("%s knows %s in %v: %v", tt.field.Title, tt.name, tt.object, got)
		}
	}
}

// compiler reaches nothing but the embedded files.
func compiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return schemas.FS.Open(strings.TrimPrefix(url, "embedded:///"))
	}
	return c
}

func compile(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	s, err := compiler().Compile("embedded:///" + file)
	if err != nil {
		t.Fatalf("%s: %#v", file, err)
	}
	return s
}

// TestExamplesOfEveryFieldHold compiles each node that has examples and
// validates them.
func TestExamplesOfEveryFieldHold(t *testing.T) {
	for _, file := range []string{"cdn", "purge", "volumesnapshot", "project", "config"} {
		file += ".schema.json"
		b, err := schemas.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := compiler()
		eachExamples(decode(t, b), "", func(pointer string, examples []any) {
			s, err := c.Compile("embedded:///" + file + "#" + pointer)
			if err != nil {
				t.Fatalf("%s%s: %v", file, pointer, err)
			}
			for _, example := range examples {
				if err := s.Validate(example); err != nil {
					t.Errorf("%s%s: example %s: %v", file, pointer, canon.Encode(example), err)
				}
			}
		})
	}
}

func eachExamples(v any, pointer string, visit func(string, []any)) {
	node, ok := v.(map[string]any)
	if !ok {
		return
	}
	if examples, ok := node["examples"].([]any); ok {
		visit(pointer, examples)
	}
	for name, child := range node {
		if name != "examples" {
			eachExamples(child, pointer+"/"+name, visit)
		}
	}
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	v, err := canon.Decode(b)
	if err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// TestHardWhereTheDocumentIs changes one field of a valid object.
func TestHardWhereTheDocumentIs(t *testing.T) {
	valid := map[string]string{
		"CDN": `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"shop"},"spec":{"hostname":"shop.example.com"}}`,
		"Purge": `{"apiVersion":"delivery/v2.1","kind":"Purge","metadata":{"name":"rel-42"},
			"spec":{"hostname":"shop.example.com","paths":["/a"]}}`,
		"VolumeSnapshot": `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"name":"db"},
			"spec":{"source":{"persistentVolumeClaimName":"data"},"volumeSnapshotClassName":"general-purpose"}}`,
	}
	for _, tt := range []struct {
		kind, patch string
		want        bool
	}{
		{"CDN", `{}`, true},
		{"CDN", `{"apiVersion":"delivery/v2.2"}`, false},
		{"CDN", `{"kind":"cdn"}`, false},
		{"CDN", `{"metadata":{"name":null}}`, false},
		{"CDN", `{"metadata":{"name":""}}`, false},
		{"CDN", `{"metadata":{"namespace":"acme","labels":{"a":"b"},"annotations":{}}}`, true},
		{"CDN", `{"spec":null}`, false},
		{"CDN", `{"spec":{"hostname":null}}`, false},
		{"CDN", `{"spec":{"tls":{"forced":"true"}}}`, true},
		{"CDN", `{"spec":{"tls":{"forced":true}}}`, false},
		{"CDN", `{"spec":{"tls":{"forced":"yes"}}}`, false},
		{"CDN", `{"spec":{"firewall":{"enabled":true}}}`, true},
		{"CDN", `{"spec":{"firewall":{"enabled":"true"}}}`, false},
		{"CDN", `{"spec":{"firewall":{"rules":[{"enabled":true}]}}}`, true},
		{"CDN", `{"spec":{"firewall":{"rules":[{"name":"a","action":{"type":"ratelimit","ratelimit":{"rate":"1"}}}]}}}`, false},
		{"CDN", `{"spec":{"firewall":{"rules":[{"name":"a","action":{"type":"captcha","captcha":{"x":1}}}]}}}`, true},
		{"CDN", `{"spec":{"firewall":{"rules":[{"name":"a","constraints":[[{"type":"asn","asn":{"expected":[1,2],"negate":true}}]]}]}}}`, true},
		{"CDN", `{"spec":{"firewall":{"rules":[{"name":"a","constraints":[{"type":"asn"}]}]}}}`, false},
		{"CDN", `{"spec":{"locations":[{"path":"/*","imgsvc":{"enabled":"false","forcedFilter":{"enabled":false}}}]}}`, true},
		{"CDN", `{"spec":{"locations":[{"path":"/*","imgsvc":{"enabled":false}}]}}`, false},
		{"CDN", `{"spec":{"locations":[{"path":"/*","imgsvc":{"forcedFilter":{"enabled":"false"}}}]}}`, false},
		{"CDN", `{"spec":{"locations":[{"path":"/*","cache":{"edgeTTL":3600}}]}}`, false},
		{"CDN", `{"spec":{"locations":[{"path":"/*","cache":{"level":"bypass"}}]}}`, true},
		{"CDN", `{"spec":{"locations":[{"host":"a"}]}}`, false},
		{"CDN", `{"spec":{"upstreams":[{"name":"a","hostHeader":"b","hc2":{"http":{"uri":"/"}},"servers":[{"host":"h"}]}]}}`, true},
		{"CDN", `{"spec":{"upstreams":[{"name":"a","servers":[{"port":"443"}]}]}}`, false},
		{"CDN", `{"spec":{"upstreams":[{"name":"a","servers":[{"host":"h","port":443}]}]}}`, false},
		{"CDN", `{"spec":{"upstreams":[{"scheme":"https"}]}}`, false},
		{"Purge", `{"apiVersion":"delivery.acme.cloud/v1beta1","metadata":{"namespace":"acme"}}`, true},
		{"Purge", `{"apiVersion":"delivery.acme.cloud/v1"}`, false},
		{"Purge", `{"apiVersion":"delivery.ac.me.cloud/v1beta1"}`, false},
		{"Purge", `{"spec":{"paths":[]}}`, false},
		{"Purge", `{"spec":{"paths":null}}`, false},
		{"Purge", `{"spec":{"paths":"/a"}}`, false},
		{"Purge", `{"spec":{"hostname":null}}`, false},
		{"Purge", `{"spec":{"subdomains":[]}}`, true},
		{"VolumeSnapshot", `{"metadata":{"namespace":"acme"}}`, true},
		{"VolumeSnapshot", `{"apiVersion":"snapshot.storage.k8s.io/v1beta1"}`, false},
		{"VolumeSnapshot", `{"spec":{"volumeSnapshotClassName":"fast"}}`, false},
		{"VolumeSnapshot", `{"spec":{"volumeSnapshotClassName":null}}`, false},
		{"VolumeSnapshot", `{"spec":{"source":{"persistentVolumeClaimName":null,"volumeSnapshotContentName":"c"}}}`, false},
	} {
		k, _ := kind.FindKind(tt.kind)
		doc, err := jsonpatch.MergePatch([]byte(valid[tt.kind]), []byte(tt.patch))
		if err != nil {
			t.Fatal(err)
		}
		if err := compile(t, strings.ToLower(k.Name)+".schema.json").Validate(decode(t, doc)); (err == nil) != tt.want {
			t.Errorf("%s %s: %v", tt.kind, tt.patch, err)
		}
	}
}

// TestProjectFile runs the example of product.md and what it must refuse.
func TestProjectFile(t *testing.T) {
	s := compile(t, "project.schema.json")
	const head = "apiVersion: trueup/v1\nkind: Project\n"
	for text, want := range map[string]bool{
		head: true,
		head + `
workspace: {name: acme, uuid: 5a1d}
manifests: [manifests]
ledger: {store: "git:refs/trueup/ledger", id: 7c0e}
purge: {window: 20h, duplicate: {status: [409, 422], bodyRegex: already exists}}
overrides:
  - {kind: CDN, path: spec.locations, order: set}
  - {kind: CDN, path: spec.upstreams, key: [name]}
  - {kind: CDN, path: spec.tls, ignore: true}
  - {kind: CDN, path: spec.upstreams.smartRouting, type: boolean, readonly: true}
  - {kind: CDN, path: spec, undocumented: [firewalls]}
`: true,
		"kind: Project\n":                                                                  false,
		head + "manifest: [a]\n":                                                           false,
		head + "token: secret\n":                                                           false,
		head + "ledger: {store: /tmp}\n":                                                   false,
		head + "ledger: {store: \"s3://bucket/prefix\"}\n":                                 true,
		head + "ledger: {store: \"postgres:shop\"}\n":                                      true,
		head + "ledger: {store: \"gs://bucket/prefix\"}\n":                                 true,
		head + "ledger: {store: \"azblob://container/prefix\"}\n":                          true,
		head + "purge: {window: tomorrow}\n":                                               false,
		head + "purge: {duplicate: {status: [500]}}\n":                                     false,
		head + "purge: {duplicate: {status: [403]}}\n":                                     false,
		head + "purge: {duplicate: {body: x}}\n":                                           false,
		head + "overrides: [{kind: CDN, path: spec.a}]\n":                                  false,
		head + "overrides: [{kind: CDN, path: spec.a, order: any}]\n":                      false,
		head + "overrides: [{kind: CDN, path: a.b, ignore: true}]\n":                       false,
		head + "overrides: [{kind: CDN, path: spec, ignore: true}]\n":                      false,
		head + "overrides: [{kind: CDN, path: spec.a, ignore: true, undocumented: [b]}]\n": false,
		head + "overrides: [{kind: CDN, path: spec.a, undocumented: []}]\n":                false,
	} {
		b, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(decode(t, b)); (err == nil) != want {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// TestExamplesAndCorpusFollowTheSchemas validates our own examples and, where
// it is at hand, a corpus of real configurations.
func TestExamplesAndCorpusFollowTheSchemas(t *testing.T) {
	examples := filepath.Join("..", "..", "examples", "manifests")
	if n := validateTree(t, examples); n < 5 {
		t.Errorf("%d examples, want five or more", n)
	}
	corpus := os.Getenv("TRUEUP_CORPUS")
	if corpus == "" {
		t.Skip("TRUEUP_CORPUS names no folder: the corpus is not read")
	}
	if n := validateTree(t, filepath.Join(corpus, "cdns")); n == 0 {
		t.Error("the corpus has no CDN")
	}
}

// validateTree checks every document below dir and returns their number.
func validateTree(t *testing.T, dir string) (n int) {
	t.Helper()
	compiled := map[string]*jsonschema.Schema{}
	for _, k := range kind.AllKinds() {
		compiled[k.Name] = compile(t, strings.ToLower(k.Name)+".schema.json")
	}
	for _, file := range files(t, dir, ".yaml", ".json") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Split("\n"+string(b), "\n---") {
			b, err := yaml.YAMLToJSONStrict([]byte(text))
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			doc, ok := decode(t, b).(map[string]any)
			if !ok {
				continue // comments before the first document
			}
			k, ok := kind.FindByEnvelope(doc["apiVersion"].(string), doc["kind"].(string))
			if !ok {
				t.Errorf("%s: no kind for its envelope", file)
				continue
			}
			n++
			if err := compiled[k.Name].Validate(doc); err != nil {
				t.Errorf("%s: %#v", file, err)
			}
			unknownFields(t, file, k.Root(), doc)
		}
	}
	return n
}

// unknownFields fails for fields that would be warned of.
func unknownFields(t *testing.T, path string, f *kind.Field, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			unknownFields(t, path+"[]", f.Item, e)
		}
	case map[string]any:
		for name, e := range v {
			if !f.KnowsMember(name, v) {
				t.Errorf("%s.%s is an unknown field", path, name)
			} else if child := f.Fields[name]; child != nil {
				unknownFields(t, path+"."+name, child, e)
			}
		}
	}
}

func files(t *testing.T, dir string, suffixes ...string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains(suffixes, filepath.Ext(path)) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

package kind_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"sigs.k8s.io/yaml"

	"trueup/internal/kind"
)

func editorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("editor.json", bytes.NewReader(kind.EditorSchema())); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("editor.json")
}

func parsed(t *testing.T, doc string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEditorSchemaTakesWhatIsValid: an editor marks nothing that validate takes.
func TestEditorSchemaTakesWhatIsValid(t *testing.T) {
	s := editorSchema(t)
	var docs []string
	for _, pattern := range []string{"*.yaml", "purges/*.yaml"} {
		files, _ := filepath.Glob("../../examples/manifests/" + pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, string(text))
		}
	}
	if len(docs) < 5 {
		t.Fatalf("%d examples", len(docs))
	}
	docs = append(
		docs,
		"{apiVersion: trueup/v1, kind: Project, workspace: {name: a, uuid: b}, manifests: [m]}",
		"{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: a}, spec: {hostname: a.example.com, tls: null, locations: [{path: /, cors: null}]}}",
		"{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: a}, spec: {hostname: a.example.com, tls: {forced: null}, nothingOfOurs: 3}}",
	)
	for _, doc := range docs {
		if err := s.Validate(parsed(t, doc)); err != nil {
			t.Errorf("%s\n%v", doc, err)
		}
	}
}

func TestEditorSchemaMarksWhatIsWrong(t *testing.T) {
	s := editorSchema(t)
	cdn := "{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: a}, spec: {hostname: a.example.com, "
	for doc, want := range map[string]string{
		"{apiVersion: v1, kind: Pod}":                                                        "/kind",
		"{kind: CDN, metadata: {name: a}, spec: {hostname: h}}":                              "missing properties: 'apiVersion'",
		"{apiVersion: delivery/v1, kind: CDN, metadata: {name: a}, spec: {hostname: h}}":     "/apiVersion",
		"{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: a}, spec: {}}":              "missing properties: 'hostname'",
		"{apiVersion: delivery/v2.1, kind: Purge, metadata: {name: a}, spec: {hostname: h}}": "missing properties: 'paths'",
		"{apiVersion: trueup/v1, kind: Project, workspaces: {}}":                             "'workspaces' not allowed",
		cdn + "tls: {forced: true}}}":                                                        "/spec/tls/forced",
		cdn + "locations: [{path: null}]}}":                                                  "/spec/locations/0/path",
		cdn + "locations: [{path: /, cache: {edgeTTL: 60}}]}}":                               "/spec/locations/0/cache/edgeTTL",
		cdn + "firewall: {rules: [{name: a, action: {ratelimit: {rate: '1'}}}]}}}":           "/spec/firewall/rules/0/action/ratelimit/rate",
		"{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: a}, spec: {source: {persistentVolumeClaimName: d}, volumeSnapshotClassName: fast}}": "/spec/volumeSnapshotClassName",
	} {
		err := s.Validate(parsed(t, doc))
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error()+deepest(err), "[I#", ""), want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}

func deepest(err error) string {
	invalid, _ := err.(*jsonschema.ValidationError) //nolint:errorlint // it is the validator's own
	return invalid.GoString()
}

// TestEditorSchemaStandsAlone: it refers to nothing outside, and needs nothing
// that an editor may not know.
func TestEditorSchemaStandsAlone(t *testing.T) {
	text := string(kind.EditorSchema())
	for _, no := range []string{"x-trueup", "$defs", `"$id"`, "2020-12"} {
		if strings.Contains(text, no) {
			t.Errorf("there is %s in it", no)
		}
	}
	if refs := strings.Count(text, `"$ref"`); refs != strings.Count(text, `"$ref": "#/definitions/`) || refs != len(kind.AllKinds())+2 {
		t.Errorf("%d references", refs)
	}
	if !bytes.Equal(kind.EditorSchema(), kind.EditorSchema()) {
		t.Error("it is another one each time")
	}
}

// TestAnEditedEditorSchemaIsLeftAlone: it is known again, in any layout, until
// somebody changes what it says.
func TestAnEditedEditorSchemaIsLeftAlone(t *testing.T) {
	text := kind.EditorSchema()
	var dense bytes.Buffer
	if err := json.Compact(&dense, text); err != nil {
		t.Fatal(err)
	}
	isOurs := func(text []byte) bool {
		unedited, _ := kind.CheckEditorSchema(text)
		return unedited
	}
	if !isOurs(text) || !isOurs(dense.Bytes()) {
		t.Error("it is not known again")
	}
	for _, other := range []string{"", "{", "[]", "{}", `{"$comment": 3}`, strings.Replace(string(text), "Hostname", "hostname", 1)} {
		if isOurs([]byte(other)) {
			t.Errorf("taken for it: %.40s", other)
		}
	}
}

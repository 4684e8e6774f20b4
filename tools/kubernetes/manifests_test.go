// Package kubernetes compares the manifests in deploy/kubernetes with the schemas of Kubernetes.
package kubernetes

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	deploy  = "../../deploy/kubernetes"
	version = "v1.34.4"
	// oldest is of the oldest minor version that docs/fleets.md says.
	oldest = "v1.29.15"
)

func TestManifests(t *testing.T) {
	for _, version := range []string{oldest, version} {
		t.Run(version, func(t *testing.T) { checkManifests(t, version) })
	}
}

func checkManifests(t *testing.T, version string) {
	schemas := t.TempDir()
	kinds := writeSchemas(t, schemas, version)
	v, err := validator.New([]string{filepath.Join(schemas, "{{ .ResourceKind }}.json")}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	text := build(t)
	seen := 0
	for _, result := range v.Validate("deploy/kubernetes", io.NopCloser(bytes.NewReader(text))) {
		if result.Status != validator.Valid {
			t.Errorf("%s: %v", result.Resource.Bytes, result.Err)
		}
		seen++
	}
	if seen < 5 || kinds < 5 {
		t.Errorf("%d objects, %d schemas", seen, kinds)
	}
	// The schema finds a slip.
	slip := bytes.Replace(text, []byte("backoffLimitPerIndex: "), []byte("backofLimitPerIndex: "), 1)
	refused := 0
	for _, result := range v.Validate("slip", io.NopCloser(bytes.NewReader(slip))) {
		if result.Status == validator.Invalid {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("a misspelt field: %d objects are refused", refused)
	}
}

// TestEveryJobEnds: each Job has a deadline, also one whose image can't be pulled.
func TestEveryJobEnds(t *testing.T) {
	jobs := 0
	for _, text := range bytes.Split(build(t), []byte("\n---\n")) {
		for _, kind := range []string{"Job", "CronJob"} {
			if bytes.Contains(text, []byte("\nkind: "+kind+"\n")) {
				jobs++
				if !bytes.Contains(text, []byte("activeDeadlineSeconds: ")) {
					t.Errorf("it may run for ever:\n%s", text)
				}
			}
		}
	}
	if jobs != 5 {
		t.Errorf("%d Jobs", jobs)
	}
}

// build returns what kustomize makes of the manifests.
func build(t *testing.T) []byte {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), deploy)
	if err != nil {
		t.Fatal(err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writeSchemas writes one JSON Schema a kind, from the OpenAPI document in the module of Kubernetes, and returns
// their number. Like kubectl's strict validation, they refuse unknown fields.
func writeSchemas(t *testing.T, dir, version string) (kinds int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api/openapi-spec/swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct{ Definitions map[string]map[string]any }
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	for _, schema := range api.Definitions {
		if schema["format"] == "int-or-string" {
			schema["type"] = []string{"integer", "string"}
		}
		if _, ok := schema["properties"]; ok {
			schema["additionalProperties"] = false
		}
	}
	for _, name := range []string{
		"core.v1.Namespace", "core.v1.ServiceAccount", "core.v1.ConfigMap", "networking.v1.NetworkPolicy", "batch.v1.Job", "batch.v1.CronJob",
	} {
		schema, err := json.Marshal(map[string]any{"$ref": "#/definitions/io.k8s.api." + name, "definitions": api.Definitions})
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
		if err := os.WriteFile(filepath.Join(dir, kind+".json"), schema, 0o600); err != nil {
			t.Fatal(err)
		}
		kinds++
	}
	return kinds
}

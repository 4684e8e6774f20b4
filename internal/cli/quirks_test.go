package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"trueup/internal/diag"
	"trueup/internal/e2e/quirks"
	"trueup/internal/sandbox"
)

// corpusCDNs returns the trees of the corpus's CDN sets, by file name.
func corpusCDNs(t *testing.T) map[string]map[string]any {
	t.Helper()
	corpus := os.Getenv("TRUEUP_CORPUS")
	if corpus == "" {
		t.Skip("TRUEUP_CORPUS does not name the corpus")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "cdns", "*.[jy]*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CDN sets in the corpus: %v", err)
	}
	sets := map[string]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := yaml.YAMLToJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		sets[filepath.Base(file)] = decoded(t, string(plain))
	}
	return sets
}

// benign returns each benign quirk alone, none, and all together that can be.
func benign() map[string][]string {
	all := []string{}
	cases := map[string][]string{"none": nil}
	for _, q := range quirks.All() {
		if q.Group != "benign" {
			continue
		}
		cases[q.Name] = []string{q.Name}
		all = append(all, q.Name)
	}
	cases["all"] = all
	return cases
}

// TestCorpusUnderBenignQuirks takes every CDN set of the corpus through its
// life on a platform that behaves oddly but keeps what it is sent.
func TestCorpusUnderBenignQuirks(t *testing.T) {
	sets := corpusCDNs(t)
	for name, quirks := range benign() {
		for _, withHost := range []bool{true, false} {
			if !withHost && name != "none" && name != "defaults" && name != "all" {
				continue // only a server that fills in hosts can differ
			}
			t.Run(fmt.Sprintf("%s/host=%v", name, withHost), func(t *testing.T) {
				t.Parallel()
				takeThroughLife(t, copyTree(sets), withHost, quirks)
			})
		}
	}
}

func takeThroughLife(t *testing.T, sets map[string]map[string]any, withHost bool, quirks []string) {
	s := newStage(t, quirks...)
	for name, doc := range sets {
		if !withHost {
			leaveOutHosts(doc)
		}
		s.writeManifest(name, doc)
	}
	s.must(diag.ExitOK, "validate")
	s.must(diag.ExitOK, "apply", "--auto-approve")
	if got := len(s.writes()); got != len(sets) {
		t.Fatalf("%d writes created %d CDNs", got, len(sets))
	}
	s.isEmpty()

	for _, doc := range sets {
		s.addUnmanaged(doc)
	}
	s.isEmpty()

	for name, doc := range sets {
		tls := doc["spec"].(map[string]any)["tls"].(map[string]any)
		tls["forced"] = map[any]any{"true": "false", "false": "true"}[tls["forced"]]
		s.writeManifest(name, doc)
	}
	before := s.live(sets)
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.expectPatches(sets, func(doc, _ map[string]any) map[string]any {
		return map[string]any{"tls": map[string]any{"forced": doc["spec"].(map[string]any)["tls"].(map[string]any)["forced"]}}
	}, before)
	s.isEmpty()

	for name, doc := range sets {
		changeLocations(doc)
		s.writeManifest(name, doc)
	}
	before = s.live(sets)
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.expectPatches(sets, func(doc, live map[string]any) map[string]any {
		want := copyTree(live["locations"].([]any))
		git := doc["spec"].(map[string]any)["locations"].([]any)
		want[0].(map[string]any)["cache"].(map[string]any)["edgeTTL"] = "61"
		return map[string]any{"locations": append(want, git[len(git)-1])}
	}, before)
	s.isEmpty()
	s.must(diag.ExitOK, "drift")
}

func (s *stage) writeManifest(name string, doc map[string]any) {
	s.t.Helper()
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join("manifests", strings.TrimSuffix(name, filepath.Ext(name))+".json"), string(text))
}

// isEmpty asserts that there is nothing to do and that apply does nothing.
func (s *stage) isEmpty() {
	s.t.Helper()
	s.must(diag.ExitOK, "plan", "--detailed-exitcode")
	s.must(diag.ExitOK, "apply", "--auto-approve")
	if sent := s.writes(); len(sent) > 0 {
		s.t.Fatalf("an empty plan sent %v", sent)
	}
}

// addUnmanaged adds live fields that git never mentions: one that the
// platform's document has, in a list element, and others that it has not.
func (s *stage) addUnmanaged(doc map[string]any) {
	s.t.Helper()
	obj := s.object(doc)
	spec := obj["spec"].(map[string]any)
	spec["extra"] = map[string]any{"note": "kept"}
	location := spec["locations"].([]any)[0].(map[string]any)
	location["note"] = "kept"
	if _, has := location["cache"].(map[string]any)["browserTTL"]; !has {
		location["cache"].(map[string]any)["browserTTL"] = "600"
	}
	server := spec["upstreams"].([]any)[0].(map[string]any)["servers"].([]any)[0].(map[string]any)
	server["passive"] = true
	if err := s.server.Put(obj); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) object(doc map[string]any) map[string]any {
	s.t.Helper()
	name := doc["metadata"].(map[string]any)["name"].(string)
	obj, err := s.server.Object("CDN", workspace.Name, name)
	if err != nil {
		s.t.Fatal(err)
	}
	return obj
}

// live returns the stored specs by name.
func (s *stage) live(sets map[string]map[string]any) map[string]map[string]any {
	s.t.Helper()
	specs := map[string]map[string]any{}
	for _, doc := range sets {
		specs[doc["metadata"].(map[string]any)["name"].(string)] = s.object(doc)["spec"].(map[string]any)
	}
	return specs
}

// expectPatches asserts that each CDN got one PATCH whose spec is the wanted
// one, and that the platform then holds what it held, but for that.
func (s *stage) expectPatches(sets map[string]map[string]any, want func(doc, live map[string]any) map[string]any, before map[string]map[string]any) {
	s.t.Helper()
	sent := s.writes()
	if len(sent) != len(sets) {
		s.t.Fatalf("%d writes for %d changed CDNs: %v", len(sent), len(sets), sent)
	}
	byPath := map[string]sandbox.LoggedRequest{}
	for _, r := range sent {
		byPath[r.Path] = r
	}
	for _, doc := range sets {
		name := doc["metadata"].(map[string]any)["name"].(string)
		r := byPath[sandbox.DeliveryBase+"/global/workspaces/"+workspace.UUID+"/cdns/"+name]
		if r.Method != "PATCH" || r.ContentType != "application/merge-patch+json" {
			s.t.Fatalf("%s: sent %+v", name, r)
		}
		body := decoded(s.t, r.Body)
		patch := want(doc, before[name])
		if !reflect.DeepEqual(normal(body["spec"]), normal(patch)) {
			s.t.Errorf("%s: patch is\n%s\nwant\n%s", name, asJSON(body["spec"]), asJSON(patch))
		}
		after := s.object(doc)["spec"].(map[string]any)
		for field, was := range before[name] {
			if _, changed := patch[field]; !changed && !reflect.DeepEqual(normal(after[field]), normal(was)) {
				s.t.Errorf("%s: %s was %s and is %s", name, field, asJSON(was), asJSON(after[field]))
			}
		}
	}
}

// leaveOutHosts removes the host of every location whose path alone tells
// which it is.
func leaveOutHosts(doc map[string]any) {
	locations := doc["spec"].(map[string]any)["locations"].([]any)
	seen := map[any]int{}
	for _, l := range locations {
		seen[l.(map[string]any)["path"]]++
	}
	for _, l := range locations {
		if location := l.(map[string]any); seen[location["path"]] == 1 {
			delete(location, "host")
		}
	}
}

// changeLocations changes a field of the first location and adds one more.
func changeLocations(doc map[string]any) {
	spec := doc["spec"].(map[string]any)
	locations := spec["locations"].([]any)
	first := locations[0].(map[string]any)
	first["cache"].(map[string]any)["edgeTTL"] = "61"
	spec["locations"] = append(locations, map[string]any{
		"path": "/added/*", "host": first["host"], "action": "proxy_http", "upstream": first["upstream"],
		"cache":  map[string]any{"level": "standard", "edgeTTL": "10", "ttlTimeUnit": "second"},
		"imgsvc": map[string]any{"enabled": "false"},
	})
	if first["host"] == nil {
		delete(spec["locations"].([]any)[len(locations)].(map[string]any), "host")
	}
}

// normal makes trees of different origins comparable.
func normal(v any) any {
	var out any
	if err := json.Unmarshal([]byte(asJSON(v)), &out); err != nil {
		panic(err)
	}
	return out
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func copyTree[T any](v T) T {
	var out T
	if err := json.Unmarshal([]byte(asJSON(v)), &out); err != nil {
		panic(err)
	}
	return out
}

package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/diag"
)

const projectHead = "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 5a1d}\n"

func readText(t *testing.T, text string) (Project, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ProjectFile), []byte(projectHead+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return FindProject(dir)
}

func TestPurgeSettings(t *testing.T) {
	for _, c := range []struct {
		text    string
		window  time.Duration
		status  []int
		pattern string
	}{
		{"", 20 * time.Hour, nil, ""},
		{"purge: {window: 90m}", 90 * time.Minute, nil, ""},
		{"purge: {window: 22h}", 22 * time.Hour, nil, ""},
		{"purge: {duplicate: {status: [409]}}", 20 * time.Hour, []int{409}, ""},
		{"purge: {duplicate: {status: [400, 422], bodyRegex: '(?i)already exists'}}", 20 * time.Hour, []int{400, 422}, "(?i)already exists"},
		{"purge: {duplicate: {bodyRegex: exists}}", 20 * time.Hour, nil, "exists"},
	} {
		p, err := readText(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		pattern := ""
		d := p.DuplicateAnswer()
		if d.Body != nil {
			pattern = d.Body.String()
		}
		if p.SendWindow() != c.window || !slices.Equal(d.Status, c.status) || pattern != c.pattern {
			t.Errorf("%s: %s, %+v", c.text, p.SendWindow(), d)
		}
	}
}

func TestWhatIsWrongWithPurgeSettings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"window: 59m", `purge.window is "59m": write a time between 1h and 22h`},
		{"window: 23h", `purge.window is "23h"`},
		{"duplicate: {status: [409, 500]}", "purge.duplicate.status[1] is 500: write codes between 400 and 499"},
		{"duplicate: {status: [399]}", "purge.duplicate.status[0] is 399"},
		{"duplicate: {status: [403], bodyRegex: x}", "purge.duplicate.status[0] is 403, which has another meaning"},
		{"duplicate: {status: [409, 422]}", "purge.duplicate.status[1] is 422, which can mean anything: also write bodyRegex"},
		{"duplicate: {bodyRegex: 'already (exists'}", "purge.duplicate.bodyRegex: missing closing ) at \"already (exists\""},
		{"duplicate: {bodyRegex: 'a**'}", "purge.duplicate.bodyRegex: invalid nested repetition operator at \"**\""},
		{"duplicate: {bodyRegex: '(a{1000}){1000}'}", "purge.duplicate.bodyRegex: invalid repeat count"},
		{"duplicate: {bodyRegex: '.*'}", "purge.duplicate.bodyRegex matches any text"},
	} {
		_, err := readText(t, "purge: {"+c.text+"}")
		if err == nil || diag.ExitOf(err) != diag.ExitInvalid || !strings.Contains(err.Error(), "trueup.yaml: "+c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestErrorsOfAProjectFileAreReadable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"overides: []", `trueup.yaml: unknown field "overides"`},
		{"Manifests: [x]", `trueup.yaml: unknown field "Manifests"`},
		{"ledger: {store: \"file:a\", Store: \"file:b\"}", `trueup.yaml: unknown field "Store"`},
		{"overrides: [{Kind: CDN}]", `trueup.yaml: unknown field "Kind"`},
		{
			projectHead + "overrides: [{kind: CDN, path: spec.upstreams, order: set, key: []}]",
			"trueup.yaml: overrides[0]: key: [] matches elements by position, but order: set says that position does not matter: remove one of them",
		},
		{"ledger: {stor: x}", `trueup.yaml: unknown field "stor"`},
		{"manifests: x", "trueup.yaml: manifests can't be a string"},
		{"workspace: acme", "trueup.yaml: workspace can't be a string"},
		{"kind: Project\nkind: Project", `trueup.yaml: line 2: key "kind" already set in map`},
		{"manifests: [&a x, *a]", "trueup.yaml: line 1: trueup does not read aliases (*NAME) here: write the value itself"},
		{"purge: {duplicate: {status: [1e99]}}", "trueup.yaml: purge.duplicate.status can't be a number"},
		{"a: [", "trueup.yaml: line 1: did not find expected node content"},
		{"purge: {duplicate: {status: 409}}", "trueup.yaml: purge.duplicate.status can't be a number"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ProjectFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := FindProject(dir)
		if err == nil || diag.ExitOf(err) != diag.ExitInvalid {
			t.Fatalf("%s: %v, code %d", c.text, err, diag.ExitOf(err))
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "JSON") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestUndocumentedNames stand at one documented place, and say nothing else of it.
func TestUndocumentedNames(t *testing.T) {
	p, err := readText(t, "overrides:\n- {kind: cdn, path: spec, undocumented: [firewalls]}\n- {kind: CDN, path: spec.upstreams.servers, undocumented: [ports, hosts]}\n"+
		"- {kind: CDN, path: spec.upstreams.servers, undocumented: [wight]}\n- {kind: CDN, path: spec.upstreams.scheme, undocumented: [httpx]}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string][]string{"CDN": {
		"spec": {"firewalls"}, "spec.upstreams.servers": {"ports", "hosts", "wight"}, "spec.upstreams.scheme": {"httpx"},
	}}
	if got := p.undocumentedFields(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	for _, path := range []string{"metadata", "spec.nothing", "spec.upstreams[0]", "spec.upstreams[]", "spec.hostname", "specs", "spec.", "", "spec.locations.headers", "spec.locations.0"} {
		if _, err := readText(t, "overrides: [{kind: CDN, path: \""+path+"\", undocumented: [x]}]"); err == nil || !strings.Contains(err.Error(), "undocumented needs a documented object or value") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := readText(t, "overrides: [{kind: CDN, path: spec.tls, ignore: true, undocumented: [x]}]"); err == nil || !strings.Contains(err.Error(), "override ") {
		t.Error(err)
	}
}

package kind_test

import (
	"slices"
	"strings"
	"testing"

	"trueup/internal/kind"
)

func TestOwnFiles(t *testing.T) {
	for path, want := range map[string]string{
		"project.ledger.store":                             "",
		"project.overrides.order":                          "",
		"project.purge.duplicate.status":                   "",
		"config.profiles.production.delivery.url":          "",
		"config.profiles.x.compute.token.exec.command":     "",
		"project.ledger.stor":                              "-",
		"config.profiles.x.delivry":                        "-",
		"config.profiles.x.delivery.token.exec.timeout":    "",
		"project.overrides[3].path":                        "",
		"project.workspace.uuid":                           "Workspace identifier",
		"config.profiles.x.delivery.token.exec.command[0]": "",
	} {
		name, rest, _ := strings.Cut(path, ".")
		root, ok := kind.OwnFileFields(name)
		if !ok {
			t.Fatalf("no file %s", name)
		}
		f, ok := root.FieldAt(kind.SplitAtDots(rest))
		if ok != (want != "-") {
			t.Errorf("%s: %v", path, ok)
		} else if ok && want != "" && f.Title != want {
			t.Errorf("%s: %q, want %q", path, f.Title, want)
		}
	}
	if _, ok := kind.OwnFileFields("plan"); ok {
		t.Error("nobody writes a plan")
	}
}

func TestSchemaNamed(t *testing.T) {
	for _, name := range append(kind.SchemaNames(), "CDN", "cdns", "VolumeSnapshots", "PLAN") {
		if schema, ok := kind.SchemaNamed(name); !ok || !strings.Contains(string(schema), `"title"`) {
			t.Errorf("%s: %s, %v", name, schema, ok)
		}
	}
	for _, name := range []string{"", "../kind/own", "pod"} {
		if schema, ok := kind.SchemaNamed(name); ok {
			t.Errorf("%q is %s", name, schema)
		}
	}
	if len(kind.SchemaNames()) < 8 {
		t.Error(kind.SchemaNames())
	}
}

func TestPathParts(t *testing.T) {
	for path, want := range map[string]string{
		"a.b.c": "a|b|c", "locations[/a.b/*].cache": "locations[/a.b/*]|cache", "x": "x", "": "", `a["b[.]c"][0].d`: `a["b[.]c"][0]|d`, `a["b\"].c"]`: `a["b\"].c"]`, "a[].b": "a[]|b",
		// What can't be read is one part.
		"a[b[.]c].d": "a[b[.]c].d", "a].b": "a].b", `a["b].c`: `a["b].c`, "a..b": "a..b", "a.": "a.", `a["b"x].c`: `a["b"x].c`,
	} {
		if got := strings.Join(kind.SplitAtDots(path), "|"); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// A test may expect every field of cors that a manifest may have.
func TestRequestTestsHaveFieldsOfCORS(t *testing.T) {
	cdn, _ := kind.FindKind("CDN")
	want, ok := cdn.Root().FieldAt(kind.SplitAtDots("spec.locations.cors"))
	got, too := kind.RequestTestKind().Root().FieldAt(kind.SplitAtDots("spec.tests.expect.cors"))
	if !ok || !too || !slices.Equal(got.Names, want.Names) {
		t.Fatalf("%v, want %v", got, want)
	}
	for _, name := range want.Names {
		if a, b := got.Fields[name], want.Fields[name]; a.Type != b.Type || a.Title != b.Title || !slices.Equal(a.Enum, b.Enum) {
			t.Errorf("%s: %+v, want %+v", name, a, b)
		}
	}
}

package kind_test

import (
	"slices"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// TestDocumentedOperations is docs/platform.md 4, row by row.
func TestDocumentedOperations(t *testing.T) {
	all := []kind.Verb{kind.List, kind.Get, kind.Create, kind.Patch, kind.Delete}
	for name, want := range map[string]struct {
		area  kind.Area
		verbs []kind.Verb
	}{
		"VolumeSnapshot": {kind.Compute, []kind.Verb{kind.List, kind.Get, kind.Create, kind.Delete}},
		"CDN":            {kind.Delivery, []kind.Verb{kind.List, kind.Get, kind.Create, kind.Patch}},
		"Purge":          {kind.Delivery, []kind.Verb{kind.Create}},
	} {
		k := named(t, name)
		if k.Area != want.area {
			t.Errorf("%s is in the area %s", name, k.Area)
		}
		for _, v := range all {
			if k.Documents(v) != slices.Contains(want.verbs, v) {
				t.Errorf("%s: Can(%d) = %v", name, v, k.Documents(v))
			}
		}
	}
	if !slices.IsSortedFunc(kind.AllKinds(), func(a, b *kind.Kind) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }) {
		t.Error("the kinds are not in the order of their names")
	}
}

func TestPaths(t *testing.T) {
	ws := kind.Workspace{Name: "a/b c", UUID: "5a1d"}
	for _, tt := range []struct{ kind, name, collection, object, short string }{
		{
			"CDN", "shop.example.com", "/global/workspaces/5a1d/cdns",
			"/global/workspaces/5a1d/cdns/shop.example.com", "/cdns/shop.example.com",
		},
		{
			"Purge", "../x?y#z", "/global/workspaces/5a1d/purges",
			"/global/workspaces/5a1d/purges/..%2Fx%3Fy%23z", "/purges/..%2Fx%3Fy%23z",
		},
		{
			"CDN", "a?b#c%2Fd", "/global/workspaces/5a1d/cdns",
			"/global/workspaces/5a1d/cdns/a%3Fb%23c%252Fd", "/cdns/a%3Fb%23c%252Fd",
		},
		{
			"VolumeSnapshot", "db", "/apis/snapshot.storage.k8s.io/v1/namespaces/a%2Fb%20c/volumesnapshots",
			"/apis/snapshot.storage.k8s.io/v1/namespaces/a%2Fb%20c/volumesnapshots/db", "/volumesnapshots/db",
		},
	} {
		k := named(t, tt.kind)
		for got, want := range map[string]string{
			k.CollectionPath(ws):       tt.collection,
			k.ObjectPath(ws, tt.name):  tt.object,
			k.ShortObjectPath(tt.name): tt.short,
		} {
			if got != want {
				t.Errorf("%s: %s, want %s", tt.kind, got, want)
			}
		}
	}
}

func TestKindsByTheNamesThatPeopleType(t *testing.T) {
	for name, want := range map[string]string{
		"cdn": "CDN", "CDNs": "CDN", "purges": "Purge", "snapshot": "VolumeSnapshot", "Snapshots": "VolumeSnapshot",
		"volumesnapshot": "VolumeSnapshot", "volumesnapshots": "VolumeSnapshot",
	} {
		if k, ok := kind.FindKind(name); !ok || k.Name != want {
			t.Errorf("%s is not %s", name, want)
		}
	}
	if k, ok := kind.FindKind("snap"); ok {
		t.Errorf("snap is %s", k.Name)
	}
}

func TestParseKey(t *testing.T) {
	for in, want := range map[string]string{
		"CDN/shop": "CDN/shop", "cdn/shop": "CDN/shop", "cdns/shop": "CDN/shop", "purges/a/b": "Purge/a/b",
		"VolumeSnapshot/db": "VolumeSnapshot/db", "CDN/": "", "CDN": "", "/shop": "", "Pod/shop": "", "": "",
	} {
		key, err := kind.ParseKey(in)
		if (err == nil) != (want != "") || err == nil && key.String() != want {
			t.Errorf("ParseKey(%q) = %s, %v", in, key, err)
		}
	}
}

// TestForEnvelope: the table and the published schema accept the same
// envelopes.
func TestForEnvelope(t *testing.T) {
	for _, tt := range []struct {
		apiVersion, kind string
		alias, ok        bool
	}{
		{"delivery/v2.1", "CDN", false, true},
		{"delivery/v2.1", "Purge", false, true},
		{"delivery.acme.cloud/v1beta1", "Purge", true, true},
		{"delivery.a-1.cloud/v1beta1", "Purge", true, true},
		{"delivery.-a.cloud/v1beta1", "Purge", false, false},
		{"delivery..cloud/v1beta1", "Purge", false, false},
		{"delivery.acme.cloud/v1beta1\n", "Purge", false, false},
		{"delivery.acme.cloud/v1beta2", "Purge", false, false},
		{"delivery.acme.cloud/v1beta1", "CDN", false, false},
		{"delivery/v2x1", "Purge", false, false},
		{"snapshot.storage.k8s.io/v1", "VolumeSnapshot", false, true},
		{"snapshot.storage.k8s.io/v1beta1", "VolumeSnapshot", false, false},
		{"delivery/v2.1", "purge", false, false},
		{"v1", "Pod", false, false},
	} {
		k, ok := kind.FindByEnvelope(tt.apiVersion, tt.kind)
		if ok != tt.ok {
			t.Errorf("ForEnvelope(%s, %s): %v", tt.apiVersion, tt.kind, ok)
		}
		if alias := ok && k.APIVersion != tt.apiVersion; alias != tt.alias {
			t.Errorf("ForEnvelope(%s, %s): alias %v", tt.apiVersion, tt.kind, alias)
		}
		if ok && k.Name != tt.kind {
			t.Errorf("ForEnvelope(%s, %s) is %s", tt.apiVersion, tt.kind, k.Name)
		}
		byName, known := kind.FindKind(tt.kind)
		if !known || byName.Name != tt.kind {
			continue
		}
		apiVersion, err := compiler().Compile("embedded:///" + strings.ToLower(byName.Name) + ".schema.json#/properties/apiVersion")
		if err != nil {
			t.Fatal(err)
		}
		if valid := apiVersion.Validate(tt.apiVersion) == nil; valid != tt.ok {
			t.Errorf("%s: the table and the schema differ on %q", tt.kind, tt.apiVersion)
		}
	}
}

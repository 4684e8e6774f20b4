package kind_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

func named(t *testing.T, name string) *kind.Kind {
	t.Helper()
	k, ok := kind.FindKind(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return k
}

func TestNewObject(t *testing.T) {
	cdn := named(t, "CDN")
	const spec = `{"hostname":"shop.example.com","tls":{"auto":true}}`
	for name, tt := range map[string]struct {
		doc  string
		want kind.LiveObject
	}{
		"whole": {
			`{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"shop","namespace":"acme","uid":"u-1",
			  "resourceVersion":"229","creationTimestamp":"2026-11-21T09:00:00Z","generation":3,"managedFields":[]},
			  "spec":{"tls":{"auto":true},"hostname":"shop.example.com"},"status":{"status":"OK"}}`,
			kind.LiveObject{
				Name: "shop", Namespace: "acme", UID: "u-1", ResourceVersion: "229",
				CreationTimestamp: "2026-11-21T09:00:00Z", Spec: []byte(spec), Host: "shop.example.com",
				Status: []byte(`{"status":"OK"}`),
			},
		},
		"an item without an envelope": {
			`{"metadata":{"name":"shop"},"spec":` + spec + `}`,
			kind.LiveObject{Name: "shop", Spec: []byte(spec), Host: "shop.example.com"},
		},
		"nulls": {
			`{"kind":null,"metadata":{"name":"shop","annotations":null,"labels":null,"namespace":null,
			  "deletionTimestamp":null,"uid":null},"spec":null,"status":null}`,
			kind.LiveObject{Name: "shop"},
		},
		"a workspace, a number for a version": {
			`{"metadata":{"name":"shop.example.com","workspace":"acme","resourceVersion":229}}`,
			kind.LiveObject{Name: "shop.example.com", Namespace: "acme", ResourceVersion: "229"},
		},
		"a workspace that is an object": {
			`{"metadata":{"name":"shop","workspace":{"name":"acme"}}}`,
			kind.LiveObject{Name: "shop"},
		},
		"terminating": {
			`{"metadata":{"name":"shop","deletionTimestamp":"2026-11-21T09:00:00Z"}}`,
			kind.LiveObject{Name: "shop", Terminating: true},
		},
		"an empty status": {
			`{"metadata":{"name":"shop"},"status":{}}`,
			kind.LiveObject{Name: "shop", Status: []byte("{}")},
		},
		"a hostname that is not text": {
			`{"metadata":{"name":"shop"},"spec":{"hostname":["a"]}}`,
			kind.LiveObject{Name: "shop", Spec: []byte(`{"hostname":["a"]}`)},
		},
	} {
		tt.want.Kind = cdn
		if tt.want.Spec != nil {
			tt.want.Digest = canon.Digest(tt.want.Spec)
		}
		got, err := cdn.ReadObject(canon.Encode(decode(t, []byte(tt.doc)).(map[string]any)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := difference(got, tt.want); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got.Key() != (kind.Key{Kind: "CDN", Name: tt.want.Name}) {
			t.Errorf("%s: key %s", name, got.Key())
		}
	}
}

func difference(got, want kind.LiveObject) string {
	gotSpec, gotStatus, wantSpec, wantStatus := string(got.Spec), string(got.Status), string(want.Spec), string(want.Status)
	if gotSpec != wantSpec || (got.Spec == nil) != (want.Spec == nil) {
		return "spec " + gotSpec + ", want " + wantSpec
	}
	if gotStatus != wantStatus || (got.Status == nil) != (want.Status == nil) {
		return "status " + gotStatus + ", want " + wantStatus
	}
	flat := func(o kind.LiveObject) [8]any {
		return [8]any{o.Kind, o.Name, o.Namespace, o.UID, o.ResourceVersion, o.CreationTimestamp, o.Host, o.Terminating}
	}
	if flat(got) != flat(want) || got.Digest != want.Digest {
		return "the rest differs"
	}
	return ""
}

func TestNewObjectRefuses(t *testing.T) {
	for doc, want := range map[string]string{
		`{}`:                                       "metadata.name is missing",
		`{"metadata":null}`:                        "metadata.name is missing",
		`{"metadata":[]}`:                          "metadata.name is missing",
		`{"metadata":{"name":""}}`:                 "metadata.name is missing",
		`{"metadata":{"name":7}}`:                  "metadata.name is missing",
		`{"metadata":{"name":["shop"]}}`:           "metadata.name is missing",
		`{"kind":"Status","code":404}`:             `kind is "Status", not "CDN"`,
		`{"kind":3}`:                               `kind is 3, not "CDN"`,
		`{"metadata":{"name":"shop"},"spec":[]}`:   "spec of CDN/shop is not an object",
		`{"metadata":{"name":"shop"},"spec":"no"}`: "spec of CDN/shop is not an object",
	} {
		_, err := named(t, "CDN").ReadObject(canon.Encode(decode(t, []byte(doc)).(map[string]any)))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
	long := `{"kind":"` + strings.Repeat("x", 1<<16) + `"}`
	if _, err := named(t, "CDN").ReadObject(canon.Encode(decode(t, []byte(long)).(map[string]any))); err == nil || len(err.Error()) > 100 {
		t.Error("a long kind is not cut in the message")
	}
}

// FuzzNewObject: whatever decodes is reduced or refused, and what is reduced
// is canonical.
func FuzzNewObject(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"CDN","metadata":{"name":"a"},"spec":{"hostname":"h"},"status":{}}`,
		`{"metadata":{"name":"a","resourceVersion":1e3}}`,
		`[]`, `{"metadata":{"name":"\u0000"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Decode(b)
		doc, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		for _, k := range kind.AllKinds() {
			o, err := k.ReadObject(canon.Encode(doc))
			if err != nil {
				continue
			}
			k.IsReady(o.Status)
			if o.Name == "" || o.Spec != nil && string(canon.Encode(decode(t, o.Spec))) != string(o.Spec) {
				t.Errorf("%s became %+v", b, o)
			}
		}
	})
}

func TestReady(t *testing.T) {
	snapshot := named(t, "VolumeSnapshot")
	for status, want := range map[string]struct {
		ready   bool
		failure string
	}{
		``:                      {},
		`null`:                  {},
		`{}`:                    {},
		`[]`:                    {},
		`"OK"`:                  {},
		`{"readyToUse":false}`:  {},
		`{"readyToUse":null}`:   {},
		`{"readyToUse":true}`:   {ready: true},
		`{"readyToUse":"true"}`: {ready: true},
		`{"boundVolumeSnapshotContentName":"c","creationTime":"t","readyToUse":true,"restoreSize":"1Ti"}`: {ready: true},
		`{"error":{"message":"disk is gone","time":"t"},"readyToUse":false}`:                              {failure: "disk is gone"},
		`{"error":{"message":"first try failed"},"readyToUse":true}`:                                      {failure: "first try failed"},
		`{"error":"disk is gone"}`:          {failure: "disk is gone"},
		`{"error":{"time":"t"}}`:            {failure: `{"time":"t"}`},
		`{"error":null,"readyToUse":false}`: {},
	} {
		ready, failure := snapshot.IsReady([]byte(status))
		if ready != want.ready || failure != want.failure {
			t.Errorf("Ready(%s) = %v, %q", status, ready, failure)
		}
	}
	if ready, failure := named(t, "CDN").IsReady(nil); !ready || failure != "" {
		t.Error("a kind without a ready state must not be waited for")
	}
}

func TestEnvelope(t *testing.T) {
	ws := kind.Workspace{Name: "acme", UUID: "5a1d"}
	for _, tt := range []struct {
		kind string
		ws   kind.Workspace
		want string
	}{
		{"CDN", ws, `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"x","namespace":"acme"},"spec":{"a":1}}`},
		{"CDN", kind.Workspace{}, `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"x"},"spec":{"a":1}}`},
		{"Purge", ws, `{"apiVersion":"delivery/v2.1","kind":"Purge","metadata":{"name":"x"},"spec":{"a":1}}`},
		{"VolumeSnapshot", ws, `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"name":"x","namespace":"acme"},"spec":{"a":1}}`},
	} {
		if got := string(named(t, tt.kind).MakeEnvelope(tt.ws, "x", []byte(`{"a":1}`))); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.kind, got, tt.want)
		}
	}
}

// TestEnvelopeIsCanonicalAndReadBack: what is sent is what NewObject reads.
func TestEnvelopeIsCanonicalAndReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(kind.AllKinds()).Draw(rt, "kind")
		ws := kind.Workspace{Name: rapid.String().Draw(rt, "workspace")}
		name := rapid.StringN(1, 20, -1).Draw(rt, "name")
		spec := canon.Encode(map[string]any{"hostname": rapid.String().Draw(rt, "hostname")})
		sent := k.MakeEnvelope(ws, name, spec)
		doc := decode(t, sent).(map[string]any)
		if string(canon.Encode(doc)) != string(sent) {
			rt.Fatalf("%s is not canonical", sent)
		}
		o, err := k.ReadObject(canon.Encode(doc))
		if err != nil {
			rt.Fatal(err)
		}
		if o.Name != name || string(o.Spec) != string(spec) || k.NamespaceOnWire && o.Namespace != ws.Name {
			rt.Fatalf("%s became %+v", sent, o)
		}
	})
}

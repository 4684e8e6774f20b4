package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"trueup/internal/e2e/sandboxtest"
)

// The nine operations of docs/platform.md 4, and nothing that it calls "not
// shown" beyond what kubernetes-behaviour has seen.
func TestDocumentedOperations(t *testing.T) {
	w := newWorld(t)
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop", "shop.example.com")).Want(t, 201).WantAt(t, "spec.hostname", "shop.example.com")
	w.Get(sandboxtest.CDNs).Want(t, 200).WantAt(t, "items.0.metadata.name", "shop").WantAt(t, "kind", "CDNList")
	w.Get(sandboxtest.CDNs+"/shop").Want(t, 200).WantAt(t, "kind", "CDN").WantAt(t, "apiVersion", "delivery/v2.1")
	w.Patch(sandboxtest.CDNs+"/shop", `{"spec":{"tls":{"forced":"true"}}}`).Want(t, 200).
		WantAt(t, "spec.tls.forced", "true").WantAt(t, "spec.tls.enabled", "true")
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/a", "/b/*")).Want(t, 201).WantAt(t, "metadata.name", "rel-1")
	w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db-1", "db-data")).Want(t, 201)
	w.Get(sandboxtest.Snapshots).Want(t, 200).WantAt(t, "items.0.metadata.name", "db-1")
	w.Get(sandboxtest.Snapshots+"/db-1").Want(t, 200).WantAt(t, "spec.volumeSnapshotClassName", "general-purpose")
	w.Delete(sandboxtest.Snapshots+"/db-1").Want(t, 200)
}

func TestUndocumentedOperationsAreRefused(t *testing.T) {
	w := withShop(t)
	for _, call := range []struct{ method, path string }{
		{"DELETE", sandboxtest.CDNs + "/shop"},
		{"PUT", sandboxtest.CDNs + "/shop"},
		{"GET", sandboxtest.Purges},
		{"GET", sandboxtest.Purges + "/rel-1"},
		{"DELETE", sandboxtest.Purges + "/rel-1"},
		{"PATCH", sandboxtest.Snapshots + "/db-1"},
	} {
		got := w.Do(call.method, call.path, sandboxtest.TokenFor(call.path), "application/json", "{}")
		if got.Code != http.StatusMethodNotAllowed && got.Code != http.StatusForbidden {
			t.Errorf("%s %s: %d", call.method, call.path, got.Code)
		}
	}
}

func TestAddresses(t *testing.T) {
	w := withShop(t)
	w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db.1", "db-data")).Want(t, 201)
	escaped := strings.Replace(sandboxtest.Snapshots, "snapshot.storage.k8s.io/v1", "snapshot.storage.k8s.io%2Fv1", 1)
	w.Get(escaped+"/"+url.PathEscape("db.1")).Want(t, 200)
	for _, path := range []string{"/", "/delivery/v2.0/global/workspaces/x/cdns", sandboxtest.CDNs + "/", sandboxtest.CDNs + "/a/b", DeliveryBase + "/cdns"} {
		got := w.Get(path).Want(t, 404)
		if got.Body != "404 page not found\n" || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %q %s", path, got.Body, got.Header)
		}
	}
	missing := w.Get(sandboxtest.CDNs+"/nothing").Want(t, 404).WantAt(t, "reason", "NotFound").WantAt(t, "details.name", "nothing")
	if got := missing.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type of a missing object: %s", got)
	}
}

func TestServerOwnedFields(t *testing.T) {
	w := newWorld(t)
	made := w.Post(sandboxtest.CDNs, strings.Replace(sandboxtest.CDNBody("shop", "shop.example.com"), `"metadata":{`,
		`"status":{"a":1},"metadata":{"uid":"mine","generation":7,"creationTimestamp":"2001-01-01T00:00:00Z",`, 1)).Want(t, 201)
	made.WantAt(t, "metadata.namespace", "acme").WantAt(t, "metadata.generation", 1).
		WantAt(t, "metadata.creationTimestamp", "2026-11-21T09:00:00Z").WantAt(t, "status", nil)
	if uid := made.At("metadata.uid"); uid == "mine" || uid == nil {
		t.Errorf("uid %v", uid)
	}
	if made.At("metadata.managedFields.0.manager") == nil || made.At("metadata.resourceVersion") == nil {
		t.Error(made.Body)
	}
	if date := made.Header.Get("Date"); date != "Sat, 21 Nov 2026 09:00:00 GMT" {
		t.Errorf("Date is not the platform's: %s", date)
	}
}

func TestMergePatch(t *testing.T) {
	w := withShop(t)
	shop := sandboxtest.CDNs + "/shop"
	before := w.Get(shop).Want(t, 200)
	same := w.Patch(shop, `{"spec":{"tls":{"forced":"false"}},"status":{"status":"gone"}}`).Want(t, 200)
	if same.Body != before.Body {
		t.Errorf("a patch that changes nothing changed\n%s%s", before.Body, same.Body)
	}
	got := w.Patch(shop, `{"metadata":{"labels":{"a":"b"},"uid":"x","generation":9},"spec":{"tls":null,
		"firewall":{"enabled":true,"rules":[{"name":"r","x":null,"action":{"type":"ratelimit","ratelimit":{"rate":10.0,"period":1e2}}},null]}}}`).Want(t, 200)
	got.WantAt(t, "spec.tls", nil).WantAt(t, "metadata.generation", 2).WantAt(t, "metadata.labels.a", "b").
		WantAt(t, "spec.firewall.rules.1", nil).WantAt(t, "spec.locations.1.path", "/b/*")
	if got.At("metadata.uid") != before.At("metadata.uid") || got.At("metadata.resourceVersion") == before.At("metadata.resourceVersion") {
		t.Error(got.Body)
	}
	if strings.Contains(got.Body, "null") || !strings.Contains(got.Body, `"rate":10}`) || !strings.Contains(got.Body, `"period":100,`) {
		t.Errorf("nulls and numbers: %s", got.Body)
	}
	w.Patch(shop, `{"spec":{"upstreams":[{"name":"origin","servers":[{"host":"c"}]}]}}`).Want(t, 200).
		WantAt(t, "spec.upstreams.0.servers.0.weight", nil).WantAt(t, "spec.upstreams.1", nil)
	for _, media := range []string{"application/json", "application/json-patch+json", ""} {
		w.Do("PATCH", shop, DeliveryToken, media, `{}`).Want(t, 415)
	}
	w.Do("PATCH", shop, DeliveryToken, "application/merge-patch+json; charset=utf-8", `{}`).Want(t, 200)
	w.Patch(shop, `[]`).Want(t, 400)
	w.Patch(sandboxtest.CDNs+"/nothing", `{"spec":{}}`).Want(t, 404)
}

func TestResourceVersionOfPatch(t *testing.T) {
	w := withShop(t)
	shop := sandboxtest.CDNs + "/shop"
	version := w.Get(shop).At("metadata.resourceVersion")
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"tls":{"forced":"true"}}}`, version)
	w.Patch(shop, body).Want(t, 200)
	w.Patch(shop, body).Want(t, 409).WantAt(t, "reason", "Conflict")
	w.Patch(shop, `{"metadata":{"name":"other"}}`).Want(t, 400)
	w.Patch(shop, `{"metadata":{"namespace":"other"}}`).Want(t, 400)
	w.Patch(shop, `{"kind":"Purge"}`).Want(t, 400)
}

func TestCreateConflictsAndEnvelopes(t *testing.T) {
	w := withShop(t)
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop", "shop.example.com")).Want(t, 409).WantAt(t, "reason", "AlreadyExists")
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop2", "shop.example.com")).Want(t, 422).
		WantAt(t, "details.causes.0.field", "spec.hostname").WantAt(t, "details.causes.0.reason", "FieldValueDuplicate")
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("Shop", "x.example.com")).Want(t, 422).WantAt(t, "details.causes.0.field", "metadata.name")
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("", "x.example.com")).Want(t, 422)
	w.Post(sandboxtest.CDNs, strings.Replace(sandboxtest.CDNBody("a", "x.example.com"), `"acme"`, `"other"`, 1)).Want(t, 400)
	w.Post(sandboxtest.CDNs, strings.Replace(sandboxtest.CDNBody("a", "x.example.com"), "v2.1", "v2.0", 1)).Want(t, 400)
	w.Post(sandboxtest.CDNs, strings.Replace(sandboxtest.CDNBody("a", "x.example.com"), `"kind":"CDN"`, `"kind":"Purge"`, 1)).Want(t, 400)
	w.Post(sandboxtest.CDNs, strings.Replace(sandboxtest.CDNBody("a", "x.example.com"), `"kind":"CDN",`, ``, 1)).Want(t, 400)
	w.Post(sandboxtest.CDNs, strings.Replace(sandboxtest.CDNBody("a", "x.example.com"), `"metadata":{`, `"metadata":{"resourceVersion":"1",`, 1)).Want(t, 400)
	w.Post(sandboxtest.CDNs, `{"apiVersion":`).Want(t, 400)
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("a", "x.example.com")+"{}").Want(t, 400)
	w.Do("POST", sandboxtest.CDNs, DeliveryToken, "text/yaml", "a: b").Want(t, 415)
}

func TestContentOfCDN(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct{ spec, field, reason string }{
		{`{}`, "spec.hostname", "FieldValueRequired"},
		{`{"hostname":7}`, "spec.hostname", "FieldValueTypeInvalid"},
		{`{"hostname":"a b"}`, "spec.hostname", "FieldValueInvalid"},
		{`{"hostname":"h","tls":{"forced":true}}`, "spec.tls.forced", "FieldValueTypeInvalid"},
		{`{"hostname":"h","firewall":{"enabled":"true"}}`, "spec.firewall.enabled", "FieldValueTypeInvalid"},
		{`{"hostname":"h","locations":{}}`, "spec.locations", "FieldValueTypeInvalid"},
		{`{"hostname":"h","locations":["x"]}`, "spec.locations[0]", "FieldValueTypeInvalid"},
		{`{"hostname":"h","locations":[{}]}`, "spec.locations[0].path", "FieldValueRequired"},
		{`{"hostname":"h","locations":[{"path":"/*","upstream":"u"}]}`, "spec.locations[0].upstream", "FieldValueNotFound"},
		{`{"hostname":"h","locations":[{"path":"/*","cache":{"edgeTTL":60}}]}`, "spec.locations[0].cache.edgeTTL", "FieldValueTypeInvalid"},
		{`{"hostname":"h","upstreams":[{"name":"u"},{"name":"u"}]}`, "spec.upstreams[1].name", "FieldValueDuplicate"},
		{`{"hostname":"h","upstreams":[{}]}`, "spec.upstreams[0].name", "FieldValueRequired"},
		{`{"hostname":"h","upstreams":[{"name":"u","scheme":"ftp"}]}`, "spec.upstreams[0].scheme", "FieldValueInvalid"},
		{`{"hostname":"h","upstreams":[{"name":"u","servers":[{"host":"s","port":"0"}]}]}`, "spec.upstreams[0].servers[0].port", "FieldValueInvalid"},
		{`{"hostname":"h","upstreams":[{"name":"u","servers":[{"host":"s","weight":"-1"}]}]}`, "spec.upstreams[0].servers[0].weight", "FieldValueInvalid"},
		{`{"hostname":"h","upstreams":[{"name":"u","servers":[{}]}]}`, "spec.upstreams[0].servers[0].host", "FieldValueRequired"},
		{`{"hostname":"h","firewall":{"rules":[{"constraints":[{}]}]}}`, "spec.firewall.rules[0].constraints[0]", "FieldValueTypeInvalid"},
	} {
		body := `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"c"},"spec":` + tc.spec + `}`
		got := w.Post(sandboxtest.CDNs, body).Want(t, 422)
		got.WantAt(t, "details.causes.0.field", tc.field).WantAt(t, "details.causes.0.reason", tc.reason).WantAt(t, "reason", "Invalid")
	}
	w.Post(sandboxtest.CDNs, `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"c"}}`).Want(t, 422)
	w.Post(sandboxtest.CDNs, `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"c"},"spec":{"hostname":"h","unknown":{"a":[1]}}}`).
		Want(t, 201).WantAt(t, "spec.unknown.a.0", 1)
}

func TestHostnameMovesWithThePatch(t *testing.T) {
	w := withShop(t)
	w.Patch(sandboxtest.CDNs+"/shop", `{"spec":{"hostname":"new.example.com"}}`).Want(t, 200)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("a", "shop.example.com", "/")).Want(t, 422)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("a", "new.example.com", "/")).Want(t, 201)
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("again", "shop.example.com")).Want(t, 201)
	w.Patch(sandboxtest.CDNs+"/again", `{"spec":{"hostname":"new.example.com"}}`).Want(t, 422)
}

func TestPaging(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody(name, "db")).Want(t, 201)
	}
	page := w.Get(sandboxtest.Snapshots+"?limit=2").Want(t, 200).WantAt(t, "metadata.remainingItemCount", 3)
	token := page.At("metadata.continue").(string)
	next := w.Get(sandboxtest.Snapshots+"?limit=2&continue="+token).Want(t, 200)
	next.WantAt(t, "items.0.metadata.name", "c").WantAt(t, "items.1.metadata.name", "d").WantAt(t, "metadata.remainingItemCount", 1)
	w.Get(sandboxtest.Snapshots+"?continue=nonsense").Want(t, 400)
	w.Get(sandboxtest.Snapshots+"?limit=many").Want(t, 400)
	w.Advance(tokenLife)
	fresh := w.Get(sandboxtest.Snapshots+"?limit=2&continue="+token).Want(t, 410).WantAt(t, "reason", "Expired").At("metadata.continue").(string)
	w.Get(sandboxtest.Snapshots+"?limit=2&continue="+fresh).Want(t, 200).WantAt(t, "items.0.metadata.name", "c")
}

func TestSnapshotLife(t *testing.T) {
	w := newWorld(t)
	one := sandboxtest.Snapshots + "/db"
	w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "db-data")).Want(t, 201).WantAt(t, "status", nil)
	w.Advance(SnapshotBegins)
	w.Get(one).WantAt(t, "status.readyToUse", false)
	w.Advance(SnapshotReady - SnapshotBegins)
	w.Get(one).WantAt(t, "status.readyToUse", true).WantAt(t, "status.restoreSize", "10Gi")
	w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("bad", "missing-disk")).Want(t, 201).WantAt(t, "status", nil)
	w.Advance(time.Minute)
	if got := w.Get(sandboxtest.Snapshots+"/bad").WantAt(t, "status.readyToUse", false); !strings.Contains(fmt.Sprint(got.At("status.error.message")), "missing-disk") {
		t.Error(got.Body)
	}
	w.Delete(one).Want(t, 200).WantAt(t, "status.readyToUse", true).WantAt(t, "kind", "VolumeSnapshot")
	if w.Get(one).Want(t, 200).At("metadata.deletionTimestamp") == nil {
		t.Error("not terminating")
	}
	again := w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "db-data")).Want(t, 409)
	if !strings.Contains(fmt.Sprint(again.At("message")), "object is being deleted") {
		t.Error(again.Body)
	}
	w.Delete(one).Want(t, 200)
	w.Advance(TerminatingFor)
	w.Get(one).Want(t, 404)
	w.Delete(one).Want(t, 404)
	w.Get(sandboxtest.Snapshots).Want(t, 200).WantAt(t, "items.0.metadata.name", "bad").WantAt(t, "items.1", nil)
	w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "db-data")).Want(t, 201).WantAt(t, "metadata.deletionTimestamp", nil)
}

func TestContentOfSnapshot(t *testing.T) {
	w := newWorld(t)
	body := sandboxtest.SnapshotBody("db", "db-data")
	for _, tc := range []struct{ from, to, field string }{
		{"general-purpose", "gp2", "spec.volumeSnapshotClassName"},
		{`,"volumeSnapshotClassName":"general-purpose"`, ``, "spec.volumeSnapshotClassName"},
		{`"volumeSnapshotClassName"`, `"persistentVolumeClaimName"`, "spec.volumeSnapshotClassName"},
		{`"db-data"`, `""`, "spec.source.persistentVolumeClaimName"},
		{`,"namespace":"acme"`, ``, "metadata.namespace"},
	} {
		changed := strings.ReplaceAll(body, tc.from, tc.to)
		w.Post(sandboxtest.Snapshots, changed).Want(t, 422).WantAt(t, "details.causes.0.field", tc.field)
	}
	w.Post(sandboxtest.Snapshots, strings.Replace(body, `"acme"`, `"other"`, 1)).Want(t, 400)
	w.Post(sandboxtest.Snapshots, body).Want(t, 201)
	w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("other", "missing-disk")).Want(t, 201)
	w.Advance(time.Minute)
	w.Get(sandboxtest.Snapshots+"/db").WantAt(t, "status.readyToUse", true)
	w.Get(sandboxtest.Snapshots+"/other").WantAt(t, "status.readyToUse", false)
}

package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The nine operations of docs/platform.md 4, and nothing that it calls "not
// shown" beyond what kubernetes-behaviour has seen.
func TestDocumentedOperations(t *testing.T) {
	w := newWorld(t)
	w.post(cdns, cdnBody("shop", "shop.example.com")).want(t, 201).wantAt(t, "spec.hostname", "shop.example.com")
	w.get(cdns).want(t, 200).wantAt(t, "items.0.metadata.name", "shop").wantAt(t, "kind", "CDNList")
	w.get(cdns+"/shop").want(t, 200).wantAt(t, "kind", "CDN").wantAt(t, "apiVersion", "delivery/v2.1")
	w.patch(cdns+"/shop", `{"spec":{"tls":{"forced":"true"}}}`).want(t, 200).
		wantAt(t, "spec.tls.forced", "true").wantAt(t, "spec.tls.enabled", "true")
	w.post(purges, purgeBody("rel-1", "shop.example.com", "/a", "/b/*")).want(t, 201).wantAt(t, "metadata.name", "rel-1")
	w.post(snapshots, snapshotBody("db-1", "db-data")).want(t, 201)
	w.get(snapshots).want(t, 200).wantAt(t, "items.0.metadata.name", "db-1")
	w.get(snapshots+"/db-1").want(t, 200).wantAt(t, "spec.volumeSnapshotClassName", "general-purpose")
	w.delete(snapshots+"/db-1").want(t, 200)
}

func TestUndocumentedOperationsAreRefused(t *testing.T) {
	w := withShop(t)
	for _, call := range []struct{ method, path string }{
		{"DELETE", cdns + "/shop"},
		{"PUT", cdns + "/shop"},
		{"GET", purges},
		{"GET", purges + "/rel-1"},
		{"DELETE", purges + "/rel-1"},
		{"PATCH", snapshots + "/db-1"},
	} {
		got := w.do(call.method, call.path, tokenFor(call.path), "application/json", "{}")
		if got.code != http.StatusMethodNotAllowed && got.code != http.StatusForbidden {
			t.Errorf("%s %s: %d", call.method, call.path, got.code)
		}
	}
}

func TestAddresses(t *testing.T) {
	w := withShop(t)
	w.post(snapshots, snapshotBody("db.1", "db-data")).want(t, 201)
	escaped := strings.Replace(snapshots, "snapshot.storage.k8s.io/v1", "snapshot.storage.k8s.io%2Fv1", 1)
	w.get(escaped+"/"+url.PathEscape("db.1")).want(t, 200)
	for _, path := range []string{"/", "/delivery/v2.0/global/workspaces/x/cdns", cdns + "/", cdns + "/a/b", DeliveryBase + "/cdns"} {
		got := w.get(path).want(t, 404)
		if got.body != "404 page not found\n" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %q %s", path, got.body, got.header)
		}
	}
	missing := w.get(cdns+"/nothing").want(t, 404).wantAt(t, "reason", "NotFound").wantAt(t, "details.name", "nothing")
	if got := missing.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type of a missing object: %s", got)
	}
}

func TestServerOwnedFields(t *testing.T) {
	w := newWorld(t)
	made := w.post(cdns, strings.Replace(cdnBody("shop", "shop.example.com"), `"metadata":{`,
		`"status":{"a":1},"metadata":{"uid":"mine","generation":7,"creationTimestamp":"2001-01-01T00:00:00Z",`, 1)).want(t, 201)
	made.wantAt(t, "metadata.namespace", "acme").wantAt(t, "metadata.generation", 1).
		wantAt(t, "metadata.creationTimestamp", "2026-11-21T09:00:00Z").wantAt(t, "status", nil)
	if uid := made.at("metadata.uid"); uid == "mine" || uid == nil {
		t.Errorf("uid %v", uid)
	}
	if made.at("metadata.managedFields.0.manager") == nil || made.at("metadata.resourceVersion") == nil {
		t.Error(made.body)
	}
	if date := made.header.Get("Date"); date != "Sat, 21 Nov 2026 09:00:00 GMT" {
		t.Errorf("Date is not the platform's: %s", date)
	}
}

func TestMergePatch(t *testing.T) {
	w := withShop(t)
	shop := cdns + "/shop"
	before := w.get(shop).want(t, 200)
	same := w.patch(shop, `{"spec":{"tls":{"forced":"false"}},"status":{"status":"gone"}}`).want(t, 200)
	if same.body != before.body {
		t.Errorf("a patch that changes nothing changed\n%s%s", before.body, same.body)
	}
	got := w.patch(shop, `{"metadata":{"labels":{"a":"b"},"uid":"x","generation":9},"spec":{"tls":null,
		"firewall":{"enabled":true,"rules":[{"name":"r","x":null,"action":{"type":"ratelimit","ratelimit":{"rate":10.0,"period":1e2}}},null]}}}`).want(t, 200)
	got.wantAt(t, "spec.tls", nil).wantAt(t, "metadata.generation", 2).wantAt(t, "metadata.labels.a", "b").
		wantAt(t, "spec.firewall.rules.1", nil).wantAt(t, "spec.locations.1.path", "/b/*")
	if got.at("metadata.uid") != before.at("metadata.uid") || got.at("metadata.resourceVersion") == before.at("metadata.resourceVersion") {
		t.Error(got.body)
	}
	if strings.Contains(got.body, "null") || !strings.Contains(got.body, `"rate":10}`) || !strings.Contains(got.body, `"period":100,`) {
		t.Errorf("nulls and numbers: %s", got.body)
	}
	w.patch(shop, `{"spec":{"upstreams":[{"name":"origin","servers":[{"host":"c"}]}]}}`).want(t, 200).
		wantAt(t, "spec.upstreams.0.servers.0.weight", nil).wantAt(t, "spec.upstreams.1", nil)
	for _, media := range []string{"application/json", "application/json-patch+json", ""} {
		w.do("PATCH", shop, DeliveryToken, media, `{}`).want(t, 415)
	}
	w.do("PATCH", shop, DeliveryToken, "application/merge-patch+json; charset=utf-8", `{}`).want(t, 200)
	w.patch(shop, `[]`).want(t, 400)
	w.patch(cdns+"/nothing", `{"spec":{}}`).want(t, 404)
}

func TestResourceVersionOfPatch(t *testing.T) {
	w := withShop(t)
	shop := cdns + "/shop"
	version := w.get(shop).at("metadata.resourceVersion")
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"tls":{"forced":"true"}}}`, version)
	w.patch(shop, body).want(t, 200)
	w.patch(shop, body).want(t, 409).wantAt(t, "reason", "Conflict")
	w.patch(shop, `{"metadata":{"name":"other"}}`).want(t, 400)
	w.patch(shop, `{"metadata":{"namespace":"other"}}`).want(t, 400)
	w.patch(shop, `{"kind":"Purge"}`).want(t, 400)
}

func TestCreateConflictsAndEnvelopes(t *testing.T) {
	w := withShop(t)
	w.post(cdns, cdnBody("shop", "shop.example.com")).want(t, 409).wantAt(t, "reason", "AlreadyExists")
	w.post(cdns, cdnBody("shop2", "shop.example.com")).want(t, 422).
		wantAt(t, "details.causes.0.field", "spec.hostname").wantAt(t, "details.causes.0.reason", "FieldValueDuplicate")
	w.post(cdns, cdnBody("Shop", "x.example.com")).want(t, 422).wantAt(t, "details.causes.0.field", "metadata.name")
	w.post(cdns, cdnBody("", "x.example.com")).want(t, 422)
	w.post(cdns, strings.Replace(cdnBody("a", "x.example.com"), `"acme"`, `"other"`, 1)).want(t, 400)
	w.post(cdns, strings.Replace(cdnBody("a", "x.example.com"), "v2.1", "v2.0", 1)).want(t, 400)
	w.post(cdns, strings.Replace(cdnBody("a", "x.example.com"), `"kind":"CDN"`, `"kind":"Purge"`, 1)).want(t, 400)
	w.post(cdns, strings.Replace(cdnBody("a", "x.example.com"), `"kind":"CDN",`, ``, 1)).want(t, 400)
	w.post(cdns, strings.Replace(cdnBody("a", "x.example.com"), `"metadata":{`, `"metadata":{"resourceVersion":"1",`, 1)).want(t, 400)
	w.post(cdns, `{"apiVersion":`).want(t, 400)
	w.post(cdns, cdnBody("a", "x.example.com")+"{}").want(t, 400)
	w.do("POST", cdns, DeliveryToken, "text/yaml", "a: b").want(t, 415)
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
		got := w.post(cdns, body).want(t, 422)
		got.wantAt(t, "details.causes.0.field", tc.field).wantAt(t, "details.causes.0.reason", tc.reason).wantAt(t, "reason", "Invalid")
	}
	w.post(cdns, `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"c"}}`).want(t, 422)
	w.post(cdns, `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"c"},"spec":{"hostname":"h","unknown":{"a":[1]}}}`).
		want(t, 201).wantAt(t, "spec.unknown.a.0", 1)
}

func TestHostnameMovesWithThePatch(t *testing.T) {
	w := withShop(t)
	w.patch(cdns+"/shop", `{"spec":{"hostname":"new.example.com"}}`).want(t, 200)
	w.post(purges, purgeBody("a", "shop.example.com", "/")).want(t, 422)
	w.post(purges, purgeBody("a", "new.example.com", "/")).want(t, 201)
	w.post(cdns, cdnBody("again", "shop.example.com")).want(t, 201)
	w.patch(cdns+"/again", `{"spec":{"hostname":"new.example.com"}}`).want(t, 422)
}

func TestPaging(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.post(snapshots, snapshotBody(name, "db")).want(t, 201)
	}
	page := w.get(snapshots+"?limit=2").want(t, 200).wantAt(t, "metadata.remainingItemCount", 3)
	token := page.at("metadata.continue").(string)
	next := w.get(snapshots+"?limit=2&continue="+token).want(t, 200)
	next.wantAt(t, "items.0.metadata.name", "c").wantAt(t, "items.1.metadata.name", "d").wantAt(t, "metadata.remainingItemCount", 1)
	w.get(snapshots+"?continue=nonsense").want(t, 400)
	w.get(snapshots+"?limit=many").want(t, 400)
	w.advance(tokenLife)
	fresh := w.get(snapshots+"?limit=2&continue="+token).want(t, 410).wantAt(t, "reason", "Expired").at("metadata.continue").(string)
	w.get(snapshots+"?limit=2&continue="+fresh).want(t, 200).wantAt(t, "items.0.metadata.name", "c")
}

func TestSnapshotLife(t *testing.T) {
	w := newWorld(t)
	one := snapshots + "/db"
	w.post(snapshots, snapshotBody("db", "db-data")).want(t, 201).wantAt(t, "status", nil)
	w.advance(SnapshotBegins)
	w.get(one).wantAt(t, "status.readyToUse", false)
	w.advance(SnapshotReady - SnapshotBegins)
	w.get(one).wantAt(t, "status.readyToUse", true).wantAt(t, "status.restoreSize", "10Gi")
	w.post(snapshots, snapshotBody("bad", "missing-disk")).want(t, 201).wantAt(t, "status", nil)
	w.advance(time.Minute)
	if got := w.get(snapshots+"/bad").wantAt(t, "status.readyToUse", false); !strings.Contains(fmt.Sprint(got.at("status.error.message")), "missing-disk") {
		t.Error(got.body)
	}
	w.delete(one).want(t, 200).wantAt(t, "status.readyToUse", true).wantAt(t, "kind", "VolumeSnapshot")
	if w.get(one).want(t, 200).at("metadata.deletionTimestamp") == nil {
		t.Error("not terminating")
	}
	again := w.post(snapshots, snapshotBody("db", "db-data")).want(t, 409)
	if !strings.Contains(fmt.Sprint(again.at("message")), "object is being deleted") {
		t.Error(again.body)
	}
	w.delete(one).want(t, 200)
	w.advance(TerminatingFor)
	w.get(one).want(t, 404)
	w.delete(one).want(t, 404)
	w.get(snapshots).want(t, 200).wantAt(t, "items.0.metadata.name", "bad").wantAt(t, "items.1", nil)
	w.post(snapshots, snapshotBody("db", "db-data")).want(t, 201).wantAt(t, "metadata.deletionTimestamp", nil)
}

func TestContentOfSnapshot(t *testing.T) {
	w := newWorld(t)
	body := snapshotBody("db", "db-data")
	for _, tc := range []struct{ from, to, field string }{
		{"general-purpose", "gp2", "spec.volumeSnapshotClassName"},
		{`,"volumeSnapshotClassName":"general-purpose"`, ``, "spec.volumeSnapshotClassName"},
		{`"volumeSnapshotClassName"`, `"persistentVolumeClaimName"`, "spec.volumeSnapshotClassName"},
		{`"db-data"`, `""`, "spec.source.persistentVolumeClaimName"},
		{`,"namespace":"acme"`, ``, "metadata.namespace"},
	} {
		changed := strings.ReplaceAll(body, tc.from, tc.to)
		w.post(snapshots, changed).want(t, 422).wantAt(t, "details.causes.0.field", tc.field)
	}
	w.post(snapshots, strings.Replace(body, `"acme"`, `"other"`, 1)).want(t, 400)
	w.post(snapshots, body).want(t, 201)
	w.post(snapshots, snapshotBody("other", "missing-disk")).want(t, 201)
	w.advance(time.Minute)
	w.get(snapshots+"/db").wantAt(t, "status.readyToUse", true)
	w.get(snapshots+"/other").wantAt(t, "status.readyToUse", false)
}

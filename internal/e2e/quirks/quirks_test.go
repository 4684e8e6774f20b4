package quirks

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"trueup/internal/sandbox"
)

const shop = cdns + "/shop"

// effects shows what each quirk does to a world that has the CDN shop.
func effects() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"defaults": func(t *testing.T, w *world) {
			w.get(shop).wantAt(t, "spec.upstreams.0.servers.1.weight", "1").wantAt(t, "spec.locations.0.host", "shop.example.com").
				wantAt(t, "spec.locations.0.cache.level", "standard").wantAt(t, "spec.locations.1.cache.level", "standard").
				wantAt(t, "spec.locations.0.headers", map[string]any{}).wantAt(t, "spec.secureLink", nil)
			w.patch(shop, `{"spec":{"tls":{"forced":null},"upstreams":[{"name":"origin","servers":[{"host":"a.example.net"}]}]}}`).
				wantAt(t, "spec.upstreams.0.servers.0.weight", "1").wantAt(t, "spec.upstreams.0.servers.0.port", "443").
				wantAt(t, "spec.tls.forced", "false")
		},
		"typed-scalars": func(t *testing.T, w *world) {
			got := w.get(shop).body
			for _, want := range []string{`"port":443`, `"weight":5`, `"forced":false`, `"edgeTTL":3600`} {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
			w.patch(shop, `{"spec":{"tls":{"forced":true}}}`).want(t, 422)
			w.patch(shop, `{"spec":{"upstreams":[{"name":"origin","servers":[{"host":"a","port":"0443"}]}]}}`).
				wantAt(t, "spec.upstreams.0.servers.0.port", "0443")
		},
		"status": func(t *testing.T, w *world) { w.get(shop).wantAt(t, "status.status", "OK") },
		"metadata-extra": func(t *testing.T, w *world) {
			got := w.get(shop).wantAt(t, "metadata.workspace", "acme")
			for _, want := range []string{`"labels":null`, `"annotations":null`, `"finalizers":[`, `"selfLink":"/delivery`} {
				if !strings.Contains(got.body, want) {
					t.Errorf("no %s in %s", want, got.body)
				}
			}
		},
		"set-order": func(t *testing.T, w *world) {
			w.get(shop).wantAt(t, "spec.upstreams.1.name", "origin").wantAt(t, "spec.upstreams.1.servers.0.host", "b.example.net").
				wantAt(t, "spec.locations.0.path", "/a/*")
		},
		"list-array": func(t *testing.T, w *world) {
			wantPrefix(t, w.get(cdns), `[{"apiVersion"`)
			wantPrefix(t, w.get(snapshots), `[]`)
		},
		"list-data": func(t *testing.T, w *world) { w.get(cdns).wantAt(t, "data.0.metadata.name", "shop") },
		"list-paged": func(t *testing.T, w *world) {
			more(t, w)
			page := w.get(cdns).wantAt(t, "items.0.metadata.name", "a").wantAt(t, "items.1", nil).wantAt(t, "metadata.remainingItemCount", 2)
			next := w.get(cdns + "?continue=" + page.at("metadata.continue").(string))
			next.wantAt(t, "items.0.metadata.name", "b").wantAt(t, "items.1", nil).wantAt(t, "metadata.remainingItemCount", 1)
		},
		"list-null-items": func(t *testing.T, w *world) {
			if got := w.get(snapshots).body; !strings.Contains(got, `"items":null`) {
				t.Error(got)
			}
			w.get(cdns).wantAt(t, "items.0.metadata.name", "shop")
		},
		"list-without-spec": func(t *testing.T, w *world) {
			w.get(cdns).wantAt(t, "items.0.metadata.name", "shop").wantAt(t, "items.0.spec", nil)
			w.get(shop).wantAt(t, "spec.hostname", "shop.example.com")
		},
		"list-unordered": func(t *testing.T, w *world) {
			more(t, w)
			w.get(cdns).wantAt(t, "items.0.metadata.name", "shop").wantAt(t, "items.2.metadata.name", "a")
		},
		"status-200": func(t *testing.T, w *world) { w.post(snapshots, snapshotBody("db", "d")).want(t, 200) },
		"status-202": func(t *testing.T, w *world) {
			w.post(snapshots, snapshotBody("db", "d")).want(t, 202).wantAt(t, "metadata.name", "db")
			w.delete(snapshots+"/db").want(t, 202)
		},
		"status-204": func(t *testing.T, w *world) {
			if got := w.patch(shop, `{"spec":{"tls":{"auto":"true"}}}`).want(t, 204).body; got != "" {
				t.Error(got)
			}
			w.get(shop).wantAt(t, "spec.tls.auto", "true")
		},
		"empty-patch-body": func(t *testing.T, w *world) {
			if got := w.patch(shop, `{"spec":{"tls":{"auto":"true"}}}`).want(t, 200).body; got != "" {
				t.Error(got)
			}
		},
		"delete-at-once": func(t *testing.T, w *world) {
			w.post(snapshots, snapshotBody("db", "d")).want(t, 201)
			w.delete(snapshots+"/db").want(t, 200).wantAt(t, "status", "Success")
			w.get(snapshots+"/db").want(t, 404)
		},
		"lagging-reads": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"tls":{"forced":"true"}}}`).wantAt(t, "spec.tls.forced", "true")
			w.get(shop).wantAt(t, "spec.tls.forced", "false")
			w.get(shop).wantAt(t, "spec.tls.forced", "true")
		},
		"lags": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"tls":{"forced":"true"}}}`).want(t, 200)
			w.post(cdns, cdnBody("docs", "docs.example.com")).want(t, 201)
			for range 2 {
				w.get(cdns).want(t, 200).wantAt(t, "items.0.spec.tls.forced", "false").wantAt(t, "items.1", nil)
			}
			w.get(shop).wantAt(t, "spec.tls.forced", "true")
		},
		"renames": func(t *testing.T, w *world) {
			made := w.post(cdns, cdnBody("docs", "docs.example.com")).want(t, 201)
			name, _ := made.at("metadata.name").(string)
			if name == "docs" {
				t.Error(made.body)
			}
			w.get(cdns+"/docs").want(t, 404)
			w.get(cdns+"/"+name).want(t, 200)
		},
		"delete-string": func(t *testing.T, w *world) {
			w.post(snapshots, snapshotBody("db", "d")).want(t, 201)
			wantPrefix(t, w.delete(snapshots+"/db").want(t, 200), `"deleted"`)
		},

		"error-message-object": errorLooks(`{"message":{"detail":"cdns.delivery \"x\" not found"}}`, typeJSON),
		"error-reason":         errorLooks(`{"reason":"cdns.delivery`, typeJSON),
		"error-string":         errorLooks(`{"error":"cdns.delivery`, typeJSON),
		"error-details":        errorLooks(`{"details":"cdns.delivery`, typeJSON),
		"error-html":           errorLooks("<!DOCTYPE html>", typeHTML),
		"error-text":           errorLooks(`cdns.delivery "x" not found`, typeText),
		"error-problem":        errorLooks(`{"detail":"cdns.delivery \"x\" not found","instance":"/delivery`, "application/problem+json"),
		"error-nil-cause": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"hostname":""}}`).want(t, 422).wantAt(t, "details.causes.0.field", "<nil>").
				wantAt(t, "details.causes.1.field", "spec.hostname")
		},
		"drop-unknown-fields": func(t *testing.T, w *world) {
			got := w.patch(shop, `{"spec":{"x":1,"tls":{"y":2},"locations":[{"path":"/","headers":{"Free":"yes"},"z":3}]}}`).want(t, 200)
			got.wantAt(t, "spec.x", nil).wantAt(t, "spec.tls.y", nil).wantAt(t, "spec.locations.0.headers.Free", "yes")
			want := `299 - "unknown field \"spec.locations[0].z\"", 299 - "unknown field \"spec.tls.y\"", 299 - "unknown field \"spec.x\""`
			if warned := strings.Join(got.header.Values("Warning"), ", "); warned != want {
				t.Error(warned)
			}
		},
		"wrong-namespace-empty": func(t *testing.T, w *world) {
			w.get(cdns).want(t, 200).wantAt(t, "items.0", nil)
			w.get(shop).want(t, 404)
			w.post(cdns, cdnBody("x", "x.example.com")).want(t, 404).wantAt(t, "message", `namespaces "`+sandbox.WorkspaceUUID+`" not found`)
		},
		"list-incomplete": func(t *testing.T, w *world) {
			more(t, w)
			w.get(cdns).wantAt(t, "items.1.metadata.name", "shop").wantAt(t, "items.2", nil).wantAt(t, "metadata.continue", "")
			w.get(cdns+"/b").want(t, 200)
		},
		"list-expired": func(t *testing.T, w *world) {
			more(t, w)
			token := w.get(cdns).wantAt(t, "metadata.remainingItemCount", 2).at("metadata.continue").(string)
			w.get(cdns+"?continue="+token).want(t, 410)
		},
		"terminating": func(t *testing.T, w *world) {
			w.get(shop).wantAt(t, "metadata.deletionTimestamp", "2026-11-21T09:00:00Z")
		},
		"finalizers": func(t *testing.T, w *world) {
			w.post(snapshots, snapshotBody("db", "d")).want(t, 201)
			w.delete(snapshots+"/db").want(t, 200)
			w.advance(100 * sandbox.TerminatingFor)
			w.get(snapshots+"/db").want(t, 200)
		},
		"wrong-address": func(t *testing.T, w *world) {
			wantPrefix(t, w.get(cdns).want(t, 404), "404 page not found")
		},
		"gateway-timeout-text": func(t *testing.T, w *world) {
			got := w.get(cdns).want(t, 504).wantAt(t, "reason", "Timeout").wantAt(t, "kind", nil)
			wantMedia(t, got, typeText)
		},
		"rate-limited-plain": func(t *testing.T, w *world) {
			got := w.get(cdns).want(t, 429)
			wantMedia(t, got, typeText)
			if got.header.Get("Retry-After") != "1" {
				t.Error(got.header)
			}
			w.get(cdns).want(t, 200)
			w.get(shop).want(t, 429)
		},
		"rate-limited-status": func(t *testing.T, w *world) {
			w.get(cdns).want(t, 429).wantAt(t, "details.retryAfterSeconds", 1).wantAt(t, "reason", "TooManyRequests")
			w.get(cdns).want(t, 200)
		},
		"conflict-on-resource-version": func(t *testing.T, w *world) {
			version := w.get(shop).at("metadata.resourceVersion").(string)
			w.patch(shop, `{"metadata":{"resourceVersion":"`+version+`"}}`).want(t, 409)
			w.patch(shop, `{}`).want(t, 200)
		},
		"normalises": func(t *testing.T, w *world) {
			w.get(shop).wantAt(t, "spec.locations.0.cache.edgeTTL", "3600s")
			w.patch(shop, `{"spec":{"hostname":"Shop.Example.com"}}`).wantAt(t, "spec.hostname", "shop.example.com")
		},
		"sorts-locations": func(t *testing.T, w *world) { w.get(shop).wantAt(t, "spec.locations.0.path", "/b/*") },
		"forgets-writes": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"tls":{"forced":"true"}}}`).want(t, 200).wantAt(t, "spec.tls.forced", "true")
			w.get(shop).wantAt(t, "spec.tls.forced", "false")
		},
		"keeps-removed": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"tls":null,"upstreams":[{"name":"origin","servers":[{"host":"a.example.net","port":"443"}]}]}}`).want(t, 200)
			w.get(shop).wantAt(t, "spec.tls.forced", "false").wantAt(t, "spec.upstreams.0.servers.0.weight", "5")
		},
		"replaces-spec": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"firewall":{"enabled":true}}}`).want(t, 200)
			w.get(shop).wantAt(t, "spec.hostname", "shop.example.com").wantAt(t, "spec.tls", nil).wantAt(t, "spec.locations", nil)
		},
		"omits-empty": func(t *testing.T, w *world) {
			w.patch(shop, `{"spec":{"firewall":{"rules":[]},"secureLink":{}}}`).want(t, 200).wantAt(t, "spec.firewall", nil)
			w.get(shop).wantAt(t, "spec.firewall", nil).wantAt(t, "spec.secureLink", nil)
		},
		"redirect": func(t *testing.T, w *world) {
			if got := w.get(cdns).want(t, 307).header.Get("Location"); got != "/moved"+cdns {
				t.Error(got)
			}
		},
		"half-body": func(t *testing.T, w *world) {
			if got := w.get(shop); got.code != 200 || got.err == nil || got.body == "" {
				t.Errorf("%d %v %q", got.code, got.err, got.body)
			}
		},
		"captive-portal": func(t *testing.T, w *world) {
			got := w.get(cdns).want(t, 200)
			wantMedia(t, got, typeHTML)
			wantPrefix(t, got, "<!DOCTYPE html>")
		},
		"other-workspace": func(t *testing.T, w *world) { w.get(shop).wantAt(t, "metadata.namespace", "other-acme") },
		"executes-duplicates": func(t *testing.T, w *world) {
			for range 2 {
				w.post(purges, purgeBody("p", "shop.example.com", "/")).want(t, 201)
			}
			if done, err := w.s.CountExecutedPurges(); err != nil || done["p"] != 2 {
				t.Errorf("%v %v", done, err)
			}
		},
		"duplicate-is-existing": func(t *testing.T, w *world) {
			again(t, w).want(t, 200).wantAt(t, "metadata.creationTimestamp", "2026-11-21T09:00:00Z").wantAt(t, "spec.paths.0", "/")
		},
		"duplicate-400": func(t *testing.T, w *world) {
			again(t, w).want(t, 400).wantAt(t, "message", `purges.delivery "p" already exists`)
		},
		"duplicate-422": func(t *testing.T, w *world) {
			again(t, w).want(t, 422).wantAt(t, "message", `purges.delivery "p" already exists`)
		},
		"conflict-shows-object": func(t *testing.T, w *world) {
			again(t, w).want(t, 409).wantAt(t, "kind", "Purge").wantAt(t, "spec.paths.0", "/").
				wantAt(t, "metadata.creationTimestamp", "2026-11-21T09:00:00Z")
			w.post(cdns, cdnBody("shop", "other.example.com")).want(t, 409).wantAt(t, "spec.hostname", "shop.example.com")
		},
		"date-missing": dateLooks("", "", ""),
		"date-aged":    dateLooks("Fri, 20 Nov 2026 08:00:00 GMT", "90000", "Sat, 21 Nov 2026 09:00:00 GMT"),
		"date-ahead":   dateLooks("Sat, 21 Nov 2026 09:07:00 GMT", "", "Sat, 21 Nov 2026 09:07:00 GMT"),
		"date-behind":  dateLooks("Sat, 21 Nov 2026 08:53:00 GMT", "", "Sat, 21 Nov 2026 08:53:00 GMT"),
		"readonly-rejects": func(t *testing.T, w *world) {
			got := w.get(shop).wantAt(t, "spec.upstreams.0.servers.0.id", "srv-a.example.net").wantAt(t, "spec.locations.0.id", "loc-/a/*")
			back := `{"spec":{"locations":` + text(got.at("spec.locations")) + `}}`
			w.patch(shop, back).want(t, 422).wantAt(t, "details.causes.0.field", "spec.locations[0].id")
			back = `{"spec":{"upstreams":` + text(got.at("spec.upstreams")) + `}}`
			w.patch(shop, back).want(t, 422).wantAt(t, "details.causes.1.field", "spec.upstreams[0].servers[0].id")
		},
	}
}

// again posts a purge, and an hour later another of the same name that is not
// executed.
func again(t *testing.T, w *world) answer {
	t.Helper()
	w.post(purges, purgeBody("p", "shop.example.com", "/")).want(t, 201)
	w.advance(time.Hour)
	got := w.post(purges, purgeBody("p", "shop.example.com", "/other"))
	if done, err := w.s.CountExecutedPurges(); err != nil || done["p"] != 1 {
		t.Errorf("%v %v", done, err)
	}
	return got
}

// dateLooks demands what time a read and a write say it is.
func dateLooks(read, age, write string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		got := w.get(shop).want(t, 200).header
		wrote := w.patch(shop, `{}`).want(t, 200).header
		if got.Get("Date") != read || got.Get("Age") != age || wrote.Get("Date") != write || wrote.Get("Age") != "" {
			t.Errorf("read %v, write %v", got, wrote)
		}
	}
}

// more adds the CDNs a and b, which come before shop.
func more(t *testing.T, w *world) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		obj := map[string]any{"kind": "CDN", "metadata": map[string]any{"name": name}, "spec": map[string]any{"hostname": name}}
		if err := w.s.Put(obj); err != nil {
			t.Fatal(err)
		}
	}
}

func errorLooks(prefix, media string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		got := w.get(cdns+"/x").want(t, 404)
		wantPrefix(t, got, prefix)
		wantMedia(t, got, media)
	}
}

func wantPrefix(t *testing.T, a answer, want string) {
	t.Helper()
	if !strings.HasPrefix(a.body, want) {
		t.Errorf("body %q, want %q", a.body, want)
	}
}

func wantMedia(t *testing.T, a answer, want string) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != want {
		t.Errorf("content type %q, want %q", got, want)
	}
}

func TestEachQuirk(t *testing.T) {
	all := effects()
	for _, q := range All() {
		effect := all[q.Name]
		delete(all, q.Name)
		t.Run(q.Name, func(t *testing.T) {
			if effect == nil || q.Summary == "" || (q.Group != "benign" && q.Group != "adverse") {
				t.Fatalf("%+v", q)
			}
			effect(t, withShop(t, q.Name))
		})
	}
	for name := range all {
		t.Errorf("%s is not in the table", name)
	}
}

func benignNames() []string {
	var names []string
	for _, q := range All() {
		if q.Group == "benign" {
			names = append(names, q.Name)
		}
	}
	return names
}

// However a list is shaped, following it shows every object once.
func TestListsAreWholeUnderBenignQuirks(t *testing.T) {
	for _, quirks := range append([][]string{nil, benignNames()}, each(benignNames())...) {
		w := withShop(t)
		more(t, w)
		w.quirks(quirks...)
		seen := map[string]int{}
		token := ""
		for {
			got := w.get(cdns+"?continue="+token).want(t, 200)
			items := asList(got.at("items"))
			if items == nil {
				items = asList(got.at("data"))
			}
			if strings.HasPrefix(got.body, "[") {
				if err := json.Unmarshal([]byte(got.body), &items); err != nil {
					t.Fatal(err)
				}
			}
			for _, item := range items {
				seen[dig(item, "metadata.name").(string)]++
			}
			if token = asText(got.at("metadata.continue")); token == "" {
				break
			}
		}
		if len(seen) != 3 || seen["a"]+seen["b"]+seen["shop"] != 3 {
			t.Errorf("%v: %v", quirks, seen)
		}
	}
}

func each(names []string) [][]string {
	var out [][]string
	for _, name := range names {
		out = append(out, []string{name})
	}
	return out
}

// Every CDN of the corpus is content that the platform takes, also with
// the server's defaults; the same content again changes nothing.
func TestCorpusIsTaken(t *testing.T) {
	corpus := os.Getenv("TRUEUP_CORPUS")
	if corpus == "" {
		t.Skip("TRUEUP_CORPUS names no corpus")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "cdns", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus: %v %v", files, err)
	}
	for _, quirks := range [][]string{nil, {"defaults"}, {"readonly-rejects"}, benignNames()} {
		w := openWorld(t, sandbox.ServerOptions{Now: standing, Quirks: quirks, Workspaces: []sandbox.WorkspaceKey{{Name: "web-platform", UUID: sandbox.WorkspaceUUID}}})
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var cdn map[string]any
			if err := yaml.Unmarshal(raw, &cdn); err != nil || cdn["kind"] != "CDN" {
				continue
			}
			if got := w.post(cdns, text(cdn)); got.code < 200 || got.code > 204 {
				t.Fatalf("%v %s: %d %s", quirks, file, got.code, got.body)
			}
			path := cdns + "/" + dig(cdn, "metadata.name").(string)
			before := w.get(path).want(t, http.StatusOK)
			w.patch(path, text(map[string]any{"spec": cdn["spec"]}))
			if after := w.get(path); after.body != before.body {
				t.Errorf("%s: the same content again changed\n%s%s", file, before.body, after.body)
			}
		}
	}
}

func text(v any) string { return string(encode(v)) }

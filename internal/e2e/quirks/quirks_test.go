package quirks

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"trueup/internal/sandbox"

	"trueup/internal/e2e/sandboxtest"
)

const shop = sandboxtest.CDNs + "/shop"

// effects shows what each quirk does to a world that has the CDN shop.
func effects() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"defaults": func(t *testing.T, w *world) {
			w.Get(shop).WantAt(t, "spec.upstreams.0.servers.1.weight", "1").WantAt(t, "spec.locations.0.host", "shop.example.com").
				WantAt(t, "spec.locations.0.cache.level", "standard").WantAt(t, "spec.locations.1.cache.level", "standard").
				WantAt(t, "spec.locations.0.headers", map[string]any{}).WantAt(t, "spec.secureLink", nil)
			w.Patch(shop, `{"spec":{"tls":{"forced":null},"upstreams":[{"name":"origin","servers":[{"host":"a.example.net"}]}]}}`).
				WantAt(t, "spec.upstreams.0.servers.0.weight", "1").WantAt(t, "spec.upstreams.0.servers.0.port", "443").
				WantAt(t, "spec.tls.forced", "false")
		},
		"typed-scalars": func(t *testing.T, w *world) {
			got := w.Get(shop).Body
			for _, want := range []string{`"port":443`, `"weight":5`, `"forced":false`, `"edgeTTL":3600`} {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
			w.Patch(shop, `{"spec":{"tls":{"forced":true}}}`).Want(t, 422)
			w.Patch(shop, `{"spec":{"upstreams":[{"name":"origin","servers":[{"host":"a","port":"0443"}]}]}}`).
				WantAt(t, "spec.upstreams.0.servers.0.port", "0443")
		},
		"status": func(t *testing.T, w *world) { w.Get(shop).WantAt(t, "status.status", "OK") },
		"metadata-extra": func(t *testing.T, w *world) {
			got := w.Get(shop).WantAt(t, "metadata.workspace", "acme")
			for _, want := range []string{`"labels":null`, `"annotations":null`, `"finalizers":[`, `"selfLink":"/delivery`} {
				if !strings.Contains(got.Body, want) {
					t.Errorf("no %s in %s", want, got.Body)
				}
			}
		},
		"set-order": func(t *testing.T, w *world) {
			w.Get(shop).WantAt(t, "spec.upstreams.1.name", "origin").WantAt(t, "spec.upstreams.1.servers.0.host", "b.example.net").
				WantAt(t, "spec.locations.0.path", "/a/*")
		},
		"list-array": func(t *testing.T, w *world) {
			wantPrefix(t, w.Get(sandboxtest.CDNs), `[{"apiVersion"`)
			wantPrefix(t, w.Get(sandboxtest.Snapshots), `[]`)
		},
		"list-data": func(t *testing.T, w *world) { w.Get(sandboxtest.CDNs).WantAt(t, "data.0.metadata.name", "shop") },
		"list-paged": func(t *testing.T, w *world) {
			more(t, w)
			page := w.Get(sandboxtest.CDNs).WantAt(t, "items.0.metadata.name", "a").WantAt(t, "items.1", nil).WantAt(t, "metadata.remainingItemCount", 2)
			next := w.Get(sandboxtest.CDNs + "?continue=" + page.At("metadata.continue").(string))
			next.WantAt(t, "items.0.metadata.name", "b").WantAt(t, "items.1", nil).WantAt(t, "metadata.remainingItemCount", 1)
		},
		"list-null-items": func(t *testing.T, w *world) {
			if got := w.Get(sandboxtest.Snapshots).Body; !strings.Contains(got, `"items":null`) {
				t.Error(got)
			}
			w.Get(sandboxtest.CDNs).WantAt(t, "items.0.metadata.name", "shop")
		},
		"list-without-spec": func(t *testing.T, w *world) {
			w.Get(sandboxtest.CDNs).WantAt(t, "items.0.metadata.name", "shop").WantAt(t, "items.0.spec", nil)
			w.Get(shop).WantAt(t, "spec.hostname", "shop.example.com")
		},
		"list-unordered": func(t *testing.T, w *world) {
			more(t, w)
			w.Get(sandboxtest.CDNs).WantAt(t, "items.0.metadata.name", "shop").WantAt(t, "items.2.metadata.name", "a")
		},
		"status-200": func(t *testing.T, w *world) {
			w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "d")).Want(t, 200)
		},
		"status-202": func(t *testing.T, w *world) {
			w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "d")).Want(t, 202).WantAt(t, "metadata.name", "db")
			w.Delete(sandboxtest.Snapshots+"/db").Want(t, 202)
		},
		"status-204": func(t *testing.T, w *world) {
			if got := w.Patch(shop, `{"spec":{"tls":{"auto":"true"}}}`).Want(t, 204).Body; got != "" {
				t.Error(got)
			}
			w.Get(shop).WantAt(t, "spec.tls.auto", "true")
		},
		"empty-patch-body": func(t *testing.T, w *world) {
			if got := w.Patch(shop, `{"spec":{"tls":{"auto":"true"}}}`).Want(t, 200).Body; got != "" {
				t.Error(got)
			}
		},
		"delete-at-once": func(t *testing.T, w *world) {
			w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "d")).Want(t, 201)
			w.Delete(sandboxtest.Snapshots+"/db").Want(t, 200).WantAt(t, "status", "Success")
			w.Get(sandboxtest.Snapshots+"/db").Want(t, 404)
		},
		"lagging-reads": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"tls":{"forced":"true"}}}`).WantAt(t, "spec.tls.forced", "true")
			w.Get(shop).WantAt(t, "spec.tls.forced", "false")
			w.Get(shop).WantAt(t, "spec.tls.forced", "true")
		},
		"lags": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"tls":{"forced":"true"}}}`).Want(t, 200)
			w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("docs", "docs.example.com")).Want(t, 201)
			for range 2 {
				w.Get(sandboxtest.CDNs).Want(t, 200).WantAt(t, "items.0.spec.tls.forced", "false").WantAt(t, "items.1", nil)
			}
			w.Get(shop).WantAt(t, "spec.tls.forced", "true")
		},
		"renames": func(t *testing.T, w *world) {
			made := w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("docs", "docs.example.com")).Want(t, 201)
			name, _ := made.At("metadata.name").(string)
			if name == "docs" {
				t.Error(made.Body)
			}
			w.Get(sandboxtest.CDNs+"/docs").Want(t, 404)
			w.Get(sandboxtest.CDNs+"/"+name).Want(t, 200)
		},
		"delete-string": func(t *testing.T, w *world) {
			w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "d")).Want(t, 201)
			wantPrefix(t, w.Delete(sandboxtest.Snapshots+"/db").Want(t, 200), `"deleted"`)
		},

		"error-message-object": errorLooks(`{"message":{"detail":"cdns.delivery \"x\" not found"}}`, typeJSON),
		"error-reason":         errorLooks(`{"reason":"cdns.delivery`, typeJSON),
		"error-string":         errorLooks(`{"error":"cdns.delivery`, typeJSON),
		"error-details":        errorLooks(`{"details":"cdns.delivery`, typeJSON),
		"error-html":           errorLooks("<!DOCTYPE html>", typeHTML),
		"error-text":           errorLooks(`cdns.delivery "x" not found`, typeText),
		"error-problem":        errorLooks(`{"detail":"cdns.delivery \"x\" not found","instance":"/delivery`, "application/problem+json"),
		"error-nil-cause": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"hostname":""}}`).Want(t, 422).WantAt(t, "details.causes.0.field", "<nil>").
				WantAt(t, "details.causes.1.field", "spec.hostname")
		},
		"drop-unknown-fields": func(t *testing.T, w *world) {
			got := w.Patch(shop, `{"spec":{"x":1,"tls":{"y":2},"locations":[{"path":"/","headers":{"Free":"yes"},"z":3}]}}`).Want(t, 200)
			got.WantAt(t, "spec.x", nil).WantAt(t, "spec.tls.y", nil).WantAt(t, "spec.locations.0.headers.Free", "yes")
			want := `299 - "unknown field \"spec.locations[0].z\"", 299 - "unknown field \"spec.tls.y\"", 299 - "unknown field \"spec.x\""`
			if warned := strings.Join(got.Header.Values("Warning"), ", "); warned != want {
				t.Error(warned)
			}
		},
		"wrong-namespace-empty": func(t *testing.T, w *world) {
			w.Get(sandboxtest.CDNs).Want(t, 200).WantAt(t, "items.0", nil)
			w.Get(shop).Want(t, 404)
			w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("x", "x.example.com")).Want(t, 404).WantAt(t, "message", `namespaces "`+sandbox.WorkspaceUUID+`" not found`)
		},
		"list-incomplete": func(t *testing.T, w *world) {
			more(t, w)
			w.Get(sandboxtest.CDNs).WantAt(t, "items.1.metadata.name", "shop").WantAt(t, "items.2", nil).WantAt(t, "metadata.continue", "")
			w.Get(sandboxtest.CDNs+"/b").Want(t, 200)
		},
		"list-expired": func(t *testing.T, w *world) {
			more(t, w)
			token := w.Get(sandboxtest.CDNs).WantAt(t, "metadata.remainingItemCount", 2).At("metadata.continue").(string)
			w.Get(sandboxtest.CDNs+"?continue="+token).Want(t, 410)
		},
		"terminating": func(t *testing.T, w *world) {
			w.Get(shop).WantAt(t, "metadata.deletionTimestamp", "2026-11-21T09:00:00Z")
		},
		"finalizers": func(t *testing.T, w *world) {
			w.Post(sandboxtest.Snapshots, sandboxtest.SnapshotBody("db", "d")).Want(t, 201)
			w.Delete(sandboxtest.Snapshots+"/db").Want(t, 200)
			w.Advance(100 * sandbox.TerminatingFor)
			w.Get(sandboxtest.Snapshots+"/db").Want(t, 200)
		},
		"wrong-address": func(t *testing.T, w *world) {
			wantPrefix(t, w.Get(sandboxtest.CDNs).Want(t, 404), "404 page not found")
		},
		"gateway-timeout-text": func(t *testing.T, w *world) {
			got := w.Get(sandboxtest.CDNs).Want(t, 504).WantAt(t, "reason", "Timeout").WantAt(t, "kind", nil)
			wantMedia(t, got, typeText)
		},
		"rate-limited-plain": func(t *testing.T, w *world) {
			got := w.Get(sandboxtest.CDNs).Want(t, 429)
			wantMedia(t, got, typeText)
			if got.Header.Get("Retry-After") != "1" {
				t.Error(got.Header)
			}
			w.Get(sandboxtest.CDNs).Want(t, 200)
			w.Get(shop).Want(t, 429)
		},
		"rate-limited-status": func(t *testing.T, w *world) {
			w.Get(sandboxtest.CDNs).Want(t, 429).WantAt(t, "details.retryAfterSeconds", 1).WantAt(t, "reason", "TooManyRequests")
			w.Get(sandboxtest.CDNs).Want(t, 200)
		},
		"conflict-on-resource-version": func(t *testing.T, w *world) {
			version := w.Get(shop).At("metadata.resourceVersion").(string)
			w.Patch(shop, `{"metadata":{"resourceVersion":"`+version+`"}}`).Want(t, 409)
			w.Patch(shop, `{}`).Want(t, 200)
		},
		"normalises": func(t *testing.T, w *world) {
			w.Get(shop).WantAt(t, "spec.locations.0.cache.edgeTTL", "3600s")
			w.Patch(shop, `{"spec":{"hostname":"Shop.Example.com"}}`).WantAt(t, "spec.hostname", "shop.example.com")
		},
		"sorts-locations": func(t *testing.T, w *world) { w.Get(shop).WantAt(t, "spec.locations.0.path", "/b/*") },
		"forgets-writes": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"tls":{"forced":"true"}}}`).Want(t, 200).WantAt(t, "spec.tls.forced", "true")
			w.Get(shop).WantAt(t, "spec.tls.forced", "false")
		},
		"keeps-removed": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"tls":null,"upstreams":[{"name":"origin","servers":[{"host":"a.example.net","port":"443"}]}]}}`).Want(t, 200)
			w.Get(shop).WantAt(t, "spec.tls.forced", "false").WantAt(t, "spec.upstreams.0.servers.0.weight", "5")
		},
		"replaces-spec": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"firewall":{"enabled":true}}}`).Want(t, 200)
			w.Get(shop).WantAt(t, "spec.hostname", "shop.example.com").WantAt(t, "spec.tls", nil).WantAt(t, "spec.locations", nil)
		},
		"omits-empty": func(t *testing.T, w *world) {
			w.Patch(shop, `{"spec":{"firewall":{"rules":[]},"secureLink":{}}}`).Want(t, 200).WantAt(t, "spec.firewall", nil)
			w.Get(shop).WantAt(t, "spec.firewall", nil).WantAt(t, "spec.secureLink", nil)
		},
		"redirect": func(t *testing.T, w *world) {
			if got := w.Get(sandboxtest.CDNs).Want(t, 307).Header.Get("Location"); got != "/moved"+sandboxtest.CDNs {
				t.Error(got)
			}
		},
		"half-body": func(t *testing.T, w *world) {
			if got := w.Get(shop); got.Code != 200 || got.Err == nil || got.Body == "" {
				t.Errorf("%d %v %q", got.Code, got.Err, got.Body)
			}
		},
		"captive-portal": func(t *testing.T, w *world) {
			got := w.Get(sandboxtest.CDNs).Want(t, 200)
			wantMedia(t, got, typeHTML)
			wantPrefix(t, got, "<!DOCTYPE html>")
		},
		"other-workspace": func(t *testing.T, w *world) { w.Get(shop).WantAt(t, "metadata.namespace", "other-acme") },
		"executes-duplicates": func(t *testing.T, w *world) {
			for range 2 {
				w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p", "shop.example.com", "/")).Want(t, 201)
			}
			if done, err := w.s.CountExecutedPurges(); err != nil || done["p"] != 2 {
				t.Errorf("%v %v", done, err)
			}
		},
		"duplicate-is-existing": func(t *testing.T, w *world) {
			again(t, w).Want(t, 200).WantAt(t, "metadata.creationTimestamp", "2026-11-21T09:00:00Z").WantAt(t, "spec.paths.0", "/")
		},
		"duplicate-400": func(t *testing.T, w *world) {
			again(t, w).Want(t, 400).WantAt(t, "message", `purges.delivery "p" already exists`)
		},
		"duplicate-422": func(t *testing.T, w *world) {
			again(t, w).Want(t, 422).WantAt(t, "message", `purges.delivery "p" already exists`)
		},
		"conflict-shows-object": func(t *testing.T, w *world) {
			again(t, w).Want(t, 409).WantAt(t, "kind", "Purge").WantAt(t, "spec.paths.0", "/").
				WantAt(t, "metadata.creationTimestamp", "2026-11-21T09:00:00Z")
			w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop", "other.example.com")).Want(t, 409).WantAt(t, "spec.hostname", "shop.example.com")
		},
		"date-missing": dateLooks("", "", ""),
		"date-aged":    dateLooks("Fri, 20 Nov 2026 08:00:00 GMT", "90000", "Sat, 21 Nov 2026 09:00:00 GMT"),
		"date-ahead":   dateLooks("Sat, 21 Nov 2026 09:07:00 GMT", "", "Sat, 21 Nov 2026 09:07:00 GMT"),
		"date-behind":  dateLooks("Sat, 21 Nov 2026 08:53:00 GMT", "", "Sat, 21 Nov 2026 08:53:00 GMT"),
		"readonly-rejects": func(t *testing.T, w *world) {
			got := w.Get(shop).WantAt(t, "spec.upstreams.0.servers.0.id", "srv-a.example.net").WantAt(t, "spec.locations.0.id", "loc-/a/*")
			back := `{"spec":{"locations":` + text(got.At("spec.locations")) + `}}`
			w.Patch(shop, back).Want(t, 422).WantAt(t, "details.causes.0.field", "spec.locations[0].id")
			back = `{"spec":{"upstreams":` + text(got.At("spec.upstreams")) + `}}`
			w.Patch(shop, back).Want(t, 422).WantAt(t, "details.causes.1.field", "spec.upstreams[0].servers[0].id")
		},
	}
}

// again posts a purge, and an hour later another of the same name that is not
// executed.
func again(t *testing.T, w *world) answer {
	t.Helper()
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p", "shop.example.com", "/")).Want(t, 201)
	w.Advance(time.Hour)
	got := w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p", "shop.example.com", "/other"))
	if done, err := w.s.CountExecutedPurges(); err != nil || done["p"] != 1 {
		t.Errorf("%v %v", done, err)
	}
	return got
}

// dateLooks demands what time a read and a write say it is.
func dateLooks(read, age, write string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		got := w.Get(shop).Want(t, 200).Header
		wrote := w.Patch(shop, `{}`).Want(t, 200).Header
		if got.Get("Date") != read || got.Get("Age") != age || wrote.Get("Date") != write || wrote.Get("Age") != "" {
			t.Errorf("read %v, write %v", got, wrote)
		}
	}
}

// more adds the sandboxtest.CDNs a and b, which come before shop.
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
		got := w.Get(sandboxtest.CDNs+"/x").Want(t, 404)
		wantPrefix(t, got, prefix)
		wantMedia(t, got, media)
	}
}

func wantPrefix(t *testing.T, a answer, want string) {
	t.Helper()
	if !strings.HasPrefix(a.Body, want) {
		t.Errorf("body %q, want %q", a.Body, want)
	}
}

func wantMedia(t *testing.T, a answer, want string) {
	t.Helper()
	if got := a.Header.Get("Content-Type"); got != want {
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
		w.SetQuirks(quirks...)
		seen := map[string]int{}
		token := ""
		for {
			got := w.Get(sandboxtest.CDNs+"?continue="+token).Want(t, 200)
			items := sandbox.AsList(got.At("items"))
			if items == nil {
				items = sandbox.AsList(got.At("data"))
			}
			if strings.HasPrefix(got.Body, "[") {
				if err := json.Unmarshal([]byte(got.Body), &items); err != nil {
					t.Fatal(err)
				}
			}
			for _, item := range items {
				seen[sandboxtest.Dig(item, "metadata.name").(string)]++
			}
			if token = asText(got.At("metadata.continue")); token == "" {
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
		w := openWorld(t, sandbox.ServerOptions{Now: sandboxtest.Standing, Quirks: quirks, Workspaces: []sandbox.WorkspaceKey{{Name: "web-platform", UUID: sandbox.WorkspaceUUID}}})
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var cdn map[string]any
			if err := yaml.Unmarshal(raw, &cdn); err != nil || cdn["kind"] != "CDN" {
				continue
			}
			if got := w.Post(sandboxtest.CDNs, text(cdn)); got.Code < 200 || got.Code > 204 {
				t.Fatalf("%v %s: %d %s", quirks, file, got.Code, got.Body)
			}
			path := sandboxtest.CDNs + "/" + sandboxtest.Dig(cdn, "metadata.name").(string)
			before := w.Get(path).Want(t, http.StatusOK)
			w.Patch(path, text(map[string]any{"spec": cdn["spec"]}))
			if after := w.Get(path); after.Body != before.Body {
				t.Errorf("%s: the same content again changed\n%s%s", file, before.Body, after.Body)
			}
		}
	}
}

func text(v any) string { return string(encode(v)) }

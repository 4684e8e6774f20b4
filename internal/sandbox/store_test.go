package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"trueup/internal/e2e/sample"
)

func TestStateSurvivesReopening(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(ServerOptions{Dir: dir, Now: standing})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.LoadSeed(LiveExamples()); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(25 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, ServerOptions{Dir: dir, Now: standing})
	if got := w.s.Now(); !got.Equal(start.Add(25 * time.Hour)) {
		t.Errorf("clock %s", got)
	}
	w.get(cdns+"/shop").want(t, 200)
	w.post(purges, purgeBody("rel-1", "shop.example.com", "/")).want(t, 201)
	if err := w.s.Close(); err != nil {
		t.Fatal(err)
	}
	w = openWorld(t, ServerOptions{Dir: dir, Now: standing})
	w.post(purges, purgeBody("rel-1", "shop.example.com", "/")).want(t, 409)
	log, err := w.s.Requests()
	if err != nil || len(log) != 3 || log[1].Path != purges || log[1].ContentType != "application/json" || log[1].Status != 201 {
		t.Errorf("log %+v %v", log, err)
	}
	if !strings.Contains(log[1].Body, `"rel-1"`) || !log[1].Time.Equal(start.Add(25*time.Hour)) {
		t.Errorf("log %+v", log[1])
	}
	if err := w.s.ResetRequests(); err != nil {
		t.Fatal(err)
	}
	if log, err = w.s.Requests(); err != nil || len(log) != 0 {
		t.Errorf("log %+v %v", log, err)
	}
}

func TestNothingIsLeftWithoutADir(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s, err := Open(ServerOptions{Now: standing})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v %v", left, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]ServerOptions{
		"no clock":      {},
		"unknown quirk": {Now: standing, Quirks: []string{"kind"}},
		"no directory":  {Now: standing, Dir: filepath.Join(file, "x")},
	} {
		s, err := Open(opts)
		if err == nil {
			t.Errorf("%s: opened", name)
			_ = s.Close()
		}
	}
}

func TestLogHoldsNoToken(t *testing.T) {
	var seen []LoggedRequest
	w := openWorld(t, ServerOptions{Now: standing, Log: func(r LoggedRequest) { seen = append(seen, r) }})
	w.get(cdns + "?limit=1")
	log, err := w.s.Requests()
	if err != nil || len(log) != 1 || len(seen) != 1 || log[0].Query != "limit=1" {
		t.Fatalf("log %+v, seen %+v, %v", log, seen, err)
	}
	if text := fmt.Sprintf("%+v", log); strings.Contains(text, DeliveryToken) {
		t.Error(text)
	}
}

// The first world: a change, a drift, a creation and objects git does not know.
func TestSeed(t *testing.T) {
	w := newWorld(t)
	if err := w.s.LoadSeed(LiveExamples()); err != nil {
		t.Fatal(err)
	}
	w.get(cdns).want(t, 200).wantAt(t, "items.0.metadata.name", "legacy-blog").wantAt(t, "items.1.metadata.name", "shop").
		wantAt(t, "items.2", nil).wantAt(t, "items.1.spec.tls.forced", "false").wantAt(t, "items.1.spec.locations.0.cache.edgeTTL", 60)
	w.get(snapshots).want(t, 200).wantAt(t, "items.0.status.readyToUse", true)

	manifest, err := os.ReadFile("../../examples/manifests/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var git, applied map[string]any
	if err := yaml.Unmarshal(manifest, &git); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(AppliedExamples(), &applied); err != nil {
		t.Fatal(err)
	}
	dig(git, "spec.tls").(map[string]any)["forced"] = "false"
	if encode(git) != encode(applied) {
		t.Errorf("the applied seed differs from the example by more than tls.forced:\n%s\n%s", encode(git), encode(applied))
	}
	live := w.get(cdns + "/shop")
	cache := dig(applied, "spec.locations.0.cache").(map[string]any)
	cache["edgeTTL"], cache["detectCountry"] = "60", "false"
	if got, want := encode(live.at("spec")), encode(applied["spec"]); got != want {
		t.Errorf("the live seed differs by more than one edge TTL and one field of its own:\n%s\n%s", got, want)
	}
	// What is live is content that the platform itself would take.
	w.patch(cdns+"/shop", `{"metadata":{"labels":{"a":"b"}}}`).want(t, 200)
	w.patch(cdns+"/legacy-blog", `{"metadata":{"labels":{"a":"b"}}}`).want(t, 200)
}

func TestPutAndRemove(t *testing.T) {
	w := newWorld(t)
	for name, obj := range map[string]map[string]any{
		"kind":      {"kind": "Pod", "metadata": map[string]any{"name": "a"}},
		"name":      {"kind": "CDN"},
		"workspace": {"kind": "CDN", "metadata": map[string]any{"name": "a", "namespace": "none"}},
		"json":      {"kind": "CDN", "spec": func() {}},
	} {
		if err := w.s.Put(obj); err == nil {
			t.Errorf("%s: put", name)
		}
	}
	for _, bad := range []string{"a: b: c", "kind: Pod", "[]"} {
		if err := w.s.LoadSeed([]byte(bad)); err == nil {
			t.Errorf("%q: loaded", bad)
		}
	}
	seed := "---\n---\n{\"kind\": \"Purge\", \"metadata\": {\"name\": \"old\", \"creationTimestamp\": \"2026-11-20T09:00:01Z\"}}\n"
	if err := w.s.LoadSeed([]byte(seed)); err != nil {
		t.Fatal(err)
	}
	objs, err := w.s.Objects()
	if err != nil || len(objs) != 1 || dig(objs[0], "metadata.uid") == nil {
		t.Errorf("objects %v %v", objs, err)
	}
	w.advance(time.Second)
	if objs, err = w.s.Objects(); err != nil || len(objs) != 0 {
		t.Errorf("an expired purge is live: %v %v", objs, err)
	}
	w.post(cdns, cdnBody("shop", "shop.example.com")).want(t, 201)
	if err := w.s.Remove("CDN", "acme", "shop"); err != nil {
		t.Fatal(err)
	}
	w.get(cdns+"/shop").want(t, 404)
	w.post(cdns, cdnBody("shop2", "shop.example.com")).want(t, 201)
	if _, err := w.s.Object("Pod", "acme", "a"); err == nil {
		t.Error("read a Pod")
	}
	if err := w.s.Remove("Pod", "acme", "a"); err == nil {
		t.Error("removed a Pod")
	}
}

func TestControl(t *testing.T) {
	w := withShop(t)
	steer := func(method, path, body string, code int) answer {
		t.Helper()
		return w.do(method, ControlBase+path, "", "", body).want(t, code)
	}
	steer("POST", "clock", `{"advance":"25h"}`, 200).wantAt(t, "now", "2026-11-22T10:00:00Z")
	steer("GET", "clock", "", 200).wantAt(t, "now", "2026-11-22T10:00:00Z")
	steer("POST", "clock", `{"advance":"soon"}`, 400)
	steer("POST", "clock", `x`, 400)
	steer("POST", "fault", "GET /cdns: 503\nGET /cdns: drop @9\n", 204)
	w.get(cdns).want(t, 503)
	w.get(cdns).want(t, 200)
	if got := steer("GET", "fault", "", 200).body; got != `[{"rule":"GET /cdns: drop @9","seen":2,"done":0}]`+"\n" {
		t.Error(got)
	}
	steer("DELETE", "fault", "", 204)
	if got := steer("GET", "fault", "", 200).body; got != "[]\n" {
		t.Error(got)
	}
	if got := steer("POST", "fault", "GET /cdns: 5O3", 400).body; !strings.Contains(got, Grammar) {
		t.Error(got)
	}
	steer("PUT", "objects", `{"kind":"CDN","metadata":{"name":"new"},"spec":{"hostname":"new.example.com"}}`, 204)
	steer("GET", "objects/CDN/acme/new", "", 200).wantAt(t, "spec.hostname", "new.example.com")
	if got := steer("GET", "objects", "", 200).body; !strings.Contains(got, "new.example.com") || !strings.Contains(got, "shop.example.com") {
		t.Error(got)
	}
	steer("DELETE", "objects/CDN/acme/new", "", 204)
	steer("GET", "objects/CDN/acme/new", "", 400)
	w.post(purges, purgeBody("p", "shop.example.com", "/")).want(t, 201)
	steer("GET", "executed", "", 200).wantAt(t, "p", 1)
	if got := steer("GET", "requests", "", 200).body; strings.Contains(got, ControlBase) || !strings.Contains(got, purges) {
		t.Error(got)
	}
	steer("DELETE", "requests", "", 204)
	if got := steer("GET", "requests", "", 200).body; got != "[]\n" {
		t.Error(got)
	}
	steer("GET", "nothing", "", 404)
}

// TestControlIsNoPages: a page in a browser of this machine can't steer the sandbox,
// whatever name it has for it.
func TestControlIsNoPages(t *testing.T) {
	w := withShop(t)
	here := strings.TrimPrefix(w.url, "http://")
	_, port, _ := strings.Cut(here, ":")
	for _, c := range []struct {
		host, header, value string
		code                int
	}{
		{"", "", "", 204},
		{"localhost:" + port, "", "", 204},
		{"LOCALHOST", "", "", 204},
		{"127.8.9.1:1", "", "", 204},
		{"[::1]:" + port, "", "", 204},
		{"", "Origin", "http://" + here, 204},
		{"", "Sec-Fetch-Site", "same-origin", 204},
		{"", "Sec-Fetch-Site", "none", 204},
		{"evil.example", "", "", 403},
		{"evil.example:" + port, "", "", 403},
		{"localhost.evil.example", "", "", 403},
		{"127.0.0.1.evil.example:" + port, "", "", 403},
		{"192.0.2.1:" + port, "", "", 403},
		{"evil.example:" + port, "Origin", "http://evil.example:" + port, 403},
		{"", "Origin", "http://evil.example", 403},
		{"", "Origin", "http://127.0.0.1:1", 403},
		{"", "Origin", "https://" + here, 403},
		{"", "Origin", "null", 403},
		{"", "Sec-Fetch-Site", "cross-site", 403},
		{"", "Sec-Fetch-Site", "same-site", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+ControlBase+"fault", strings.NewReader("GET /none: 503"))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = cmp.Or(c.host, req.Host)
		if c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		if got := send(req); got.code != c.code {
			t.Errorf("host %q, %s %s: %d %s, want %d", c.host, c.header, c.value, got.code, got.body, c.code)
		}
	}
	// The platform asks for a token, which no page has.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+cdns, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "platform.example"
	req.Header.Set("Authorization", "Bearer "+DeliveryToken)
	send(req).want(t, 200)
}

func TestAStoreHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	openWorld(t, ServerOptions{Dir: dir, Now: standing})
	s, err := Open(ServerOptions{Dir: dir, Now: standing})
	if err == nil {
		_ = s.Close()
		t.Fatal("opened twice")
	}
	if !strings.Contains(err.Error(), "another process has it open") {
		t.Error(err)
	}
}

// TestSamplesAreTaken: the platform finds nothing wrong with any object.
func TestSamplesAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for s := range (sample.World{CDNs: 20, Purges: 20, Snapshots: 2, Changed: 50}).Objects() {
		path := map[string]string{"CDN": cdns, "Purge": purges, "VolumeSnapshot": snapshots}[s.Kind]
		meta := map[string]any{"name": s.Name}
		if s.Kind != "Purge" {
			meta["namespace"] = WorkspaceName
		}
		for _, spec := range []map[string]any{s.Spec, s.Live} {
			raw, err := json.Marshal(map[string]any{"apiVersion": s.APIVersion, "kind": s.Kind, "metadata": meta, "spec": spec})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case spec == nil:
			case w.get(path+"/"+s.Name).code == 200 && s.Kind == "CDN":
				w.patch(path+"/"+s.Name, string(raw)).want(t, 200)
			case w.get(path+"/"+s.Name).code != 200:
				w.post(path, string(raw)).want(t, 201)
			}
		}
	}
}

// TestPutIsAllOrNone: one object that can't be put keeps all from it.
func TestPutIsAllOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, bad := json.RawMessage(cdnBody("shop", "shop.example.com")), json.RawMessage(`{"kind": "Pod"}`)
	if err := w.s.PutJSON(good, bad); err == nil || w.get(cdns+"/shop").code != 404 {
		t.Errorf("error %v, and %d", err, w.get(cdns+"/shop").code)
	}
	w.do("PUT", ControlBase+"objects", "", "", "[ "+string(good)+","+cdnBody("docs", "docs.example.com")+"]").want(t, 204)
	w.get(cdns+"/shop").want(t, 200)
	w.get(cdns+"/docs").want(t, 200)
	w.do("PUT", ControlBase+"objects", "", "", "["+string(good)+","+string(bad)+"]").want(t, 400)
}

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

	"go.yaml.in/yaml/v4"

	"trueup/internal/e2e/sample"

	"trueup/internal/e2e/sandboxtest"
)

func TestStateSurvivesReopening(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(ServerOptions{Dir: dir, Now: sandboxtest.Standing})
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
	w := openWorld(t, ServerOptions{Dir: dir, Now: sandboxtest.Standing})
	if got := w.s.Now(); !got.Equal(sandboxtest.Start.Add(25 * time.Hour)) {
		t.Errorf("clock %s", got)
	}
	w.Get(sandboxtest.CDNs+"/shop").Want(t, 200)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/")).Want(t, 201)
	if err := w.s.Close(); err != nil {
		t.Fatal(err)
	}
	w = openWorld(t, ServerOptions{Dir: dir, Now: sandboxtest.Standing})
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/")).Want(t, 409)
	log, err := w.s.Requests()
	if err != nil || len(log) != 3 || log[1].Path != sandboxtest.Purges || log[1].ContentType != "application/json" || log[1].Status != 201 {
		t.Errorf("log %+v %v", log, err)
	}
	if !strings.Contains(log[1].Body, `"rel-1"`) || !log[1].Time.Equal(sandboxtest.Start.Add(25*time.Hour)) {
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
	s, err := Open(ServerOptions{Now: sandboxtest.Standing})
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
		"unknown quirk": {Now: sandboxtest.Standing, Quirks: []string{"kind"}},
		"no directory":  {Now: sandboxtest.Standing, Dir: filepath.Join(file, "x")},
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
	w := openWorld(t, ServerOptions{Now: sandboxtest.Standing, Log: func(r LoggedRequest) { seen = append(seen, r) }})
	w.Get(sandboxtest.CDNs + "?limit=1")
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
	w.Get(sandboxtest.CDNs).Want(t, 200).WantAt(t, "items.0.metadata.name", "legacy-blog").WantAt(t, "items.1.metadata.name", "shop").
		WantAt(t, "items.2", nil).WantAt(t, "items.1.spec.tls.forced", "false").WantAt(t, "items.1.spec.locations.0.cache.edgeTTL", 60)
	w.Get(sandboxtest.Snapshots).Want(t, 200).WantAt(t, "items.0.status.readyToUse", true)

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
	sandboxtest.Dig(git, "spec.tls").(map[string]any)["forced"] = "false"
	if EncodeJSON(git) != EncodeJSON(applied) {
		t.Errorf("the applied seed differs from the example by more than tls.forced:\n%s\n%s", EncodeJSON(git), EncodeJSON(applied))
	}
	live := w.Get(sandboxtest.CDNs + "/shop")
	cache := sandboxtest.Dig(applied, "spec.locations.0.cache").(map[string]any)
	cache["edgeTTL"], cache["detectCountry"] = "60", "false"
	if got, want := EncodeJSON(live.At("spec")), EncodeJSON(applied["spec"]); got != want {
		t.Errorf("the live seed differs by more than one edge TTL and one field of its own:\n%s\n%s", got, want)
	}
	// What is live is content that the platform itself would take.
	w.Patch(sandboxtest.CDNs+"/shop", `{"metadata":{"labels":{"a":"b"}}}`).Want(t, 200)
	w.Patch(sandboxtest.CDNs+"/legacy-blog", `{"metadata":{"labels":{"a":"b"}}}`).Want(t, 200)
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
	if err != nil || len(objs) != 1 || sandboxtest.Dig(objs[0], "metadata.uid") == nil {
		t.Errorf("objects %v %v", objs, err)
	}
	w.Advance(time.Second)
	if objs, err = w.s.Objects(); err != nil || len(objs) != 0 {
		t.Errorf("an expired purge is live: %v %v", objs, err)
	}
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop", "shop.example.com")).Want(t, 201)
	if err := w.s.Remove("CDN", "acme", "shop"); err != nil {
		t.Fatal(err)
	}
	w.Get(sandboxtest.CDNs+"/shop").Want(t, 404)
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop2", "shop.example.com")).Want(t, 201)
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
		return w.Do(method, ControlBase+path, "", "", body).Want(t, code)
	}
	steer("POST", "clock", `{"advance":"25h"}`, 200).WantAt(t, "now", "2026-11-22T10:00:00Z")
	steer("GET", "clock", "", 200).WantAt(t, "now", "2026-11-22T10:00:00Z")
	steer("POST", "clock", `{"advance":"soon"}`, 400)
	steer("POST", "clock", `x`, 400)
	steer("POST", "fault", "GET /cdns: 503\nGET /cdns: drop @9\n", 204)
	w.Get(sandboxtest.CDNs).Want(t, 503)
	w.Get(sandboxtest.CDNs).Want(t, 200)
	if got := steer("GET", "fault", "", 200).Body; got != `[{"rule":"GET /cdns: drop @9","seen":2,"done":0}]`+"\n" {
		t.Error(got)
	}
	steer("DELETE", "fault", "", 204)
	if got := steer("GET", "fault", "", 200).Body; got != "[]\n" {
		t.Error(got)
	}
	if got := steer("POST", "fault", "GET /cdns: 5O3", 400).Body; !strings.Contains(got, Grammar) {
		t.Error(got)
	}
	steer("PUT", "objects", `{"kind":"CDN","metadata":{"name":"new"},"spec":{"hostname":"new.example.com"}}`, 204)
	steer("GET", "objects/CDN/acme/new", "", 200).WantAt(t, "spec.hostname", "new.example.com")
	if got := steer("GET", "objects", "", 200).Body; !strings.Contains(got, "new.example.com") || !strings.Contains(got, "shop.example.com") {
		t.Error(got)
	}
	steer("DELETE", "objects/CDN/acme/new", "", 204)
	steer("GET", "objects/CDN/acme/new", "", 400)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p", "shop.example.com", "/")).Want(t, 201)
	steer("GET", "executed", "", 200).WantAt(t, "p", 1)
	if got := steer("GET", "requests", "", 200).Body; strings.Contains(got, ControlBase) || !strings.Contains(got, sandboxtest.Purges) {
		t.Error(got)
	}
	steer("DELETE", "requests", "", 204)
	if got := steer("GET", "requests", "", 200).Body; got != "[]\n" {
		t.Error(got)
	}
	steer("GET", "nothing", "", 404)
}

// TestControlIsNoPages: a page in a browser of this machine can't steer the sandbox,
// whatever name it has for it.
func TestControlIsNoPages(t *testing.T) {
	w := withShop(t)
	here := strings.TrimPrefix(w.URL, "http://")
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
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+ControlBase+"fault", strings.NewReader("GET /none: 503"))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = cmp.Or(c.host, req.Host)
		if c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		if got := sandboxtest.Send(req); got.Code != c.code {
			t.Errorf("host %q, %s %s: %d %s, want %d", c.host, c.header, c.value, got.Code, got.Body, c.code)
		}
	}
	// The platform asks for a token, which no page has.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+sandboxtest.CDNs, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "platform.example"
	req.Header.Set("Authorization", "Bearer "+DeliveryToken)
	sandboxtest.Send(req).Want(t, 200)
}

func TestAStoreHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	openWorld(t, ServerOptions{Dir: dir, Now: sandboxtest.Standing})
	s, err := Open(ServerOptions{Dir: dir, Now: sandboxtest.Standing})
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
		path := map[string]string{"CDN": sandboxtest.CDNs, "Purge": sandboxtest.Purges, "VolumeSnapshot": sandboxtest.Snapshots}[s.Kind]
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
			case w.Get(path+"/"+s.Name).Code == 200 && s.Kind == "CDN":
				w.Patch(path+"/"+s.Name, string(raw)).Want(t, 200)
			case w.Get(path+"/"+s.Name).Code != 200:
				w.Post(path, string(raw)).Want(t, 201)
			}
		}
	}
}

// TestPutIsAllOrNone: one object that can't be put keeps all from it.
func TestPutIsAllOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, bad := json.RawMessage(sandboxtest.CDNBody("shop", "shop.example.com")), json.RawMessage(`{"kind": "Pod"}`)
	if err := w.s.PutJSON(good, bad); err == nil || w.Get(sandboxtest.CDNs+"/shop").Code != 404 {
		t.Errorf("error %v, and %d", err, w.Get(sandboxtest.CDNs+"/shop").Code)
	}
	w.Do("PUT", ControlBase+"objects", "", "", "[ "+string(good)+","+sandboxtest.CDNBody("docs", "docs.example.com")+"]").Want(t, 204)
	w.Get(sandboxtest.CDNs+"/shop").Want(t, 200)
	w.Get(sandboxtest.CDNs+"/docs").Want(t, 200)
	w.Do("PUT", ControlBase+"objects", "", "", "["+string(good)+","+string(bad)+"]").Want(t, 400)
}

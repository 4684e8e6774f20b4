package plan_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/plan"
	"trueup/internal/sandbox"
)

// platform is the sandbox with its defaults.
type platform struct {
	t *rapid.T
	s *sandbox.Server
}

func (p platform) call(method, path string, body any) map[string]any {
	p.t.Helper()
	r := httptest.NewRequest(method, "/delivery/v2.1/global/workspaces/"+sandbox.WorkspaceUUID+"/cdns"+path, strings.NewReader(string(canon.Encode(body))))
	r.Header.Set("Authorization", "Bearer "+sandbox.DeliveryToken)
	r.Header.Set("Content-Type", map[string]string{http.MethodPatch: "application/merge-patch+json", http.MethodPost: "application/json"}[method])
	w := httptest.NewRecorder()
	p.s.ServeHTTP(w, r)
	if w.Code >= http.StatusMultipleChoices {
		p.t.Fatalf("%s: %d %s", method, w.Code, w.Body)
	}
	object, _ := canon.MustDecode(w.Body.Bytes()).(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	return spec
}

// TestEachLossIsOneLine: of list elements in which the platform and another client set more than git, those
// are gone that a line removes, and no other; nothing else is said to be lost.
func TestEachLossIsOneLine(t *testing.T) {
	const marker = "set-by-another-client"
	s, err := sandbox.Open(sandbox.ServerOptions{Now: now, Quirks: []string{"defaults"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	lines, renames, round := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p, list := platform{t, s}, rapid.SampledFrom([]string{"locations", "upstreams"}).Draw(t, "list")
		round++
		name := "c" + string(canon.Encode(round))
		spec := func(elements []map[string]any) map[string]any {
			servers := anyOf([]map[string]any{{"host": "h", "port": "443"}})
			upstreams := anyOf([]map[string]any{{"name": "o", "servers": servers}, {"name": "p", "servers": servers}})
			return map[string]any{"hostname": name + ".example.com", "upstreams": upstreams, list: anyOf(elements)}
		}
		before := drawElements(t, list)
		after := edited(t, list, before)
		live := p.call(http.MethodPost, "", map[string]any{"apiVersion": "delivery/v2.1", "kind": "CDN", "metadata": map[string]any{"name": name, "namespace": sandbox.WorkspaceName}, "spec": spec(before)})
		marked, _ := live[list].([]any)
		for _, e := range marked {
			e.(map[string]any)["headers"] = map[string]any{"X-By": marker}
		}
		live = p.call(http.MethodPatch, "/"+name, map[string]any{"spec": map[string]any{list: marked}})
		it := git(t, cdn("shop", string(canon.Encode(spec(after))))).has(shop, string(canon.Encode(live))).applied(shop, string(canon.Encode(spec(before)))).item(shop)
		if it.Op != plan.Patch {
			return
		}
		removed := 0
		for _, l := range it.Lines() {
			switch {
			case l.Live != nil && l.Desired == nil && !l.Moved:
				removed++
			case strings.HasSuffix(l.Path, ".host"), strings.HasSuffix(l.Path, ".path"), strings.HasSuffix(l.Path, ".name"):
				renames++
			}
		}
		now := p.call(http.MethodPatch, "/"+name, canon.MustDecode(it.Request.Body))
		if lost := len(marked) - strings.Count(string(canon.Encode(now)), marker); lost != removed || len(it.Collateral) > 0 {
			t.Fatalf("%d elements are lost, and %d lines say so: %v\n%v", lost, removed, it.Lines(), it.Collateral)
		}
		lines += removed
	})
	if lines == 0 || renames == 0 {
		t.Errorf("%d lines remove, %d rename", lines, renames)
	}
}

package sandbox

import (
	"net/http"
	"strings"
	"testing"
)

func TestTokensAndRoles(t *testing.T) {
	w := withShop(t)
	if err := w.s.Put(map[string]any{"kind": "VolumeSnapshot", "metadata": map[string]any{"name": "db"}}); err != nil {
		t.Fatal(err)
	}
	w.s.opts.Tokens["cdn-only"] = []string{RoleCDNAdmin}
	w.s.opts.Tokens["purge-only"] = []string{RolePurger}
	purge := purgeBody("rel-1", "shop.example.com", "/")
	for _, tc := range []struct {
		method, path, token, body string
		code                      int
		says                      string
	}{
		{"GET", cdns, "", "", 403, `User "system:anonymous" cannot list resource "cdns"`},
		{"GET", cdns, "wrong", "", 401, "Unauthorized"},
		{"GET", cdns, ReaderToken, "", 200, ""},
		{"GET", snapshots, ReaderToken, "", 200, ""},
		{"GET", cdns + "/shop", ReaderToken, "", 200, ""},
		{"PATCH", cdns + "/shop", ReaderToken, "{}", 403, `cdns.delivery "shop" is forbidden: User "sandbox:reader" cannot patch resource "cdns"`},
		{"POST", cdns, ReaderToken, "{}", 403, "cannot create"},
		{"DELETE", snapshots + "/db", ReaderToken, "", 403, "cannot delete"},
		{"POST", purges, ReaderToken, purge, 403, `"purges"`},
		{"GET", cdns, ComputeToken, "", 403, `User "sandbox:compute-admin"`},
		{"GET", snapshots, DeliveryToken, "", 403, `in API group "snapshot.storage.k8s.io" in the namespace "acme"`},
		{"POST", purges, "cdn-only", purge, 403, `User "sandbox:cdn-admin" cannot create resource "purges"`},
		{"GET", cdns, "purge-only", "", 403, "cannot list"},
		{"POST", purges, "purge-only", purge, 201, ""},
	} {
		got := w.do(tc.method, tc.path, tc.token, map[bool]string{true: "application/merge-patch+json", false: typeJSON}[tc.method == "PATCH"], tc.body)
		if got.code != tc.code || !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`), tc.says) {
			t.Errorf("%s %s as %q: %d %s", tc.method, tc.path, tc.token, got.code, got.body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.url+cdns, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("a", "b")
	send(req).want(t, 401)
}

func TestWorkspacesAreApart(t *testing.T) {
	w := openWorld(t, ServerOptions{Now: standing, Workspaces: []WorkspaceKey{
		{Name: WorkspaceName, UUID: WorkspaceUUID}, {Name: "other", UUID: "other-uuid"},
	}})
	otherCDNs := DeliveryBase + "/global/workspaces/other-uuid/cdns"
	otherPurges := DeliveryBase + "/global/workspaces/other-uuid/purges"
	w.post(cdns, cdnBody("shop", "shop.example.com")).want(t, 201)
	w.get(otherCDNs).want(t, 200).wantAt(t, "items.0", nil)
	w.get(otherCDNs+"/shop").want(t, 404)
	w.patch(otherCDNs+"/shop", `{}`).want(t, 404)
	w.post(otherPurges, purgeBody("p", "shop.example.com", "/")).want(t, 422)
	w.post(otherCDNs, cdnBody("shop", "shop.example.com")).want(t, 400)
	w.post(otherCDNs, strings.Replace(cdnBody("shop", "shop.example.com"), `"acme"`, `"other"`, 1)).want(t, 201)
	w.post(purges, purgeBody("p", "shop.example.com", "/")).want(t, 201)
	w.post(otherPurges, purgeBody("p", "shop.example.com", "/")).want(t, 201)
}

func TestUnknownWorkspaceLooksEmpty(t *testing.T) {
	w := withShop(t)
	unknown := strings.Replace(cdns, WorkspaceUUID, "unknown", 1)
	w.get(unknown).want(t, 200).wantAt(t, "items.0", nil).wantAt(t, "kind", "CDNList")
	w.get(unknown+"/shop").want(t, 404)
	w.post(unknown, cdnBody("b", "b.example.com")).want(t, 404).wantAt(t, "message", `namespaces "unknown" not found`)
	w.patch(unknown+"/shop", `{}`).want(t, 404)
}

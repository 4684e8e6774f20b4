package sandbox

import (
	"net/http"
	"strings"
	"testing"

	"trueup/internal/e2e/sandboxtest"
)

func TestTokensAndRoles(t *testing.T) {
	w := withShop(t)
	if err := w.s.Put(map[string]any{"kind": "VolumeSnapshot", "metadata": map[string]any{"name": "db"}}); err != nil {
		t.Fatal(err)
	}
	w.s.opts.Tokens["cdn-only"] = []string{RoleCDNAdmin}
	w.s.opts.Tokens["purge-only"] = []string{RolePurger}
	purge := sandboxtest.PurgeBody("rel-1", "shop.example.com", "/")
	for _, tc := range []struct {
		method, path, token, body string
		code                      int
		says                      string
	}{
		{"GET", sandboxtest.CDNs, "", "", 403, `User "system:anonymous" cannot list resource "cdns"`},
		{"GET", sandboxtest.CDNs, "wrong", "", 401, "Unauthorized"},
		{"GET", sandboxtest.CDNs, ReaderToken, "", 200, ""},
		{"GET", sandboxtest.Snapshots, ReaderToken, "", 200, ""},
		{"GET", sandboxtest.CDNs + "/shop", ReaderToken, "", 200, ""},
		{"PATCH", sandboxtest.CDNs + "/shop", ReaderToken, "{}", 403, `cdns.delivery "shop" is forbidden: User "sandbox:reader" cannot patch resource "cdns"`},
		{"POST", sandboxtest.CDNs, ReaderToken, "{}", 403, "cannot create"},
		{"DELETE", sandboxtest.Snapshots + "/db", ReaderToken, "", 403, "cannot delete"},
		{"POST", sandboxtest.Purges, ReaderToken, purge, 403, `"purges"`},
		{"GET", sandboxtest.CDNs, ComputeToken, "", 403, `User "sandbox:compute-admin"`},
		{"GET", sandboxtest.Snapshots, DeliveryToken, "", 403, `in API group "snapshot.storage.k8s.io" in the namespace "acme"`},
		{"POST", sandboxtest.Purges, "cdn-only", purge, 403, `User "sandbox:cdn-admin" cannot create resource "purges"`},
		{"GET", sandboxtest.CDNs, "purge-only", "", 403, "cannot list"},
		{"POST", sandboxtest.Purges, "purge-only", purge, 201, ""},
	} {
		got := w.Do(tc.method, tc.path, tc.token, map[bool]string{true: "application/merge-patch+json", false: typeJSON}[tc.method == "PATCH"], tc.body)
		if got.Code != tc.code || !strings.Contains(strings.ReplaceAll(got.Body, `\"`, `"`), tc.says) {
			t.Errorf("%s %s as %q: %d %s", tc.method, tc.path, tc.token, got.Code, got.Body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.URL+sandboxtest.CDNs, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("a", "b")
	sandboxtest.Send(req).Want(t, 401)
}

func TestWorkspacesAreApart(t *testing.T) {
	w := openWorld(t, ServerOptions{Now: sandboxtest.Standing, Workspaces: []WorkspaceKey{
		{Name: WorkspaceName, UUID: WorkspaceUUID}, {Name: "other", UUID: "other-uuid"},
	}})
	otherCDNs := DeliveryBase + "/global/workspaces/other-uuid/cdns"
	otherPurges := DeliveryBase + "/global/workspaces/other-uuid/purges"
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop", "shop.example.com")).Want(t, 201)
	w.Get(otherCDNs).Want(t, 200).WantAt(t, "items.0", nil)
	w.Get(otherCDNs+"/shop").Want(t, 404)
	w.Patch(otherCDNs+"/shop", `{}`).Want(t, 404)
	w.Post(otherPurges, sandboxtest.PurgeBody("p", "shop.example.com", "/")).Want(t, 422)
	w.Post(otherCDNs, sandboxtest.CDNBody("shop", "shop.example.com")).Want(t, 400)
	w.Post(otherCDNs, strings.Replace(sandboxtest.CDNBody("shop", "shop.example.com"), `"acme"`, `"other"`, 1)).Want(t, 201)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p", "shop.example.com", "/")).Want(t, 201)
	w.Post(otherPurges, sandboxtest.PurgeBody("p", "shop.example.com", "/")).Want(t, 201)
}

func TestUnknownWorkspaceLooksEmpty(t *testing.T) {
	w := withShop(t)
	unknown := strings.Replace(sandboxtest.CDNs, WorkspaceUUID, "unknown", 1)
	w.Get(unknown).Want(t, 200).WantAt(t, "items.0", nil).WantAt(t, "kind", "CDNList")
	w.Get(unknown+"/shop").Want(t, 404)
	w.Post(unknown, sandboxtest.CDNBody("b", "b.example.com")).Want(t, 404).WantAt(t, "message", `namespaces "unknown" not found`)
	w.Patch(unknown+"/shop", `{}`).Want(t, 404)
}

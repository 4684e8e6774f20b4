package sandbox

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/internal/e2e/sandboxtest"
)

func manyPaths(n int, suffix string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "/p" + strconv.Itoa(i) + suffix
	}
	return out
}

func TestPurgeLife(t *testing.T) {
	w := withShop(t, "status")
	body := sandboxtest.PurgeBody("rel-1", "shop.example.com", "/a", "/b/*")
	w.Post(sandboxtest.Purges, body).Want(t, 201).WantAt(t, "status.phase", "Accepted")
	w.Post(sandboxtest.Purges, body).Want(t, 409).WantAt(t, "reason", "AlreadyExists")
	w.Advance(PurgeLife - time.Second)
	w.Post(sandboxtest.Purges, body).Want(t, 409)
	w.Advance(time.Second)
	if obj, err := w.s.Object("Purge", "acme", "rel-1"); err != nil || obj != nil {
		t.Errorf("still there: %v %v", obj, err)
	}
	w.Post(sandboxtest.Purges, body).Want(t, 201)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("rel-2", "shop.example.com", "/")).Want(t, 201)
	got, err := w.s.CountExecutedPurges()
	if err != nil || fmt.Sprint(got) != "map[rel-1:2 rel-2:1]" {
		t.Errorf("executed %v %v", got, err)
	}
}

// A duplicate that is executed takes the place of the first one, also at the
// limit of its hostname.
func TestDuplicatesCountOnce(t *testing.T) {
	w := withShop(t, "executes-duplicates")
	body := sandboxtest.PurgeBody("rel-1", "shop.example.com", manyPaths(MaxAbsolute, "")...)
	w.Post(sandboxtest.Purges, body).Want(t, 201)
	w.Post(sandboxtest.Purges, body).Want(t, 201)
}

func TestContentOfPurge(t *testing.T) {
	w := withShop(t)
	spec := func(s string) string {
		return `{"apiVersion":"delivery/v2.1","kind":"Purge","metadata":{"name":"p"},"spec":` + s + `}`
	}
	for _, tc := range []struct{ spec, field string }{
		{`{"paths":["/"]}`, "spec.hostname"},
		{`{"hostname":"www.shop.example.com","paths":["/"]}`, "spec.hostname"},
		{`{"hostname":"SHOP.example.com","paths":["/"]}`, "spec.hostname"},
		{`{"hostname":"shop.example.com"}`, "spec.paths"},
		{`{"hostname":"shop.example.com","paths":[]}`, "spec.paths"},
		{`{"hostname":"shop.example.com","paths":["/a","b"]}`, "spec.paths[1]"},
		{`{"hostname":"shop.example.com","paths":[7]}`, "spec.paths[0]"},
		{`{"hostname":"shop.example.com","paths":["/a*b"]}`, "spec.paths[0]"},
		{`{"hostname":"shop.example.com","paths":["/a**"]}`, "spec.paths[0]"},
		{`{"hostname":"shop.example.com","paths":["/"],"subdomains":"www"}`, "spec.subdomains"},
		{`{"hostname":"shop.example.com","paths":["/"],"subdomains":["www","shop.example.com"]}`, "spec.subdomains[1]"},
		{`{"hostname":"shop.example.com","paths":["/"],"subdomains":["www.shop.example.com"]}`, "spec.subdomains[0]"},
	} {
		w.Post(sandboxtest.Purges, spec(tc.spec)).Want(t, 422).WantAt(t, "details.causes.0.field", tc.field)
	}
	w.Post(sandboxtest.Purges, spec(`{"hostname":"shop.example.com","paths":["/*"],"subdomains":["www"]}`)).Want(t, 201)
	w.Post(sandboxtest.Purges, strings.Replace(spec(`{}`), "delivery/v2.1", "delivery.acme.cloud/v1beta1", 1)).Want(t, 400)
	got, err := w.s.CountExecutedPurges()
	if err != nil || len(got) != 1 {
		t.Errorf("executed %v %v", got, err)
	}
}

func TestLimitsOfAHostname(t *testing.T) {
	for _, tc := range []struct {
		what         string
		fill, strain []string
		times        int
	}{
		{"purge requests", []string{"/"}, []string{"/"}, MaxPurges},
		{"absolute paths", manyPaths(MaxAbsolute/2, ""), []string{"/one-more"}, 2},
		{"prefix paths", manyPaths(MaxPrefixes/2, "/*"), []string{"/one-more/*"}, 2},
	} {
		t.Run(tc.what, func(t *testing.T) {
			w := withShop(t)
			w.Post(sandboxtest.CDNs, strings.ReplaceAll(sandboxtest.CDNBody("docs", "docs.example.com"), "a.example.net", "d")).Want(t, 201)
			for i := range tc.times {
				w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p"+strconv.Itoa(i), "shop.example.com", tc.fill...)).Want(t, 201)
			}
			refused := w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("more", "shop.example.com", tc.strain...)).Want(t, 422)
			if !strings.Contains(refused.Body, "limit of active "+tc.what+" for shop.example.com exceeded") {
				t.Error(refused.Body)
			}
			w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("p0", "shop.example.com", tc.strain...)).Want(t, 409)
			w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("docs", "docs.example.com", tc.strain...)).Want(t, 201)
			w.Advance(PurgeLife)
			w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("more", "shop.example.com", tc.strain...)).Want(t, 201)
		})
	}
	w := withShop(t)
	w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("huge", "shop.example.com", manyPaths(MaxAbsolute+1, "")...)).Want(t, 422)
}

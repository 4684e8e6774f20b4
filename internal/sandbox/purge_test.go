package sandbox

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
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
	body := purgeBody("rel-1", "shop.example.com", "/a", "/b/*")
	w.post(purges, body).want(t, 201).wantAt(t, "status.phase", "Accepted")
	w.post(purges, body).want(t, 409).wantAt(t, "reason", "AlreadyExists")
	w.advance(PurgeLife - time.Second)
	w.post(purges, body).want(t, 409)
	w.advance(time.Second)
	if obj, err := w.s.Object("Purge", "acme", "rel-1"); err != nil || obj != nil {
		t.Errorf("still there: %v %v", obj, err)
	}
	w.post(purges, body).want(t, 201)
	w.post(purges, purgeBody("rel-2", "shop.example.com", "/")).want(t, 201)
	got, err := w.s.CountExecutedPurges()
	if err != nil || fmt.Sprint(got) != "map[rel-1:2 rel-2:1]" {
		t.Errorf("executed %v %v", got, err)
	}
}

// A duplicate that is executed takes the place of the first one, also at the
// limit of its hostname.
func TestDuplicatesCountOnce(t *testing.T) {
	w := withShop(t, "executes-duplicates")
	body := purgeBody("rel-1", "shop.example.com", manyPaths(MaxAbsolute, "")...)
	w.post(purges, body).want(t, 201)
	w.post(purges, body).want(t, 201)
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
		w.post(purges, spec(tc.spec)).want(t, 422).wantAt(t, "details.causes.0.field", tc.field)
	}
	w.post(purges, spec(`{"hostname":"shop.example.com","paths":["/*"],"subdomains":["www"]}`)).want(t, 201)
	w.post(purges, strings.Replace(spec(`{}`), "delivery/v2.1", "delivery.acme.cloud/v1beta1", 1)).want(t, 400)
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
			w.post(cdns, strings.ReplaceAll(cdnBody("docs", "docs.example.com"), "a.example.net", "d")).want(t, 201)
			for i := range tc.times {
				w.post(purges, purgeBody("p"+strconv.Itoa(i), "shop.example.com", tc.fill...)).want(t, 201)
			}
			refused := w.post(purges, purgeBody("more", "shop.example.com", tc.strain...)).want(t, 422)
			if !strings.Contains(refused.body, "limit of active "+tc.what+" for shop.example.com exceeded") {
				t.Error(refused.body)
			}
			w.post(purges, purgeBody("p0", "shop.example.com", tc.strain...)).want(t, 409)
			w.post(purges, purgeBody("docs", "docs.example.com", tc.strain...)).want(t, 201)
			w.advance(PurgeLife)
			w.post(purges, purgeBody("more", "shop.example.com", tc.strain...)).want(t, 201)
		})
	}
	w := withShop(t)
	w.post(purges, purgeBody("huge", "shop.example.com", manyPaths(MaxAbsolute+1, "")...)).want(t, 422)
}

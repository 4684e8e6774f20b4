package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

const canary = "canary-t0ken/with+signs="

var workspace = kind.Workspace{Name: "acme", UUID: "5a1d"}

func named(t testing.TB, name string) *kind.Kind {
	t.Helper()
	k, ok := kind.Named(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return k
}

func token(t testing.TB) api.Token {
	t.Helper()
	tok, err := api.NewToken(canary + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func config(t testing.TB, address string) api.Config {
	t.Helper()
	base, err := api.ParseBase(address, "")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := api.Endpoint{Base: base, Token: token(t)}
	return api.Config{
		Endpoints:      map[kind.Area]api.Endpoint{kind.Delivery: endpoint, kind.Compute: endpoint},
		Workspace:      workspace,
		RequestTimeout: 5 * time.Second,
		Retry:          api.Retry{Initial: time.Millisecond, Max: 2 * time.Millisecond, MaxRetryAfter: 2 * time.Millisecond},
		Now:            time.Now,
	}
}

// serve starts a server and returns a Client for it.
func serve(t testing.TB, handler http.HandlerFunc, adjust ...func(*api.Config)) *api.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := config(t, server.URL+"/delivery/v2.1/")
	for _, f := range adjust {
		f(&cfg)
	}
	c := api.NewClient(cfg)
	t.Cleanup(c.Close)
	return c
}

// say answers every request alike.
func say(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const jsonType = "application/json"

func cdn(name string) string {
	return `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"` + name + `","namespace":"acme","uid":"u1"},"spec":{"hostname":"` + name + `.example.com"}}`
}

func names(t *testing.T, r *api.Reader) ([]string, kind.ListInfo, error) {
	t.Helper()
	var got []string
	info, err := r.List(t.Context(), named(t, "CDN"), func(o kind.Object) error {
		got = append(got, o.Name)
		return nil
	})
	return got, info, err
}

func asError(t *testing.T, err error) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *api.Error", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b") {
		t.Errorf("the error is not one clean line: %q", err)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error holds the token: %v", err)
	}
	return e
}

func TestOperations(t *testing.T) {
	type seen struct{ method, path, contentType, accept, body string }
	var got seen
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), r.Header.Get("Accept"), string(body)}
		if r.Header.Get("Authorization") != "Bearer "+canary {
			t.Errorf("Authorization is %q", r.Header.Get("Authorization"))
		}
		for name := range r.Header {
			if strings.Contains(name, "Idempotency") {
				t.Errorf("header %s makes net/http send again", name)
			}
		}
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "s"):
			_, _ = io.WriteString(w, `{"items":[]}`)
		case strings.Contains(r.URL.Path, "volumesnapshots"):
			_, _ = io.WriteString(w, `{"kind":"VolumeSnapshot","metadata":{"name":"a.b c"},"spec":{}}`)
		case strings.Contains(r.URL.Path, "purges"):
			_, _ = io.WriteString(w, `{"kind":"Purge","metadata":{"name":"a.b c"},"spec":{}}`)
		default:
			_, _ = io.WriteString(w, cdn("a.b c"))
		}
	})
	const body = `{"metadata":{"name":"a.b c"}}`
	const delivery, compute = "/delivery/v2.1/global/workspaces/5a1d", "/delivery/v2.1/apis/snapshot.storage.k8s.io/v1/namespaces/acme"
	do := func(verb, kindName string) error {
		k, ctx := named(t, kindName), t.Context()
		switch verb {
		case "list":
			_, err := c.List(ctx, k, func(kind.Object) error { return nil })
			return err
		case "get":
			_, err := c.Get(ctx, k, "a.b c")
			return err
		case "create":
			_, err := c.Create(ctx, k, []byte(body))
			return err
		case "patch":
			_, err := c.Patch(ctx, k, "a.b c", []byte(body))
			return err
		}
		return c.Delete(ctx, k, "a.b c")
	}
	documented := map[string]seen{
		"list CDN":              {"GET", delivery + "/cdns", "", jsonType, ""},
		"get CDN":               {"GET", delivery + "/cdns/a.b%20c", "", jsonType, ""},
		"create CDN":            {"POST", delivery + "/cdns", jsonType, jsonType, body},
		"patch CDN":             {"PATCH", delivery + "/cdns/a.b%20c", "application/merge-patch+json", jsonType, body},
		"create Purge":          {"POST", delivery + "/purges", jsonType, jsonType, body},
		"list VolumeSnapshot":   {"GET", compute + "/volumesnapshots", "", jsonType, ""},
		"get VolumeSnapshot":    {"GET", compute + "/volumesnapshots/a.b%20c", "", jsonType, ""},
		"create VolumeSnapshot": {"POST", compute + "/volumesnapshots", jsonType, jsonType, body},
		"delete VolumeSnapshot": {"DELETE", compute + "/volumesnapshots/a.b%20c", "", jsonType, ""},
	}
	for _, k := range kind.All() {
		for _, verb := range []string{"list", "get", "create", "patch", "delete"} {
			got = seen{}
			err := do(verb, k.Name)
			want, ok := documented[verb+" "+k.Name]
			if got != want {
				t.Errorf("%s %s sent %+v, want %+v", verb, k.Name, got, want)
			}
			if ok != (err == nil) {
				t.Errorf("%s %s: %v", verb, k.Name, err)
			}
			if !ok && !asError(t, err).NotSent() {
				t.Errorf("%s %s is not known to be unsent: %v", verb, k.Name, err)
			}
		}
	}
}

func TestEncodedSlashesOfTheBaseStay(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		_, _ = io.WriteString(w, cdn("a/b"))
	}))
	defer server.Close()
	r := api.NewReader(config(t, server.URL+"/apis/GROUP%2FVERSION//"))
	defer r.Close()
	if _, err := r.Get(t.Context(), named(t, "CDN"), "a/b"); err != nil {
		t.Fatal(err)
	}
	if want := "/apis/GROUP%2FVERSION/global/workspaces/5a1d/cdns/a%2Fb"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	for _, name := range []string{"", ".", ".."} {
		if _, err := r.Get(t.Context(), named(t, "CDN"), name); err == nil || !asError(t, err).NotSent() {
			t.Errorf("the name %q: %v", name, err)
		}
	}
}

func TestListShapes(t *testing.T) {
	a, b := cdn("a"), cdn("b")
	for name, tt := range map[string]struct {
		body     string
		want     string
		complete bool
		fails    string
	}{
		"items":             {`{"apiVersion":"v1","kind":"CDNList","metadata":{"continue":"","resourceVersion":"1"},"items":[` + a + `,` + b + `]}`, "a,b", true, ""},
		"items first":       {`{"items":[` + a + `],"kind":"CDNList","metadata":{}}`, "a", true, ""},
		"List":              {`{"kind":"List","items":[]}`, "", true, ""},
		"null":              {`{"items":null}`, "", true, ""},
		"no items but kind": {`{"kind":"CDNList","metadata":null}`, "", true, ""},
		"bare":              {` [` + a + ` , ` + b + `] `, "a,b", true, ""},
		"empty bare":        {`[]`, "", true, ""},
		"data":              {`{"data":[` + a + `],"total":1,"more":{"x":[]}}`, "a", true, ""},
		"results":           {`{"results":[` + a + `]}`, "a", true, ""},
		"no spec":           {`[{"metadata":{"name":"a"}}]`, "a", true, ""},
		"remaining":         {`{"metadata":{"remainingItemCount":3},"items":[` + a + `]}`, "a", false, ""},
		"none remaining":    {`{"metadata":{"remainingItemCount":0},"items":[` + a + `]}`, "a", true, ""},

		"object":            {`{}`, "", false, "unreadable list"},
		"single object":     {a, "", false, "of kind CDN, not a list of CDN"},
		"data null":         {`{"data":null,"error":"x"}`, "", false, "unreadable list"},
		"data object":       {`{"data":{"x":[]}}`, "", false, "unreadable list"},
		"items object":      {`{"items":{}}`, "", false, "unreadable list"},
		"two lists":         {`{"items":[],"data":[]}`, "", false, "both items and data"},
		"number":            {`7`, "", false, "unreadable list"},
		"null alone":        {`null`, "", false, "unreadable list"},
		"text":              {`"ok"`, "", false, "unreadable list"},
		"nothing":           {``, "", false, "unreadable list: unexpected EOF"},
		"status":            {`{"kind":"Status","status":"Failure","message":"no"}`, "", false, "of kind Status"},
		"other list":        {`{"kind":"PurgeList","items":[]}`, "", false, "of kind PurgeList"},
		"cut":               {`{"items":[` + a + `,`, "", false, "unexpected EOF"},
		"cut in an item":    {`[` + a[:40], "", false, "unexpected EOF"},
		"trailing":          {`[] []`, "", false, "content after"},
		"trailing comma":    {`[` + a + `,]`, "", false, "unreadable list"},
		"wrong bracket":     {`[` + a + `}`, "", false, "unreadable list"},
		"wrong bracket 2":   {`{"items":[]]`, "", false, "unreadable list"},
		"no colon":          {`{"items",[]}`, "", false, "unreadable list"},
		"null item":         {`[null]`, "", false, "an item is null"},
		"number item":       {`[1]`, "", false, "unreadable list"},
		"wrong item":        {`[{"kind":"Purge","metadata":{"name":"x"}}]`, "", false, `kind is "Purge"`},
		"nameless item":     {`[{"metadata":{}}]`, "", false, "metadata.name"},
		"html":              {"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please</body></html>", "", false, "an HTML page instead of JSON: Sign in"},
		"invalid character": {"[{\"metadata\":{\"name\":\"\xff\"}}]", "", false, "UTF-8"},
		"wrong workspace":   {`[{"metadata":{"name":"a","namespace":"other"}}]`, "", false, `wrong workspace: CDN/a is in "other"`},
	} {
		c := serve(t, say(200, jsonType, tt.body))
		got, info, err := names(t, c.Reader)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: error %v, want %q", name, err, tt.fails)
			} else if asError(t, err).NotFound() {
				t.Errorf("%s: counts as absent", name)
			}
			continue
		}
		if err != nil || strings.Join(got, ",") != tt.want || info.Complete != tt.complete || info.Items != len(got) || info.Requests != 1 {
			t.Errorf("%s: %v, %+v, %v", name, got, info, err)
		}
	}
}

func TestListPages(t *testing.T) {
	page := func(name, next string) string {
		return `{"metadata":{"continue":"` + next + `","remainingItemCount":7},"items":[` + cdn(name) + `]}`
	}
	for name, tt := range map[string]struct {
		pages    map[string]string
		links    map[string]string
		status   map[string]int
		want     string
		complete bool
		fails    string
	}{
		"continue":  {pages: map[string]string{"": page("a", "t/1="), "continue=t%2F1%3D": page("b", "2"), "continue=2": `{"items":[` + cdn("c") + `]}`}, want: "a,b,c", complete: true},
		"pageToken": {pages: map[string]string{"": `{"items":[],"nextPageToken":"x"}`, "pageToken=x": `{"items":[` + cdn("b") + `]}`}, want: "b", complete: true},
		"link": {
			pages: map[string]string{"": `[` + cdn("a") + `]`, "page=2": `[` + cdn("b") + `]`},
			links: map[string]string{"": `</x?page=1>; rel="prev", <?page=2>; title="a, b"; rel="next"`, "page=2": `<?page=1>; rel=prev`},
			want:  "a,b", complete: true,
		},
		"foreign link":  {pages: map[string]string{"": `[]`}, links: map[string]string{"": `<https://elsewhere.example/x>; rel=next`}, fails: "not on the platform's address"},
		"circle":        {pages: map[string]string{"": page("a", "1"), "continue=1": page("b", "1")}, fails: "never ends"},
		"link to start": {pages: map[string]string{"": `[]`}, links: map[string]string{"": `<?>; rel=next`}, fails: "never ends"},
		"expired, fresh token": {
			pages:  map[string]string{"": page("a", "1"), "continue=1": `{"kind":"Status","metadata":{"continue":"fresh"}}`, "continue=fresh": page("b", "")},
			status: map[string]int{"continue=1": 410}, want: "a,b",
		},
		"expired, fresh token to the end": {
			pages:  map[string]string{"": page("a", "1"), "continue=1": `{"metadata":{"continue":"fresh"}}`, "continue=fresh": `{"items":[` + cdn("b") + `]}`},
			status: map[string]int{"continue=1": 410}, want: "a,b", complete: true,
		},
		"expired twice": {
			pages:  map[string]string{"": page("a", "1"), "continue=1": `{"metadata":{"continue":"f"}}`, "continue=f": `{"metadata":{"continue":"g"}}`},
			status: map[string]int{"continue=1": 410, "continue=f": 410}, want: "a",
		},
		"expired, no token": {pages: map[string]string{"": page("a", "1"), "continue=1": `{}`}, status: map[string]int{"continue=1": 410}, want: "a"},
		"gone at once":      {pages: map[string]string{"": `{}`}, status: map[string]int{"": 410}, fails: "410 Gone"},
		"bad token":         {pages: map[string]string{"": page("a", "1"), "continue=1": `{"message":"bad token"}`}, status: map[string]int{"continue=1": 400}, fails: "bad token"},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, ok := tt.pages[r.URL.RawQuery]
			if !ok {
				t.Errorf("%s: asked for %q", name, r.URL.RawQuery)
			}
			if link := tt.links[r.URL.RawQuery]; link != "" {
				w.Header().Set("Link", link)
			}
			if status := tt.status[r.URL.RawQuery]; status != 0 {
				w.WriteHeader(status)
			}
			_, _ = io.WriteString(w, body)
		})
		got, info, err := names(t, c.Reader)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: error %v, want %q", name, err, tt.fails)
			}
			continue
		}
		if err != nil || strings.Join(got, ",") != tt.want || info.Complete != tt.complete {
			t.Errorf("%s: %v, %+v, %v", name, got, info, err)
		}
	}
}

func TestListIsNotGivenTwiceAfterARetry(t *testing.T) {
	tries := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		tries++
		if tries == 1 {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `[`+cdn("a")+`,`)
			return
		}
		_, _ = io.WriteString(w, `[`+cdn("a")+`,`+cdn("b")+`]`)
	})
	got, info, err := names(t, c.Reader)
	if err != nil || strings.Join(got, ",") != "a,b" || info.Requests != 2 || info.Items != 2 {
		t.Errorf("%v, %+v, %v", got, info, err)
	}
}

func TestListPassesOnTheCallersError(t *testing.T) {
	c := serve(t, say(200, jsonType, `[`+cdn("a")+`]`))
	mine := errors.New("mine")
	if _, err := c.List(t.Context(), named(t, "CDN"), func(kind.Object) error { return mine }); err != mine { //nolint:errorlint // the very same error is what is promised
		t.Errorf("error is %v", err)
	}
}

func TestGetAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		status            int
		contentType, body string
		absent            bool
		class             api.Class
		says              string
	}{
		"absent":            {404, jsonType, `{"kind":"Status","status":"Failure","reason":"NotFound","message":"cdns \"shop\" not found"}`, true, api.Absent, `cdns "shop" not found`},
		"absent, any JSON":  {404, "text/plain", `{}`, true, api.Absent, "404 Not Found (GET /delivery"},
		"absent, empty":     {404, "", ``, true, api.Absent, "no content type"},
		"path is unknown":   {404, "text/plain; charset=utf-8", "404 page not found\n", false, api.Misdirected, "wrong base address or workspace? check TRUEUP_DELIVERY_URL"},
		"path is unknown 2": {404, "text/html", "<html><title>Nope</title></html>", false, api.Misdirected, "Nope"},
		"array":             {404, jsonType, `["x"]`, false, api.Misdirected, "x"},
		"unauthorized":      {401, jsonType, `{"message":"bad token"}`, false, api.Denied, "401 Unauthorized: bad token: check TRUEUP_DELIVERY_TOKEN ("},
		"forbidden":         {403, jsonType, `{"kind":"Status","message":"cdns is forbidden: User \"x\" cannot get"}`, false, api.Denied, `User "x" cannot get`},
		"redirect":          {302, "text/html", "moved", false, api.Misdirected, "redirected to nowhere, which is not followed"},
		"not modified":      {304, "", "", false, api.Misdirected, "304"},
		"refused":           {422, jsonType, `{"message":"no"}`, false, api.Rejected, "422 Unprocessable Entity: no"},
		"HTML":              {200, "text/html", "<html><head><title>Portal</title></head><body>log\nin</body></html>", false, api.Unreadable, "an HTML page instead of JSON: Portal"},
		"empty":             {200, jsonType, "", false, api.Unreadable, "it is empty"},
		"no content":        {204, "", "", false, api.Unreadable, "it is empty"},
		"half":              {200, jsonType, cdn("shop")[:50], false, api.Unavailable, "unexpected EOF"},
		"array answer":      {200, jsonType, "[]", false, api.Unreadable, "not a JSON object"},
		"other kind":        {200, jsonType, `{"kind":"Purge","metadata":{"name":"shop"}}`, false, api.Unreadable, `kind is "Purge"`},
		"other name":        {200, jsonType, cdn("other"), false, api.Unreadable, "is about other, not shop"},
		"no name":           {200, jsonType, `{"kind":"CDN"}`, false, api.Unreadable, "metadata.name"},
		"wrong workspace":   {200, jsonType, `{"metadata":{"name":"shop","namespace":"else"}}`, false, api.Misdirected, "wrong workspace"},
		"two values":        {200, jsonType, cdn("shop") + cdn("shop"), false, api.Unreadable, "content after"},
		"error in a 200":    {200, jsonType, `{"error":"no"}`, false, api.Unreadable, "metadata.name"},
	} {
		c := serve(t, say(tt.status, tt.contentType, tt.body))
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		e := asError(t, err)
		if e.NotFound() != tt.absent || e.Class != tt.class || e.Status != tt.status || e.HTTPStatus() != tt.status || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: class %s, %v", name, e.Class, err)
		}
		if e.Uncertain() || e.NotSent() {
			t.Errorf("%s: a read is uncertain or unsent", name)
		}
	}
	c := serve(t, say(200, "text/plain", `{"metadata":{"name":"shop","workspace":"5a1d"},"spec":{"b":1.0,"a":1e1}}`))
	o, err := c.Get(t.Context(), named(t, "CDN"), "shop")
	if err != nil || string(o.Spec) != `{"a":10,"b":1}` {
		t.Errorf("%s, %v", o.Spec, err)
	}
}

func TestListOfAnUnknownPathIsNotAbsence(t *testing.T) {
	c := serve(t, say(404, jsonType, `{"message":"no such route"}`))
	_, _, err := names(t, c.Reader)
	if e := asError(t, err); e.NotFound() || e.Class != api.Misdirected || !strings.Contains(err.Error(), "TRUEUP_DELIVERY_URL") {
		t.Errorf("%v", err)
	}
}

func TestErrorBodies(t *testing.T) {
	for name, tt := range map[string]struct{ contentType, body, want string }{
		"status": {
			jsonType, `{"kind":"Status","reason":"Invalid","message":"CDN \"shop\" is invalid","details":{"causes":[{"field":"spec.tls","message":"bad"},{"field":"<nil>","message":"noise"},{"field":"spec.x","reason":"Required"}]}}`,
			`get CDN/shop: 400 Bad Request: CDN "shop" is invalid: spec.tls: bad; spec.x: Required (GET /delivery/v2.1/global/workspaces/5a1d/cdns/shop, application/json, reason Invalid)`,
		},
		"message.detail":    {jsonType, `{"message":{"detail":"quota is used up"}}`, ": quota is used up ("},
		"message":           {jsonType, `{"message":"no"}`, ": no ("},
		"reason":            {jsonType, `{"reason":"Because"}`, ": Because ("},
		"error":             {jsonType, `{"error":"broken"}`, ": broken ("},
		"error.message":     {jsonType, `{"error":{"message":"broken","code":3}}`, ": broken ("},
		"errors":            {jsonType, `{"errors":["one",{"message":"two"},{"detail":"three"}]}`, ": one; two; three ("},
		"detail":            {jsonType, `{"detail":"d"}`, ": d ("},
		"detail list":       {jsonType, `{"detail":[{"loc":["a"],"msg":"field required"}]}`, ": field required ("},
		"details":           {jsonType, `{"details":"d"}`, ": d ("},
		"problem":           {"application/problem+json", `{"type":"about:blank","title":"Bad thing","detail":"so bad","status":400}`, ": Bad thing: so bad ("},
		"problem, title":    {"application/problem+json", `{"title":"Bad thing"}`, ": Bad thing ("},
		"text with JSON":    {"text/plain; charset=utf-8", `{"message":"timed out"}`, ": timed out (GET /delivery/v2.1/global/workspaces/5a1d/cdns/shop, text/plain; charset=utf-8)"},
		"plain":             {"text/plain", "no\n\x1b[31mway\u202e\x00", ": no [31mway ("},
		"html":              {"text/html", "<html><head><title>400 Bad\nRequest</title></head><body><h1>nginx</h1></body></html>", ": 400 Bad Request nginx ("},
		"JSON string":       {jsonType, `"too much"`, ": too much ("},
		"nothing":           {"", "", "400 Bad Request (GET /delivery/v2.1/global/workspaces/5a1d/cdns/shop, no content type)"},
		"no words":          {jsonType, `{"code":7}`, "400 Bad Request (GET"},
		"very deep":         {jsonType, strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat("}", 50), "400 Bad Request (GET"},
		"the token":         {jsonType, `{"message":"token ` + canary + ` or ` + url.QueryEscape(canary) + ` is bad"}`, ": token *** or *** is bad ("},
		"the token as text": {"text/plain", strings.Repeat("x", 290) + canary, "xxx***"},
	} {
		c := serve(t, say(400, tt.contentType, tt.body))
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		asError(t, err)
		if !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 3000 {
			t.Errorf("%s: %v\nwant %s", name, err, tt.want)
		}
	}
}

func TestRoleIsNamed(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "r-7")
		w.WriteHeader(403)
	})
	_, err := c.Create(t.Context(), named(t, "Purge"), []byte(`{"metadata":{"name":"rel-1"}}`))
	if e := asError(t, err); !e.Auth() || e.Uncertain() || e.NotSent() ||
		!strings.Contains(err.Error(), "create Purge/rel-1: 403 Forbidden: creating a Purge needs the role cdn-purger (") || e.RequestID != "r-7" {
		t.Errorf("%v", err)
	}
	if _, err = c.Create(t.Context(), named(t, "CDN"), []byte(`{}`)); strings.Contains(err.Error(), "role") {
		t.Errorf("%v", err)
	}
}

func TestWriteAnswers(t *testing.T) {
	const bare = "bare"
	for name, tt := range map[string]struct {
		status            int
		contentType, body string
		want              string // bare, whole or a class
		says              string
	}{
		"created":          {201, jsonType, cdn("shop"), "whole", ""},
		"accepted":         {202, "text/plain", cdn("shop"), "whole", ""},
		"no content":       {204, "", "", bare, ""},
		"empty":            {200, jsonType, " \n", bare, ""},
		"text":             {200, jsonType, `"done"`, bare, ""},
		"array":            {200, jsonType, `[]`, bare, ""},
		"success":          {200, jsonType, `{"kind":"Status","status":"Success"}`, bare, ""},
		"something":        {200, jsonType, `{"id":7,"message":"created"}`, bare, ""},
		"failure":          {200, jsonType, `{"kind":"Status","status":"Failure","message":"no"}`, string(api.Unclear), "says that it failed: no"},
		"failure, named":   {200, jsonType, `{"kind":"Status","status":"Failure","metadata":{"name":"x"}}`, string(api.Unclear), "status Failure"},
		"error":            {200, jsonType, `{"error":"quota"}`, string(api.Unclear), "says that it failed: quota"},
		"HTML":             {200, "text/html", "<!doctype html><title>Sign in</title>", string(api.Unclear), "an HTML page instead of JSON: Sign in"},
		"half":             {201, jsonType, cdn("shop")[:60], string(api.Unclear), "EOF"},
		"other kind":       {201, jsonType, `{"kind":"Purge","metadata":{"name":"shop"}}`, string(api.Unclear), `kind is "Purge"`},
		"other workspace":  {201, jsonType, `{"metadata":{"name":"shop","namespace":"x"}}`, string(api.Unclear), "wrong workspace"},
		"see other":        {303, "", "", string(api.Unclear), "redirected"},
		"moved":            {308, "", "", string(api.Misdirected), "redirected"},
		"bad":              {400, jsonType, `{"message":"no"}`, string(api.Rejected), "no"},
		"unauthorized":     {401, jsonType, `{}`, string(api.Denied), "401"},
		"taken":            {409, jsonType, `{"reason":"AlreadyExists"}`, string(api.Taken), "AlreadyExists"},
		"too many":         {429, "text/plain", "Too many requests, please try again later.", string(api.Unsent), "Too many"},
		"request time-out": {408, "", "", string(api.Unclear), "408"},
		"internal":         {500, "", "", string(api.Unclear), "500"},
		"gateway":          {502, "text/html", "<html>bad gateway</html>", string(api.Unclear), "bad gateway"},
		"time-out":         {504, "text/plain", `{"message":"Timeout"}`, string(api.Unclear), "Timeout"},
		"odd":              {599, "", "", string(api.Unclear), "599"},
		"no route":         {404, "text/plain", "404 page not found", string(api.Misdirected), "wrong base address"},
	} {
		requests := 0
		answer := say(tt.status, tt.contentType, tt.body)
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; answer(w, r) })
		create, errCreate := c.Create(t.Context(), named(t, "CDN"), []byte(cdn("shop")))
		patch, errPatch := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
		if requests != 2 {
			t.Errorf("%s: %d requests for two writes", name, requests)
		}
		for op, err := range map[string]error{"create": errCreate, "patch": errPatch} {
			o := map[string]kind.Object{"create": create, "patch": patch}[op]
			switch {
			case tt.want == bare || tt.want == "whole":
				if err != nil || o.Name != "shop" || o.Kind == nil || (o.Spec != nil) != (tt.want == "whole") {
					t.Errorf("%s %s: %+v, %v", op, name, o, err)
				}
			case err == nil:
				t.Errorf("%s %s: no error", op, name)
			default:
				e := asError(t, err)
				if string(e.Class) != tt.want || !strings.Contains(err.Error(), tt.says) ||
					e.Uncertain() != (e.Class == api.Unclear) || e.NotSent() != (e.Class == api.Unsent) || e.Conflict() != (tt.status == 409) {
					t.Errorf("%s %s: class %s, %v", op, name, e.Class, err)
				}
			}
		}
	}
}

func TestAWriteToWhatIsNotThere(t *testing.T) {
	c := serve(t, say(404, jsonType, `{"message":"not found"}`))
	_, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
	if !asError(t, err).NotFound() {
		t.Errorf("%v", err)
	}
	if err := c.Delete(t.Context(), named(t, "VolumeSnapshot"), "db"); !asError(t, err).NotFound() {
		t.Errorf("%v", err)
	}
	_, err = c.Create(t.Context(), named(t, "CDN"), []byte(`{}`))
	if e := asError(t, err); e.NotFound() || e.Class != api.Rejected {
		t.Errorf("a namespace that does not exist counts as an absent object: %v", err)
	}
}

func TestDeleteAndNamesThatTheServerChose(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			_, _ = io.WriteString(w, `"deleted"`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"VolumeSnapshot","metadata":{"name":"snapcontent-1"},"spec":{}}`)
	})
	snapshot := named(t, "VolumeSnapshot")
	if err := c.Delete(t.Context(), snapshot, "db"); err != nil {
		t.Error(err)
	}
	o, err := c.Create(t.Context(), snapshot, []byte(`{"metadata":{"name":"db"}}`))
	if err != nil || o.Name != "snapcontent-1" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := c.Patch(t.Context(), named(t, "CDN"), "db", []byte(`{}`)); err == nil {
		t.Error("an answer about another object passes")
	}
}

func TestReadsAreRetriedAndWritesNot(t *testing.T) {
	for status, tries := range map[int]int{
		200: 1, 400: 1, 401: 1, 403: 1, 404: 1, 409: 1, 410: 1, 408: 5, 429: 5, 500: 5, 502: 5, 503: 5, 504: 5, 302: 1,
	} {
		requests := 0
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, cdn("shop"))
		})
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		if requests != tries || (err == nil) != (status == 200) {
			t.Errorf("%d: %d tries, %v", status, requests, err)
		}
		if err != nil && asError(t, err).RetryAfter != 2*time.Millisecond {
			t.Errorf("%d: Retry-After is not clamped: %v", status, asError(t, err).RetryAfter)
		}
		requests = 0
		_, _ = c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
		if requests != 1 {
			t.Errorf("%d: %d tries of a write", status, requests)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "86400": time.Minute, "1e300": time.Minute, "NaN": 0, "soon": 0,
		"Sat, 21 Nov 2026 10:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 09:00:00 GMT": 0, "Sun, 21 Nov 2027 09:00:00 GMT": time.Minute,
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(429)
		}, func(cfg *api.Config) { cfg.Retry = api.Retry{Tries: 1} })
		_, err := c.Create(t.Context(), named(t, "CDN"), []byte(`{}`))
		if e := asError(t, err); e.RetryAfter != want || !e.NotSent() {
			t.Errorf("%q: %v, %v", header, e.RetryAfter, err)
		}
	}
	c := serve(t, say(429, jsonType, `{"details":{"retryAfterSeconds":9}}`), func(cfg *api.Config) { cfg.Retry = api.Retry{} })
	if _, err := c.Create(t.Context(), named(t, "CDN"), []byte(`{}`)); asError(t, err).RetryAfter != 9*time.Second {
		t.Errorf("%v", err)
	}
}

func TestARetrySucceedsAndTheContextBoundsThem(t *testing.T) {
	requests := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		if requests < 3 {
			w.WriteHeader(503)
			return
		}
		_, _ = io.WriteString(w, cdn("shop"))
	})
	if o, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil || o.Host != "shop.example.com" {
		t.Errorf("%+v, %v", o, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(503)
	}, func(cfg *api.Config) { cfg.Retry = api.Retry{Initial: time.Hour, Max: time.Hour} })
	if _, err := c.Get(ctx, named(t, "CDN"), "shop"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		requests := 0
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			http.Redirect(w, r, other.URL+"/?token="+url.QueryEscape(canary), status)
		})
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		if asError(t, err); !strings.Contains(err.Error(), other.URL+"/?token=***") {
			t.Errorf("%d: %v", status, err)
		}
		_, err = c.Create(t.Context(), named(t, "Purge"), []byte(`{}`))
		if e := asError(t, err); e.Uncertain() != (status < 307) || e.NotSent() {
			t.Errorf("%d: %s, %v", status, e.Class, err)
		}
		if requests != 2 {
			t.Errorf("%d: %d requests", status, requests)
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

func TestMissingAddressAndToken(t *testing.T) {
	requests := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = io.WriteString(w, cdn("shop"))
	}, func(cfg *api.Config) {
		delete(cfg.Endpoints, kind.Compute)
	})
	_, err := c.Get(t.Context(), named(t, "VolumeSnapshot"), "db")
	if err == nil || err.Error() != "get VolumeSnapshot/db: no address of the compute area: set TRUEUP_COMPUTE_URL" {
		t.Errorf("%v", err)
	}
	if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil {
		t.Errorf("the other area is not usable: %v", err)
	}
	requests = 0
	c = serve(t, func(http.ResponseWriter, *http.Request) { requests++ }, func(cfg *api.Config) {
		cfg.Endpoints[kind.Delivery] = api.Endpoint{Base: cfg.Endpoints[kind.Delivery].Base}
	})
	_, err = c.Create(t.Context(), named(t, "CDN"), []byte(`{"metadata":{"name":"shop"}}`))
	if e := asError(t, err); err.Error() != "create CDN/shop: no token for the delivery area: set TRUEUP_DELIVERY_TOKEN" || !e.Auth() || !e.NotSent() || requests != 0 {
		t.Errorf("%v, %d requests", err, requests)
	}
}

func TestReaderSendsNothingButGet(t *testing.T) {
	dialled := false
	cfg := config(t, "http://127.0.0.1:1")
	cfg.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
		dialled = true
		return nil, errors.New("reached the network")
	})
	r := api.NewReader(cfg)
	for _, method := range []string{"POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "get", ""} {
		req := &http.Request{Method: method, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Body: io.NopCloser(strings.NewReader("x"))}
		_, err := api.ReaderTransport(r).RoundTrip(req)
		if err == nil || dialled {
			t.Fatalf("%s: %v, reached the network: %v", method, err, dialled)
		}
	}
	if _, err := r.Get(t.Context(), named(t, "CDN"), "x"); err == nil || !dialled {
		t.Errorf("a GET does not get through: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSizesAreBounded(t *testing.T) {
	big := `{"metadata":{"name":"shop"},"spec":{"x":"` + strings.Repeat("a", 5000) + `"}}`
	small := func(cfg *api.Config) { cfg.MaxObject, cfg.MaxList = 2048, 12<<10 }
	c := serve(t, say(200, jsonType, big), small)
	if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err == nil || !strings.Contains(err.Error(), "the answer is larger than 2 KiB") {
		t.Errorf("%v", err)
	}
	if _, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`)); !asError(t, err).Uncertain() {
		t.Errorf("%v", err)
	}
	for body, want := range map[string]string{
		`[` + big + `]`:        "an object is larger than 2 KiB",
		`{"x":` + big + `}`:    "an object is larger than 2 KiB",
		`{"items":[` + big:     "an object is larger than 2 KiB",
		listOf(1000):           "the list is larger than 12 KiB",
		strings.Repeat("[", 9): "unreadable list",
	} {
		c := serve(t, say(200, jsonType, body), small)
		if _, _, err := names(t, c.Reader); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", body, err, want)
		}
	}
	c = serve(t, say(200, jsonType, listOf(50)), small)
	if got, _, err := names(t, c.Reader); err != nil || len(got) != 50 {
		t.Errorf("%d items, %v", len(got), err)
	}
}

func listOf(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = cdn(fmt.Sprintf("c%d", i))
	}
	return `{"kind":"CDNList","items":[` + strings.Join(items, ",") + `]}`
}

func TestAGzipBombIsStopped(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, `[{"metadata":{"name":"`)
	for range 16 {
		_, _ = io.WriteString(z, strings.Repeat("a", 1<<20))
	}
	_ = z.Close()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zipped.Bytes())
	}, func(cfg *api.Config) { cfg.MaxObject = 256 << 10 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, errGet := c.Get(t.Context(), named(t, "CDN"), "shop")
	_, _, errList := names(t, c.Reader)
	runtime.ReadMemStats(&after)
	for _, err := range []error{errGet, errList} {
		if err == nil || !strings.Contains(err.Error(), "larger than 256 KiB") {
			t.Errorf("%v", err)
		}
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
}

func TestFailuresOfTheNetwork(t *testing.T) {
	purge := func(c *api.Client) *api.Error {
		_, err := c.Create(t.Context(), named(t, "Purge"), []byte(`{"metadata":{"name":"rel-1"}}`))
		return asError(t, err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	c := api.NewClient(config(t, "http://"+gone.Addr().String()))
	if e := purge(c); !e.NotSent() || e.Uncertain() || !strings.Contains(e.Error(), "connection refused") {
		t.Errorf("nobody listens: %s, %v", e.Class, e)
	}
	secure := httptest.NewUnstartedServer(say(201, jsonType, ""))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	tries := 0
	cfg := config(t, secure.URL)
	cfg.Trace = func(api.TraceEvent) { tries++ }
	c = api.NewClient(cfg)
	if e := purge(c); !e.NotSent() || !strings.Contains(e.Error(), "certificate") {
		t.Errorf("certificate: %s, %v", e.Class, e)
	}
	tries = 0
	if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err == nil || tries != 1 {
		t.Errorf("a bad certificate is tried %d times: %v", tries, err)
	}
	plain := httptest.NewServer(say(201, jsonType, ""))
	defer plain.Close()
	if e := purge(api.NewClient(config(t, strings.Replace(plain.URL, "http:", "https:", 1)))); !e.NotSent() {
		t.Errorf("no TLS: %s, %v", e.Class, e)
	}

	c = serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if e := purge(c); !e.Uncertain() || e.NotSent() {
		t.Errorf("reset after the request: %s, %v", e.Class, e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Create(ctx, named(t, "Purge"), []byte(`{}`))
	if e := asError(t, err); !e.NotSent() || !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended before: %s, %v", e.Class, err)
	}
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "500")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, `{"kind":"Purge",`)
	})
	if e := purge(c); !e.Uncertain() {
		t.Errorf("half an answer: %s, %v", e.Class, e)
	}
}

// TestAConnectionThatDiedIdle: the server hangs up between two requests, so of
// the second nothing may have been written, or it may: never a second POST.
func TestAConnectionThatDiedIdle(t *testing.T) {
	var mu sync.Mutex
	posts := 0
	var conns []net.Conn
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			posts++
		}
		_, _ = io.WriteString(w, cdn("shop"))
	}))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		}
	}
	server.Start()
	defer server.Close()
	c := api.NewClient(config(t, server.URL))
	defer c.Close()
	for range 50 {
		if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		conns, posts = nil, 0
		mu.Unlock()
		_, err := c.Create(t.Context(), named(t, "CDN"), []byte(cdn("shop")))
		mu.Lock()
		switch seen := posts; {
		case seen > 1:
			t.Fatalf("the server saw %d POST", seen)
		case err == nil && seen != 1:
			t.Fatal("success without a POST")
		case err != nil && seen == 1 && !asError(t, err).Uncertain():
			t.Fatalf("the server saw the POST: %v", err)
		}
		mu.Unlock()
	}
}

func TestTimeouts(t *testing.T) {
	short := func(cfg *api.Config) {
		cfg.RequestTimeout = 30 * time.Millisecond
		cfg.Retry.Tries = 2
	}
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	c := serve(t, hang, short)
	_, err := c.Create(t.Context(), named(t, "Purge"), []byte(`{}`))
	if e := asError(t, err); !e.Uncertain() || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 30ms") {
		t.Errorf("%s, %v", e.Class, err)
	}
	if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); asError(t, err).Class != api.Unavailable {
		t.Errorf("%v", err)
	}
	drip := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `[`)
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	}, short)
	if _, _, err := names(t, drip.Reader); err == nil || !strings.Contains(err.Error(), "no answer within 30ms") {
		t.Errorf("%v", err)
	}
	if _, err := drip.Create(t.Context(), named(t, "CDN"), []byte(`{}`)); !asError(t, err).Uncertain() {
		t.Errorf("%v", err)
	}
}

// TestALongListMayTakeLongerThanOneRequest: the limit is on each wait. The
// clock is a bubble's.
func TestALongListMayTakeLongerThanOneRequest(t *testing.T) {
	for gap, items := range map[time.Duration]int{20 * time.Second: 6, 31 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(t, "http://127.0.0.1:1")
			cfg.RequestTimeout, cfg.Retry.Tries = 30*time.Second, 1
			cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				body, w := io.Pipe()
				context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
				go func() {
					text := "["
					for i := range 6 {
						_, _ = io.WriteString(w, text+cdn(fmt.Sprint(i))+strings.Repeat(" ", 2048))
						text = ","
						time.Sleep(gap)
					}
					_, _ = io.WriteString(w, "]")
					_ = w.Close()
				}()
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
			})
			got, _, err := names(t, api.NewReader(cfg))
			if (err == nil) != (items > 0) || err == nil && len(got) != items {
				t.Errorf("every %v: %v, %v", gap, got, err)
			}
			if err != nil && !strings.Contains(err.Error(), "no answer within 30s") {
				t.Errorf("every %v: %v", gap, err)
			}
			time.Sleep(10 * time.Minute)
		})
	}
}

func TestWritesAreLimited(t *testing.T) {
	cfg := config(t, "https://platform.example/")
	cfg.WritesPerSecond = 1
	sent := 0
	cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	c := api.NewClient(cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, first := c.Create(ctx, named(t, "CDN"), []byte(`{}`))
	_, second := c.Create(ctx, named(t, "CDN"), []byte(`{}`))
	if first != nil || second == nil || !asError(t, second).NotSent() || sent != 1 {
		t.Errorf("%v, %v, %d sent", first, second, sent)
	}
	loopback := serve(t, say(204, "", ""), func(cfg *api.Config) { cfg.WritesPerSecond = 0.001 })
	for range 3 {
		if _, err := loopback.Create(ctx, named(t, "CDN"), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAForeignTransportProvesNothing(t *testing.T) {
	cfg := config(t, "http://127.0.0.1:1")
	cfg.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("broke") })
	_, err := api.NewClient(cfg).Create(t.Context(), named(t, "Purge"), []byte(`{}`))
	if e := asError(t, err); !e.Uncertain() {
		t.Errorf("%s, %v", e.Class, err)
	}
}

func TestWarningsClockAndTrace(t *testing.T) {
	var warnings []api.Warning
	var events []api.TraceEvent
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
		w.Header().Set("Age", "5")
		w.Header().Set("X-Request-Id", "id-"+canary)
		w.Header().Add("Warning", `299 - "unknown field \"spec.x\"", 299 - "second, with comma" "Sat, 21 Nov 2026 10:00:00 GMT"`)
		w.Header().Add("Warning", `strange `+canary)
		_, _ = io.WriteString(w, cdn("shop"))
	}, func(cfg *api.Config) {
		cfg.Warn = func(w api.Warning) { warnings = append(warnings, w) }
		cfg.Trace = func(e api.TraceEvent) { events = append(events, e) }
	})
	if _, ok := c.ServerTime(); ok {
		t.Error("a time before any answer")
	}
	if _, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	want := []api.Warning{
		{"patch", "CDN", "shop", 299, `unknown field "spec.x"`},
		{"patch", "CDN", "shop", 299, "second, with comma"},
		{"patch", "CDN", "shop", 0, "strange ***"},
	}
	if fmt.Sprint(warnings) != fmt.Sprint(want) {
		t.Errorf("warnings %+v", warnings)
	}
	if now, ok := c.ServerTime(); !ok || !now.Equal(time.Date(2026, 11, 21, 10, 0, 5, 0, time.UTC)) {
		t.Errorf("server time %v", now)
	}
	if len(events) != 1 || events[0].Method != "PATCH" || events[0].Status != 200 || events[0].RequestBytes != 7 || events[0].Attempt != 1 {
		t.Errorf("events %+v", events)
	}
	if text, err := json.Marshal(events); err != nil || strings.Contains(string(text), canary) || events[0].Header.Get("Authorization") != "***" {
		t.Errorf("trace %s, %v", text, err)
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	server := httptest.NewServer(say(200, jsonType, listOf(500)))
	c := api.NewClient(config(t, server.URL))
	stop := errors.New("stop")
	for range 20 {
		_, _ = c.List(t.Context(), named(t, "CDN"), func(kind.Object) error { return stop })
		_, _, _ = names(t, c.Reader)
	}
	c.Close()
	server.Close()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestJSONTestSuite: a body that the suite calls valid decodes, one that it
// calls invalid is never an object or a list.
func TestJSONTestSuite(t *testing.T) {
	corpus := os.Getenv("TRUEUP_CORPUS")
	if corpus == "" {
		t.Skip("TRUEUP_CORPUS names no folder: the JSON test suite is not read")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "json-test-suite", "test_parsing", "*.json"))
	if err != nil || len(files) < 300 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var body []byte
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) },
		func(cfg *api.Config) { cfg.Retry.Tries = 1 })
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		get := func(value string) error {
			body = []byte(value)
			_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
			return err
		}
		whole := get(string(content))
		inside := get(`{"metadata":{"name":"shop"},"spec":{"x":` + string(content) + `}}`)
		body = []byte(`{"x":` + string(content) + `,"items":[]}`)
		_, _, list := names(t, c.Reader)
		switch name[0] {
		case 'y':
			if inside != nil || list != nil {
				t.Errorf("%s is refused: %v, %v", name, inside, list)
			}
		case 'n':
			if whole == nil || inside == nil || list == nil {
				t.Errorf("%s passes: %v, %v, %v", name, whole, inside, list)
			}
		}
	}
}

func BenchmarkList1000(b *testing.B) {
	spec := `{"hostname":"h.example.com","tls":{"enabled":"true","auto":"true","forced":"false"},"upstreams":[` +
		strings.Repeat(`{"name":"origin","scheme":"https","smartRouting":"false","servers":[{"host":"a.example.com","port":"443","weight":"1"}]},`, 3) +
		`{}],"locations":[` + strings.Repeat(`{"path":"/static/*","host":"h.example.com","action":"proxy_http","upstream":"origin","cache":{"level":"standard","edgeTTL":"3600","ttlTimeUnit":"second"},"headers":{},"rewrite":{}},`, 6) + `{}]}`
	var body strings.Builder
	body.WriteString(`{"kind":"CDNList","items":[`)
	for i := range 1000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"kind":"CDN","metadata":{"name":"c%d"},"spec":%s}`, i, spec)
	}
	body.WriteString(`]}`)
	text := body.String()
	b.SetBytes(int64(len(text)))
	k := named(b, "CDN")
	b.ReportAllocs()
	for b.Loop() {
		if err := api.DecodeList(strings.NewReader(text), k); err != nil {
			b.Fatal(err)
		}
	}
}

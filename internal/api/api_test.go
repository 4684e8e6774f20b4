package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

const canary = "canary-t0ken/with+signs="

var workspace = kind.Workspace{Name: "acme", UUID: "5a1d"}

func named(t testing.TB, name string) *kind.Kind {
	t.Helper()
	k, ok := kind.FindKind(name)
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

// quick is the usual way of retrying, a thousand times as fast.
func quick() api.RetryPolicy {
	return api.RetryPolicy{Initial: time.Millisecond, Max: 2 * time.Millisecond, MaxRetryAfter: 60 * time.Millisecond, Second: time.Millisecond}
}

func config(t testing.TB, address string) api.ClientConfig {
	t.Helper()
	base, err := api.ParseBaseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := api.Endpoint{Base: base, Token: token(t)}
	return api.ClientConfig{
		Endpoints:      map[kind.Area]api.Endpoint{kind.Delivery: endpoint, kind.Compute: endpoint},
		Workspace:      workspace,
		RequestTimeout: time.Minute,
		Retry:          quick(),
		Now:            time.Now,
	}
}

// serve starts a server and returns a Client for it.
func serve(t testing.TB, handler http.HandlerFunc, adjust ...func(*api.ClientConfig)) *api.Client {
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
	info, err := r.List(t.Context(), named(t, "CDN"), func(o kind.LiveObject) error {
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

// sent is one request as the server saw it.
type sent struct{ method, path, contentType, accept, body string }

const (
	anyBody  = `{"metadata":{"name":"a.b c"}}`
	delivery = "/delivery/v2.1/global/workspaces/5a1d"
	compute  = "/delivery/v2.1/apis/snapshot.storage.k8s.io/v1/namespaces/acme"
)

// documented are the nine operations of docs/platform.md 4.
var documented = map[string]sent{
	"list CDN":              {"GET", delivery + "/cdns", "", jsonType, ""},
	"get CDN":               {"GET", delivery + "/cdns/a.b%20c", "", jsonType, ""},
	"create CDN":            {"POST", delivery + "/cdns", jsonType, jsonType, anyBody},
	"patch CDN":             {"PATCH", delivery + "/cdns/a.b%20c", "application/merge-patch+json", jsonType, anyBody},
	"create Purge":          {"POST", delivery + "/purges", jsonType, jsonType, anyBody},
	"list VolumeSnapshot":   {"GET", compute + "/volumesnapshots", "", jsonType, ""},
	"get VolumeSnapshot":    {"GET", compute + "/volumesnapshots/a.b%20c", "", jsonType, ""},
	"create VolumeSnapshot": {"POST", compute + "/volumesnapshots", jsonType, jsonType, anyBody},
	"delete VolumeSnapshot": {"DELETE", compute + "/volumesnapshots/a.b%20c", "", jsonType, ""},
}

// operate runs an operation by its name.
func operate(ctx context.Context, c *api.Client, verb string, k *kind.Kind) error {
	var err error
	switch verb {
	case "list":
		_, err = c.List(ctx, k, func(kind.LiveObject) error { return nil })
	case "get":
		_, err = c.Get(ctx, k, "a.b c")
	case "create":
		_, err = c.Create(ctx, k, []byte(anyBody))
	case "patch":
		_, err = c.Patch(ctx, k, "a.b c", []byte(anyBody))
	case "delete":
		err = c.Delete(ctx, k, "a.b c")
	}
	return err
}

func TestOperations(t *testing.T) {
	var got sent
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = sent{r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), r.Header.Get("Accept"), string(body)}
		if r.Header.Get("Authorization") != "Bearer "+canary {
			t.Errorf("Authorization is %q", r.Header.Get("Authorization"))
		}
		if r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key") != "" {
			t.Error("a header makes net/http send again")
		}
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "s") {
			_, _ = io.WriteString(w, `{"items":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"metadata":{"name":"a.b c"},"spec":{}}`)
	})
	for _, k := range kind.AllKinds() {
		for _, verb := range []string{"list", "get", "create", "patch", "delete"} {
			got = sent{}
			err := operate(t.Context(), c, verb, k)
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

func TestMissingAddressAndToken(t *testing.T) {
	requests := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = io.WriteString(w, cdn("shop"))
	}, func(cfg *api.ClientConfig) {
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
	c = serve(t, func(http.ResponseWriter, *http.Request) { requests++ }, func(cfg *api.ClientConfig) {
		cfg.Endpoints[kind.Delivery] = api.Endpoint{Base: cfg.Endpoints[kind.Delivery].Base}
	})
	_, err = c.Create(t.Context(), named(t, "CDN"), []byte(`{"metadata":{"name":"shop"}}`))
	if e := asError(t, err); err.Error() != "create CDN/shop: no token for the delivery area: set TRUEUP_DELIVERY_TOKEN" || !e.IsAuth() || !e.NotSent() || requests != 0 {
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
		resp, err := api.ReaderTransport(r).RoundTrip(req)
		if resp != nil {
			t.Errorf("%s: answered %s", method, resp.Status)
			_ = resp.Body.Close()
		}
		if err == nil || dialled {
			t.Fatalf("%s: %v, reached the network: %v", method, err, dialled)
		}
	}
	if _, err := r.Get(t.Context(), named(t, "CDN"), "x"); err == nil || !dialled {
		t.Errorf("a GET does not get through: %v", err)
	}
}

package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

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
		"a next page":       {`{"items":[` + cdn("a") + `],"nextPageToken":"x"}`, "a", false, ""},
		"no next page":      {`{"items":[` + cdn("a") + `],"nextPageToken":"","next":null}`, "a", true, ""},
		"null item":         {`[null]`, "", false, "an item is not an object"},
		"number item":       {`[1]`, "", false, "unreadable list"},
		"key twice":         {`[{"metadata":{"name":"a","name":"b"}}]`, "", false, `the key "name" twice`},
		"kind twice":        {`{"kind":"CDNList","kind":"CDNList","items":[]}`, "", false, `the key "kind" twice`},
		"metadata twice":    {`{"metadata":{},"metadata":{},"items":[]}`, "", false, `the key "metadata" twice`},
		"metadata array":    {`{"metadata":[],"items":[]}`, "", false, "metadata is not an object"},
		"continue number":   {`{"metadata":{"continue":7},"items":[]}`, "", false, "metadata is not an object"},
		"kind number":       {`{"kind":7,"items":[]}`, "", false, "its kind is not text"},
		"very deep":         {`[{"metadata":{"name":"a"},"spec":{"x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}]`, "", false, "nested more than 200 deep"},
		"wrong item":        {`[{"kind":"Purge","metadata":{"name":"x"}}]`, "", false, `kind is "Purge"`},
		"nameless item":     {`[{"metadata":{}}]`, "", false, "metadata.name"},
		"html":              {"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please</body></html>", "", false, "an HTML page instead of JSON: Sign in"},
		"invalid character": {"[{\"metadata\":{\"name\":\"\xff\"}}]", "", false, "UTF-8"},
		"invalid key":       {"{\"\xff\":1,\"items\":[]}", "", false, "UTF-8"},
		"wrong workspace":   {`[{"metadata":{"name":"a","namespace":"other"}}]`, "", false, `wrong workspace: CDN/a is in "other"`},
	} {
		c := serve(t, say(200, jsonType, tt.body))
		got, info, err := names(t, c.Reader)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: error %v, want %q", name, err, tt.fails)
			} else if asError(t, err).NotFound() || info.Complete {
				t.Errorf("%s: counts as absent or complete", name)
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
		status   map[string]int
		want     string
		complete bool
		fails    string
	}{
		"continue":     {pages: map[string]string{"": page("a", "t/1="), "continue=t%2F1%3D": page("b", "2"), "continue=2": `{"items":[` + cdn("c") + `]}`}, want: "a,b,c", complete: true},
		"circle":       {pages: map[string]string{"": page("a", "1"), "continue=1": page("b", "1")}, fails: "never ends"},
		"expired":      {pages: map[string]string{"": page("a", "1"), "continue=1": `{}`}, status: map[string]int{"continue=1": 410}, want: "a"},
		"gone at once": {pages: map[string]string{"": `{}`}, status: map[string]int{"": 410}, fails: "410 Gone"},
		"bad token":    {pages: map[string]string{"": page("a", "1"), "continue=1": `{"message":"bad token"}`}, status: map[string]int{"continue=1": 400}, fails: "bad token"},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, ok := tt.pages[r.URL.RawQuery]
			if !ok {
				t.Errorf("%s: asked for %q", name, r.URL.RawQuery)
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
	if _, err := c.List(t.Context(), named(t, "CDN"), func(kind.LiveObject) error { return mine }); err != mine { //nolint:errorlint // the very same error is what is promised
		t.Errorf("error is %v", err)
	}
}

func TestListOfAnUnknownPathIsNotAbsence(t *testing.T) {
	c := serve(t, say(404, jsonType, `{"message":"no such route"}`))
	_, _, err := names(t, c.Reader)
	if e := asError(t, err); e.NotFound() || e.Class != api.Misdirected || !strings.Contains(err.Error(), "TRUEUP_DELIVERY_URL") {
		t.Errorf("%v", err)
	}
}

func TestSizesAreBounded(t *testing.T) {
	big := `{"metadata":{"name":"shop"},"spec":{"x":"` + strings.Repeat("a", 5000) + `"}}`
	small := func(cfg *api.ClientConfig) { cfg.MaxObject, cfg.MaxList = 2048, 12<<10 }
	c := serve(t, say(200, jsonType, big), small)
	if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err == nil || !strings.Contains(err.Error(), "the answer is larger than 2 KiB") {
		t.Errorf("%v", err)
	}
	if _, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`)); asError(t, err).Class != api.Unknown {
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
	page := 0
	c = serve(t, func(w http.ResponseWriter, r *http.Request) {
		page++
		say(200, jsonType, strings.Replace(listOf(50), "{", fmt.Sprintf(`{"metadata":{"continue":"%d"},`, page), 1))(w, r)
	}, small)
	if _, _, err := names(t, c.Reader); err == nil || !strings.Contains(err.Error(), "the list is larger than 12 KiB") || page < 2 {
		t.Errorf("%d pages: %v", page, err)
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
	}, func(cfg *api.ClientConfig) { cfg.MaxObject = 256 << 10 })
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

// TestAListWithoutAnEndIsLeft: each page has another continue token, and no new object.
func TestAListWithoutAnEndIsLeft(t *testing.T) {
	for _, items := range []string{"", cdn("shop")} {
		requests := 0
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			_, _ = fmt.Fprintf(w, `{"kind":"CDNList","metadata":{"continue":"%d"},"items":[%s]}`, requests, items)
		})
		if _, _, err := names(t, c.Reader); err == nil || !strings.Contains(err.Error(), "the list never ends") || requests > 20 {
			t.Errorf("after %d requests: %v", requests, err)
		}
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

// TestALinkToANextPageMeansMore: trueup does not follow it, and does not take the list for all.
func TestALinkToANextPageMeansMore(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `</cdns?page=2>; rel="next"`)
		_, _ = io.WriteString(w, `{"items":[`+cdn("a")+`]}`)
	})
	if got, info, err := names(t, c.Reader); err != nil || len(got) != 1 || info.Complete {
		t.Errorf("%v, %+v, %v", got, info, err)
	}
}

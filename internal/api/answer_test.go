package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

func TestGetAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		status            int
		contentType, body string
		absent            bool
		class             api.ErrorClass
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
		if e.NotFound() != tt.absent || e.Class != tt.class || e.Status != tt.status || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: class %s, %v", name, e.Class, err)
		}
		if e.Class == api.Unknown || e.NotSent() {
			t.Errorf("%s: a read is uncertain or unsent", name)
		}
	}
	c := serve(t, say(200, "text/plain", `{"metadata":{"name":"shop","workspace":"5a1d"},"spec":{"b":1.0,"a":1e1}}`))
	o, err := c.Get(t.Context(), named(t, "CDN"), "shop")
	if err != nil || string(o.Spec) != `{"a":10,"b":1}` {
		t.Errorf("%s, %v", o.Spec, err)
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
		"the token":         {jsonType, `{"message":"token ` + canary + ` or ` + url.QueryEscape(canary) + ` is bad"}`, "not shown because they repeat a part of a secret ("},
		"the token as text": {"text/plain", strings.Repeat("x", 290) + canary, "314 bytes, not shown because they repeat a part of a secret ("},
	} {
		c := serve(t, say(400, tt.contentType, tt.body))
		_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
		_ = asError(t, err)
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
	if e := asError(t, err); !e.IsAuth() || e.Class == api.Unknown || e.NotSent() ||
		!strings.Contains(err.Error(), "create Purge/rel-1: 403 Forbidden: the token in TRUEUP_DELIVERY_TOKEN must be of a user who is allowed to manage CDN and DNS in the workspace and holds the role cdn-purger (") || e.RequestID.String() != "r-7" {
		t.Errorf("%v", err)
	}
	if _, err = c.Create(t.Context(), named(t, "VolumeSnapshot"), []byte(`{}`)); !strings.Contains(err.Error(), "the token in TRUEUP_COMPUTE_TOKEN must be of a service user with the access compute-admin") {
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
		"failure":          {200, jsonType, `{"kind":"Status","status":"Failure","message":"no"}`, string(api.Unknown), "says that it failed: no"},
		"failure, named":   {200, jsonType, `{"kind":"Status","status":"Failure","metadata":{"name":"x"}}`, string(api.Unknown), "says that it failed: it gives no reason"},
		"error":            {200, jsonType, `{"error":"quota"}`, string(api.Unknown), "says that it failed: quota"},
		"no success":       {200, jsonType, `{"success":false,"message":"no"}`, string(api.Unknown), "says that it failed: no"},
		"not ok":           {200, jsonType, `{"ok":false}`, string(api.Unknown), "says that it failed: it gives no reason"},
		"a status":         {200, jsonType, `{"status":"Error","message":"quota"}`, string(api.Unknown), "says that it failed: quota"},
		"a problem":        {200, jsonType, `{"title":"Bad Request","status":400}`, string(api.Unknown), "says that it failed: Bad Request"},
		"a code":           {201, jsonType, `{"code":422}`, string(api.Unknown), "says that it failed: it gives no reason"},
		"a word":           {200, jsonType, `{"success":"false"}`, string(api.Unknown), "says that it failed: it gives no reason"},
		"error, a fact":    {200, jsonType, `{"error":true}`, string(api.Unknown), "says that it failed: it gives no reason"},
		"errors, coded":    {200, jsonType, `{"errors":[{"code":7}]}`, string(api.Unknown), "says that it failed: it gives no reason"},
		"a good code":      {200, jsonType, `{"code":200,"status":"ok","message":"created"}`, bare, ""},
		"a code of theirs": {200, jsonType, `{"code":10000,"message":"created"}`, bare, ""},
		"not acceptable":   {406, jsonType, `{"message":"no such form"}`, string(api.Unknown), "no such form"},
		"client went away": {499, "", "", string(api.Unknown), "499"},
		"HTML":             {200, "text/html", "<!doctype html><title>Sign in</title>", string(api.Unknown), "an HTML page instead of JSON: Sign in"},
		"half":             {201, jsonType, cdn("shop")[:60], string(api.Unknown), "EOF"},
		"other kind":       {201, jsonType, `{"kind":"Purge","metadata":{"name":"shop"}}`, string(api.Unknown), `kind is "Purge"`},
		"other workspace":  {201, jsonType, `{"metadata":{"name":"shop","namespace":"x"}}`, string(api.Unknown), "wrong workspace"},
		"see other":        {303, "", "", string(api.Unknown), "redirected"},
		"moved":            {308, "", "", string(api.Misdirected), "redirected"},
		"bad":              {400, jsonType, `{"message":"no"}`, string(api.Rejected), "no"},
		"unauthorized":     {401, jsonType, `{}`, string(api.Denied), "401"},
		"conflict":         {409, jsonType, `{"reason":"Conflict","message":"Operation cannot be fulfilled on resourcequotas"}`, string(api.Contended), "resourcequotas"},
		"quota":            {403, jsonType, `{"reason":"Forbidden","message":"exceeded quota: cdns, used: 10"}`, string(api.Limited), "exceeded quota"},
		"too many":         {429, "text/plain", "Too many requests, please try again later.", string(api.Unsent), "Too many"},
		"request time-out": {408, "", "", string(api.Unknown), "408"},
		"internal":         {500, "", "", string(api.Unknown), "500"},
		"gateway":          {502, "text/html", "<html>bad gateway</html>", string(api.Unknown), "bad gateway"},
		"time-out":         {504, "text/plain", `{"message":"Timeout"}`, string(api.Unknown), "Timeout"},
		"odd":              {599, "", "", string(api.Unknown), "599"},
		"forbidden":        {403, jsonType, `{"message":"no"}`, string(api.Denied), "no"},
		"an empty 403":     {403, "", "", string(api.Denied), "403"},
	} {
		requests := 0
		answer := say(tt.status, tt.contentType, tt.body)
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; answer(w, r) })
		create, errCreate := c.Create(t.Context(), named(t, "CDN"), []byte(cdn("shop")))
		c = serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; answer(w, r) })
		patch, errPatch := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
		if requests != 2 {
			t.Errorf("%s: %d requests for two writes", name, requests)
		}
		checkWrite(t, "create "+name, create, errCreate, tt.want, tt.says)
		checkWrite(t, "patch "+name, patch, errPatch, tt.want, tt.says)
	}
}

// checkWrite holds an answer against bare, whole or a class.
func checkWrite(t *testing.T, name string, o kind.LiveObject, err error, want, says string) {
	t.Helper()
	if want == "bare" || want == "whole" {
		if err != nil || o.Name != "shop" || o.Kind == nil || (o.Spec != nil) != (want == "whole") {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		return
	}
	e := asError(t, err)
	if string(e.Class) != want || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: class %s, %v", name, e.Class, err)
	}
	if e.NotSent() != (e.Class == api.Unsent) {
		t.Errorf("%s: class %s says otherwise by its methods", name, e.Class)
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
	if e := asError(t, err); e.Class != api.Unknown {
		t.Errorf("no document has a 404 of a creation: %v", err)
	}
	if _, err = serve(t, say(404, "text/plain", "404 page not found")).Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`)); asError(t, err).Class != api.Misdirected {
		t.Errorf("%v", err)
	}
}

// TestOnlyDocumentedAnswersRefuse: a proxy may answer anything after it sent a write on.
func TestOnlyDocumentedAnswersRefuse(t *testing.T) {
	const page = "<html><title>Forbidden</title>nginx</html>"
	for status := 400; status < 500; status++ {
		for body, form := range map[string]string{`{"message":"no"}`: jsonType, `{}`: jsonType, "": "", "no": "text/plain", page: "text/html"} {
			want := api.Unknown
			switch message, isJSON := body == `{"message":"no"}`, form == jsonType; {
			case (status == 401 || status == 403) && (isJSON || body == ""):
				want = api.Denied
			case (status == 400 || status == 422) && message:
				want = api.Rejected
			case status == 429:
				want = api.Unsent
			}
			for _, k := range []string{"Purge", "CDN", "VolumeSnapshot"} {
				_, err := serve(t, say(status, form, body), func(cfg *api.ClientConfig) { cfg.Retry.Tries = 1 }).Create(t.Context(), named(t, k), []byte(anyBody))
				if got := asError(t, err).Class; got != want {
					t.Errorf("%s: %d %q is %s, want %s", k, status, body, got, want)
				}
			}
		}
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

// TestAnswersThatSayNothing: what each operation makes of a success that shows
// no object. A read never takes it for one, nor for absence; a write that was
// accepted is, unless what answered is no API.
func TestAnswersThatSayNothing(t *testing.T) {
	const portal = "<html><head><title>Sign in to the network</title></head><body></body></html>"
	for name, tt := range map[string]struct {
		status            int
		contentType, body string
		list, write       bool
	}{
		"an object":          {200, jsonType, `{}`, false, true},
		"an array":           {200, jsonType, `[]`, true, true},
		"null":               {200, jsonType, `null`, false, true},
		"true":               {200, jsonType, `true`, false, true},
		"a text":             {200, jsonType, `"ok"`, false, true},
		"nothing":            {200, jsonType, ``, false, true},
		"no content":         {204, "", ``, false, true},
		"accepted":           {202, "", ``, false, true},
		"a Status":           {200, jsonType, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a.b c"}}`, false, true},
		"a page":             {200, "text/html", portal, false, false},
		"a page called JSON": {200, jsonType, portal, false, false},
		"plain text":         {200, "text/plain", "OK\n", false, false},
		"NaN":                {200, jsonType, `{"metadata":{"name":"a.b c"},"spec":{"x":NaN}}`, false, false},
		"a key twice":        {200, jsonType, `{"metadata":{"name":"a.b c"},"spec":{"x":1,"x":2}}`, false, false},
		"two objects":        {200, jsonType, `{"metadata":{"name":"a.b c"},"spec":{}}{}`, false, false},
		"another name":       {200, jsonType, `{"metadata":{"name":"other"},"spec":{}}`, false, false},
		"another kind":       {200, jsonType, `{"kind":"Other","metadata":{"name":"a.b c"},"spec":{}}`, false, false},
		"another list":       {200, jsonType, `{"kind":"OtherList","items":[]}`, false, false},
		"another workspace":  {200, jsonType, `{"metadata":{"name":"a.b c","namespace":"else"},"spec":{}}`, false, false},
		"a list of others":   {200, jsonType, `[{"kind":"Other","metadata":{"name":"a.b c"},"spec":{}}]`, false, true},
	} {
		c := serve(t, say(tt.status, tt.contentType, tt.body))
		for asked := range documented {
			verb, k, _ := strings.Cut(asked, " ")
			want := tt.write
			switch {
			case verb == "list":
				want = tt.list
			case verb == "get":
				want = false
			case asked == "create VolumeSnapshot" && name == "another name":
				want = true // docs/platform.md 1
			}
			err := operate(t.Context(), c, verb, named(t, k))
			if (err == nil) != want {
				t.Errorf("%s is answered with %s: %v", asked, name, err)
			}
			if err == nil {
				continue
			}
			if e := asError(t, err); e.NotFound() || e.NotSent() || (e.Class == api.Unknown) != (verb != "list" && verb != "get") {
				t.Errorf("%s is answered with %s: %s, %v", asked, name, e.Class, err)
			}
		}
	}
}

// TestDeletionAnswers: servers answer the object, a Status, a text or nothing.
func TestDeletionAnswers(t *testing.T) {
	const object = `{"kind":"VolumeSnapshot","metadata":{"name":"db","deletionTimestamp":"2026-11-21T10:00:00Z"},"spec":{}}`
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string // "" or what the error says
	}{
		"the object":        {200, object, ""},
		"accepted":          {202, object, ""},
		"a Status":          {200, `{"kind":"Status","status":"Success"}`, ""},
		"a text":            {200, `"deleted"`, ""},
		"nothing":           {200, "", ""},
		"accepted, nothing": {202, "", ""},
		"no content":        {204, "", ""},
		"a failure":         {200, `{"kind":"Status","status":"Failure","message":"in use"}`, "says that it failed: in use"},
		"another object":    {200, strings.Replace(object, `"db"`, `"other"`, 1), "about other, not db"},
		"another kind":      {200, strings.Replace(object, "VolumeSnapshot", "CDN", 1), `kind is "CDN"`},
		"a page":            {200, "<html><title>Sign in</title></html>", "an HTML page"},
	} {
		c := serve(t, say(tt.status, jsonType, tt.body))
		err := c.Delete(t.Context(), named(t, "VolumeSnapshot"), "db")
		if tt.want == "" && err == nil {
			continue
		}
		if e := asError(t, err); e.Class != api.Unknown || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerTime(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
		w.Header().Set("Age", "5")
	})
	if !c.ServerTime().IsZero() {
		t.Error("a time before any answer")
	}
	if _, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if now := c.ServerTime(); !now.Equal(time.Date(2026, 11, 21, 10, 0, 5, 0, time.UTC)) {
		t.Errorf("server time %v", now)
	}
}

func TestTrace(t *testing.T) {
	var events []api.TraceEvent
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "id-"+canary)
		w.Header().Set("Content-Type", jsonType)
	}, func(cfg *api.ClientConfig) {
		cfg.Trace = func(e api.TraceEvent) { events = append(events, e) }
	})
	if _, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 {
		t.Fatalf("events %+v", events)
	}
	e := events[0]
	if e.Method != "PATCH" || e.Status != 200 || e.RequestBytes != 7 || e.Attempt != 1 || e.RequestID != diag.QuoteAnswer("id-"+canary, 99) {
		t.Errorf("event %+v", e)
	}
	text, err := json.Marshal(e)
	if err != nil || strings.Contains(string(text), canary) {
		t.Errorf("trace %s, %v", text, err)
	}
}

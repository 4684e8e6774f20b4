package blob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	f := newFakeBucket(t)
	f.pageSize = 3
	var n atomic.Int32
	contract(t, func() Store { return f.store(t, fmt.Sprintf("some/ledger-%d", n.Add(1))) })
}

// TestBucketFaults is what a PUT that goes wrong comes to: done, or a conflict,
// or an error; and never a second object.
func TestBucketFaults(t *testing.T) {
	const log = "/log/"
	status := func(code int, name string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { refuse(w, code, name) }
	}
	// A server that encrypts gives no sum of the bytes.
	noSum := func(w http.ResponseWriter) { w.Header().Set("ETag", `"x"`) }
	for name, c := range map[string]struct {
		before, after func(http.ResponseWriter, *http.Request) bool
		// want is a part of the error; empty means that the object is made.
		want string
		// stored says that it is there all the same.
		stored bool
	}{
		"409 once":                {before: times(1, http.MethodPut, log, status(409, "ConditionalRequestConflict"))},
		"409 for ever":            {before: times(-1, http.MethodPut, log, status(409, "ConditionalRequestConflict")), want: "ConditionalRequestConflict"},
		"409 although it is done": {after: times(1, http.MethodPut, log, status(409, "ConditionalRequestConflict"))},
		"503 twice":               {before: times(2, http.MethodPut, log, status(503, "SlowDown"))},
		"500 after the write":     {after: times(1, http.MethodPut, log, status(500, "InternalError"))},
		"no answer, not done":     {before: times(1, http.MethodPut, log, hangUp)},
		"no answer, done":         {after: times(1, http.MethodPut, log, hangUp)},
		"412 for our own write":   {after: times(1, http.MethodPut, log, status(412, "PreconditionFailed"))},
		"412 and nothing there":   {before: times(1, http.MethodPut, log, status(412, "PreconditionFailed")), want: "does not show it"},
		"200 and nothing there":   {before: times(1, http.MethodPut, log, func(http.ResponseWriter) {}), want: "does not show it"},
		"200 without the sum":     {after: times(1, http.MethodPut, log, noSum)},
		"refused":                 {before: times(1, http.MethodPut, log, status(403, "AccessDenied")), want: "s3:PutObject"},
		"condition not known":     {before: times(1, http.MethodPut, log, status(501, "NotImplemented")), want: "conditional writes"},
		"slow body":               {before: times(1, http.MethodPut, log, status(400, "RequestTimeout"))},
		"read back never": {
			after: times(1, http.MethodPut, log, hangUp), before: times(-1, http.MethodGet, log, status(503, "SlowDown")), want: "looking whether", stored: true,
		},
		"read back damaged": {
			before: times(1, http.MethodGet, log, func(w http.ResponseWriter) { w.Header().Set("Content-Length", "99"); _, _ = w.Write([]byte("{")) }),
			after:  times(1, http.MethodPut, log, noSum), want: "unexpected EOF", stored: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeBucket(t)
			s := f.store(t, "x")
			f.set(func() { f.before, f.after = c.before, c.after })
			err := create(t.Context(), s, "log/1", []byte("content"))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("Create gave %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error tells the secret: %v", err)
			}
			f.set(func() { f.before, f.after = nil, nil })
			b, err := s.Get(t.Context(), "log/1")
			if stored := c.want == "" || c.stored; stored != (string(b) == "content") || !stored != errors.Is(err, ErrAbsent) {
				t.Errorf("there is %q, %v", b, err)
			}
		})
	}
}

// TestBucketConflictInTheDark is a lost answer where another run came first.
func TestBucketConflictInTheDark(t *testing.T) {
	f := newFakeBucket(t)
	s := f.store(t, "x")
	must(t, create(t.Context(), s, "log/1", []byte("a")))
	f.set(func() { f.before = times(1, http.MethodPut, "/log/", hangUp) })
	wantErr(t, create(t.Context(), s, "log/1", []byte("b")), ErrExists)
}

func TestBucketSlow(t *testing.T) {
	f := newFakeBucket(t)
	s := f.store(t, "x")
	release := make(chan struct{})
	f.set(func() {
		f.before = func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return false
		}
	})
	s.patience = time.Millisecond
	_, err := s.List(t.Context(), "log", 1)
	wantErr(t, err, context.DeadlineExceeded)
	close(release)
}

// TestBucketIgnoresCondition is a server that takes every PUT.
func TestBucketIgnoresCondition(t *testing.T) {
	f := newFakeBucket(t)
	s := f.store(t, "x")
	must(t, create(t.Context(), s, "log/1", []byte("a")))
	f.set(func() { f.ignores = true })
	wantErr(t, s.CheckRefusesCreation(t.Context(), "log/1"), errUnsafe)
	// What was overwritten is noticed where the answer has no sum of it.
	f.set(func() {
		f.after = times(1, http.MethodPut, "/log/", func(http.ResponseWriter) { f.set(func() { f.objects["x/log/2"] = []byte("other") }) })
	})
	wantErr(t, create(t.Context(), s, "log/2", []byte("b")), errUnsafe)
	f.set(func() {
		f.ignores = false
		f.before = times(1, http.MethodPut, "/log/", func(w http.ResponseWriter) { refuse(w, 409, "ConditionalRequestConflict") })
	})
	must(t, s.CheckRefusesCreation(t.Context(), "log/1"))
	f.set(func() {
		f.before = times(1, http.MethodPut, "/log/", func(w http.ResponseWriter) { refuse(w, 403, "AccessDenied") })
	})
	if err := s.CheckRefusesCreation(t.Context(), "log/1"); err == nil || !strings.Contains(err.Error(), "s3:PutObject") {
		t.Errorf("without the right: %v", err)
	}
}

// TestBucketAnswers is what is no listing: nothing is absent because of it.
func TestBucketAnswers(t *testing.T) {
	const head = "<ListBucketResult><Prefix>x/log/</Prefix><IsTruncated>true</IsTruncated>"
	for name, answer := range map[string]string{
		"a page of a proxy": "<html><body>log in</body></html>",
		"another prefix":    "<ListBucketResult><Prefix>y/</Prefix></ListBucketResult>",
		"another's objects": "<ListBucketResult><Prefix>x/log/</Prefix><Contents><Key>y/1</Key></Contents></ListBucketResult>",
		"cut":               "<ListBucketResult><Prefix>x/log/</Prefix>",
		"nothing":           "",
		"no way on":         head + "</ListBucketResult>",
		"in circles":        head + "<NextContinuationToken>1</NextContinuationToken></ListBucketResult>",
	} {
		f := newFakeBucket(t)
		s := f.store(t, "x")
		f.before = times(-1, http.MethodGet, "x/log/", func(w http.ResponseWriter) { _, _ = w.Write([]byte(answer)) })
		if names, err := s.List(t.Context(), "log", 0); err == nil {
			t.Errorf("%s: %v", name, names)
		}
	}
}

func TestBucketRemovesProof(t *testing.T) {
	f := newFakeBucket(t)
	s := f.store(t, "x")
	must(t, create(t.Context(), s, "log/1", nil))
	f.before = times(-1, http.MethodDelete, "", func(w http.ResponseWriter) { refuse(w, 403, "AccessDenied") })
	if err := s.Clear(t.Context()); err == nil || !strings.Contains(err.Error(), "s3:DeleteObject") {
		t.Errorf("without the right to remove: %v", err)
	}
}

func TestOpenBucket(t *testing.T) {
	for _, c := range []struct {
		store   string
		trusted bool
		env     map[string]string
		want    string
	}{
		{store: "s3://ledgers/a/b?region=eu-west-1"},
		{store: "s3://ledgers", env: map[string]string{"AWS_REGION": "eu-west-1"}},
		{store: "s3://ledgers", env: map[string]string{"AWS_REGION": "evil.example.com/"}, want: "AWS_REGION"},
		{store: "s3://ledgers/a", want: "region is unknown:"},
		{store: "s3://ledgers/a", env: map[string]string{"AWS_ENDPOINT_URL_S3": "https://s3.example.com"}},
		{store: "s3://ledgers/a", env: map[string]string{"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}},
		{store: "s3://ledgers/a", env: map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3.example.com"}, want: "https"},
		{store: "s3://ledgers/a", env: map[string]string{"AWS_ENDPOINT_URL": "https://me:sesame@s3.example.com"}, want: "https://HOST"},
		{store: "s3://ledgers/a?endpoint=https://s3.example.com", want: "AWS_ENDPOINT_URL_S3"},
		{store: "s3://ledgers/a?endpoint=https://s3.example.com&path-style=true", trusted: true},
		{store: "s3://ledgers/a?endpoint=http://localhost:1", trusted: true},
		{store: "s3://ledgers/a?endpoint=http://10.0.0.1", trusted: true, want: "https"},
		{store: "s3://ledgers/a?endpoint=ftp://s3.example.com", trusted: true, want: "https://HOST"},
		{store: "s3://ledgers/a?region=evil.example.com/", want: "region"},
		{store: "s3://ledgers/a?path-style=perhaps", want: "path-style"},
		{store: "s3://ledgers/a?acl=public", want: "acl"},
		{store: "s3://ledgers/a?%zz", want: bucketForm},
		{store: "s3://me:sesame@ledgers/a", want: bucketForm},
		{store: "s3://ledgers/a#b", want: bucketForm},
		{store: "s3://", want: "bucket"},
		{store: "s3://Ledgers/a", want: "bucket"},
		{store: "s3://ledgers:80/a", want: "bucket"},
		{store: "s3://ledgers--use1-az4--x-s3/a", want: "bucket"},
		{store: "s3://x.mrap/a", want: "bucket"},
		{store: "s3://arn:aws:s3:::x/a", want: bucketForm},
		{store: "s3://ledgers/a/../b", want: "prefix"},
		{store: "s3://ledgers/a b", want: "prefix"},
		{store: "s3://ledgers/a", env: map[string]string{"AWS_MAX_ATTEMPTS": "many"}, want: "settings"},
	} {
		t.Run(c.store, func(t *testing.T) {
			for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
				t.Setenv(name, "")
			}
			t.Setenv("AWS_CONFIG_FILE", os.DevNull)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			_, err := OpenS3(t.Context(), c.store, c.trusted, time.Now)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("gave %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

// TestBucketOnLocalhost: a bucket's own name there is this machine, whatever DNS and the proxy say of it.
func TestBucketOnLocalhost(t *testing.T) {
	// Go reads the proxy once in a process.
	if proxy := "http://127.0.0.1:1"; os.Getenv("HTTP_PROXY") != proxy {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBucketOnLocalhost$")
		cmd.Env = append(os.Environ(), "HTTP_PROXY="+proxy, "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("DNS was asked")
		return nil, errors.New("no DNS here")
	}}
	f := newFakeBucket(t)
	u, err := url.Parse(f.URL)
	must(t, err)
	for _, host := range []string{"localhost", "s3.localhost"} {
		t.Setenv("AWS_ENDPOINT_URL_S3", "http://"+host+":"+u.Port())
		s := quickBucket(t, "s3://"+fakeName+"/x")
		must(t, create(t.Context(), s, "log/"+host, nil))
	}
	if f.objects["x/log/localhost"] == nil || f.objects["x/log/s3.localhost"] == nil {
		t.Errorf("the bucket has %v after %v", f.objects, f.calls)
	}
}

func TestBucketOutOfReach(t *testing.T) {
	f := newFakeBucket(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	_, err := f.store(t, "x").List(t.Context(), "log", 1)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without a server: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	_, err = f.store(t, "").List(t.Context(), "log", 1)
	if err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("without credentials: %v", err)
	}
}

// TestBucketRedirect: what signs a request goes nowhere else.
func TestBucketRedirect(t *testing.T) {
	elsewhere, f := newFakeBucket(t), newFakeBucket(t)
	f.before = times(-1, http.MethodGet, "", func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere.URL)
		refuse(w, http.StatusTemporaryRedirect, "TemporaryRedirect")
	})
	_, err := f.store(t, "x").List(t.Context(), "log", 1)
	if err == nil || !strings.Contains(err.Error(), "region") || len(elsewhere.calls) != 0 {
		t.Errorf("a redirect gave %v, and %v elsewhere", err, elsewhere.calls)
	}
}

func TestBucketHints(t *testing.T) {
	for code, want := range map[string]string{
		"NoSuchBucket": "create the bucket", "ExpiredToken": "renew", "PermanentRedirect": "region",
	} {
		f := newFakeBucket(t)
		f.before = times(-1, http.MethodGet, "", func(w http.ResponseWriter) { refuse(w, 403, code) })
		_, err := f.store(t, "x").List(t.Context(), "log", 1)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s3://ledgers/x/log") {
			t.Errorf("%s gave %v", code, err)
		}
	}
}

// TestBucketRoleOfTheMachine: a store that a repository names does not make the
// machine ask for its role, whoever gives it; one that the user
// names does.
func TestBucketRoleOfTheMachine(t *testing.T) {
	for name, vars := range map[string]map[string]string{
		"the machine":   {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "MACHINE", "AWS_EC2_METADATA_DISABLED": "false"},
		"the container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "MACHINE/role", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "x"},
		"a profile that means the container": {
			"AWS_CONTAINER_CREDENTIALS_FULL_URI": "MACHINE/role", "AWS_CONFIG_FILE": "DIR/config", "AWS_ENDPOINT_URL_STS": "MACHINE",
		},
		"the cluster": {
			"AWS_WEB_IDENTITY_TOKEN_FILE": "DIR/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/x", "AWS_ENDPOINT_URL_STS": "MACHINE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeBucket(t)
			var asked atomic.Int64
			machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				// Text would be asked for again, after a pause.
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{"code": "none", "message": "none"}`))
			}))
			defer machine.Close()
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "config"), []byte("[default]\nrole_arn = arn:aws:iam::1:role/x\ncredential_source = EcsContainer\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "token"), []byte("x.y.z"), 0o600))
			t.Setenv("AWS_ACCESS_KEY_ID", "")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "")
			for key, value := range vars {
				t.Setenv(key, strings.NewReplacer("MACHINE", machine.URL, "DIR", dir).Replace(value))
			}
			for _, trusted := range []bool{false, true} {
				s, err := OpenS3(t.Context(), "s3://"+fakeName+"/x?path-style=true", trusted, time.Now)
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.List(t.Context(), "log", 1)
				if err == nil || !strings.Contains(err.Error(), "no credentials") || trusted != (asked.Load() > 0) || len(f.calls) > 0 {
					t.Errorf("trusted %t: %v, the machine was asked %d times, the bucket %v", trusted, err, asked.Load(), f.calls)
				}
			}
		})
	}
}

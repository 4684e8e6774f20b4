package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestBucketStore(t *testing.T) {
	f := newFakeBucket(t)
	f.pageSize = 3
	var n atomic.Int32
	contract(t, func() Store { return f.store(t, fmt.Sprintf("some/ledger-%d", n.Add(1))) })
	for key := range f.objects {
		if strings.Contains(key, "/tmp/") {
			t.Errorf("a proof left %s", key)
		}
	}
}

// TestBucketOnServer runs the contract, and races, on the server whose store is
// in TRUEUP_TEST_S3_URL, with the credentials of the environment.
func TestBucketOnServer(t *testing.T) {
	where := os.Getenv("TRUEUP_TEST_S3_URL")
	if where == "" {
		t.Skip("TRUEUP_TEST_S3_URL names no server")
	}
	address, query, _ := strings.Cut(where, "?")
	fresh := func() *bucketStore {
		s, err := openBucket(t.Context(), address+"/"+uuid.NewString()+"?"+query, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.removeAll(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	contract(t, func() Store { return fresh() })
	s := fresh()
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	for round := range 10 {
		oneWinner(t, s, round)
	}
}

// born returns a prefix with a genesis.
func (f *fakeBucket) born(t testing.TB) *bucketStore {
	t.Helper()
	s := f.store(t, "x")
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	return s
}

// another is the store of another run.
func (s *bucketStore) another() *bucketStore {
	return &bucketStore{client: s.client, bucket: s.bucket, prefix: s.prefix, pause: s.pause, patience: s.patience, held: s.held}
}

// oneWinner lets 24 writers, each with a store of its own, create one record.
func oneWinner(t *testing.T, s *bucketStore, round int) {
	t.Helper()
	var wg sync.WaitGroup
	var wins atomic.Int32
	var winner atomic.Value
	for i := range 24 {
		one := s.another()
		wg.Go(func() {
			rec := testRecord(fmt.Sprint("race-", round), 1)
			rec.Nonce = fmt.Sprint(i)
			err := one.Put(t.Context(), 0, rec)
			if err == nil {
				wins.Add(1)
				winner.Store(rec.Nonce)
			} else if !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	key := testRecord(fmt.Sprint("race-", round), 1).key()
	got, err := s.Read(t.Context(), []Key{key})
	if err != nil || wins.Load() != 1 || got[key].Nonce != winner.Load() {
		t.Fatalf("%d winners, last %v; there is %q, %v", wins.Load(), winner.Load(), got[key].Nonce, err)
	}
}

func TestBucketRace(t *testing.T) {
	s := newFakeBucket(t).born(t)
	for round := range 3 {
		oneWinner(t, s, round)
	}
}

// TestBucketFaults is what a PUT that goes wrong comes to: done, or a conflict,
// or an error; and never a second object.
func TestBucketFaults(t *testing.T) {
	const records = "/records/"
	status := func(code int, name string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { refuse(w, code, name) }
	}
	for name, c := range map[string]struct {
		before, after func(http.ResponseWriter, *http.Request) bool
		// want is a part of the error; empty means that the record is written.
		want string
		// stored says that it is there all the same.
		stored bool
	}{
		"409 once":                   {before: times(1, http.MethodPut, records, status(409, "ConditionalRequestConflict"))},
		"409 for ever":               {before: times(-1, http.MethodPut, records, status(409, "ConditionalRequestConflict")), want: "ConditionalRequestConflict"},
		"409 although it is done":    {after: times(1, http.MethodPut, records, status(409, "ConditionalRequestConflict"))},
		"503 twice":                  {before: times(2, http.MethodPut, records, status(503, "SlowDown"))},
		"500 after the write":        {after: times(1, http.MethodPut, records, status(500, "InternalError"))},
		"no answer, not done":        {before: times(1, http.MethodPut, records, hangUp)},
		"no answer, done":            {after: times(1, http.MethodPut, records, hangUp)},
		"412 for our own write":      {after: times(1, http.MethodPut, records, status(412, "PreconditionFailed"))},
		"412 and nothing there":      {before: times(1, http.MethodPut, records, status(412, "PreconditionFailed")), want: "does not show it"},
		"200 and nothing there":      {before: times(1, http.MethodPut, records, func(http.ResponseWriter) {}), want: "does not show it"},
		"refused":                    {before: times(1, http.MethodPut, records, status(403, "AccessDenied")), want: "s3:PutObject"},
		"condition not known":        {before: times(1, http.MethodPut, records, status(501, "NotImplemented")), want: "conditional writes"},
		"slow body":                  {before: times(1, http.MethodPut, records, status(400, "RequestTimeout"))},
		"read back twice in vain":    {before: times(2, http.MethodGet, records, status(503, "SlowDown"))},
		"read back never":            {before: times(-1, http.MethodGet, "/records/"+testWorkspace+"/Purge/", status(503, "SlowDown")), want: "looking whether", stored: true},
		"read back damaged":          {after: times(1, http.MethodGet, records, func(w http.ResponseWriter) { w.Header().Set("Content-Length", "99"); _, _ = w.Write([]byte("{")) }), want: "unexpected EOF", stored: true},
		"proof: 409, then refused":   {before: times(1, http.MethodPut, "/genesis/", status(409, "ConditionalRequestConflict"))},
		"proof: not allowed":         {before: times(1, http.MethodPut, "/genesis/", status(403, "AccessDenied")), want: "s3:PutObject"},
		"proof: genesis is not read": {before: times(-1, http.MethodGet, "/genesis/9", status(503, "SlowDown")), want: "SlowDown"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeBucket(t)
			s := f.born(t)
			s.proven = !strings.HasPrefix(name, "proof")
			f.set(func() { f.before, f.after = c.before, c.after })
			rec := testRecord("a", 1)
			err := s.Put(t.Context(), 0, rec)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("Put gave %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error tells the secret: %v", err)
			}
			f.set(func() { f.before, f.after = nil, nil })
			got, err := s.Read(t.Context(), []Key{rec.key()})
			if stored := c.want == "" || c.stored; err != nil || stored != (len(got) == 1) {
				t.Errorf("records are %v, %v", got, err)
			}
		})
	}
}

// TestBucketConflictInTheDark is a lost answer where somebody else came first.
func TestBucketConflictInTheDark(t *testing.T) {
	f := newFakeBucket(t)
	s := f.born(t)
	mustPut(t, s, 0, testRecord("a", 1))
	f.set(func() { f.before = times(1, http.MethodPut, "/records/", hangUp) })
	wantErr(t, s.Put(t.Context(), 0, testRecord("a", 1)), ErrConflict)
}

func TestBucketSlow(t *testing.T) {
	f := newFakeBucket(t)
	s := f.born(t)
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
	_, err := s.ReadGenesis(t.Context())
	wantErr(t, err, context.DeadlineExceeded)
	close(release)
}

// TestBucketIgnoresCondition is a server that takes every PUT: no ledger is made
// on it, and one that is there is not written to.
func TestBucketIgnoresCondition(t *testing.T) {
	f := newFakeBucket(t)
	s := f.store(t, "x")
	f.set(func() { f.ignores = true })
	if err := prove(t.Context(), s, testIDs()); !errors.Is(err, errUnsafe) && (err == nil || !strings.Contains(err.Error(), "must refuse")) {
		t.Fatalf("the proof gave %v", err)
	}
	if len(f.objects) != 0 {
		t.Errorf("the proof left %v", f.objects)
	}
	f.set(func() { f.ignores = false })
	s = f.born(t)
	mustPut(t, s, 0, testRecord("a", 1))
	f.set(func() { f.ignores = true })
	later := f.store(t, "x")
	for range 2 {
		wantErr(t, later.Put(t.Context(), 0, testRecord("b", 1)), errUnsafe)
		wantErr(t, later.Put(t.Context(), 1, testRecord("a", 2)), errUnsafe)
	}
	if all := readAll(t, later); len(all) != 1 || all["Purge/a"].Seq != 1 {
		t.Errorf("records are %v", all)
	}
	// What was overwritten while the run went on is noticed as well.
	f.set(func() {
		f.after = times(1, http.MethodPut, "/records/", func(http.ResponseWriter) {
			for key := range f.objects {
				f.objects[key] = object{body: f.objects[key].body, mark: "other"}
			}
		})
	})
	wantErr(t, s.Put(t.Context(), 1, testRecord("a", 2)), errUnsafe)
}

// TestBucketDamage is what is there and can't be: it is an error that names the
// object, never an absent record.
func TestBucketDamage(t *testing.T) {
	rec := testRecord("a", 1)
	dir := "x/" + recordDir(rec.key()) + "/"
	good, err := encode(rec)
	must(t, err)
	for name, c := range map[string]struct {
		key  string
		body []byte
	}{
		"cut short":       {dir + versionName(2), good[:len(good)/2]},
		"empty":           {dir + versionName(2), nil},
		"another's":       {"x/" + recordDir(testRecord("b", 1).key()) + "/" + versionName(1), good},
		"another version": {dir + versionName(7), good},
		"not ours":        {dir + "0.json", good},
		"a stray file":    {"x/records/0", good},
	} {
		f := newFakeBucket(t)
		s := f.born(t)
		mustPut(t, s, 0, rec)
		f.set(func() { f.objects[c.key] = object{body: c.body} })
		err := s.All(t.Context(), func(Record) error { return nil })
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: All gave %v", name, err)
		}
		// The other record is found all the same.
		var damaged, whole int
		must(t, s.audit(t.Context(), func(_ Record, err error) error {
			if err != nil {
				damaged++
			} else {
				whole++
			}
			return nil
		}))
		if damaged != 1 || whole != 1 && !strings.HasPrefix(c.key, dir) || whole > 1 {
			t.Errorf("%s: %d are damaged and %d are not", name, damaged, whole)
		}
		if name == "a stray file" {
			continue
		}
		keys := []Key{rec.key(), testRecord("b", 1).key()}
		if _, err = s.another().Read(t.Context(), keys); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s: Read gave %v", name, err)
		}
	}
	f := newFakeBucket(t)
	s := f.born(t)
	for body, want := range map[string]error{"": ErrDamaged, "{": ErrDamaged, `{"schema":"trueup.ledger/v9"}`: ErrNewer} {
		f.set(func() { f.objects["x/genesis/"+versionName(2)] = object{body: []byte(body)} })
		_, err := s.another().ReadGenesis(t.Context())
		wantErr(t, err, want)
	}
}

// TestBucketAnswers is what is no listing: nothing is absent because of it.
func TestBucketAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"a page of a proxy": "<html><body>log in</body></html>",
		"another prefix":    "<ListBucketResult><Prefix>y/</Prefix></ListBucketResult>",
		"another's objects": "<ListBucketResult><Prefix>x/genesis/</Prefix><Contents><Key>y/1</Key></Contents></ListBucketResult>",
		"cut":               "<ListBucketResult><Prefix>x/genesis/</Prefix>",
		"nothing":           "",
	} {
		f := newFakeBucket(t)
		s := f.born(t)
		f.before = times(-1, http.MethodGet, "x/genesis/", func(w http.ResponseWriter) { _, _ = w.Write([]byte(answer)) })
		if _, err := s.ReadGenesis(t.Context()); err == nil || errors.Is(err, ErrNoGenesis) {
			t.Errorf("%s: %v", name, err)
		}
	}
	const head = "<ListBucketResult><Prefix>x/records/</Prefix><IsTruncated>true</IsTruncated>"
	for name, answer := range map[string]string{
		"no way on":  head + "</ListBucketResult>",
		"in circles": head + "<NextContinuationToken>1</NextContinuationToken></ListBucketResult>",
	} {
		f := newFakeBucket(t)
		s := f.born(t)
		f.before = times(-1, http.MethodGet, "x/records/", func(w http.ResponseWriter) { _, _ = w.Write([]byte(answer)) })
		if err := s.All(t.Context(), func(Record) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestBucketWithoutOrder is a server whose listings don't begin with what is
// current.
func TestBucketWithoutOrder(t *testing.T) {
	f := newFakeBucket(t)
	f.reversed = true
	if err := prove(t.Context(), f.store(t, "x"), testIDs()); err == nil {
		t.Error("proved")
	}
}

func TestBucketRemovesProof(t *testing.T) {
	f := newFakeBucket(t)
	s := f.store(t, "x")
	f.before = times(-1, http.MethodDelete, "", func(w http.ResponseWriter) { refuse(w, 403, "AccessDenied") })
	if err := prove(t.Context(), s, testIDs()); err == nil || !strings.Contains(err.Error(), "s3:DeleteObject") {
		t.Errorf("proof without the right to remove: %v", err)
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
		{store: "s3://ledgers/a", want: "region is not known"},
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
			_, err := openBucket(t.Context(), c.store, c.trusted)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("gave %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

func TestBucketOutOfReach(t *testing.T) {
	f := newFakeBucket(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	_, err := f.store(t, "x").ReadGenesis(t.Context())
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without a server: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	_, err = f.store(t, "").ReadGenesis(t.Context())
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
	_, err := f.store(t, "x").ReadGenesis(t.Context())
	if err == nil || !strings.Contains(err.Error(), "region") || len(elsewhere.calls) != 0 {
		t.Errorf("a redirect gave %v, and %v elsewhere", err, elsewhere.calls)
	}
}

func TestBucketHints(t *testing.T) {
	for code, want := range map[string]string{
		"NoSuchBucket": "make the bucket", "ExpiredToken": "renew", "PermanentRedirect": "region",
	} {
		f := newFakeBucket(t)
		f.before = times(-1, http.MethodGet, "", func(w http.ResponseWriter) { refuse(w, 403, code) })
		_, err := f.store(t, "x").ReadGenesis(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s3://ledgers/x/genesis") {
			t.Errorf("%s gave %v", code, err)
		}
	}
}

// TestBucketLedger goes through Open and Init, as the program does.
func TestBucketLedger(t *testing.T) {
	f := newFakeBucket(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	cfg := testConfig(t.TempDir())
	cfg.Store = "s3://" + fakeName + "/x?path-style=true&endpoint=" + f.URL
	if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "may not say which server") {
		t.Fatalf("an endpoint that a repository names gave %v", err)
	}
	cfg.StoreFromEnv, cfg.InCI = true, true
	f.set(func() { f.ignores = true })
	if _, err := Init(t.Context(), cfg); err == nil || len(f.objects) != 0 {
		t.Fatalf("made a ledger on a server that ignores the condition: %v", err)
	}
	f.set(func() { f.ignores = false })
	g, err := Init(t.Context(), cfg)
	must(t, err)
	cfg.ID = g.LedgerID
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	wantErr(t, tryClaim(t.Context(), open(t, cfg), purgeKey), ErrTaken)
	must(t, l.Posted(t.Context(), purgeKey, Made{HTTP: 201}))
	if rec := view(t, l, purgeKey); rec.State != Posted || rec.Seq != 2 {
		t.Errorf("the record is %+v", rec)
	}
	f.set(func() { f.ignores = true })
	wantErr(t, tryClaim(t.Context(), open(t, cfg), diskKey), errUnsafe)
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
				s, err := openBucket(t.Context(), "s3://"+fakeName+"/x?path-style=true", trusted)
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.ReadGenesis(t.Context())
				if err == nil || !strings.Contains(err.Error(), "no credentials") || trusted != (asked.Load() > 0) || len(f.calls) > 0 {
					t.Errorf("trusted %t: %v, the machine was asked %d times, the bucket %v", trusted, err, asked.Load(), f.calls)
				}
			}
		})
	}
}

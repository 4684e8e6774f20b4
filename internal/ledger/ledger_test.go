package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

var (
	purgeKey = kind.Key{Kind: "Purge", Name: "rel-42"}
	cdnKey   = kind.Key{Kind: "CDN", Name: "shop"}
	diskKey  = kind.Key{Kind: "VolumeSnapshot", Name: "db-1"}
	someSpec = []byte(`{"hostname":"shop.example.com","paths":["/a"]}`)
	someSum  = canon.Digest(someSpec)
)

func testConfig(dir string) Config {
	return Config{
		Store: "file:ledger", Dir: dir,
		Workspace: kind.Workspace{Name: "acme", UUID: testWorkspace},
		Origins: map[kind.Area]string{
			kind.Delivery: "https://api.example.com/delivery/v2.1", kind.Compute: "https://api.example.com/machine/v1/thr1",
		},
		Now: func() time.Time { return testTime }, NewID: testIDs(),
		Claim: Claim{RunID: "run-1", Actor: "mina", Tool: "trueup/test"},
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

// genesisOf is the file that has the genesis of a ledger in a folder.
func genesisOf(cfg Config) string {
	return filepath.Join(cfg.Dir, "ledger", filepath.FromSlash(entryRange{1, 1}.fileName(true)))
}

// made returns the configuration of a ledger that exists.
func made(t testing.TB) Config {
	t.Helper()
	return madeIn(t, testConfig(t.TempDir()))
}

// madeIn makes the ledger of a configuration, without a proof of its store, which takes long.
func madeIn(t testing.TB, cfg Config) Config {
	t.Helper()
	l, err := Open(t.Context(), cfg)
	must(t, err)
	cfg.ID = l.cfg.NewID()
	must(t, l.store.WriteGenesis(t.Context(), 0, Genesis{
		Schema: Schema, Seq: 1, LedgerID: cfg.ID, CreatedAt: l.cfg.Now().UTC(),
		Origins: l.cfg.Origins, Workspace: l.cfg.Workspace.UUID, WorkspaceName: l.cfg.Workspace.Name,
	}))
	must(t, l.Close())
	return cfg
}

func open(t *testing.T, cfg Config) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, l *Ledger, key kind.Key) Record {
	t.Helper()
	v, err := l.ReadView(t.Context(), []kind.Key{key})
	if err != nil || v.Problem != "" || v.ID == "" {
		t.Fatalf("view %+v, %v", v, err)
	}
	return v.Records[key]
}

func TestOpenCreatesNothing(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.ID = "some"
	l := open(t, cfg)
	v, err := l.ReadView(t.Context(), []kind.Key{purgeKey})
	if err != nil || v.Problem == "" || v.Fix == "" || v.Records != nil {
		t.Errorf("view %+v, %v", v, err)
	}
	if err := tryClaim(t.Context(), l, purgeKey); err == nil {
		t.Error("claimed without a ledger")
	}
	if left, err := os.ReadDir(cfg.Dir); err != nil || len(left) != 0 {
		t.Errorf("created %v, %v", left, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, store := range []string{"file:", "git:", "git:main", "git:refs/a..b/c", "git:refs/a/b@", "git:refs/a/b@-x", "git:refs/a/b.lock", "git:refs/a/b.", "/plain", "git:refs/pull/7/head", "git:refs/tags/x", "git:refs/remotes/origin/x"} {
		if _, err := Open(t.Context(), Config{Store: store}); err == nil {
			t.Errorf("opened store %q", store)
		}
	}
	for _, address := range []string{"api.example.com", "https:///only/path", "http://a b", "https:/x"} {
		_, err := Open(t.Context(), Config{Store: "file:x", Origins: map[kind.Area]string{kind.Delivery: address}})
		if err == nil || strings.Contains(err.Error(), address) {
			t.Errorf("address %q gave %v", address, err)
		}
	}
	if _, err := CreateLedger(t.Context(), Config{Store: "s3://x"}); err == nil {
		t.Error("made a ledger in an unknown store")
	}
	l := open(t, Config{})
	if one, two := l.cfg.NewID(), l.cfg.NewID(); one == two {
		t.Error("ids repeat")
	}
}

// TestProblems is the matrix of what keeps a ledger from being used.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Config)
		key     kind.Key
		problem string
		fix     string
	}{
		"ours":            {func(*Config) {}, purgeKey, "", ""},
		"none configured": {func(c *Config) { c.Store = "" }, purgeKey, "no ledger is configured", Create},
		"missing":         {func(c *Config) { c.Store = "file:other" }, purgeKey, "folder on another machine, or was removed here: file:other", "trueup ledger export"},
		"none yet":        {func(c *Config) { c.Store, c.ID = "file:other", "" }, purgeKey, "there is no ledger at file:other", "ledger init"},
		"other id":        {func(c *Config) { c.ID = "else" }, purgeKey, "trueup.yaml names else", "restore"},
		"no id":           {func(c *Config) { c.ID = "" }, purgeKey, "does not say which ledger", "write id: "},
		"other workspace": {func(c *Config) { c.Workspace.UUID = "w2" }, purgeKey, "belongs to workspace acme (" + testWorkspace, "git:refs/trueup/ledger-NAME"},
		"other delivery address": {
			func(c *Config) { c.Origins[kind.Delivery] = "https://test.example.com/delivery/v2.1" }, diskKey,
			"the delivery area at https://api.example.com/delivery/v2.1", "create another ledger",
		},
		"other region": {func(c *Config) { c.Origins[kind.Compute] = "https://api.example.com/machine/v1/thr2" }, purgeKey, "the compute area at", "create another ledger"},
		"same address": {func(c *Config) { c.Origins[kind.Delivery] = "HTTPS://user:pw@API.example.com:443/delivery/v2.1/?x=1" }, purgeKey, "", ""},
		"no address":   {func(c *Config) { c.Origins = nil }, purgeKey, "", ""},
		"CI":           {func(c *Config) { c.LosesDisk = true }, purgeKey, "refuses a ledger in a file in CI", "TRUEUP_DISK_IS_KEPT=true"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := made(t)
			must(t, tryClaim(t.Context(), open(t, cfg), c.key))
			c.change(&cfg)
			l := open(t, cfg)
			v, err := l.ReadView(t.Context(), []kind.Key{c.key})
			if err != nil || !strings.Contains(v.Problem, c.problem) || !strings.Contains(v.Fix, c.fix) {
				t.Fatalf("view %+v, %v; want problem %q", v, err, c.problem)
			}
			_, listErr := l.ListRecords(t.Context())
			changeErr := l.Resolve(t.Context(), c.key, ResolvePosted, "seen")
			if c.problem == "" {
				if v.Problem != "" || v.Records[c.key].State != Claimed || listErr != nil || changeErr != nil {
					t.Errorf("view %+v, %v, %v", v, listErr, changeErr)
				}
				return
			}
			var problem *ProblemError
			if v.Records != nil || !errors.As(listErr, &problem) || !errors.As(changeErr, &problem) {
				t.Errorf("records %v, errors %v and %v", v.Records, listErr, changeErr)
			}
		})
	}
}

func TestInitBindsWhatIsConfigured(t *testing.T) {
	cfg := testConfig(t.TempDir())
	compute := cfg.Origins[kind.Compute]
	delete(cfg.Origins, kind.Compute)
	g, err := CreateLedger(t.Context(), cfg)
	if err != nil || g.Seq != 1 || len(g.Origins) != 1 || g.CreatedAt.Location() != time.UTC {
		t.Fatalf("genesis %+v, %v", g, err)
	}
	cfg.ID = g.LedgerID
	if again, err := CreateLedger(t.Context(), cfg); err != nil || again.LedgerID != g.LedgerID || again.Seq != 1 {
		t.Errorf("a second init gave %+v, %v", again, err)
	}
	cfg.Origins[kind.Compute] = compute
	v, err := open(t, cfg).ReadView(t.Context(), []kind.Key{diskKey})
	if err != nil || !strings.Contains(v.Problem, "has no address for the compute area") {
		t.Errorf("view %+v, %v", v, err)
	}
	if v, err := open(t, cfg).ReadView(t.Context(), []kind.Key{purgeKey}); err != nil || v.Problem != "" {
		t.Errorf("the other area is refused too: %+v, %v", v, err)
	}
	if g, err = CreateLedger(t.Context(), cfg); err != nil || g.Seq != 2 || g.Origins[kind.Compute] != compute {
		t.Errorf("init bound %+v, %v", g, err)
	}
	if v, err := open(t, cfg).ReadView(t.Context(), []kind.Key{diskKey}); err != nil || v.Problem != "" {
		t.Errorf("view %+v, %v", v, err)
	}
}

func TestInitRefuses(t *testing.T) {
	var problem *ProblemError
	t.Run("to make a lost ledger again", func(t *testing.T) {
		cfg := testConfig(t.TempDir())
		cfg.ID = "lost"
		_, err := CreateLedger(t.Context(), cfg)
		if !errors.As(err, &problem) || !strings.Contains(problem.Problem, "file:ledger does not exist") {
			t.Errorf("init gave %v", err)
		}
	})
	t.Run("a ledger of another platform", func(t *testing.T) {
		cfg := made(t)
		cfg.Origins[kind.Delivery] = "https://other.example.com"
		if _, err := CreateLedger(t.Context(), cfg); !errors.As(err, &problem) {
			t.Errorf("init gave %v", err)
		}
	})
	t.Run("a runner's disk, and no store", func(t *testing.T) {
		cfg := testConfig(t.TempDir())
		cfg.LosesDisk = true
		if _, err := CreateLedger(t.Context(), cfg); !errors.As(err, &problem) {
			t.Errorf("init gave %v", err)
		}
		cfg.Store = ""
		if _, err := CreateLedger(t.Context(), cfg); !errors.As(err, &problem) {
			t.Errorf("init gave %v", err)
		}
	})
	t.Run("a damaged genesis", func(t *testing.T) {
		cfg := made(t)
		write(t, genesisOf(cfg), "{")
		if _, err := CreateLedger(t.Context(), cfg); err == nil || errors.As(err, &problem) {
			t.Errorf("init gave %v", err)
		}
		v, err := open(t, cfg).ReadView(t.Context(), nil)
		if err != nil || !strings.Contains(v.Problem, genesisOf(cfg)) || v.Fix == "" {
			t.Errorf("the view of a damaged genesis is %+v, %v", v, err)
		}
	})
	t.Run("a workspace that has no uuid", func(t *testing.T) {
		cfg := testConfig(t.TempDir())
		cfg.Workspace.UUID = ""
		if _, err := CreateLedger(t.Context(), cfg); err == nil {
			t.Error("init went on")
		}
	})
}

func TestInitAtOnceMakesOneLedger(t *testing.T) {
	cfg := testConfig(t.TempDir())
	ids := make([]string, 6)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			g, err := CreateLedger(t.Context(), cfg)
			if err != nil {
				t.Error(err)
			}
			ids[i] = g.LedgerID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("ledgers %v", ids)
		}
	}
	left, err := os.ReadDir(filepath.Join(cfg.Dir, "ledger", "tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("left of the proofs: %v, %v", left, err)
	}
}

func someIntent() Intent {
	return Intent{Spec: someSpec, Digest: someSum, At: NewInstant(testTime, testTime)}
}

func tryClaim(ctx context.Context, l *Ledger, key kind.Key) error {
	_, err := l.Claim(ctx, key, someIntent())
	return err
}

func tryClaimAgain(ctx context.Context, l *Ledger, key kind.Key) error {
	i := someIntent()
	i.Again = true
	_, err := l.Claim(ctx, key, i)
	return err
}

func takeOver(ctx context.Context, l *Ledger, key kind.Key, i Intent) (OwnClaim, error) {
	i.TakeOver = true
	return l.Claim(ctx, key, i)
}

// TestAStoreOfTheRepositoryStaysInIt: neither a name nor a link makes trueup.yaml
// choose a folder of the machine; the user may.
func TestAStoreOfTheRepositoryStaysInIt(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for name, aim := range map[string]string{"link": outside, "loop": "loop", "up": "..", "inside": "real"} {
		if err := os.Symlink(aim, filepath.Join(dir, name)); err != nil {
			t.Skipf("this machine makes no symbolic links: %v", err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	for store, want := range map[string]string{
		"file:ledger":                        "",
		"file:a/b/ledger":                    "",
		"file:inside":                        "",
		"file:.":                             "",
		"file:" + outside:                    "is outside the folder",
		"file:///etc":                        "is outside the folder",
		"file:../ledger":                     "is outside the folder",
		"file:a/../../ledger":                "is outside the folder",
		"file:link":                          "path escapes",
		"file:link/ledger":                   "path escapes",
		"file:up/x":                          "path escapes",
		"file:loop":                          "loop",
		"file:a\x00b":                        "invalid",
		"file:" + strings.Repeat("x/", 5000): "",
	} {
		_, err := OpenStore(t.Context(), Config{Store: store, Dir: dir})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %q", store, err, want)
		}
		if _, err := OpenStore(t.Context(), Config{Store: store, Dir: dir, StoreFromEnv: true}); err != nil {
			t.Errorf("%.60s, from the environment: %v", store, err)
		}
	}
}

// TestAllowedStores: only below the stores that the user allows may a store of the repository's have an endpoint, which
// gets the credentials, and only the user's own.
func TestAllowedStores(t *testing.T) {
	const endpoint = "endpoint=https://storage.example.com"
	getenv := func(name string) string { return map[string]string{"AZURE_STORAGE_ACCOUNT": "acme"}[name] }
	for _, c := range []struct{ store, allowed, want string }{
		{"s3://acme/shop?" + endpoint, "", "may not choose the server"},
		{"gs://acme/shop?" + endpoint, "", "may not choose the server"},
		{"azblob://acme/shop?" + endpoint, "", "may not choose the server"},
		{"s3://acme/shop?" + endpoint, "s3://acme", "TRUEUP_PROJECTS allows only stores below s3://acme,"},
		{"s3://acme/shop?" + endpoint, "s3://acme?" + endpoint, ""},
		{"gs://acme/shop?" + endpoint, "gs://acme/shop?" + endpoint, ""},
		{"azblob://acme/shop?" + endpoint, "azblob://acme/?" + endpoint, ""},
		{"s3://acme-2/shop?" + endpoint, "s3://acme?" + endpoint, "TRUEUP_PROJECTS allows only"},
		{"file:../ledger", "file:ledger", "TRUEUP_PROJECTS allows only"},
		{"file:../ledger", "file:..", "TRUEUP_PROJECTS allows only"},
		{"file:/srv/ledger", "file:/srv", "TRUEUP_PROJECTS allows only"},
		{"", "s3://acme", "trueup.yaml names no ledger, and TRUEUP_PROJECTS allows only"},
	} {
		cfg := Config{Store: c.store, Dir: t.TempDir(), Now: time.Now, Getenv: getenv}
		if c.allowed != "" {
			cfg.Allowed = []string{"postgres:x", c.allowed}
			c.want = strings.Replace(c.want, "below ", "below postgres:x or ", 1)
		}
		if _, err := Open(t.Context(), cfg); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s below %q: %v, want %q", c.store, c.allowed, err, c.want)
		}
	}
}

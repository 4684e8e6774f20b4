package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"trueup/internal/e2e/servers"
)

// pgSchema is a schema of its own on the server of the tests, whose table of ledgers the
// role of the environment owns.
type pgSchema struct {
	t    *testing.T
	name string
}

func newPgSchema(t *testing.T) pgSchema {
	servers.Store(t, "postgres")
	s := pgSchema{t, "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	s.script("CREATE SCHEMA " + s.name)
	t.Cleanup(func() { s.script("DROP SCHEMA " + s.name + " CASCADE") })
	return s
}

// store is one of its ledgers; role is whom the connection acts for, or "".
func (s pgSchema) store(ledger, role string) *RemoteStore {
	s.t.Helper()
	store, err := OpenPostgres(ledger)
	must(s.t, err)
	params := store.server.(*pgServer).config.RuntimeParams
	params["search_path"] = s.name
	if role != "" {
		params["role"] = role
	}
	s.t.Cleanup(func() { must(s.t, store.Close()) })
	return store
}

func (s pgSchema) script(sql string) {
	s.t.Helper()
	config, err := pgconn.ParseConfig("")
	must(s.t, err)
	ctx := s.t.Context()
	if ctx.Err() != nil { // in a cleanup
		ctx = context.Background()
	}
	config.RuntimeParams["search_path"] = s.name
	conn, err := pgconn.ConnectConfig(ctx, config)
	must(s.t, err)
	must(s.t, errors.Join(runPgScript(ctx, conn, sql), conn.Close(ctx)))
}

func TestPostgres(t *testing.T) {
	s := newPgSchema(t)
	var n atomic.Int32
	contract(t, func() Store {
		store := s.store(fmt.Sprintf("some/ledger-%d", n.Add(1)), "")
		must(t, store.Prepare(t.Context()))
		return store
	})
}

// TestPostgresRights: whoever was granted too much can still not change what is recorded.
func TestPostgresRights(t *testing.T) {
	s := newPgSchema(t)
	ctx, role := t.Context(), s.name+"_role"
	owner := s.store("one", "")
	must(t, owner.Prepare(ctx))
	s.script("CREATE ROLE " + role + "; GRANT " + role + " TO CURRENT_USER; GRANT USAGE ON SCHEMA " + s.name + " TO " + role)
	t.Cleanup(func() { s.script("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	must(t, create(ctx, owner, "log/1", []byte("recorded")))
	store := s.store("one", role)
	for _, c := range []struct {
		grant string
		can   func(error) bool
	}{
		{"", func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "needs SELECT on trueup_ledger")
		}},
		{"SELECT", func(err error) bool { return err == nil }},
	} {
		if c.grant != "" {
			s.script("GRANT " + c.grant + " ON trueup_ledger TO " + role)
		}
		if _, err := store.Get(ctx, "log/1"); !c.can(err) {
			t.Errorf("read with %q: %v", c.grant, err)
		}
	}
	if err := create(ctx, store, "log/2", nil); err == nil || !strings.Contains(err.Error(), "apply also INSERT") {
		t.Errorf("create without the right: %v", err)
	}
	s.script("GRANT INSERT, UPDATE, DELETE ON trueup_ledger TO " + role)
	must(t, errors.Join(store.Prepare(ctx), create(ctx, store, "log/2", nil), create(ctx, store, "tmp/x", nil)))
	must(t, store.Clear(ctx))
	server := store.server.(*pgServer)
	_, changed, err := server.runQuery(ctx, "UPDATE trueup_ledger SET content = '' WHERE ledger <> $1", "none")
	if err != nil || changed != 0 {
		t.Errorf("changed %d rows, %v", changed, err)
	}
	names, err := owner.List(ctx, "log", 0)
	if _, tmp := owner.Get(ctx, "tmp/x"); err != nil || len(names) != 2 || !errors.Is(tmp, ErrAbsent) {
		t.Errorf("Clear left %v, %v, and of tests %v", names, err, tmp)
	}
}

// TestPostgresVersions: many runs make the table once, an older program refuses a newer
// table, and a newer program updates an older one.
func TestPostgresVersions(t *testing.T) {
	s := newPgSchema(t)
	ctx := t.Context()
	var runs sync.WaitGroup
	for range 8 {
		store := s.store("one", "")
		runs.Go(func() {
			if _, err := store.Get(ctx, "log/1"); !errors.Is(err, ErrAbsent) {
				t.Errorf("before or after it was made: %v", err)
			}
			if err := store.Prepare(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	old, newer := s.store("one", ""), s.store("one", "")
	must(t, create(ctx, old, "log/1", []byte("kept")))
	next := newer.server.(*pgServer)
	next.migrations = append(next.migrations, "ALTER TABLE trueup_ledger ADD COLUMN more text; SELECT 1/0")
	_, err := newer.Get(ctx, "log/1")
	if wantErr(t, err, ErrOutdated); !strings.Contains(err.Error(), "trueup ledger init") {
		t.Error(err)
	}
	if err := newer.Prepare(ctx); err == nil {
		t.Error("an update that fails gave no error")
	}
	// It left nothing.
	next.migrations[1] = "ALTER TABLE trueup_ledger ADD COLUMN more text"
	must(t, errors.Join(newer.Prepare(ctx), newer.Prepare(ctx)))
	if b, err := newer.Get(ctx, "log/1"); err != nil || string(b) != "kept" {
		t.Errorf("after the update: %q, %v", b, err)
	}
	for _, run := range []*RemoteStore{old.SubStore("").(*RemoteStore), s.store("one", "")} {
		_, err := run.Get(ctx, "log/1")
		if wantErr(t, err, ErrStore); !strings.Contains(err.Error(), "use a newer trueup") {
			t.Error(err)
		}
		must(t, run.Close())
	}
	s.script("COMMENT ON TABLE trueup_ledger IS NULL")
	_, err = s.store("one", "").List(ctx, "log", 1)
	wantErr(t, err, ErrStore)
	s.script("DROP TABLE trueup_ledger")
	wantErr(t, create(ctx, newer, "log/2", nil), ErrAbsent)
	wantErr(t, create(ctx, s.store("one", ""), "log/2", nil), ErrAbsent)
}

// TestPostgresEndedConnections: a run goes on after somebody ended its connection, and
// inserts nothing twice.
func TestPostgresEndedConnections(t *testing.T) {
	s := newPgSchema(t)
	ctx := t.Context()
	store := s.store("one", "")
	must(t, store.Prepare(ctx))
	for n := range 5 {
		name := fmt.Sprint("log/", n)
		s.script("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'trueup' AND usename = current_user AND pid <> pg_backend_pid()")
		must(t, create(ctx, store, name, []byte(name)))
		s.script("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'trueup' AND usename = current_user AND pid <> pg_backend_pid()")
		if b, err := store.Get(ctx, name); err != nil || string(b) != name {
			t.Errorf("read %q, %v", b, err)
		}
	}
}

func TestOpenPostgres(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{name: "shop", env: map[string]string{"PGHOST": "127.0.0.1"}},
		{name: "a/shop", env: map[string]string{"PGHOST": "/run/postgresql"}},
		{name: "shop", env: map[string]string{"PGHOST": "db.example.com", "PGSSLMODE": "verify-full"}},
		{name: "shop", env: map[string]string{"PGHOST": "db.example.com", "PGSSLMODE": "verify-ca"}},
		{name: "shop", env: map[string]string{"PGHOST": "db.example.com"}, want: "PGSSLMODE=verify-full"},
		{name: "shop", env: map[string]string{"PGHOST": "db.example.com", "PGSSLMODE": "require"}, want: "PGSSLMODE=verify-full"},
		{name: "shop", env: map[string]string{"PGHOST": "localhost,db.example.com", "PGSSLMODE": "prefer"}, want: "PGSSLMODE=verify-full"},
		{name: "shop", env: map[string]string{"PGHOST": "@db.example.com"}, want: "PGSSLMODE=verify-full"},
		{name: "shop", env: map[string]string{"PGPORT": "many"}, want: "settings of PostgreSQL's clients"},
		{name: "", want: "postgres:NAME"},
		{name: "//me:sesame@db.example.com/x", want: "postgres:NAME"},
		{name: "shop?host=db.example.com", want: "postgres:NAME"},
		{name: "a/../b", want: "postgres:NAME"},
	} {
		for _, name := range []string{"PGHOST", "PGPORT", "PGSSLMODE", "PGSSLROOTCERT", "PGSERVICE"} {
			t.Setenv(name, "")
		}
		t.Setenv("PGPASSWORD", "sesame")
		for name, value := range c.env {
			t.Setenv(name, value)
		}
		_, err := OpenPostgres(c.name)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %v gave %v, want %q", c.name, c.env, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

// TestPostgresHints says what to do about a server that can't be used.
func TestPostgresHints(t *testing.T) {
	t.Setenv("PGHOST", "127.0.0.1")
	t.Setenv("PGPORT", "1")
	t.Setenv("PGSSLMODE", "")
	t.Setenv("PGPASSWORD", "sesame")
	store, err := OpenPostgres("shop")
	must(t, err)
	store.pause = 1
	_, err = store.List(t.Context(), "log", 1)
	if err == nil || !strings.Contains(err.Error(), "PGHOST") || !strings.Contains(err.Error(), "postgres:shop/log") || strings.Contains(err.Error(), "sesame") {
		t.Errorf("without a server: %v", err)
	}
	for code, want := range map[string]string{
		pgReadOnly: "primary", pgNoDatabase: "PGDATABASE", pgBadPassword: "PGPASSFILE", pgBadLogin: "PGUSER", pgNoRight: "INSERT",
	} {
		if hint := store.server.hint(fmt.Errorf("x: %w", &pgconn.PgError{Code: code}), ""); !strings.Contains(hint, want) {
			t.Errorf("%s: %q", code, hint)
		}
	}
}

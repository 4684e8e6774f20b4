package blob

import (
	"cmp"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"trueup/internal/diag"
)

// pgTable is the table of all ledgers of a database. The database's search_path says in which schema it is.
const pgTable = "trueup_ledger"

//go:embed postgres-1.sql
var pgVersion1 string

// pgMigrations make the table: each one the next version. Policies let nobody but the table's owner replace an object,
// or remove one outside tmp/, whatever a role was granted.
func pgMigrations() []string {
	return []string{pgVersion1}
}

// pgVersionText is the table's comment, before the version.
const pgVersionText = "ledgers of trueup, version "

// The statements. A commit is durable whatever the role's synchronous_commit says. Each statement is a transaction of
// its own, so that a pooler may give each one another connection.
const (
	pgPut = `INSERT INTO trueup_ledger (ledger, name, content)
SELECT $1, $2, $3 FROM set_config('synchronous_commit', 'on', true) ON CONFLICT (ledger, name) DO NOTHING`
	pgGet = `SELECT content FROM trueup_ledger WHERE ledger = $1 AND name = $2`
	// "0" follows "/", so names below a folder are between FOLDER/ and FOLDER0, and "~" follows all names.
	pgPage   = `SELECT name FROM trueup_ledger WHERE ledger = $1 AND name > $2 AND name < $3 ORDER BY name LIMIT $4`
	pgRemove = `DELETE FROM trueup_ledger WHERE ledger = $1 AND name = $2`
	// to_regclass would not see a table that another run made during this transaction.
	pgVersion = `SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relname = 'trueup_ledger' AND pg_table_is_visible(oid)`
)

// PostgreSQL's error codes.
const (
	pgNoTable      = "42P01"
	pgNoRight      = "42501"
	pgReadOnly     = "25006"
	pgSerialize    = "40001"
	pgNoDatabase   = "3D000"
	pgBadPassword  = "28P01"
	pgBadLogin     = "28000"
	pgTypeBytea    = 17
	pgTypeText     = 25
	pgTypeInteger  = 20
	pgFormatText   = 0
	pgFormatBinary = 1
)

// ErrOutdated means that the table of ledgers is older than this program. Prepare updates it.
var ErrOutdated = errors.New("an earlier trueup made the table of ledgers")

// pgServer is the objects of one ledger in a PostgreSQL database. It has one connection, which it opens when it is
// needed and uses for one statement at a time: a database serves few connections, and a ledger few statements.
type pgServer struct {
	config     *pgconn.Config
	ledger     string
	migrations []string

	// lock guards the following.
	lock chan struct{}
	conn *pgconn.PgConn
	// ready means that the table has the version of this program.
	ready bool
}

func newPgServer(config *pgconn.Config, ledger string) *pgServer {
	return &pgServer{config: config, ledger: ledger, migrations: pgMigrations(), lock: make(chan struct{}, 1)}
}

func (s *pgServer) withOwnConnection() server {
	other := newPgServer(s.config, s.ledger)
	other.migrations = s.migrations
	return other
}

func (s *pgServer) location(key string) string { return "postgres:" + path.Join(s.ledger, key) }

func (s *pgServer) close() error {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.dropConnection()
	return nil
}

func (s *pgServer) dropConnection() {
	if s.conn != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel() // the answer to a goodbye says nothing
		_ = s.conn.Close(ended)
	}
	s.conn = nil
}

// withConnection calls do with the connection.
func (s *pgServer) withConnection(ctx context.Context, do func(*pgconn.PgConn) error) (err error) {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.lock }()
	if s.conn != nil && s.conn.IsClosed() {
		s.dropConnection()
	}
	if s.conn == nil {
		if s.conn, err = pgconn.ConnectConfig(ctx, s.config); err != nil {
			s.conn = nil
			return err
		}
	}
	return do(s.conn)
}

// runQuery executes a statement on a table of the right version.
func (s *pgServer) runQuery(ctx context.Context, sql string, args ...any) (rows [][][]byte, affected int64, err error) {
	err = s.withConnection(ctx, func(conn *pgconn.PgConn) error {
		if !s.ready {
			if version, err := pgTableVersion(ctx, conn); err != nil || version != len(s.migrations) {
				return s.checkVersion(version, err)
			}
			s.ready = true
		}
		rows, affected, err = pgExec(ctx, conn, sql, args...)
		return err
	})
	if pgCode(err) == pgNoTable {
		err = ErrAbsent // somebody removed it since
	}
	return rows, affected, err
}

// checkVersion returns why a table of a version can't be used, or nil.
func (s *pgServer) checkVersion(version int, err error) error {
	switch want := len(s.migrations); {
	case err != nil || version == want:
		return err
	case version == 0:
		return ErrAbsent
	case version > want:
		return fmt.Errorf("%w: the table %s is of version %d, and this trueup knows up to %d: use a newer trueup", ErrStore, pgTable, version, want)
	default:
		return fmt.Errorf("%w: %s is of version %d, and this trueup needs %d: let the role that owns the table run trueup ledger init", ErrOutdated, pgTable, version, want)
	}
}

// pgTableVersion returns 0 if there is no table.
func pgTableVersion(ctx context.Context, conn *pgconn.PgConn) (int, error) {
	rows, _, err := pgExec(ctx, conn, pgVersion)
	if err != nil || len(rows) != 1 {
		return 0, err
	}
	text, ours := strings.CutPrefix(string(rows[0][0]), pgVersionText)
	version, err := strconv.Atoi(text)
	if !ours || err != nil || version < 1 {
		return 0, fmt.Errorf("%w: the comment of table %s is not %q and its version: if the table is trueup's, write the comment again with COMMENT ON TABLE", ErrStore, pgTable, pgVersionText)
	}
	return version, nil
}

// pgExec executes a statement with arguments of text, bytes and integers.
func pgExec(ctx context.Context, conn *pgconn.PgConn, sql string, args ...any) (rows [][][]byte, affected int64, err error) {
	values, types, formats := make([][]byte, len(args)), make([]uint32, len(args)), make([]int16, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case []byte:
			values[i], types[i], formats[i] = a, pgTypeBytea, pgFormatBinary
			if a == nil {
				values[i] = []byte{} // nil means NULL
			}
		case int:
			values[i], types[i], formats[i] = strconv.AppendInt(nil, int64(a), 10), pgTypeInteger, pgFormatText
		case string:
			values[i], types[i], formats[i] = []byte(a), pgTypeText, pgFormatText
		}
	}
	result := conn.ExecParams(ctx, sql, values, types, formats, []int16{pgFormatBinary}).Read()
	return result.Rows, result.CommandTag.RowsAffected(), result.Err
}

// put inserts a row. A row that another transaction is inserting is waited for.
func (s *pgServer) put(ctx context.Context, key string, content []byte) (confirmed bool, err error) {
	_, inserted, err := s.runQuery(ctx, pgPut, s.ledger, key, content)
	if err == nil && inserted == 0 {
		err = errTaken
	}
	return err == nil, err
}

func (s *pgServer) get(ctx context.Context, key string) ([]byte, error) {
	rows, _, err := s.runQuery(ctx, pgGet, s.ledger, key)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, ErrAbsent
	case len(rows[0][0]) > maxSize:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrIrregular, maxSize)
	}
	return rows[0][0], nil
}

// listPage starts after the last name of the page before.
func (s *pgServer) listPage(ctx context.Context, prefix, token string, most int) (keys []string, next string, err error) {
	end := "~"
	if folder, ok := strings.CutSuffix(prefix, "/"); ok {
		end = folder + "0"
	}
	rows, _, err := s.runQuery(ctx, pgPage, s.ledger, cmp.Or(token, prefix), end, most)
	keys = diag.MapList(rows, func(row [][]byte) string { return string(row[0]) })
	if len(keys) == most {
		next = keys[most-1]
	}
	return keys, next, ignoreAbsent(err)
}

func (s *pgServer) remove(ctx context.Context, key string) error {
	_, _, err := s.runQuery(ctx, pgRemove, s.ledger, key)
	return ignoreAbsent(err)
}

// prepare makes the table, or brings it to the version of this program, in one transaction that no other run enters.
func (s *pgServer) prepare(ctx context.Context) error {
	return s.withConnection(ctx, func(conn *pgconn.PgConn) error {
		version, err := pgTableVersion(ctx, conn)
		if err != nil || version >= len(s.migrations) {
			return err
		}
		defer func() {
			if conn.TxStatus() != 'I' {
				s.dropConnection() // which ends the transaction
			}
		}()
		// The number is any that no other program locks.
		if err = runPgScript(ctx, conn, "BEGIN; SELECT pg_advisory_xact_lock(8461927305)"); err != nil {
			return err
		}
		if version, err = pgTableVersion(ctx, conn); err != nil {
			return err
		}
		for ; version < len(s.migrations); version++ {
			if err = runPgScript(ctx, conn, s.migrations[version]); err != nil {
				return err
			}
		}
		return runPgScript(ctx, conn, fmt.Sprintf("COMMENT ON TABLE %s IS '%s%d'; COMMIT", pgTable, pgVersionText, version))
	})
}

func runPgScript(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	_, err := conn.Exec(ctx, sql).ReadAll()
	return err
}

func pgCode(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

// classifyError: the classes 08, 53, 55, 57 and 58 are of connections, resources, locks, operators and the system. What is no
// answer is a connection that ended: the statement may have been executed.
func (s *pgServer) classifyError(err error) failureVerdict {
	code := pgCode(err)
	var certificate *tls.CertificateVerificationError
	isFinal := func(target error) bool { return errors.Is(err, target) }
	switch {
	case errors.Is(err, errTaken):
		return exists
	case code == pgSerialize, code != "" && slices.Contains([]string{"08", "53", "55", "57", "58"}, code[:2]):
		return temporary
	case code != "", errors.As(err, &certificate),
		slices.ContainsFunc([]error{ErrAbsent, ErrStore, ErrOutdated, ErrIrregular}, isFinal):
		return final
	}
	return temporary
}

func (s *pgServer) hint(err error, _ string) string {
	switch pgCode(err) {
	case pgNoRight:
		return ": the role needs SELECT on " + pgTable + ", apply also INSERT, and trueup ledger init also DELETE. If there is no such table yet, let a role that may create it run trueup ledger init"
	case pgReadOnly:
		return ": connect to the primary server: PGTARGETSESSIONATTRS=read-write"
	case pgNoDatabase:
		return ": create the database, or set PGDATABASE to another"
	case pgBadPassword, pgBadLogin:
		return ": set PGUSER, and PGPASSWORD or PGPASSFILE"
	}
	if _, failed := errors.AsType[*pgconn.ConnectError](err); failed && pgCode(err) == "" {
		return ": PGHOST, PGPORT and the other variables of PostgreSQL's clients name the server"
	}
	return ""
}

// OpenPostgres opens the ledger of a name in a PostgreSQL database. It does not connect. The variables and files of
// PostgreSQL's clients name the server, the role and its password: the name of a store can't, so a repository never
// chooses where they go. Call Close.
func OpenPostgres(name string) (*RemoteStore, error) {
	if name == "" || !bucketPath().MatchString(name) {
		return nil, errors.New("it is not of the form postgres:NAME, with a name of letters, digits, dots, hyphens, underscores and slashes. PGHOST, PGDATABASE and the other variables of PostgreSQL's clients name the server")
	}
	config, err := pgconn.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("read the settings of PostgreSQL's clients: %w", err)
	}
	if err := checkPgTLS(config.Host, config.TLSConfig); err != nil {
		return nil, err
	}
	diag.RegisterSecret(config.Password)
	for _, f := range config.Fallbacks {
		if err := checkPgTLS(f.Host, f.TLSConfig); err != nil {
			return nil, err
		}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "trueup"
	}
	return newRemoteStore(newPgServer(config, name), ""), nil
}

// checkPgTLS rejects a server whose certificate is not checked, except on this machine.
func checkPgTLS(host string, settings *tls.Config) error {
	ip, _ := netip.ParseAddr(host)
	network, _ := pgconn.NetworkAddress(host, 0)
	switch {
	case ip.IsLoopback(), host == "localhost", network == "unix":
		return nil
	case settings == nil, settings.InsecureSkipVerify && settings.VerifyPeerCertificate == nil:
		return fmt.Errorf("the connection to %s would not check the server's certificate, which would expose the password: set PGSSLMODE=verify-full. For an authority of your own, also set PGSSLROOTCERT=FILE", host)
	}
	return nil
}

package blob

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"

	"github.com/jackc/pgx/v5/pgconn"

	"trueup/internal/diag"
)

// OpenPostgres opens the ledger of a name in a PostgreSQL database. It does not connect. The variables and files of
// PostgreSQL's clients name the server, the role and its password: the name of a store can't, so a repository never
// chooses where they go. Call Close.
func OpenPostgres(name string) (*Remote, error) {
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
	diag.KnowSecret(config.Password)
	for _, f := range config.Fallbacks {
		if err := checkPgTLS(f.Host, f.TLSConfig); err != nil {
			return nil, err
		}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "trueup"
	}
	return newRemote(newPgServer(config, name), ""), nil
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

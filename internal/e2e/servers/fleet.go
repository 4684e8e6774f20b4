package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Fleet is a store below which each project of a fleet has a ledger.
type Fleet struct {
	// Store is a store as trueup.yaml may name it, which can't name a server.
	Store string
	// Env has the variables of the store's client.
	Env []string
}

// In returns the store of a project.
func (f Fleet) In(project string) string { return Below(f.Store, project) }

// ForFleet returns a new, empty store of a scheme for a fleet, and skips the test if there is no server of it.
func ForFleet(t testing.TB, scheme string) Fleet {
	t.Helper()
	f := Fleet{Store: Store(t, scheme), Env: Environ()}
	place, text, _ := strings.Cut(f.Store, "?")
	query, err := url.ParseQuery(text)
	must(t, err)
	server, err := url.Parse(query.Get("endpoint"))
	must(t, err)
	query.Del("endpoint")
	f.Store = strings.TrimSuffix(place+"?"+query.Encode(), "?")
	switch scheme {
	case "s3":
		f.Env = append(f.Env, "AWS_ENDPOINT_URL_S3="+server.String())
	case "gs", "azblob":
		// Only TRUEUP_LEDGER can name another server for one project, so the server gets the names of the real ones.
		server.Path = ""
		f.Env = append(f.Env, inPlaceOf(t, server, "storage.googleapis.com", os.Getenv("AZURE_STORAGE_ACCOUNT")+".blob.core.windows.net", tokens)...)
		login := filepath.Join(t.TempDir(), "login.json")
		must(t, os.WriteFile(login, []byte(`{"type": "authorized_user", "client_id": "ci", "client_secret": "ci", "refresh_token": "ci"}`), 0o600))
		f.Env = append(f.Env, "GOOGLE_APPLICATION_CREDENTIALS="+login)
	}
	return f
}

// tokens is the server that gives Google's clients their tokens.
const tokens = "oauth2.googleapis.com"

// inPlaceOf starts a proxy by which https requests to these hosts reach the server, and returns the variables with which
// programs use and trust it.
func inPlaceOf(t testing.TB, server *url.URL, hosts ...string) []string {
	t.Helper()
	to := httputil.NewSingleHostReverseProxy(server)
	to.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == tokens {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token": "only-on-loopback", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		to.ServeHTTP(w, r)
	}))
	certificate, trusted := certify(t, hosts)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil || r.Method != http.MethodConnect {
			http.Error(w, "no tunnel", http.StatusBadGateway)
			return
		}
		defer func() { _ = out.Close() }()
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = in.Close() }()
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(out, in)
			_ = out.Close()
		}()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + trusted}
}

// certify makes a certificate of hosts, and a file with it.
func certify(t testing.TB, hosts []string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: hosts, NotAfter: time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "cert.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// newTransport returns a transport whose connections count what they write. With HTTP/1.1,
// which has one request at a time on each, a failed write was provably sent or not. With
// HTTP/2, which reads use if the platform does, all requests share one connection.
func newTransport(cfg ClientConfig, http2 bool) *http.Transport {
	return &http.Transport{
		Proxy:                  cfg.Proxy,
		OnProxyConnectResponse: checkProxyAnswer,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := Dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn}, nil
		},
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout: connectTimeout,
		IdleConnTimeout:     60 * time.Second,
		// As many as single objects are read at once. A limit, because more would be opened than are needed.
		MaxIdleConnsPerHost:    8 * cfg.Parallelism,
		MaxConnsPerHost:        8 * cfg.Parallelism,
		MaxResponseHeaderBytes: cfg.MaxHeader,
		ForceAttemptHTTP2:      http2,
		// Pings detect a dead connection while the platform takes its time to answer.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// Dial connects to an address. Localhost and the names below it are this machine (RFC 6761), and DNS is not asked:
// IsLoopback says so of them, and tokens go there by plain http.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	if host, port, err := net.SplitHostPort(address); err == nil && isLocalhost(host) {
		if conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); err == nil {
			return conn, nil
		}
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return dialer.DialContext(ctx, network, address)
}

// checkProxyAnswer checks a proxy's answer to CONNECT. Its error names only the proxy's
// host, for the address may contain a password.
func checkProxyAnswer(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	fix := "this answer is from the proxy, not the platform: check HTTPS_PROXY, NO_PROXY, or proxy in the profile"
	wantsPassword := resp.StatusCode == http.StatusProxyAuthRequired
	if wantsPassword {
		fix = "write its user and password into the address of the proxy: http://USER:PASSWORD@" + proxy.Host
	}
	return &displayError{
		hopeless: wantsPassword,
		text:     fmt.Sprintf("the proxy %s answered %d %s: %s", proxy.Host, resp.StatusCode, http.StatusText(resp.StatusCode), fix),
	}
}

// countedConn counts the bytes that were or are being written: a server may answer before the write returns.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// writeTracker records what one request wrote to its connection.
type writeTracker struct {
	provable bool // the transport is trueup's, so it reports every connection

	mu    sync.Mutex
	got   bool
	conn  *countedConn
	start int64
}

func (s *writeTracker) gotConn(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = true
	s.conn, _ = conn.(*countedConn)
	if s.conn != nil {
		s.start = s.conn.written.Load()
	}
}

// nothingWritten reports whether the request was certainly not sent. After the end of
// ctx that is unknown if there is a connection, which may still be writing.
func (s *writeTracker) nothingWritten(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.provable:
		return false
	case !s.got:
		return true
	case ctx.Err() != nil || s.conn == nil:
		return false
	}
	return s.conn.written.Load() == s.start
}

// getOnlyTransport is the transport of a Reader, and of a Client that must not write. It rejects every method but GET.
type getOnlyTransport struct{ next http.RoundTripper }

func (g getOnlyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &displayError{hopeless: true, err: diag.ErrReadOnly, text: req.Method + " refused: " + diag.ErrReadOnly.Error()}
	}
	return g.next.RoundTrip(req)
}

// NewHTTPClient returns a client that follows no redirects, which would take credentials elsewhere, and stores no cookies.
func NewHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Reachability is the result of one request to an area without a token, whatever the answer.
// After an error it has what was known until then.
type Reachability struct {
	Proxy   string // the host of the proxy, or ""
	TLS     string // the version, or "" for plain http
	Issuer  string // of the server's certificate, as is Expires
	Expires time.Time
	Took    time.Duration // from the DNS lookup to the head of the answer
	Status  int
	Clock   TimeReading // the time of the answer
}

// CheckReachability sends a GET to the base address of an area.
func (r *Reader) CheckReachability(ctx context.Context, area kind.Area) (Reachability, error) {
	e := r.cfg.Endpoints[area]
	if e.Base == nil {
		return Reachability{}, fmt.Errorf("no address of the %s area: set %s", area, e.baseSetting(area))
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.RequestTimeout)
	defer cancel()
	var seen Reachability
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Base.String(), nil)
	if err != nil {
		return Reachability{}, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", r.cfg.UserAgent)
	if r.cfg.Proxy != nil {
		if proxy, err := r.cfg.Proxy(req); err == nil && proxy != nil {
			seen.Proxy = proxy.Host
		}
	}
	start := r.cfg.Now()
	resp, err := r.gets.Do(req)
	if err != nil {
		err = r.connectionError(ctx, &seen, err)
		return seen, err
	}
	defer func() { _ = resp.Body.Close() }()
	seen.Took = r.cfg.Now().Sub(start)
	seen.Status, seen.Clock = resp.StatusCode, r.clockReading(resp)
	if resp.TLS != nil {
		seen.TLS = tls.VersionName(resp.TLS.Version)
		seen.addCertificate(resp.TLS.PeerCertificates)
	}
	return seen, nil
}

func (s *Reachability) addCertificate(chain []*x509.Certificate) {
	if len(chain) > 0 {
		s.Issuer, s.Expires = diag.QuoteAnswer(chain[0].Issuer.String(), excerptSize).String(), chain[0].NotAfter
	}
}

// connectionError returns why there was no answer, without the address, which the caller
// knows. It notes an untrusted certificate in seen.
func (r *Reader) connectionError(ctx context.Context, seen *Reachability, err error) error {
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		seen.addCertificate(untrusted.UnverifiedCertificates)
	}
	err = withoutURL(err)
	text := err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %s", r.cfg.RequestTimeout)
	}
	return &displayError{text: diag.QuoteAnswer(text, messageSize).String(), err: err}
}

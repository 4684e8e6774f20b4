package api

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// newReadTransport returns a transport for a Reader. It uses HTTP/2 if the platform does, so
// that all requests share one connection.
func newReadTransport(cfg Config) *http.Transport {
	t := newTransport(cfg)
	t.ForceAttemptHTTP2 = true
	// Pings detect a dead connection while the platform takes its time to answer.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	return t
}

// newTransport returns an HTTP/1.1 transport whose connections count what they write.
// With one request at a time on each, a failed write was provably sent or not.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  cfg.Proxy,
		OnProxyConnectResponse: checkProxyAnswer,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn}, nil
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout:    connectTimeout,
		IdleConnTimeout:        60 * time.Second,
		MaxIdleConnsPerHost:    cfg.Parallelism,
		MaxResponseHeaderBytes: cfg.MaxHeader,
	}
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
	return &worded{
		hopeless: wantsPassword,
		text:     fmt.Sprintf("the proxy %s answered %d %s: %s", proxy.Host, resp.StatusCode, http.StatusText(resp.StatusCode), fix),
	}
}

// countedConn counts the bytes that were or are being written: a server may answer
// before the write returns.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write writes p and counts it.
func (c *countedConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// sending records what one request wrote to its connection.
type sending struct {
	provable bool // the transport is trueup's, so it reports every connection

	mu    sync.Mutex
	got   bool
	conn  *countedConn
	start int64
}

func (s *sending) gotConn(conn net.Conn) {
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
func (s *sending) nothingWritten(ctx context.Context) bool {
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

// getOnly is the transport of a Reader. It rejects every method but GET.
type getOnly struct{ next http.RoundTripper }

// RoundTrip sends a GET.
func (g getOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("%s refused: this client only reads", req.Method)
	}
	return g.next.RoundTrip(req)
}

// newHTTP returns a client that follows no redirects and stores no cookies.
func newHTTP(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

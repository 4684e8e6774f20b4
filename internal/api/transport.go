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

// forReads speaks HTTP/2 where the platform does: all requests of a Reader then
// share one connection.
func forReads(cfg Config) *http.Transport {
	t := newTransport(cfg)
	t.ForceAttemptHTTP2 = true
	// Pings find a dead connection while the platform may take its time.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	return t
}

// newTransport is HTTP/1.1 over connections that count what they write: with
// one request at a time on a connection it is certain whether a failed write
// has left this machine.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  cfg.Proxy,
		OnProxyConnectResponse: throughProxy,
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

// throughProxy is asked what to make of a proxy's answer to CONNECT. The proxy
// is named by its host alone, for its address may hold a password.
func throughProxy(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
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

// countedConn counts the bytes that the kernel took, or is just taking: a
// server may answer, or go away, before the write has returned.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write sends p and counts what was taken of it.
func (c *countedConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// counter finds the countedConn below TLS, or nil.
func counter(conn net.Conn) *countedConn {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c, _ := conn.(*countedConn)
	return c
}

// sending watches one request on its way out.
type sending struct {
	// provable says that the transport is ours, so that what was not seen did
	// not happen.
	provable bool

	mu    sync.Mutex
	got   bool
	conn  *countedConn
	start int64
}

func (s *sending) gotConn(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got, s.conn = true, counter(conn)
	if s.conn != nil {
		s.start = s.conn.written.Load()
	}
}

// nothingWritten is true only where it is certain. While the request's context
// is over, a connection's writer may still be at work, so then a connection is
// reason enough for doubt.
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

// getOnly is the transport of a Reader: whatever asks it for another method is
// refused before anything is dialled.
type getOnly struct{ next http.RoundTripper }

// RoundTrip passes on GET and refuses everything else.
func (g getOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("%s refused: this client only reads", req.Method)
	}
	return g.next.RoundTrip(req)
}

// newHTTP is a client that follows no redirect and keeps no cookie.
func newHTTP(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"time"

	"trueup/internal/kind"
)

// Reach is the result of one request to an area without a token, whatever the answer.
// After an error it has what was known until then.
type Reach struct {
	Proxy   string // the host of the proxy, or ""
	Peer    string // the IP address and port
	TLS     string // the version, or "" for plain http
	Issuer  string // of the server's certificate, as is Expires
	Expires time.Time
	Took    time.Duration // from the DNS lookup to the head of the answer
	Status  int
	Clock   Reading // the time of the answer
}

// Reach sends a GET to the base address of an area over a new connection.
func (r *Reader) Reach(ctx context.Context, area kind.Area) (Reach, error) {
	e := r.cfg.Endpoints[area]
	if e.Base == nil {
		return Reach{}, fmt.Errorf("no address of the %s area: set %s", area, e.baseSetting(area))
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.RequestTimeout)
	defer cancel()
	var seen Reach
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { seen.Peer = info.Conn.RemoteAddr().String() },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodGet, e.Base.String(), nil)
	if err != nil {
		return Reach{}, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", r.cfg.UserAgent)
	if r.cfg.Proxy != nil {
		if proxy, err := r.cfg.Proxy(req); err == nil && proxy != nil {
			seen.Proxy = proxy.Host
		}
	}
	transport := r.cfg.Transport
	if transport == nil {
		own := newTransport(r.cfg)
		own.DisableKeepAlives = true
		transport = own
	}
	start := r.cfg.Now()
	resp, err := newHTTP(transport).Do(req)
	if err != nil {
		err = r.reachError(ctx, e, &seen, err)
		return seen, err
	}
	defer func() { _ = resp.Body.Close() }()
	seen.Took = r.cfg.Now().Sub(start)
	seen.Status, seen.Clock = resp.StatusCode, r.reading(resp)
	if resp.TLS != nil {
		seen.TLS = tls.VersionName(resp.TLS.Version)
		seen.certificate(resp.TLS.PeerCertificates)
	}
	return seen, nil
}

func (s *Reach) certificate(chain []*x509.Certificate) {
	if len(chain) > 0 {
		s.Issuer, s.Expires = oneLine(chain[0].Issuer.String(), excerptSize), chain[0].NotAfter
	}
}

// reachError returns why there was no answer, without the address, which the caller
// knows. It notes an untrusted certificate in seen.
func (r *Reader) reachError(ctx context.Context, e Endpoint, seen *Reach, err error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		seen.certificate(untrusted.UnverifiedCertificates)
	}
	err = innerError(err)
	text := err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %s", r.cfg.RequestTimeout)
	}
	return &worded{text: oneLine(e.redact(text), messageSize), err: err}
}

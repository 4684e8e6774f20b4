package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"trueup/internal/kind"
)

// blank is an Error of the call with nothing said yet.
func (c *call) blank(class Class) *Error {
	e := &Error{Op: c.op(), Kind: c.kind.Name, Name: c.name, Class: class}
	if c.url != nil {
		e.Method, e.Path = c.method(), c.url.EscapedPath()
	}
	return e
}

// unsent is a call that was refused before any request.
func (c *call) unsent(format string, args ...any) *Error {
	e := c.blank(Unsent)
	e.hopeless = true
	e.Message = oneLine(fmt.Sprintf(format, args...), messageSize)
	return e
}

// failed is a request without an answer.
func (c *call) failed(ctx context.Context, err error, watch *sending) *Error {
	e := c.blank(Unavailable)
	switch {
	case watch.nothingWritten(ctx):
		e.Class = Unsent
	case isWrite(c.verb):
		e.Class = Unclear
	}
	e.hopeless = hopeless(err)
	c.setTransportCause(ctx, e, err)
	return e
}

// setTransportCause says in e what went wrong below HTTP; the context's own reason comes
// first, and the URL that net/http puts before it is left out.
func (c *call) setTransportCause(ctx context.Context, e *Error, err error) {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	err = asProxys(err)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	e.err = err
	text := err.Error()
	if errors.Is(err, io.EOF) && e.Status == 0 {
		text = "the connection was closed without an answer (" + text + ")"
	}
	e.Message = oneLine(c.endpoint.redact(text), messageSize)
}

// hopeless recognises what another try would not mend: a certificate that is
// not trusted, a server that does not speak TLS, a name that does not exist.
func hopeless(err error) bool {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var proxy *proxyError
	if errors.As(err, &proxy) {
		return proxy.status == http.StatusProxyAuthRequired
	}
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &dns) && dns.IsNotFound
}

// heading is an Error that says where an answer came from.
func (c *call) heading(a *answer, class Class) *Error {
	e := c.blank(class)
	e.Status = a.StatusCode
	e.ContentType, e.RequestID = c.header(a.Response, "Content-Type"), c.requestID(a.Response)
	return e
}

// answered is an answer that is not a success.
func (r *Reader) answered(c *call, a *answer) *Error {
	limit := r.cfg.MaxErrorBody
	if c.verb == kind.Create {
		limit = r.cfg.MaxObject
	}
	body, err := io.ReadAll(io.LimitReader(a, limit))
	said := readComplaint(body, c.endpoint.redact)
	if err != nil {
		// A body that is cut is not the platform's own word of anything.
		said.isJSON, said.empty = false, false
		said.message = joinSentences(said.message, oneLine("the answer was cut: "+c.endpoint.redact(err.Error()), messageSize))
	}
	class, existing := r.judge(c, a.StatusCode, body, said)
	e := c.heading(a, class)
	e.existing = existing
	if err != nil && !isWrite(c.verb) && e.Class == Misdirected {
		e.Class = Unavailable
	}
	e.Reason, e.Message, e.Causes, e.restart = said.reason, said.message, said.causes, said.restart
	e.RetryAfter = r.scaled(max(r.retryAfter(a.Response), said.retryAfter))
	c.advise(a, e)
	r.applyAnswer(c, e, e.RetryAfter)
	if pause, waited := r.gates[c.kind.Area].standing(); pause != nil && !waited {
		e.Message = joinSentences(e.Message, "the platform asks to wait until "+stamp(deadline(pause)))
	}
	return e
}

// advise adds what a person can do to the server's own words.
func (c *call) advise(a *answer, e *Error) {
	switch {
	case a.StatusCode < http.StatusBadRequest:
		e.Message = "redirected to " + cmp.Or(c.header(a.Response, "Location"), "nowhere") +
			", which is not followed: check the address of the " + string(c.kind.Area) + " area"
	case e.Class == Misdirected:
		e.Message = joinSentences(e.Message, "wrong base address or workspace? check "+c.endpoint.baseSetting(c.kind.Area))
	case a.StatusCode == http.StatusUnauthorized:
		e.Message = joinSentences(e.Message, "check "+c.endpoint.tokenSetting(c.kind.Area))
	case e.Class == Denied:
		e.Message = joinSentences(e.Message, "the token in "+c.endpoint.tokenSetting(c.kind.Area)+" must be of "+c.holder())
	}
}

// holder says whose token a request needs (docs/platform.md 5).
func (c *call) holder() string {
	if c.kind.Area == kind.Compute {
		return "a service user with the access compute-admin"
	}
	who := "a user who is allowed to manage CDN and DNS in the workspace"
	if c.verb == kind.Create && c.kind.Role != "" {
		who += " and holds the role " + c.kind.Role
	}
	return who
}

func joinSentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + ": " + b
}

// unreadable is a success whose body is of no use.
func (c *call) unreadable(a *answer, err error, head []byte) *Error {
	e := c.heading(a, Unreadable)
	e.err = err
	var fit *mismatch
	cut := a.cut || errors.Is(err, io.ErrUnexpectedEOF) || context.Cause(a.ctx) != nil
	switch {
	case isWrite(c.verb):
		e.Class = Unclear
	case errors.As(err, &fit) && fit.misdirected:
		e.Class = Misdirected
	case cut:
		e.Class = Unavailable
	}
	e.hopeless = !cut
	text := err.Error()
	if looksHTML(head) {
		text = "an HTML page instead of JSON: " + pageText(c.endpoint.redact(string(head)))
	}
	e.Message = oneLine(c.endpoint.redact(text), messageSize)
	return e
}

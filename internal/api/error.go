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
	"regexp"
	"strings"
	"sync"
	"time"

	"trueup/internal/kind"
)

// Cause is one of the reasons that a Status gives, with the field it is about.
type Cause struct {
	Field, Message string
}

// Error is why an operation failed, on one line and without any secret.
type Error struct {
	// Op is list, get, create, patch or delete; or write, without a Name, for the
	// Turn that comes before one.
	Op, Kind        string
	Name            string // empty for a list
	Method, Path    string // of the request, empty where none was made
	Status          int    // of the answer; 0 is none
	ContentType     string
	Reason, Message string // the server's word for machines, and its sentence
	Causes          []Cause
	RequestID       string
	RetryAfter      time.Duration // what the server asked for
	Class           Class

	hopeless bool         // another try would fail in the same way
	restart  string       // the fresh token of a list whose own has expired
	existing *kind.Object // the object that has the name, where the answer shows it
	err      error
}

// Error says what failed and why: "patch KIND/NAME: 422 Unprocessable Entity:
// tls.forced: must be text (PATCH /…, application/json)".
func (e *Error) Error() string {
	text := strings.TrimSpace(e.Op + " " + e.Kind)
	if e.Name != "" {
		text += "/" + oneLine(e.Name, excerptSize)
	}
	if e.Status != 0 {
		text += strings.TrimRight(fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status)), " ")
	}
	causes := make([]string, len(e.Causes))
	for i, c := range e.Causes {
		causes[i] = joinSentences(c.Field, c.Message)
	}
	text = joinSentences(text, joinSentences(e.Message, strings.Join(causes, "; ")))
	if d := e.details(); len(d) > 0 {
		text += " (" + strings.Join(d, ", ") + ")"
	}
	return text
}

// joinSentences returns both sentences, or the one that is not empty.
func joinSentences(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

// details are what helps to find the request again.
func (e *Error) details() []string {
	var d []string
	if e.Method != "" {
		d = append(d, e.Method+" "+e.Path)
	}
	if e.Status != 0 {
		d = append(d, cmp.Or(e.ContentType, "no content type"))
	}
	if e.Reason != "" && !strings.Contains(e.Message, e.Reason) {
		d = append(d, "reason "+e.Reason)
	}
	if e.RequestID != "" {
		d = append(d, "request id "+e.RequestID)
	}
	return d
}

// Unwrap returns what lies below: a network error or the context's.
func (e *Error) Unwrap() error { return e.err }

// NotFound reports whether the platform itself said that the object does not exist.
func (e *Error) NotFound() bool { return e.Class == Absent }

// Exists reports whether the name exists already: this request made nothing.
func (e *Error) Exists() bool { return e.Class == Taken }

// Conflict reports whether the request was refused for something that may pass: the
// object has changed, or somebody else is at it.
func (e *Error) Conflict() bool { return e.Class == Contended }

// Limited reports whether a quota or limit is reached.
func (e *Error) Limited() bool { return e.Class == Limited }

// Auth reports whether a token or a right is missing, or refused.
func (e *Error) Auth() bool { return e.Class == Denied }

// Uncertain reports whether a write may have happened.
func (e *Error) Uncertain() bool { return e.Class == Unclear }

// NotSent reports whether a write provably did not happen and may be sent again.
func (e *Error) NotSent() bool { return e.Class == Unsent || e.Class == Denied && e.Status == 0 }

// Wait is how long the server asked to be left alone; 0 if it did not. Turn and each
// read wait for it.
func (e *Error) Wait() time.Duration { return e.RetryAfter }

// Hopeless reports whether another try would fail in the same way: a setting or a
// certificate is wrong.
func (e *Error) Hopeless() bool { return e.hopeless }

// HTTPStatus returns the status of the answer, or 0.
func (e *Error) HTTPStatus() int { return e.Status }

// Existing returns the object that has the name, if the answer shows it whole.
func (e *Error) Existing() (kind.Object, bool) {
	if e.existing == nil {
		return kind.Object{}, false
	}
	return *e.existing, true
}

// Field returns the field that the answer says is wrong, as its path from the top of
// the object; empty where it names none.
func (e *Error) Field() string {
	if e.Class != Rejected {
		return ""
	}
	for _, c := range e.Causes {
		if c.Field != "" {
			return c.Field
		}
	}
	return fieldPath().FindString(e.Message)
}

// fieldPath finds the path of a field in a sentence.
var fieldPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bspec(\.[A-Za-z0-9_-]+|\[[0-9]+\])+`) })

// worded is an error with a text of its own that is fit to be shown.
type worded struct {
	text        string
	err         error
	hopeless    bool // another try would fail in the same way
	misdirected bool // the configuration points at another workspace
}

// Error returns the text.
func (w *worded) Error() string { return w.text }

// Unwrap returns what lies below.
func (w *worded) Unwrap() error { return w.err }

// mismatchf says that an answer is readable but is not what was asked for.
func mismatchf(format string, args ...any) error {
	return &worded{text: oneLine(fmt.Sprintf(format, args...), messageSize)}
}

// newError is an Error of the call; a is its answer, or nil.
func (c *call) newError(class Class, a *answer) *Error {
	e := &Error{Op: c.op(), Kind: c.kind.Name, Name: c.name, Class: class}
	if c.url != nil {
		e.Method, e.Path = c.method(), c.url.EscapedPath()
	}
	if a != nil {
		e.Status, e.ContentType, e.RequestID = a.StatusCode, c.header(a.Response, "Content-Type"), c.requestID(a.Response)
	}
	return e
}

// unsent is a call that was refused before any request.
func (c *call) unsent(format string, args ...any) *Error {
	e := c.newError(Unsent, nil)
	e.hopeless = true
	e.Message = oneLine(fmt.Sprintf(format, args...), messageSize)
	return e
}

// failed is a request without an answer.
func (c *call) failed(ctx context.Context, err error, watch *sending) *Error {
	e := c.newError(unanswered(c.verb), nil)
	if watch.nothingWritten(ctx) {
		e.Class = Unsent
	}
	e.hopeless = hopeless(err)
	e.err = cmp.Or(context.Cause(ctx), belowHTTP(err))
	text := e.err.Error()
	if errors.Is(e.err, io.EOF) {
		text = "the connection was closed without an answer (" + text + ")"
	}
	e.Message = oneLine(c.endpoint.redact(text), messageSize)
	return e
}

// belowHTTP takes off the address that net/http puts before an error, and names a
// proxy that can't be reached.
func belowHTTP(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		return &worded{
			text: fmt.Sprintf("the proxy can't be reached: %v: check HTTPS_PROXY, NO_PROXY, or proxy in the profile", op.Err),
			err:  err,
		}
	}
	return err
}

// hopeless recognises what another try would not mend: a certificate that is
// not trusted, a server that does not speak TLS, a name that does not exist, a proxy
// that wants a password.
func hopeless(err error) bool {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var proxy *worded
	if errors.As(belowHTTP(err), &proxy) {
		return proxy.hopeless
	}
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &dns) && dns.IsNotFound
}

// answered is an answer that is not a success.
func (r *Reader) answered(c *call, a *answer) *Error {
	limit := int64(maxErrorBody)
	if c.verb == kind.Create {
		limit = r.cfg.MaxObject // it may show an object
	}
	body, err := io.ReadAll(io.LimitReader(a, limit))
	said := readComplaint(body, c.endpoint.redact)
	if err != nil {
		// A body that is cut is not the platform's own word of anything.
		said.isJSON, said.empty = false, false
		said.message = joinSentences(said.message, oneLine("the answer was cut: "+c.endpoint.redact(err.Error()), messageSize))
	}
	e := c.newError("", a)
	e.Class, e.existing = r.judge(c, a.StatusCode, body, said)
	if err != nil && !isWrite(c.verb) && e.Class == Misdirected {
		e.Class = Unavailable
	}
	e.Reason, e.Message, e.Causes, e.restart = said.reason, said.message, said.causes, said.restart
	e.RetryAfter = r.scaled(max(r.retryAfter(a.Response), said.retryAfter))
	c.advise(a, e)
	r.applyAnswer(c, e)
	if s := r.gates[c.kind.Area].look(); s.pause != nil && !s.waited {
		e.Message = joinSentences(e.Message, "the platform asks to wait until "+stamp(s.pause))
	}
	return e
}

// advise adds what a person can do to the server's own words.
func (c *call) advise(a *answer, e *Error) {
	area := c.kind.Area
	advice := ""
	switch {
	case a.StatusCode < http.StatusBadRequest:
		e.Message = "redirected to " + cmp.Or(c.header(a.Response, "Location"), "nowhere") +
			", which is not followed: check the address of the " + string(area) + " area"
	case e.Class == Misdirected:
		advice = "wrong base address or workspace? check " + c.endpoint.baseSetting(area)
	case a.StatusCode == http.StatusUnauthorized:
		advice = "check " + c.endpoint.tokenSetting(area)
	case e.Class == Denied:
		advice = "the token in " + c.endpoint.tokenSetting(area) + " must be of " + c.holder()
	}
	e.Message = joinSentences(e.Message, advice)
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

// unreadable is a success whose body is of no use; head is how it begins.
func (c *call) unreadable(a *answer, err error, head []byte) *Error {
	e := c.newError(Unreadable, a)
	e.err = err
	var fit *worded
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

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
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// FieldError is an invalid field in a Status.
type FieldError struct {
	Field, Message diag.Quotation
}

// Error says why an operation failed. Its text is one line without secrets.
type Error struct {
	Op, Kind     string // Op is list, get, create, patch or delete; or write, for a WaitForRateLimit
	Name         string // empty for a list and a WaitForRateLimit
	Method, Path string // empty if there was no request
	Status       int    // 0 if there was no answer
	ContentType  diag.Quotation
	Reason, Said diag.Quotation // what the platform or the network says, for machines and for people
	Message      string         // what trueup adds
	Causes       []FieldError
	RequestID    diag.Quotation
	RetryAfter   time.Duration // the pause that the server asked for, or 0; WaitForRateLimit and reads wait for it
	Class        ErrorClass
	Hopeless     bool             // a retry would fail in the same way: a setting or certificate is wrong
	Existing     *kind.LiveObject // the object that has the name, if the answer contains it
	OtherName    diag.Quotation   // the name that the answer to a creation shows instead of the requested one

	err error
}

// Error returns, for example, "patch KIND/NAME: 422 Unprocessable Entity:
// tls.forced: must be text (PATCH /…, application/json)".
func (e *Error) Error() string {
	text := strings.TrimSpace(e.Op + " " + e.Kind)
	if e.Name != "" {
		text += "/" + diag.QuoteAnswer(e.Name, excerptSize).String()
	}
	if e.Status != 0 {
		text += strings.TrimRight(fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status)), " ")
	}
	causes := diag.MapList(e.Causes, func(c FieldError) string { return joinSentences(c.Field.String(), c.Message.String()) })
	for _, more := range []string{e.Said.String(), e.Message, strings.Join(causes, "; ")} {
		text = joinSentences(text, more)
	}
	var details []string // they help to find the request in logs
	if e.Method != "" {
		details = append(details, e.Method+" "+e.Path)
	}
	if e.Status != 0 {
		details = append(details, cmp.Or(e.ContentType.String(), "no content type"))
	}
	if reason := e.Reason.String(); reason != "" && !strings.Contains(e.Said.String(), reason) {
		details = append(details, "reason "+reason)
	}
	if id := e.RequestID.String(); id != "" {
		details = append(details, "request id "+id)
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	return text
}

func joinSentences(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

// Unwrap returns the cause, for example a network error or the context's error.
func (e *Error) Unwrap() error { return e.err }

// NotFound reports whether the platform says that the object does not exist.
func (e *Error) NotFound() bool { return e.Class == Absent }

// IsAuth reports whether a token or a role is missing or was rejected.
func (e *Error) IsAuth() bool { return e.Class == Denied }

// NotSent reports whether a write was certainly not done, so that it may be sent again.
func (e *Error) NotSent() bool { return e.Class == Unsent || e.Class == Denied && e.Status == 0 }

// Field returns the path of the field that the platform rejected, from the top of the object, or "".
func (e *Error) Field() string {
	if e.Class != Rejected {
		return ""
	}
	for _, c := range e.Causes {
		if field := c.Field.String(); field != "" {
			return field
		}
	}
	return fieldPath().FindString(e.Said.String())
}

// fieldPath matches the path of a field in a sentence.
var fieldPath = diag.Pattern(`\bspec(\.[A-Za-z0-9_-]+|\[[0-9]+\])+`)

// AsError returns the Error that err is or wraps, or an empty one.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return new(Error)
}

// TokenRefusal returns that the platform refused a token, "" if that is not why a request failed. It is the same for all
// requests that need the same right.
func TokenRefusal(err error) string {
	for {
		e, ok := errors.AsType[*Error](err)
		switch {
		case !ok:
			return ""
		case e.Status == http.StatusUnauthorized:
			return joinSentences(joinSentences("the platform refused the token, 401 Unauthorized", e.Said.String()), e.Message)
		case e.Status == http.StatusForbidden: // it says which workspace
			return joinSentences("the platform refused the token, 403 Forbidden", e.Message)
		}
		err = e.err
	}
}

// displayError is an error whose text can be shown to users.
type displayError struct {
	text        string
	err         error
	hopeless    bool           // a retry would fail in the same way
	misdirected bool           // the configuration points at another workspace
	other       diag.Quotation // the name of the object that the answer shows instead of the requested one
}

func (w *displayError) Error() string { return w.text }

func (w *displayError) Unwrap() error { return w.err }

// otherNameError returns an error for an answer that shows an object of another name.
func (c *operation) otherNameError(name string) error {
	other := diag.QuoteAnswer(name, excerptSize)
	return &displayError{text: fmt.Sprintf("the answer is about %s, not %s", other, c.name), other: other}
}

// newError returns an Error for the call; a may be nil.
func (c *operation) newError(class ErrorClass, a *timedResponse) *Error {
	e := &Error{Op: c.operationName(), Kind: c.kind.Name, Name: c.name, Class: class}
	if c.url != nil {
		e.Method, e.Path = c.method(), c.url.EscapedPath()
	}
	if a != nil {
		e.Status, e.ContentType, e.RequestID = a.StatusCode, c.quoteHeader(a.Response, "Content-Type"), c.requestID(a.Response)
	}
	return e
}

// errorWithoutAnswer returns the error for a call that trueup ends without an answer, and that no retry can fix.
func (c *operation) errorWithoutAnswer(class ErrorClass, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := c.newError(class, nil)
	e.Hopeless, e.err, e.Message = true, errors.Unwrap(err), err.Error()
	return e
}

// failedRequest returns the error for a request without an answer.
func (c *operation) failedRequest(ctx context.Context, err error, watch *writeTracker) *Error {
	e := c.newError(classWithoutAnswer(c.verb), nil)
	if watch.nothingWritten(ctx) {
		e.Class = Unsent
	}
	e.Hopeless = isHopeless(err)
	e.err = cmp.Or(context.Cause(ctx), withoutURL(err))
	text := e.err.Error()
	if errors.Is(e.err, io.EOF) {
		text = "the connection was closed without an answer (" + text + ")"
	}
	e.Said = diag.QuoteAnswer(text, messageSize)
	return e
}

// withoutURL removes the URL that net/http puts before an error, and names a proxy that can't be reached.
func withoutURL(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return &displayError{
			text: fmt.Sprintf("the proxy can't be reached: %v: check HTTPS_PROXY, NO_PROXY, or proxy in the profile", op.Err),
			err:  err,
		}
	}
	return err
}

// isHopeless reports whether a retry would fail in the same way: an untrusted
// certificate, a server without TLS, an unknown host, or a proxy that wants a password.
func isHopeless(err error) bool {
	if proxy, ok := errors.AsType[*displayError](withoutURL(err)); ok {
		return proxy.hopeless
	}
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	dns, ok := errors.AsType[*net.DNSError](err)
	return cert || record || ok && dns.IsNotFound
}

// errorOfAnswer returns the error for an unsuccessful answer.
func (r *Reader) errorOfAnswer(c *operation, a *timedResponse) *Error {
	limit := int64(maxErrorBody)
	if c.verb == kind.Create {
		limit = r.cfg.MaxObject // it may show an object
	}
	body, err := io.ReadAll(io.LimitReader(a, limit))
	said := readErrorBody(body)
	said.verb, said.status = c.verb, a.StatusCode
	if err != nil {
		// An incomplete body does not prove that the platform answered.
		said.isJSON, said.empty = false, false
	}
	e := c.newError("", a)
	e.Class, e.Existing = r.classifyAnswer(c, said)
	if err != nil && !isWrite(c.verb) && e.Class == Misdirected {
		e.Class = Unavailable
	}
	said.quoteInto(e)
	if err != nil {
		e.Message = "the answer was cut: " + diag.QuoteAnswer(err.Error(), messageSize).String()
	}
	e.RetryAfter = r.retryAfter(a.Response, said.retryAfter)
	c.addAdvice(a, e)
	r.updateGate(c, e)
	if s := r.gates[c.kind.Area].currentState(); s.pause != nil && !s.waited {
		e.Message = joinSentences(e.Message, "the platform asks to wait until "+formatPauseEnd(s.pause))
	}
	return e
}

func (c *operation) addAdvice(a *timedResponse, e *Error) {
	area := c.kind.Area
	advice := ""
	switch {
	case a.StatusCode < http.StatusBadRequest:
		e.Said = diag.Quotation{}
		advice = "redirected to " + cmp.Or(c.quoteHeader(a.Response, "Location").String(), "nowhere") +
			", which is not followed: check the address of the " + string(area) + " area"
	case e.Class == Misdirected:
		advice = "wrong base address or workspace? check " + c.endpoint.baseSetting(area)
	case a.StatusCode == http.StatusUnauthorized:
		advice = "check " + c.endpoint.tokenSetting(area)
	case a.StatusCode == http.StatusForbidden && e.Class == Rejected:
		advice = "the platform refuses this object, not the token: a policy or a firewall there decides"
	case e.Class == Denied:
		advice = "the token in " + c.endpoint.tokenSetting(area) + " must be of " + c.requiredTokenOwner()
	}
	e.Message = joinSentences(e.Message, advice)
}

// requiredTokenOwner returns who must own the token (docs/platform.md 5).
func (c *operation) requiredTokenOwner() string {
	if c.kind.Area == kind.Compute {
		return "a service user with the access compute-admin"
	}
	who := "a user who is allowed to manage CDN and DNS in the workspace"
	if c.verb == kind.Create && c.kind.Role != "" {
		who += " and holds the role " + c.kind.Role
	}
	return who
}

// pageHead is how many bytes of a body show that it is an HTML page.
const pageHead = 1024

// unreadableBodyError returns the error for a successful answer with an invalid body, which may be only the start of it.
func (c *operation) unreadableBodyError(a *timedResponse, err error, body []byte) *Error {
	e := c.newError(Unreadable, a)
	e.err = err
	fit, _ := errors.AsType[*displayError](err)
	cut := a.cut || errors.Is(err, io.ErrUnexpectedEOF) || context.Cause(a.ctx) != nil
	if fit != nil && c.verb == kind.Create {
		e.OtherName = fit.other
	}
	switch {
	case isWrite(c.verb):
		e.Class = Unknown
	case fit != nil && fit.misdirected:
		e.Class = Misdirected
	case cut:
		e.Class = Unavailable
	}
	e.Hopeless = !cut
	text := err.Error()
	if looksHTML(body) {
		text = "an HTML page instead of JSON: " + htmlPageText(string(body[:min(len(body), pageHead)]))
	}
	e.Said = diag.QuoteAnswer(text, messageSize)
	if diag.HasSecret(string(body[:min(len(body), maxChecked)])) {
		e.Said = diag.HideAnswer(len(body))
	}
	return e
}

// isRefusal reports whether an answer to a write proves that the platform has not carried the request out: the
// platform's documents have its status for such a request, and it is in the platform's form of error, which is JSON
// (docs/platform.md 7). A proxy may answer anything else after it sent the request on.
func (r errorResponse) isRefusal() bool {
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden: // the documents show no body
		return r.mayBeFromPlatform()
	case http.StatusBadRequest, http.StatusUnprocessableEntity: // a parameter is not valid: the body has a message
		return r.isJSON && (r.message != "" || r.reason != "")
	case http.StatusNotFound:
		return r.verb != kind.Create
	}
	return r.status == http.StatusTooManyRequests
}

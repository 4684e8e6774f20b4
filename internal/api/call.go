package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// operation is one operation, which may send several requests.
type operation struct {
	verb     kind.Verb
	kind     *kind.Kind
	name     string
	endpoint Endpoint
	url      *url.URL
	body     []byte
	turn     bool        // this is a WaitForRateLimit
	requests int         // how many were started
	seen     TimeReading // the time of the last answer
}

// newOperation returns a call, or an error if the platform doesn't document the operation,
// or a setting is missing or invalid.
func (r *Reader) newOperation(verb kind.Verb, k *kind.Kind, name string) (*operation, error) {
	c := &operation{verb: verb, kind: k, name: name, endpoint: r.cfg.Endpoints[k.Area]}
	path := k.CollectionPath(r.cfg.Workspace)
	byName := verb == kind.Get || verb == kind.Patch || verb == kind.Delete
	if byName {
		path = k.ObjectPath(r.cfg.Workspace, name)
	}
	switch {
	case !k.Documents(verb):
		return nil, c.errorWithoutAnswer(Unsent, "the platform documents no %s of a %s", c.operationName(), k.Name)
	case byName && slices.Contains([]string{"", ".", ".."}, name):
		return nil, c.errorWithoutAnswer(Unsent, "%q can't be the name of an object", name)
	case slices.ContainsFunc([]string{r.cfg.Workspace.Name, r.cfg.Workspace.UUID}, isDotSegment):
		return nil, c.errorWithoutAnswer(Unsent, "the workspace's name or uuid is not one segment of a path")
	case c.endpoint.Base == nil:
		return nil, c.errorWithoutAnswer(Unsent, "no address of the %s area: set %s", k.Area, VariableName(k.Area, "URL"))
	case c.endpoint.Token.IsZero() && c.endpoint.Ask == nil:
		return nil, c.errorWithoutAnswer(Denied, "no token for the %s area: set %s", k.Area, VariableName(k.Area, "TOKEN"))
	}
	// No escape in either part may change: some bases contain an encoded slash (apis/GROUP%2FVERSION).
	base := c.endpoint.Base
	u, err := url.Parse(base.Scheme + "://" + base.Host + strings.TrimRight(base.EscapedPath(), "/") + path)
	if err != nil {
		return nil, c.errorWithoutAnswer(Unsent, "path %q does not fit a URL", path)
	}
	c.url = u
	return c, nil
}

func (c *operation) operationName() string {
	if c.turn {
		return "write"
	}
	return [...]string{
		kind.List: "list", kind.Get: "get", kind.Create: "create", kind.Patch: "patch", kind.Delete: "delete",
	}[c.verb]
}

func (c *operation) method() string {
	return [...]string{
		kind.List: http.MethodGet, kind.Get: http.MethodGet, kind.Create: http.MethodPost,
		kind.Patch: http.MethodPatch, kind.Delete: http.MethodDelete,
	}[c.verb]
}

func isWrite(v kind.Verb) bool { return v != kind.List && v != kind.Get }

// buildRequest builds the HTTP request. It sets neither GetBody nor an idempotency header,
// so that net/http never sends a write again.
func (c *operation) buildRequest(ctx context.Context, userAgent string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.method(), c.url.String(), nil)
	if err != nil {
		return nil, err
	}
	if c.body != nil {
		req.Body = io.NopCloser(bytes.NewReader(c.body))
		req.ContentLength = int64(len(c.body))
		req.Header.Set("Content-Type", "application/json")
	}
	switch c.verb {
	case kind.Patch:
		req.Header.Set("Content-Type", "application/merge-patch+json")
	case kind.List, kind.Get:
		req.Header.Set("Cache-Control", "no-cache")
	case kind.Create, kind.Delete:
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Authorization", "Bearer "+c.endpoint.Token.Reveal())
	return req, nil
}

// timedResponse is a response whose body ends when the request's time is over.
type timedResponse struct {
	*http.Response
	ctx    context.Context
	cancel context.CancelCauseFunc
	// timer limits the whole answer. For a list, whole does, and timer limits each wait for more data to stall.
	timer, whole *time.Timer
	stall        time.Duration
	cut          bool // the connection ended before the body did
}

// Read reads the body. It rejects encodings that trueup did not ask for.
func (a *timedResponse) Read(p []byte) (int, error) {
	if encoding := a.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return 0, fmt.Errorf("the answer is encoded as %s, which trueup did not ask for", diag.QuoteAnswer(encoding, excerptSize))
	}
	if a.stall > 0 {
		a.timer.Reset(a.stall)
		defer a.timer.Stop()
	}
	n, err := a.Body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		a.cut, err = true, cmp.Or(context.Cause(a.ctx), err)
	}
	return n, err
}

func (a *timedResponse) closeBody() {
	a.timer.Stop()
	if a.whole != nil {
		a.whole.Stop()
	}
	if a.Response != nil {
		_ = a.Body.Close()
	}
	a.cancel(nil)
}

// sendAttempt makes one attempt, and calls use with a successful answer.
func (r *Reader) sendAttempt(ctx context.Context, client *http.Client, c *operation, attempt int, use func(*timedResponse) error) error {
	c.requests++
	leave, err := r.waitToSend(ctx, c, attempt)
	if err != nil {
		return err
	}
	defer leave()
	if err := cmp.Or(c.addToken(ctx), r.cfg.Budget.checkToken(c)); err != nil {
		return err
	}
	limit := r.cfg.RequestTimeout
	a := &timedResponse{}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.timer = a.cancelAfter(limit, "no answer within %s, the time limit of a request (TRUEUP_REQUEST_TIMEOUT)")
	defer a.closeBody()
	watch := &writeTracker{provable: r.cfg.Transport == nil}
	req, err := c.buildRequest(httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { watch.gotConn(info.Conn) },
	}), r.cfg.UserAgent)
	if err != nil {
		return c.errorWithoutAnswer(Unsent, "%v", err)
	}
	start := r.cfg.Now()
	if a.Response, err = client.Do(req); err != nil { //nolint:bodyclose // close, which is deferred, closes it
		failure := c.failedRequest(a.ctx, err, watch)
		r.traceRequest(c, req, attempt, start, nil, failure)
		return failure
	}
	r.traceRequest(c, req, attempt, start, a.Response, nil)
	c.seen = r.clockReading(a.Response)
	r.observeAnswer(c, a.Response)
	if c.verb == kind.List {
		a.timer.Stop()
		a.stall = limit
		a.whole = a.cancelAfter(pageTimeouts*limit,
			"the list is still arriving after %s, the time limit of a page (20 times TRUEUP_REQUEST_TIMEOUT)")
	}
	if a.StatusCode/100 != 2 {
		return r.errorOfAnswer(c, a)
	}
	if err = use(a); err == nil {
		r.permitted.Store(c.operationName()+" "+c.kind.Name, nil)
	}
	return err
}

// addToken gets the token, unless the call has it.
func (c *operation) addToken(ctx context.Context) (err error) {
	if !c.endpoint.Token.IsZero() {
		return nil
	}
	c.endpoint.Token, err = c.endpoint.Ask(ctx)
	if err == nil && c.endpoint.Token.IsZero() {
		err = errors.New("it is empty")
	}
	if err == nil {
		return nil
	}
	e := c.errorWithoutAnswer(Denied, "no token for the %s area: %w", c.kind.Area, err)
	e.Method, e.Path = "", ""
	return e
}

func (a *timedResponse) cancelAfter(limit time.Duration, format string) *time.Timer {
	return time.AfterFunc(limit, func() {
		a.cancel(fmt.Errorf(format+": %w", limit, context.DeadlineExceeded))
	})
}

// observeAnswer notes the time and the success of an answer.
func (r *Reader) observeAnswer(c *operation, resp *http.Response) {
	if !isWrite(c.verb) && resp.StatusCode < http.StatusInternalServerError {
		r.gates[c.kind.Area].noteAnswer(c, nil)
	}
	if date := c.seen.Server; !date.IsZero() {
		r.date.Store(&date)
	}
}

func (r *Reader) traceRequest(c *operation, req *http.Request, attempt int, start time.Time, resp *http.Response, failure error) {
	if r.cfg.Trace == nil {
		return
	}
	event := TraceEvent{Method: req.Method, URL: req.URL.String(), Attempt: attempt, RequestBytes: len(c.body), Took: r.cfg.Now().Sub(start)}
	if resp != nil {
		event.Status, event.RequestID, event.AnswerBytes = resp.StatusCode, c.requestID(resp), resp.ContentLength
	}
	if failure != nil {
		event.Err = failure.Error()
	}
	r.cfg.Trace(event)
}

func (c *operation) quoteHeader(resp *http.Response, name string) diag.Quotation {
	return diag.QuoteAnswer(resp.Header.Get(name), excerptSize)
}

// requestID returns the id that a support desk asks for, or "".
func (c *operation) requestID(resp *http.Response) diag.Quotation {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Trace-Id"} {
		if id := c.quoteHeader(resp, name); id.String() != "" {
			return id
		}
	}
	return diag.Quotation{}
}

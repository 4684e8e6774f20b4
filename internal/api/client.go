// Package api is an HTTP client for the platform: the documented operations of each kind, with typed errors. It
// accepts several forms of lists and errors, never follows a redirect, and never retries a write.
package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Reader reads the platform. Its transport rejects every method but GET before it dials.
type Reader struct {
	cfg       ClientConfig
	transport http.RoundTripper
	gets      *http.Client
	date      atomic.Pointer[time.Time]
	gates     map[kind.Area]*requestGate
	permitted sync.Map // has each operation and kind that the platform carried out
	// patience is how many consecutive reads of an area may end in a server error before the Reader starts no new
	// ones. A Client has no limit: its caller counts failures (docs/design.md C3).
	patience int
	// budget limits the reads at once; nil for a Client, whose reads follow its writes.
	budget *SharedLimits
}

// NewReader returns a Reader that connects when it is first used.
func NewReader(cfg ClientConfig) *Reader {
	r := newReader(cfg, true)
	r.patience, r.budget = 5, r.cfg.Budget
	return r
}

func newReader(cfg ClientConfig, http2 bool) *Reader {
	r := &Reader{cfg: cfg.withDefaults(), gates: map[kind.Area]*requestGate{}, patience: math.MaxInt}
	for _, area := range kind.Areas() {
		r.gates[area] = &requestGate{endPause: func() {}}
	}
	r.transport = r.cfg.Transport
	if r.transport == nil {
		r.transport = newTransport(r.cfg, http2)
	}
	r.gets = NewHTTPClient(getOnlyTransport{r.transport})
	return r
}

// Close closes idle connections.
func (r *Reader) Close() { (&http.Client{Transport: r.transport}).CloseIdleConnections() }

// ServerTime returns the Date plus the Age of the last answer with a Date; zero if there is none.
func (r *Reader) ServerTime() time.Time {
	return *cmp.Or(r.date.Load(), new(time.Time))
}

// Get reads one object (docs/platform.md 4 rows 2 and 6). The object does not exist if
// the error is an *Error with NotFound; after any other error it may.
func (r *Reader) Get(ctx context.Context, k *kind.Kind, name string) (o kind.LiveObject, err error) {
	c, err := r.newOperation(kind.Get, k, name)
	if err != nil {
		return kind.LiveObject{}, err
	}
	err = r.readWithRetries(ctx, c, func(a *timedResponse) (err error) {
		o, err = r.readAnswer(c, a, func(body []byte) (kind.LiveObject, error) {
			o, err := parseObject(body, c.kind, r.cfg.Workspace)
			if err == nil && o.Name != c.name {
				err = c.otherNameError(o.Name)
			}
			return o, err
		})
		return err
	})
	return o, err
}

// readAnswer reads and parses the body of an answer.
func (r *Reader) readAnswer(c *operation, a *timedResponse, parse func(body []byte) (kind.LiveObject, error)) (o kind.LiveObject, err error) {
	body, err := io.ReadAll(io.LimitReader(a, r.cfg.MaxObject+1))
	switch {
	case err != nil:
		body, err = nil, fmt.Errorf("the answer was cut: %w", err)
	case int64(len(body)) > r.cfg.MaxObject:
		body, err = nil, fmt.Errorf("the answer is larger than %s", formatSize(r.cfg.MaxObject))
	default:
		o, err = parse(body)
	}
	if err != nil {
		return kind.LiveObject{}, c.unreadableBodyError(a, err, body)
	}
	return o, nil
}

// TimeReading is the time according to one uncached GET (docs/design.md 0.8).
type TimeReading struct {
	Server time.Time // the Date of the answer plus its Age; zero without a valid Date
	// Wall is this machine's time when the answer arrived, without the monotonic
	// part, which stops while a machine sleeps.
	Wall time.Time
}

// ReadClock asks the platform for the time. It GETs an object, which need not exist, over
// the network. The kind must have a GET.
func (r *Reader) ReadClock(ctx context.Context, k *kind.Kind, name string) (TimeReading, error) {
	c, err := r.newOperation(kind.Get, k, name)
	if err != nil {
		return TimeReading{}, err
	}
	err = r.readWithRetries(ctx, c, func(a *timedResponse) error {
		// Reading the body to its end keeps the connection for the next request.
		body, _ := io.ReadAll(io.LimitReader(a, maxErrorBody))
		if looksHTML(body) {
			return c.unreadableBodyError(a, errors.New("it is a page"), body)
		}
		return nil
	})
	if err == nil || AsError(err).NotFound() {
		return c.seen, nil
	}
	return TimeReading{}, err
}

// clockReading returns the time of an answer that has just arrived.
func (r *Reader) clockReading(resp *http.Response) TimeReading {
	const maxAge = (1 << 31) * time.Second // the largest valid Age (RFC 9111 1.2.2)
	at := TimeReading{Wall: r.cfg.Now().Round(0)}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		at.Server = date.Add(parseSeconds(resp.Header.Get("Age"), maxAge))
	}
	return at
}

// Client is a Reader that can also write. It sends each write once. Call WaitForRateLimit before
// each write, and decide by its Error whether to try again.
type Client struct {
	*Reader
	writes *http.Client
	limit  *rate.Limiter
}

// NewClient returns a Client that connects when it is first used.
func NewClient(cfg ClientConfig) *Client {
	r := newReader(cfg, false)
	writes := NewHTTPClient(r.transport)
	if cfg.ReadOnly {
		writes = r.gets
	}
	return &Client{Reader: r, writes: writes, limit: r.cfg.writeLimiter()}
}

// WaitForRateLimit waits until the rate limit and the platform's pauses allow the next write of a
// kind. A write itself never waits, so that no time passes between the last read and
// the write that depends on it (docs/design.md 0.8). The error is a NotSent.
func (c *Client) WaitForRateLimit(ctx context.Context, k *kind.Kind) error {
	w := &operation{kind: k, turn: true}
	if _, err := c.checkGate(w); err != nil {
		return err
	}
	if err := c.limit.Wait(ctx); err != nil {
		return w.errorWithoutAnswer(Unsent, "waiting for the rate limit: %w", err)
	}
	return c.awaitPause(ctx, w)
}

// Create makes an object (docs/platform.md 4 rows 3, 7 and 9). It returns only the name
// if a successful answer has no object. An answer with another kind or name is an
// error, except that the platform may rename a snapshot (docs/platform.md 1).
func (c *Client) Create(ctx context.Context, k *kind.Kind, body []byte) (kind.LiveObject, error) {
	v, _ := canon.Decode(body)
	tree, _ := v.(map[string]any)
	return c.sendWrite(ctx, kind.Create, k, textOf(objectOf(tree, "metadata"), "name"), body)
}

// Patch sends a merge patch (docs/platform.md 4 row 8). It returns only the name if a
// successful answer has no object.
func (c *Client) Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.LiveObject, error) {
	return c.sendWrite(ctx, kind.Patch, k, name, body)
}

// Delete deletes an object (docs/platform.md 4 row 4). After success, the object may still exist for a while.
func (c *Client) Delete(ctx context.Context, k *kind.Kind, name string) error {
	_, err := c.sendWrite(ctx, kind.Delete, k, name, nil)
	return err
}

func (c *Client) sendWrite(ctx context.Context, verb kind.Verb, k *kind.Kind, name string, body []byte) (o kind.LiveObject, err error) {
	w, err := c.newOperation(verb, k, name)
	if err != nil {
		return kind.LiveObject{}, err
	}
	w.body = body
	err = c.sendAttempt(ctx, c.writes, w, 1, func(a *timedResponse) (err error) {
		o, err = c.readAnswer(w, a, func(body []byte) (kind.LiveObject, error) { return c.readWriteAnswer(w, body) })
		return err
	})
	return o, err
}

// readWriteAnswer reads the answer to an accepted write: an object, any other JSON, or nothing.
// If it is not JSON, is about another object, or reports a failure, the outcome is
// unknown. It ignores the version, because purges have two (docs/platform.md 2.3).
func (c *Client) readWriteAnswer(w *operation, body []byte) (kind.LiveObject, error) {
	bare := kind.LiveObject{Kind: w.kind, Name: w.name}
	if len(bytes.TrimSpace(body)) == 0 {
		return bare, nil
	}
	v, err := canon.Decode(body)
	if err != nil {
		return kind.LiveObject{}, err
	}
	tree, ok := v.(map[string]any)
	switch other := tree["kind"]; {
	case !ok || other == "Status" && tree["status"] != "Failure":
		return bare, nil
	case other != "Status" && textOf(objectOf(tree, "metadata"), "name") != "":
		return c.readWrittenObject(w, tree)
	case failureIn(tree) != "":
		return kind.LiveObject{}, errors.New("the answer says that it failed: " + failureIn(tree))
	case other != nil && other != w.kind.Name:
		return kind.LiveObject{}, fmt.Errorf("the answer is not a %s: %v", w.kind.Name, other)
	}
	return bare, nil
}

func (c *Client) readWrittenObject(w *operation, tree map[string]any) (kind.LiveObject, error) {
	o, err := readObject(canon.Encode(tree), w.kind, c.cfg.Workspace)
	// The platform may rename a snapshot (docs/platform.md 1).
	mayRename := w.verb == kind.Create && w.kind.IsCreateOnly()
	if err == nil && o.Name != w.name && !mayRename {
		err = w.otherNameError(o.Name)
	}
	return o, err
}

// failureIn returns the failure that an answer without an object reports, or "".
func failureIn(tree map[string]any) string {
	failed := tree["kind"] == "Status"
	for _, key := range []string{"success", "ok", "status", "code"} {
		failed = failed || meansFailure(tree[key])
	}
	for _, key := range []string{"error", "errors"} {
		failed = failed || !isEmptyValue(tree[key])
	}
	if !failed {
		return ""
	}
	return cmp.Or(findMessage(tree, 0), "it gives no reason")
}

// meansFailure reports whether a value means failure: false, a word, or an HTTP status.
func meansFailure(v any) bool {
	switch t := v.(type) {
	case bool:
		return !t
	case string:
		return slices.Contains([]string{"error", "fail", "failed", "failure", "false"}, strings.ToLower(t))
	case json.Number:
		n, err := t.Int64()
		return err == nil && n >= http.StatusBadRequest && n <= 599
	}
	return false
}

// isEmptyValue reports whether a value is absent, false or empty.
func isEmptyValue(v any) bool {
	switch t := v.(type) {
	case bool:
		return !t
	case string:
		return t == ""
	case []any:
		return len(t) == 0
	case map[string]any:
		return len(t) == 0
	}
	return v == nil
}

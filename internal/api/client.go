// Package api speaks HTTP to the platform: the documented operations of any
// kind, typed errors, tolerant list and error shapes; it refuses redirects,
// operations that the kind does not document, and to send a write again.
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
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Reader reads the platform. It can send nothing but GET: its transport
// refuses any other method before it dials.
type Reader struct {
	cfg       Config
	transport http.RoundTripper
	gets      *http.Client
	date      atomic.Pointer[time.Time]
	gates     map[kind.Area]*gate
	// patience is how many answers of an area may be server errors in a row until no
	// new read of it begins. A Client goes on: who writes counts what failed
	// (docs/design.md C3).
	patience int
}

// NewReader returns a Reader that connects when it is first used.
func NewReader(cfg Config) *Reader {
	r := newReader(cfg, forReads)
	r.patience = 5
	return r
}

// newReader is NewReader; connect is how, where the configuration does not say.
func newReader(cfg Config, connect func(Config) *http.Transport) *Reader {
	r := &Reader{cfg: cfg.withDefaults(), gates: newGates(), patience: math.MaxInt}
	r.transport = r.cfg.Transport
	if r.transport == nil {
		r.transport = connect(r.cfg)
	}
	r.gets = newHTTP(getOnly{r.transport})
	return r
}

// Close closes idle connections.
func (r *Reader) Close() { (&http.Client{Transport: r.transport}).CloseIdleConnections() }

// ServerTime returns the Date (plus Age) of the last answer that had one.
func (r *Reader) ServerTime() (time.Time, bool) {
	if date := r.date.Load(); date != nil {
		return *date, true
	}
	return time.Time{}, false
}

// Get reads one object (docs/platform.md 4 rows 2 and 6). An *Error with NotFound
// is the platform's word that there is none; any other error leaves it open.
func (r *Reader) Get(ctx context.Context, k *kind.Kind, name string) (o kind.Object, err error) {
	c, err := r.newCall(kind.Get, k, name)
	if err != nil {
		return kind.Object{}, err
	}
	err = r.read(ctx, c, func(a *answer) error {
		body, err := r.readBody(a)
		if err != nil {
			return c.unreadable(a, err, nil)
		}
		o, err = parseObject(body, c.kind, r.cfg.Workspace)
		if err == nil && o.Name != c.name {
			err = mismatchf("the answer is about %s, not %s", o.Name, c.name)
		}
		if err != nil {
			o = kind.Object{}
			return c.unreadable(a, err, head(body))
		}
		return nil
	})
	return o, err
}

// read makes a read, with retries, and gives its success to use.
func (r *Reader) read(ctx context.Context, c *call, use func(*answer) error) error {
	return r.retry(ctx, func(attempt int) error {
		return r.send(ctx, r.gets, c, attempt, func(a *answer) error {
			if !a.isSuccess() {
				return r.answered(c, a)
			}
			return use(a)
		})
	})
}

// readBody reads the body of one object, whose bound holds after
// decompression.
func (r *Reader) readBody(a *answer) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(a, r.cfg.MaxObject+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer was cut: %w", err)
	case int64(len(body)) > r.cfg.MaxObject:
		return nil, fmt.Errorf("the answer is larger than %s", size(r.cfg.MaxObject))
	}
	return body, nil
}

// headSize is how much of an answer is looked at to tell a page from JSON.
const headSize = 1024

func head(body []byte) []byte { return body[:min(len(body), headSize)] }

// Reading is what one uncached GET said of the time (docs/design.md 0.8).
type Reading struct {
	// Server is the Date of the answer plus its Age; zero where it had no Date
	// that can be read.
	Server time.Time
	// Wall is this machine's time when the head of the answer had arrived. It
	// has no monotonic part, which stops while a machine sleeps.
	Wall time.Time
}

// Clock asks the platform for the time: a GET of an object, always over the
// network, whose 404 serves as well as the object. The kind must have a GET.
func (r *Reader) Clock(ctx context.Context, k *kind.Kind, name string) (at Reading, err error) {
	c, err := r.newCall(kind.Get, k, name)
	if err != nil {
		return Reading{}, err
	}
	err = r.retry(ctx, func(attempt int) error {
		return r.send(ctx, r.gets, c, attempt, func(a *answer) error {
			seen := r.reading(a.Response)
			if !a.isSuccess() {
				if e := r.answered(c, a); !e.NotFound() {
					return e
				}
			}
			// Reading the body to its end keeps the connection for the next request.
			body, _ := io.ReadAll(io.LimitReader(a, maxErrorBody))
			if looksHTML(body) {
				return c.unreadable(a, errors.New("it is a page"), head(body))
			}
			at = seen
			return nil
		})
	})
	return at, err
}

// reading is the time when an answer arrives.
func (r *Reader) reading(resp *http.Response) Reading {
	at := Reading{Wall: r.cfg.Now().Round(0)}
	at.Server, _ = dateOf(resp)
	return at
}

// maxAge is where the Age of an answer ends (RFC 9111 1.2.2).
const maxAge = (1 << 31) * time.Second

// dateOf is the time at which an answer left the platform, also where a cache
// has kept it since.
func dateOf(resp *http.Response) (time.Time, bool) {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}, false
	}
	return date.Add(seconds(resp.Header.Get("Age"), maxAge)), true
}

// Client is a Reader that can also write. It sends every write once: the caller decides
// by the Error whether to try again, and takes a Turn for each.
type Client struct {
	*Reader
	writes *http.Client
	limit  *rate.Limiter
}

// NewClient returns a Client that connects when it is first used.
func NewClient(cfg Config) *Client {
	r := newReader(cfg, newTransport)
	perSecond := rate.Limit(r.cfg.WritesPerSecond)
	if r.cfg.onLoopback() {
		perSecond = rate.Inf
	}
	return &Client{
		Reader: r, writes: newHTTP(r.transport),
		limit: rate.NewLimiter(perSecond, max(1, int(r.cfg.WritesPerSecond))),
	}
}

// Turn waits until the rate limit, and the pause that the platform may have
// asked for, let the next write of a kind go. No write waits by itself, so that
// no time passes between a last look and the write that it is for (docs/design.md 0.8).
// Its error is a NotSent.
func (c *Client) Turn(ctx context.Context, k *kind.Kind) error {
	w := &call{kind: k, turn: true}
	if _, err := c.look(w); err != nil {
		return err
	}
	if err := c.limit.Wait(ctx); err != nil {
		e := w.unsent("waiting for the rate limit: %v", err)
		e.err = err
		return e
	}
	return c.await(ctx, w)
}

// Create makes an object (docs/platform.md 4 rows 3, 7 and 9). Any 2xx is success; if the
// answer does not show the object, only its name is returned. An answer with another
// kind or name is an error, but the platform may rename a snapshot (docs/platform.md 1).
func (c *Client) Create(ctx context.Context, k *kind.Kind, body []byte) (kind.Object, error) {
	v, _ := canon.Decode(body)
	tree, _ := v.(map[string]any)
	return c.write(ctx, kind.Create, k, textOf(objectOf(tree, "metadata"), "name"), body)
}

// Patch sends a merge patch (docs/platform.md 4 row 8). Any 2xx is success; where
// the answer does not show the object, only its name is returned.
func (c *Client) Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.Object, error) {
	return c.write(ctx, kind.Patch, k, name, body)
}

// Delete removes an object (docs/platform.md 4 row 4). Success means accepted: the
// object may go on terminating for a while.
func (c *Client) Delete(ctx context.Context, k *kind.Kind, name string) error {
	_, err := c.write(ctx, kind.Delete, k, name, nil)
	return err
}

func (c *Client) write(ctx context.Context, verb kind.Verb, k *kind.Kind, name string, body []byte) (o kind.Object, err error) {
	w, err := c.newCall(verb, k, name)
	if err != nil {
		return kind.Object{}, err
	}
	w.body = body
	err = c.send(ctx, c.writes, w, 1, func(a *answer) error {
		if !a.isSuccess() {
			return c.answered(w, a)
		}
		body, err := c.readBody(a)
		if err == nil {
			o, err = c.written(w, body)
		}
		if err != nil {
			o = kind.Object{}
			return w.unreadable(a, err, head(body))
		}
		return nil
	})
	return o, err
}

// written reads the answer to a write that was accepted: the object, or any
// other JSON, or nothing. What is no JSON, is about another object, or says that
// it failed, leaves open what happened. The version is not looked at: the
// platform has two of one kind (docs/platform.md 2.3).
func (c *Client) written(w *call, body []byte) (kind.Object, error) {
	bare := kind.Object{Kind: w.kind, Name: w.name}
	if len(bytes.TrimSpace(body)) == 0 {
		return bare, nil
	}
	v, err := canon.Decode(body)
	if err != nil {
		return kind.Object{}, err
	}
	tree, ok := v.(map[string]any)
	switch other := tree["kind"]; {
	case !ok || other == "Status" && tree["status"] != "Failure":
		return bare, nil
	case other != "Status" && textOf(objectOf(tree, "metadata"), "name") != "":
		return c.shown(w, tree)
	case failureIn(tree) != "":
		return kind.Object{}, errors.New("the answer says that it failed: " + failureIn(tree))
	case other != nil && other != w.kind.Name:
		return kind.Object{}, mismatchf("the answer is not a %s: %v", w.kind.Name, other)
	}
	return bare, nil
}

// shown reads the object that the answer to a write shows.
func (c *Client) shown(w *call, tree map[string]any) (kind.Object, error) {
	o, err := readObject(canon.Bytes(tree), w.kind, c.cfg.Workspace)
	// The platform may rename what is made at a moment (docs/platform.md 1).
	mayRename := w.verb == kind.Create && w.kind.CreateOnly()
	if err == nil && o.Name != w.name && !mayRename {
		err = mismatchf("the answer is about %s, not %s", o.Name, w.name)
	}
	return o, err
}

// failureIn returns what an answer without an object complains of, or "".
func failureIn(tree map[string]any) string {
	said := sentence(tree, 0)
	if tree["kind"] == "Status" {
		return cmp.Or(said, "status Failure")
	}
	for _, key := range []string{"success", "ok", "status", "code"} {
		if isFailure(tree[key]) {
			return cmp.Or(said, fmt.Sprintf("%s is %v", key, tree[key]))
		}
	}
	if sentence(tree["error"], 0)+sentence(tree["errors"], 0) != "" {
		return said
	}
	return ""
}

// isFailure recognises how an answer says of itself that it failed: by false, by
// a word, or by a status as HTTP numbers them.
func isFailure(v any) bool {
	switch t := v.(type) {
	case bool:
		return !t
	case string:
		return slices.Contains([]string{"error", "fail", "failed", "failure"}, strings.ToLower(t))
	case json.Number:
		n, err := t.Int64()
		return err == nil && n >= http.StatusBadRequest && n <= 599
	}
	return false
}

package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

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
}

// NewReader returns a Reader that connects when it is first used.
func NewReader(cfg Config) *Reader { return newReader(cfg, forReads) }

// newReader is NewReader; connect is how, where the configuration does not say.
func newReader(cfg Config, connect func(Config) *http.Transport) *Reader {
	r := &Reader{cfg: cfg.withDefaults(), gates: gates()}
	r.transport = r.cfg.Transport
	if r.transport == nil {
		r.transport = connect(r.cfg)
	}
	r.gets = newHTTP(getOnly{r.transport})
	return r
}

// Close lets go of idle connections.
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
func (r *Reader) Get(ctx context.Context, k *kind.Kind, name string) (kind.Object, error) {
	c, err := r.newCall(kind.Get, k, name)
	if err != nil {
		return kind.Object{}, err
	}
	var o kind.Object
	err = r.retry(ctx, func(attempt int) (err error) {
		o, err = r.getOnce(ctx, c, attempt)
		return err
	})
	return o, err
}

func (r *Reader) getOnce(ctx context.Context, c *call, attempt int) (kind.Object, error) {
	a, err := r.send(ctx, r.gets, c, attempt)
	if err != nil {
		return kind.Object{}, err
	}
	defer a.close()
	if !isSuccess(a) {
		return kind.Object{}, r.answered(c, a)
	}
	body, err := r.readBody(a)
	if err != nil {
		return kind.Object{}, c.unreadable(a, err, nil)
	}
	o, err := parseObject(body, c.kind, r.cfg.Workspace)
	if err == nil && o.Name != c.name {
		err = mismatchf("the answer is about %s, not %s", o.Name, c.name)
	}
	if err != nil {
		return kind.Object{}, c.unreadable(a, err, head(body))
	}
	return o, nil
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

func isSuccess(a *answer) bool {
	return a.StatusCode >= http.StatusOK && a.StatusCode < http.StatusMultipleChoices
}

// listing is the state of one List over its pages and attempts.
type listing struct {
	info kind.ListInfo
	each func(kind.Object) error
	// given are the items of this page that an earlier attempt has passed on,
	// now those of this attempt.
	given, now map[string]bool
	// left is how many bytes the rest of the list may have, most how many
	// items all of it.
	left int64
	most int
	// call is the one that lists.
	call *call
	// seen are the addresses of the pages.
	seen      map[string]bool
	restarted bool
}

// List passes every item of the collection to each as it is decoded
// (docs/platform.md 4 rows 1 and 5), page by page, in the server's order. Where it
// returns an error, what it has passed on is not the whole. An error of each
// is returned as it is.
func (r *Reader) List(ctx context.Context, k *kind.Kind, each func(kind.Object) error) (kind.ListInfo, error) {
	c, err := r.newCall(kind.List, k, "")
	if err != nil {
		return kind.ListInfo{}, err
	}
	l := &listing{
		info: kind.ListInfo{Complete: true}, each: each, left: r.cfg.MaxList, most: r.cfg.MaxItems, call: c,
		seen: map[string]bool{c.url.String(): true},
	}
	err = r.pages(ctx, c, l)
	if l.info.Complete = l.info.Complete && err == nil; l.info.Complete {
		r.cfg.Listed.kinds.Store(k.Name, true)
	}
	return l.info, err
}

// pages reads one page after the other.
func (r *Reader) pages(ctx context.Context, c *call, l *listing) error {
	for {
		next, err := r.nextPage(ctx, c, l)
		if err != nil {
			next, err = l.restart(c, err)
		}
		if err != nil || next == nil {
			return err
		}
		switch {
		case l.seen[next.String()]:
			return c.endless("the list never ends: a page links to one that was already read")
		case len(l.seen) >= r.cfg.MaxPages:
			return c.endless(fmt.Sprintf("the list has more than %d pages", r.cfg.MaxPages))
		}
		l.seen[next.String()] = true
		c.url = next
	}
}

// restart goes on after a page whose token had expired, with the fresh token
// of the answer and only once; else the list stays incomplete.
func (l *listing) restart(c *call, err error) (*url.URL, error) {
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusGone || len(l.seen) == 1 {
		return nil, err
	}
	if l.restarted || e.restart == "" {
		l.info.Complete = false
		return nil, nil
	}
	l.restarted = true
	return c.withQuery("continue", e.restart), nil
}

// endless is a list whose pages lead in a circle, or that is too long.
func (c *call) endless(says string) *Error {
	e := c.blank(Unreadable)
	e.Message = says
	return e
}

// nextPage reads one page, with retries, and returns the address of the next.
func (r *Reader) nextPage(ctx context.Context, c *call, l *listing) (*url.URL, error) {
	var next *url.URL
	l.given, l.now = map[string]bool{}, map[string]bool{}
	err := r.retry(ctx, func(attempt int) (err error) {
		for name := range l.now {
			l.given[name] = true
		}
		clear(l.now)
		next, err = r.pageOnce(ctx, c, l, attempt)
		return err
	})
	if s := new(stopped); errors.As(err, &s) {
		return nil, s.err
	}
	return next, err
}

func (r *Reader) pageOnce(ctx context.Context, c *call, l *listing, attempt int) (*url.URL, error) {
	l.info.Requests++
	a, err := r.send(ctx, r.gets, c, attempt)
	if err != nil {
		return nil, err
	}
	defer a.close()
	if !isSuccess(a) {
		return nil, r.answered(c, a)
	}
	buffered := bufio.NewReaderSize(a, 64<<10)
	// An error shows again when the decoder reads.
	peeked, _ := buffered.Peek(headSize)
	start := append([]byte(nil), peeked...)
	src := &source{r: buffered, object: r.cfg.MaxObject, list: l.left, most: r.cfg.MaxList}
	p, err := decodeList(src, c.kind, r.cfg.Workspace, l.pass)
	if s := new(stopped); errors.As(err, &s) {
		return nil, err
	}
	if err != nil {
		return nil, c.unreadable(a, err, start)
	}
	l.left -= src.read
	next, err := c.following(p, a.Header.Values("Link"))
	if err != nil {
		return nil, c.unreadable(a, err, nil)
	}
	if next == nil && p.remaining {
		l.info.Complete = false
	}
	return next, nil
}

// pass hands on an item that no earlier attempt at this page has handed on.
func (l *listing) pass(o kind.Object) error {
	if l.given[o.Name] {
		return nil
	}
	if l.info.Items >= l.most {
		return l.call.endless(fmt.Sprintf("the list has more than %d objects", l.most))
	}
	l.now[o.Name] = true
	l.info.Items++
	return l.each(o)
}

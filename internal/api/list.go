package api

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"

	"trueup/internal/kind"
)

// Listed records the kinds that a run has listed completely. That proves that the
// server is the platform, so a 404 for one object means that the object doesn't exist.
type Listed struct{ kinds sync.Map }

// listing is the state of one List, over its pages and attempts.
type listing struct {
	*operation
	info    kind.ListInfo
	each    func(kind.LiveObject) error
	stopped error          // what ended the list: an error of each, or too many objects
	passed  map[string]int // the objects of this page that were passed to each, and in which attempt
	attempt int
	left    int64           // how many bytes the rest of the list may have
	most    int             // how many objects the list may have
	seen    map[string]bool // the URLs of the pages
	names   map[string]bool // the names of the objects
	idle    int             // how many pages in a row had no new name
}

// List calls each with every object of the collection (docs/platform.md 4 rows 1 and 5), as it is decoded, in the
// server's order. After an error the list is incomplete. List returns an error of each unchanged.
func (r *Reader) List(ctx context.Context, k *kind.Kind, each func(kind.LiveObject) error) (kind.ListInfo, error) {
	c, err := r.newCall(kind.List, k, "")
	if err != nil {
		return kind.ListInfo{}, err
	}
	l := &listing{
		operation: c, info: kind.ListInfo{Complete: true}, each: each, left: r.cfg.MaxList, most: r.cfg.MaxItems,
		seen: map[string]bool{c.url.String(): true}, names: map[string]bool{},
	}
	err = r.readPages(ctx, l)
	l.info.Requests = c.requests
	if l.info.Complete = l.info.Complete && err == nil; l.info.Complete {
		r.cfg.Listed.kinds.Store(k.Name, true)
	}
	return l.info, err
}

// HasAny reports whether the list of a kind has an object. It reads no further than the first one.
func (r *Reader) HasAny(ctx context.Context, k *kind.Kind) (bool, error) {
	enough := errors.New("one is enough")
	_, err := r.List(ctx, k, func(kind.LiveObject) error { return enough })
	if errors.Is(err, enough) {
		return true, nil
	}
	return false, err
}

// maxIdlePages is how many pages in a row may have no new object: servers filter some pages after they read them.
const maxIdlePages = 10

func (r *Reader) readPages(ctx context.Context, l *listing) error {
	for {
		had := len(l.names)
		next, err := r.readPage(ctx, l)
		if l.idle++; len(l.names) > had {
			l.idle = 0
		}
		if AnswerOf(err).Status == http.StatusGone && len(l.seen) > 1 { // the continue token has expired
			l.info.Complete = false
			return nil
		}
		if err != nil || next == nil {
			return err
		}
		switch {
		case l.seen[next.String()]:
			return l.errorWithoutAnswer(Unreadable, "the list never ends: a page links to one that was already read")
		case l.idle >= maxIdlePages:
			return l.errorWithoutAnswer(Unreadable, "the list never ends: %d pages in a row have no new object", maxIdlePages)
		case len(l.seen) >= r.cfg.MaxPages:
			return l.errorWithoutAnswer(Unreadable, "the list has more than %d pages", r.cfg.MaxPages)
		}
		l.seen[next.String()] = true
		l.url = next
	}
}

// readPage reads one page, with retries, and returns the URL of the next page or nil.
func (r *Reader) readPage(ctx context.Context, l *listing) (next *url.URL, err error) {
	l.passed, l.attempt = map[string]int{}, 0
	err = r.readWithRetries(ctx, l.operation, func(a *answer) error {
		l.attempt++
		buffered := bufio.NewReaderSize(a, 64<<10)
		// The decoder will see the same error.
		peeked, _ := buffered.Peek(pageHead)
		start := append([]byte(nil), peeked...)
		src := &bodyReader{r: buffered, object: r.cfg.MaxObject, list: l.left, most: r.cfg.MaxList}
		p, err := decodeList(src, l.kind, r.cfg.Workspace, l.passOnce)
		switch {
		case l.stopped != nil:
			return nil
		case err != nil:
			return l.unreadableBody(a, err, start)
		}
		l.left -= src.read
		switch {
		case p.next != "":
			u := *l.url
			u.RawQuery = url.Values{"continue": {p.next}}.Encode()
			next = &u
		case p.remaining:
			l.info.Complete = false
		}
		return nil
	})
	return next, cmp.Or(l.stopped, err)
}

// passOnce calls each with o, unless an earlier attempt at this page did.
func (l *listing) passOnce(o kind.LiveObject) error {
	switch attempt, passed := l.passed[o.Name]; {
	case passed && attempt < l.attempt:
		return nil
	case l.info.Items >= l.most:
		l.stopped = l.errorWithoutAnswer(Unreadable, "the list has more than %d objects", l.most)
	default:
		l.passed[o.Name], l.names[o.Name] = l.attempt, true
		l.info.Items++
		l.stopped = l.each(o)
	}
	return l.stopped
}

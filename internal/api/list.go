package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// ListedKinds records the kinds that a run has listed completely. That proves that the
// server is the platform, so a 404 for one object means that the object doesn't exist.
type ListedKinds struct{ kinds sync.Map }

// listOperation is the state of one List, over its pages and attempts.
type listOperation struct {
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
	c, err := r.newOperation(kind.List, k, "")
	if err != nil {
		return kind.ListInfo{}, err
	}
	l := &listOperation{
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

func (r *Reader) readPages(ctx context.Context, l *listOperation) error {
	for {
		had := len(l.names)
		next, err := r.readPage(ctx, l)
		if l.idle++; len(l.names) > had {
			l.idle = 0
		}
		if AsError(err).Status == http.StatusGone && len(l.seen) > 1 { // the continue token has expired
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
func (r *Reader) readPage(ctx context.Context, l *listOperation) (next *url.URL, err error) {
	l.passed, l.attempt = map[string]int{}, 0
	err = r.readWithRetries(ctx, l.operation, func(a *timedResponse) error {
		l.attempt++
		buffered := bufio.NewReaderSize(a, 64<<10)
		// The decoder will see the same error.
		peeked, _ := buffered.Peek(pageHead)
		start := append([]byte(nil), peeked...)
		src := &bodyReader{r: buffered, object: r.cfg.MaxObject, list: l.left, most: r.cfg.MaxList}
		token, more, err := decodeList(src, l.kind, r.cfg.Workspace, l.passOnce)
		switch {
		case l.stopped != nil:
			return nil
		case err != nil:
			return l.unreadableBodyError(a, err, start)
		}
		l.left -= src.read
		switch {
		case token != "":
			u := *l.url
			u.RawQuery = url.Values{"continue": {token}}.Encode()
			next = &u
		case more, strings.Contains(strings.ReplaceAll(strings.Join(a.Header.Values("Link"), " "), `"`, ""), "rel=next"):
			l.info.Complete = false
		}
		return nil
	})
	return next, cmp.Or(l.stopped, err)
}

// passOnce calls each with o, unless an earlier attempt at this page did.
func (l *listOperation) passOnce(o kind.LiveObject) error {
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

// readObject reads an object in canonical JSON. It rejects an object of another workspace.
// A server gives the workspace as its name or its UUID.
func readObject(doc []byte, k *kind.Kind, ws kind.Workspace) (kind.LiveObject, error) {
	o, err := k.ReadObject(doc)
	if err != nil {
		return kind.LiveObject{}, fmt.Errorf("unreadable answer: %w", err)
	}
	if o.Namespace != "" && ws.Name != "" && o.Namespace != ws.Name && o.Namespace != ws.UUID {
		return kind.LiveObject{}, &displayError{misdirected: true, text: fmt.Sprintf("wrong workspace: %s is in %q, the project's is %q", o.Key(), o.Namespace, ws.Name)}
	}
	return o, nil
}

func parseObject(body []byte, k *kind.Kind, ws kind.Workspace) (kind.LiveObject, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return kind.LiveObject{}, errors.New("unreadable answer: it is empty")
	}
	doc, err := canon.Canonicalize(body)
	if err != nil {
		return kind.LiveObject{}, fmt.Errorf("unreadable answer: %w", err)
	}
	if doc[0] != '{' {
		return kind.LiveObject{}, errors.New("unreadable answer: it is not a JSON object")
	}
	return readObject(doc, k, ws)
}

// errNoList is the error for valid JSON that contains no list.
var errNoList = errors.New("unreadable list: neither an array nor an object with items or data")

// decoder decodes a page of a list, item by item as it arrives.
type decoder struct {
	src  *bodyReader
	json *json.Decoder
	raw  json.RawMessage // the last value as the server wrote it
	scan canon.Converter

	kind *kind.Kind
	ws   kind.Workspace
	each func(kind.LiveObject) error
	// envelope has the fields of the page, with the values of those beside the list, which is in found.
	envelope map[string]any
	found    string
	more     bool // it names a next page in a field of its own
}

// decodeList decodes the forms of lists that similar services use (docs/platform.md 10): {"items": […] or null}, a
// bare array, {"data": […]}. Anything else is an error, never an empty list. It returns the token of the next page, or "",
// and whether the page says that there is more.
func decodeList(src *bodyReader, k *kind.Kind, ws kind.Workspace, each func(kind.LiveObject) error) (next string, more bool, err error) {
	d := &decoder{src: src, json: json.NewDecoder(src), kind: k, ws: ws, each: each, envelope: map[string]any{}}
	if err := d.readDocument(); err != nil {
		return "", false, err
	}
	d.resetSizeLimit()
	if _, err := d.json.Token(); !errors.Is(err, io.EOF) {
		return "", false, errors.New("unreadable list: content after the JSON value")
	}
	return d.finishPage()
}

func (d *decoder) readDocument() error {
	switch first, err := d.nextToken(); {
	case err != nil:
		return err
	case first == json.Delim('['):
		d.found = "the array"
		return d.eachMember(d.readItem)
	case first == json.Delim('{'):
		return d.eachMember(d.readField)
	}
	return errNoList
}

// finishPage checks what the page says besides its items.
func (d *decoder) finishPage() (next string, more bool, err error) {
	meta, isObject := d.envelope["metadata"].(map[string]any)
	next, isText := meta["continue"].(string)
	listKind, isName := d.envelope["kind"].(string)
	switch {
	case !isObject && d.envelope["metadata"] != nil, !isText && meta["continue"] != nil:
		return "", false, errors.New("unreadable list: its metadata is not an object, or has a continue that is not text")
	case !isName && d.envelope["kind"] != nil:
		return "", false, errors.New("unreadable list: its kind is not text")
	case listKind != "" && listKind != "List" && listKind != d.kind.Name+"List":
		return "", false, fmt.Errorf("the answer is of kind %s, not a list of %s", listKind, d.kind.Name)
	case d.found == "" && listKind == "":
		return "", false, errNoList
	}
	remaining, _ := meta["remainingItemCount"].(json.Number)
	return next, d.more || strings.Trim(string(remaining), "0") != "", nil
}

func (d *decoder) readField() error {
	key, err := d.nextToken()
	if err != nil {
		return err
	}
	name, _ := key.(string)
	if _, twice := d.envelope[name]; twice {
		return fmt.Errorf("unreadable list: it has the key %.100q twice", name)
	}
	d.envelope[name] = nil
	switch name {
	case "items", "data":
		return d.readCollection(name)
	case "metadata", "kind":
		v, err := d.canonicalValue()
		if err == nil {
			d.envelope[name] = canon.MustDecode(v)
		}
		return err
	}
	// Other fields only have to be JSON. One about a next page means that this is not all.
	if err := d.nextValue(); err != nil {
		return err
	}
	d.more = d.more || strings.Contains(strings.ToLower(name), "next") && !slices.Contains([]string{`null`, `""`, `false`, `{}`, `[]`}, string(d.raw))
	if !utf8.Valid(d.raw) || strings.ContainsRune(name, utf8.RuneError) {
		return d.preferSourceError(errors.New("not valid UTF-8"))
	}
	return nil
}

func (d *decoder) readCollection(name string) error {
	switch first, err := d.nextToken(); {
	case err != nil:
		return err
	case first == json.Delim('[') && d.found != "":
		return fmt.Errorf("unreadable list: both %s and %s have items", d.found, name)
	case first == json.Delim('['):
		d.found = name
		return d.eachMember(d.readItem)
	case first != nil || name != "items" || d.found != "":
		return errNoList
	}
	d.found = name
	return nil
}

func (d *decoder) readItem() error {
	v, err := d.canonicalValue()
	if err != nil {
		return err
	}
	if v[0] != '{' {
		return errors.New("unreadable list: an item is not an object")
	}
	o, err := readObject(v, d.kind, d.ws)
	if err != nil {
		return err
	}
	return d.each(o)
}

// eachMember calls each for every member of the object or array that was begun, and reads its end.
func (d *decoder) eachMember(each func() error) error {
	for d.resetSizeLimit(); d.json.More(); d.resetSizeLimit() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := d.nextToken()
	return err
}

// resetSizeLimit allows the next value to be as large as an object.
func (d *decoder) resetSizeLimit() { d.src.limit = d.json.InputOffset() + d.src.object }

// nextToken reads the next key, sign or plain value.
func (d *decoder) nextToken() (json.Token, error) {
	d.resetSizeLimit()
	t, err := d.json.Token()
	return t, d.preferSourceError(err)
}

// nextValue reads the next value.
func (d *decoder) nextValue() error {
	d.resetSizeLimit()
	return d.preferSourceError(d.json.Decode(&d.raw))
}

// canonicalValue reads the next value in canonical form. It is valid until the next call.
func (d *decoder) canonicalValue() ([]byte, error) {
	if err := d.nextValue(); err != nil {
		return nil, err
	}
	v, err := d.scan.Canonicalize(d.raw)
	return v, d.preferSourceError(err)
}

// preferSourceError prefers the source's error to the decoder's.
func (d *decoder) preferSourceError(err error) error {
	switch {
	case err == nil:
		return nil
	case d.src.err != nil && !errors.Is(d.src.err, io.EOF):
		err = d.src.err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("unreadable list: %w", err)
}

// bodyReader reads the body of a page, checks size limits, and keeps its first error.
type bodyReader struct {
	r           io.Reader
	read, limit int64 // read counts bytes; limit is where the current value must have ended
	// Limits in bytes: object for one value, list for this page, which is what is left for the
	// list, and most for the whole list.
	object, list, most int64
	err                error
}

// Read reads from the body. It returns an error at a limit.
func (s *bodyReader) Read(p []byte) (n int, err error) {
	room := min(s.limit, s.list) - s.read // to the end of the current value, or of the list
	switch {
	case s.err != nil:
	case room > 0:
		n, s.err = s.r.Read(p[:min(room, int64(len(p)))])
		s.read += int64(n)
	case s.read >= s.list:
		s.err = fmt.Errorf("the list is larger than %s", formatSize(s.most))
	default:
		s.err = fmt.Errorf("an object is larger than %s", formatSize(s.object))
	}
	return n, s.err
}

func formatSize(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if one := int64(1) << (30 - 10*i); n >= one && n%one == 0 {
			return fmt.Sprintf("%d %s", n/one, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// readObject reads an object in canonical JSON. It rejects an object of another workspace.
// A server gives the workspace as its name or its UUID.
func readObject(doc []byte, k *kind.Kind, ws kind.Workspace) (kind.Object, error) {
	o, err := k.ReadObject(doc)
	if err != nil {
		return kind.Object{}, mismatchf("unreadable answer: %v", err)
	}
	if o.Namespace != "" && ws.Name != "" && o.Namespace != ws.Name && o.Namespace != ws.UUID {
		return kind.Object{}, &worded{misdirected: true, text: oneLine(fmt.Sprintf(
			"wrong workspace: %s is in %q, the project's is %q", o.Key(), o.Namespace, ws.Name), messageSize)}
	}
	return o, nil
}

func parseObject(body []byte, k *kind.Kind, ws kind.Workspace) (kind.Object, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return kind.Object{}, errors.New("unreadable answer: it is empty")
	}
	doc, err := canon.Canonical(body)
	if err != nil {
		return kind.Object{}, fmt.Errorf("unreadable answer: %w", err)
	}
	if doc[0] != '{' {
		return kind.Object{}, errors.New("unreadable answer: it is not a JSON object")
	}
	return readObject(doc, k, ws)
}

// page is what a page of a list says besides its items.
type page struct {
	next, token string // metadata.continue and nextPageToken; both may be empty
	remaining   bool   // metadata.remainingItemCount is not zero
}

// errNoList is the error for valid JSON that contains no list.
var errNoList = errors.New("unreadable list: neither an array nor an object with items, data or results")

// decoder decodes a page of a list, item by item as it arrives, in one pass.
type decoder struct {
	src    *source
	buf    []byte // buf[at:] is not used yet; offset is the position of buf in the page
	at     int
	offset int64
	scan   canon.Scanner

	kind *kind.Kind
	ws   kind.Workspace
	each func(kind.Object) error
	// envelope has the fields of the page, with the values of those beside the list, which is in found.
	envelope map[string]any
	found    string
}

// decodeList decodes the forms of lists that similar services use (docs/platform.md 10): {"items": […] or null}, a
// bare array, {"data": […]}, {"results": […]}. Anything else is an error, never an empty list.
func decodeList(src *source, k *kind.Kind, ws kind.Workspace, each func(kind.Object) error) (page, error) {
	d := &decoder{src: src, kind: k, ws: ws, each: each, envelope: map[string]any{}}
	if err := d.document(); err != nil {
		return page{}, err
	}
	if _, err := d.next(); !errors.Is(err, io.EOF) {
		return page{}, errors.New("unreadable list: content after the JSON value")
	}
	return d.page()
}

func (d *decoder) document() error {
	first, err := d.next()
	switch {
	case err != nil:
		return d.unreadable(err)
	case first == '[':
		d.found = "the array"
		return d.members(']', "array element", d.item)
	case first == '{':
		return d.members('}', "object key:value pair", d.field)
	}
	_, err = d.value()
	return cmp.Or(err, errNoList)
}

// page checks what the page says besides its items.
func (d *decoder) page() (page, error) {
	meta, isObject := d.envelope["metadata"].(map[string]any)
	next, isText := meta["continue"].(string)
	listKind, isName := d.envelope["kind"].(string)
	token, isToken := d.envelope["nextPageToken"].(string)
	switch {
	case !isObject && d.envelope["metadata"] != nil, !isText && meta["continue"] != nil:
		return page{}, errors.New("unreadable list: its metadata is not an object, or has a continue that is not text")
	case !isName && d.envelope["kind"] != nil, !isToken && d.envelope["nextPageToken"] != nil:
		return page{}, errors.New("unreadable list: a field of its envelope is not text")
	case listKind != "" && listKind != "List" && listKind != d.kind.Name+"List":
		return page{}, mismatchf("the answer is of kind %s, not a list of %s", listKind, d.kind.Name)
	case d.found == "" && listKind == "":
		return page{}, errNoList
	}
	remaining, _ := meta["remainingItemCount"].(json.Number)
	return page{next, token, strings.Trim(string(remaining), "0") != ""}, nil
}

func (d *decoder) field() error {
	name, err := d.key()
	if err != nil {
		return err
	}
	if _, twice := d.envelope[name]; twice {
		return fmt.Errorf("unreadable list: it has the key %.100q twice", name)
	}
	d.envelope[name] = nil
	switch name {
	case "items", "data", "results":
		return d.collection(name)
	case "metadata", "kind", "nextPageToken":
		d.envelope[name], err = d.tree()
		return err
	}
	// Other fields only have to be JSON.
	d.begin()
	_, err = d.raw()
	return err
}

func (d *decoder) collection(name string) error {
	first, err := d.next()
	switch {
	case err != nil:
		return d.unreadable(err)
	case first == '[' && d.found != "":
		return fmt.Errorf("unreadable list: both %s and %s have items", d.found, name)
	case first == '[':
		d.found = name
		return d.members(']', "array element", d.item)
	case first == '{':
		return errNoList
	}
	v, err := d.value()
	switch {
	case err != nil:
		return err
	case string(v) != "null" || name != "items" || d.found != "":
		return errNoList
	}
	d.found = name
	return nil
}

func (d *decoder) item() error {
	v, err := d.value()
	if err != nil {
		return err
	}
	if v[0] != '{' {
		return mismatchf("unreadable list: an item is not an object")
	}
	o, err := readObject(v, d.kind, d.ws)
	if err != nil {
		return err
	}
	return d.each(o)
}

// members reads an object or an array, from its first character to last. It calls each for
// every member, which each must read. Errors name a member as what.
func (d *decoder) members(last byte, what string, each func() error) error {
	d.at++
	for first := true; ; first = false {
		c, err := d.next()
		switch {
		case err != nil:
			return d.unreadable(err)
		case c == last:
			d.at++
			return nil
		case !first && c != ',':
			return misplaced(c, "after "+what)
		case !first:
			d.at++
		}
		if err := each(); err != nil {
			return err
		}
	}
}

func (d *decoder) key() (string, error) {
	c, err := d.next()
	if err != nil {
		return "", d.unreadable(err)
	}
	if c != '"' {
		return "", misplaced(c, "looking for beginning of object key string")
	}
	v, err := d.tree()
	if err != nil {
		return "", err
	}
	name, _ := v.(string)
	switch c, err = d.next(); {
	case err != nil:
		return "", d.unreadable(err)
	case c != ':':
		return "", misplaced(c, "after object key")
	}
	d.at++
	return name, nil
}

func misplaced(c byte, where string) error {
	return fmt.Errorf("unreadable list: invalid character %q %s", c, where)
}

// unreadable returns an error that prefers the source's error to the decoder's.
func (d *decoder) unreadable(err error) error {
	switch {
	case d.src.err != nil && !errors.Is(d.src.err, io.EOF):
		err = d.src.err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("unreadable list: %w", err)
}

// begin allows the next value to be as large as an object.
func (d *decoder) begin() { d.src.limit = d.offset + int64(d.at) + d.src.object }

// minRead is the least room that more makes in the buffer.
const minRead = 64 << 10

// more doubles the unused part of the buffer, unless a size limit prevents it. Doubling
// keeps the total work of trying again linear. An error means that it read nothing.
func (d *decoder) more() error {
	rest := d.buf[d.at:]
	had := len(rest)
	d.offset += int64(d.at)
	want := min(2*int64(had), d.src.bound()-d.offset)
	d.buf, d.at = append(d.buf[:0], rest...), 0
	d.buf = slices.Grow(d.buf, max(minRead, had))
	for {
		n, err := d.src.Read(d.buf[len(d.buf):cap(d.buf)])
		d.buf = d.buf[:len(d.buf)+n]
		switch {
		case len(d.buf) > had && (err != nil || int64(len(d.buf)) >= want):
			return nil
		case err != nil:
			return err
		}
	}
}

// next skips white space and returns the next character without using it up.
func (d *decoder) next() (byte, error) {
	d.begin()
	for {
		for ; d.at < len(d.buf); d.at++ {
			if c := d.buf[d.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return c, nil
			}
		}
		if err := d.more(); err != nil {
			return 0, err
		}
	}
}

// value returns the next value, at most as large as an object, in canonical form. It is
// valid until the next call. If the scanner fails, json.Decoder explains why.
func (d *decoder) value() ([]byte, error) {
	d.begin()
	for {
		v, n, err := d.scan.Next(d.buf[d.at:])
		if err == nil {
			d.at += n
			return v, nil
		}
		if !errors.Is(err, canon.ErrShort) || d.more() != nil {
			break
		}
	}
	raw, err := d.raw()
	if err != nil {
		return nil, err
	}
	v, err := canon.Canonical(raw)
	if err != nil {
		return nil, fmt.Errorf("unreadable list: %w", err)
	}
	return v, nil
}

// raw reads the next value unchanged.
func (d *decoder) raw() ([]byte, error) {
	for {
		dec := json.NewDecoder(bytes.NewReader(d.buf[d.at:]))
		var raw json.RawMessage
		err := dec.Decode(&raw)
		n := int(dec.InputOffset())
		// A number at the end of the buffer may continue.
		mayContinue := err == nil && n == len(d.buf)-d.at && raw[0] <= '9' && raw[0] != '"'
		if (mayContinue || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && d.more() == nil {
			continue
		}
		if err == nil && !utf8.Valid(raw) {
			err = errors.New("not valid UTF-8")
		}
		if err != nil {
			return nil, d.unreadable(err)
		}
		d.at += n
		return raw, nil
	}
}

func (d *decoder) tree() (any, error) {
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	return canon.MustDecode(v), nil
}

// source reads the body of a page, checks size limits, and keeps its first error.
type source struct {
	r           io.Reader
	read, limit int64 // read counts bytes; limit is where the current value must have ended
	// Limits in bytes: object for one value, list for this page, which is what is left for the
	// list, and most for the whole list.
	object, list, most int64
	err                error
}

// bound returns the position where reading must stop: the end of the current value or of the list.
func (s *source) bound() int64 { return min(s.limit, s.list) }

// Read reads from the body. It returns an error at a limit.
func (s *source) Read(p []byte) (n int, err error) {
	room := s.bound() - s.read
	switch {
	case s.err != nil:
	case room > 0:
		n, s.err = s.r.Read(p[:min(room, int64(len(p)))])
		s.read += int64(n)
	case s.read >= s.list:
		s.err = fmt.Errorf("the list is larger than %s", size(s.most))
	default:
		s.err = fmt.Errorf("an object is larger than %s", size(s.object))
	}
	return n, s.err
}

func size(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if one := int64(1) << (30 - 10*i); n >= one && n%one == 0 {
			return fmt.Sprintf("%d %s", n/one, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

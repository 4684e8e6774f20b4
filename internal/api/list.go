package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// page is what one answer to a list says beside its items.
type page struct {
	// next is metadata.continue, token is nextPageToken; both may be empty.
	next, token string
	// remaining is metadata.remainingItemCount.
	remaining bool
}

// errNoList is a readable answer in which no list can be found.
var errNoList = errors.New("unreadable list: neither an array nor an object with items, data or results")

// listDecoder reads one answer item by item.
type listDecoder struct {
	src  *source
	dec  *json.Decoder
	kind *kind.Kind
	ws   kind.Workspace
	each func(kind.Object) error
	// buffer is the present value.
	buffer json.RawMessage
	// seen are the fields of the envelope, found is the one that held the list.
	seen     map[string]bool
	found    string
	listKind string
	page     page
}

// stopped is an error of the caller's each, which passes through unchanged.
type stopped struct{ err error }

// Error returns the caller's error.
func (s *stopped) Error() string { return s.err.Error() }

// decodeList reads the shapes that the platform's siblings answer
// (platform-observed): {"items": […] or null}, a bare array, {"data": […]},
// {"results": […]}. Anything else is an error and never an empty list.
func decodeList(src *source, k *kind.Kind, ws kind.Workspace, each func(kind.Object) error) (page, error) {
	src.begin(0)
	d := &listDecoder{src: src, dec: json.NewDecoder(src), kind: k, ws: ws, each: each, seen: map[string]bool{}}
	if err := d.document(); err != nil {
		return page{}, err
	}
	if _, err := d.token(); !errors.Is(err, io.EOF) {
		return page{}, errors.New("unreadable list: content after the JSON value")
	}
	return d.page, nil
}

func (d *listDecoder) document() error {
	first, err := d.token()
	if err != nil {
		return d.unreadable(err)
	}
	switch first {
	case json.Delim('['):
		return d.items()
	case json.Delim('{'):
		return d.object()
	}
	return errNoList
}

// object reads the envelope around the items.
func (d *listDecoder) object() error {
	for d.dec.More() {
		key, err := d.token()
		if err != nil {
			return d.unreadable(err)
		}
		name, _ := key.(string)
		if d.seen[name] {
			return fmt.Errorf("unreadable list: the key %.100q stands twice in it", name)
		}
		d.seen[name] = true
		if err := d.field(name); err != nil {
			return err
		}
	}
	if err := d.end(json.Delim('}')); err != nil {
		return err
	}
	if d.listKind != "" && d.listKind != "List" && d.listKind != d.kind.Name+"List" {
		return mismatchf("the answer is of kind %s, not a list of %s", d.listKind, d.kind.Name)
	}
	if d.found == "" && d.listKind == "" {
		return errNoList
	}
	return nil
}

func (d *listDecoder) field(name string) error {
	switch name {
	case "items", "data", "results":
		return d.collection(name)
	case "metadata":
		return d.metadata()
	case "kind":
		return d.text(&d.listKind)
	case "nextPageToken":
		return d.text(&d.page.token)
	}
	_, err := d.raw()
	return err
}

// metadata reads what the envelope says of the list.
func (d *listDecoder) metadata() error {
	v, err := d.value()
	if err != nil {
		return err
	}
	meta, ok := v.(map[string]any)
	next, isText := meta["continue"].(string)
	if !ok && v != nil || !isText && meta["continue"] != nil {
		return errors.New("unreadable list: its metadata is not an object, or holds a continue that is no text")
	}
	d.page.next = next
	remaining, _ := meta["remainingItemCount"].(json.Number)
	d.page.remaining = strings.Trim(string(remaining), "0") != ""
	return nil
}

// text reads a text, or null.
func (d *listDecoder) text(into *string) error {
	v, err := d.value()
	if err != nil {
		return err
	}
	text, ok := v.(string)
	if !ok && v != nil {
		return errors.New("unreadable list: a text of its envelope is none")
	}
	*into = text
	return nil
}

// collection reads the value of a field that may hold the list.
func (d *listDecoder) collection(name string) error {
	first, err := d.token()
	if err != nil {
		return d.unreadable(err)
	}
	switch {
	case first == json.Delim('[') && d.found == "":
		d.found = name
		return d.items()
	case first == nil && name == "items" && d.found == "":
		d.found = name
		return nil
	case first == json.Delim('['):
		return fmt.Errorf("unreadable list: both %s and %s hold one", d.found, name)
	}
	return errNoList
}

// items reads the elements and the end of the array. Each is decoded once, to
// a tree that is let go when it has become an object.
func (d *listDecoder) items() error {
	for d.dec.More() {
		v, err := d.value()
		if err != nil {
			return err
		}
		tree, ok := v.(map[string]any)
		if !ok {
			return mismatchf("unreadable list: an item is no object")
		}
		o, err := newObject(tree, d.kind, d.ws)
		if err != nil {
			return err
		}
		if err := d.each(o); err != nil {
			return &stopped{err}
		}
	}
	return d.end(json.Delim(']'))
}

// end reads the bracket that closes what More says has no more: More says so
// also where reading failed.
func (d *listDecoder) end(bracket json.Delim) error {
	switch token, err := d.token(); {
	case err != nil:
		return d.unreadable(err)
	case token != bracket:
		return fmt.Errorf("unreadable list: %v in the place of %v", token, bracket)
	}
	return nil
}

// value decodes the next value within the bound of one object.
func (d *listDecoder) value() (any, error) {
	raw, err := d.raw()
	if err != nil {
		return nil, err
	}
	v, err := canon.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("unreadable list: %w", err)
	}
	return v, nil
}

// raw reads the next value within the bound of one object.
func (d *listDecoder) raw() (json.RawMessage, error) {
	d.src.begin(d.dec.InputOffset())
	d.buffer = d.buffer[:0]
	if err := d.dec.Decode(&d.buffer); err != nil {
		return nil, d.unreadable(err)
	}
	return d.buffer, nil
}

func (d *listDecoder) token() (json.Token, error) {
	d.src.begin(d.dec.InputOffset())
	return d.dec.Token()
}

// unreadable prefers what stopped the reading to what the decoder made of it.
func (d *listDecoder) unreadable(err error) error {
	switch {
	case d.src.err != nil && !errors.Is(d.src.err, io.EOF):
		return fmt.Errorf("unreadable list: %w", d.src.err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("unreadable list: %w", err)
}

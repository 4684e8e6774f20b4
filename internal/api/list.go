package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

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
	text
	kind *kind.Kind
	ws   kind.Workspace
	each func(kind.Object) error
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
// (docs/platform.md 10): {"items": […] or null}, a bare array, {"data": […]},
// {"results": […]}. Anything else is an error and never an empty list.
func decodeList(src *source, k *kind.Kind, ws kind.Workspace, each func(kind.Object) error) (page, error) {
	d := &listDecoder{text: text{src: src}, kind: k, ws: ws, each: each, seen: map[string]bool{}}
	if err := d.document(); err != nil {
		return page{}, err
	}
	if _, err := d.next(); !errors.Is(err, io.EOF) {
		return page{}, errors.New("unreadable list: content after the JSON value")
	}
	return d.page, nil
}

func (d *listDecoder) document() error {
	first, err := d.next()
	switch {
	case err != nil:
		return d.unreadable(err)
	case first == '[':
		d.at++
		return d.items()
	case first == '{':
		d.at++
		return d.object()
	}
	if _, err := d.value(); err != nil {
		return err
	}
	return errNoList
}

// object reads the envelope around the items.
func (d *listDecoder) object() error {
	err := d.members('}', "object key:value pair", func() error {
		name, err := d.key()
		if err != nil {
			return err
		}
		if d.seen[name] {
			return fmt.Errorf("unreadable list: it has the key %.100q twice", name)
		}
		d.seen[name] = true
		return d.field(name)
	})
	if err != nil {
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
		return d.word(&d.listKind)
	case "nextPageToken":
		return d.word(&d.page.token)
	}
	return d.skip()
}

// metadata reads what the envelope says of the list.
func (d *listDecoder) metadata() error {
	v, err := d.tree()
	if err != nil {
		return err
	}
	meta, ok := v.(map[string]any)
	next, isText := meta["continue"].(string)
	if !ok && v != nil || !isText && meta["continue"] != nil {
		return errors.New("unreadable list: its metadata is not an object, or has a continue that is not text")
	}
	d.page.next = next
	remaining, _ := meta["remainingItemCount"].(json.Number)
	d.page.remaining = strings.Trim(string(remaining), "0") != ""
	return nil
}

// word reads a text, or null.
func (d *listDecoder) word(into *string) error {
	v, err := d.tree()
	if err != nil {
		return err
	}
	text, ok := v.(string)
	if !ok && v != nil {
		return errors.New("unreadable list: a field of its envelope is not text")
	}
	*into = text
	return nil
}

// collection reads the value of a field that may hold the list.
func (d *listDecoder) collection(name string) error {
	first, err := d.next()
	if err != nil {
		return d.unreadable(err)
	}
	switch {
	case first == '[' && d.found == "":
		d.found = name
		d.at++
		return d.items()
	case first == '[':
		return fmt.Errorf("unreadable list: both %s and %s have items", d.found, name)
	case first == '{':
		return errNoList
	}
	switch v, err := d.value(); {
	case err != nil:
		return err
	case string(v) == "null" && name == "items" && d.found == "":
		d.found = name
		return nil
	}
	return errNoList
}

// items reads the elements and the end of the array. Of each only what it
// becomes is kept.
func (d *listDecoder) items() error {
	return d.members(']', "array element", func() error {
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
		if err := d.each(o); err != nil {
			return &stopped{err}
		}
		return nil
	})
}

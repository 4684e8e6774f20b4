package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"trueup/internal/canon"
)

// firstRead is how much of a list is asked for at least at a time.
const firstRead = 64 << 10

// text is JSON that is read value by value as it arrives. Each is brought into
// its canonical form in one pass over its bytes; what the scanner does not read
// goes through a tree, which knows why.
type text struct {
	src *source
	// buf[at:] was read and not used, offset is where in the whole buf begins.
	buf    []byte
	at     int
	offset int64
	scan   canon.Scanner
}

// rest is what was read and not used.
func (t *text) rest() []byte { return t.buf[t.at:] }

// begin lets the value that comes be as long as an object.
func (t *text) begin() { t.src.begin(t.offset + int64(t.at)) }

// more reads until there is twice as much, so that what is tried again and
// again is no longer altogether than what is read in the end; less only at a
// bound of sizes. An error means that nothing came.
func (t *text) more() error {
	had := len(t.rest())
	t.offset += int64(t.at)
	want := min(2*int64(had), t.src.bound()-t.offset)
	t.buf, t.at = append(t.buf[:0], t.rest()...), 0
	t.buf = slices.Grow(t.buf, max(firstRead, had))
	for {
		n, err := t.src.Read(t.buf[len(t.buf):cap(t.buf)])
		t.buf = t.buf[:len(t.buf)+n]
		switch {
		case len(t.buf) > had && (err != nil || int64(len(t.buf)) >= want):
			return nil
		case err != nil:
			return err
		}
	}
}

// next passes over white space and returns the sign that follows.
func (t *text) next() (byte, error) {
	t.begin()
	for {
		for ; t.at < len(t.buf); t.at++ {
			if c := t.buf[t.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return c, nil
			}
		}
		if err := t.more(); err != nil {
			return 0, err
		}
	}
}

// value reads the next value within the bound of one object; what is returned
// holds until the next call.
func (t *text) value() ([]byte, error) {
	t.begin()
	for {
		v, n, err := t.scan.Next(t.rest())
		switch {
		case err == nil:
			t.at += n
			return v, nil
		case errors.Is(err, canon.ErrShort):
			if t.more() == nil {
				continue
			}
		}
		raw, err := t.raw()
		if err != nil {
			return nil, err
		}
		if v, err = canon.Canonical(raw); err != nil {
			return nil, fmt.Errorf("unreadable list: %w", err)
		}
		return v, nil
	}
}

// raw reads the next value as it is.
func (t *text) raw() ([]byte, error) {
	for {
		dec := json.NewDecoder(bytes.NewReader(t.rest()))
		var raw json.RawMessage
		err := dec.Decode(&raw)
		n := int(dec.InputOffset())
		// A number that ends with the text may go on.
		if (err == nil && n == len(t.rest()) && raw[0] <= '9' && raw[0] != '"' || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && t.more() == nil {
			continue
		}
		if err != nil {
			return nil, t.unreadable(err)
		}
		t.at += n
		return raw, nil
	}
}

// skip passes over the next value, of which nothing is asked but that it is one.
func (t *text) skip() error {
	t.begin()
	_, err := t.raw()
	return err
}

// tree decodes the next value.
func (t *text) tree() (any, error) {
	v, err := t.value()
	if err != nil {
		return nil, err
	}
	return canon.MustDecode(v), nil
}

// key reads a key and its colon.
func (t *text) key() (string, error) {
	c, err := t.next()
	if err != nil {
		return "", t.unreadable(err)
	}
	if c != '"' {
		return "", misplaced(c, "looking for beginning of object key string")
	}
	v, err := t.tree()
	if err != nil {
		return "", err
	}
	name, _ := v.(string)
	switch c, err = t.next(); {
	case err != nil:
		return "", t.unreadable(err)
	case c != ':':
		return "", misplaced(c, "after object key")
	}
	t.at++
	return name, nil
}

// members reads what an object or an array holds, and its end.
func (t *text) members(last byte, what string, each func() error) error {
	for first := true; ; first = false {
		c, err := t.next()
		switch {
		case err != nil:
			return t.unreadable(err)
		case c == last:
			t.at++
			return nil
		case !first && c != ',':
			return misplaced(c, "after "+what)
		}
		if !first {
			t.at++
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// misplaced is a sign that can't be where it is.
func misplaced(c byte, where string) error {
	return fmt.Errorf("unreadable list: invalid character %q %s", c, where)
}

// unreadable prefers what stopped the reading to what the decoder made of it.
func (t *text) unreadable(err error) error {
	switch {
	case t.src.err != nil && !errors.Is(t.src.err, io.EOF):
		return fmt.Errorf("unreadable list: %w", t.src.err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("unreadable list: %w", err)
}

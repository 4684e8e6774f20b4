package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how many objects and arrays may hold each other: more than
// anything that is written by hand or by a platform has.
const maxDepth = 200

// Decode reads exactly one JSON value in UTF-8; numbers stay json.Number in
// their canonical text. Trailing content, a key that stands twice in an object,
// of which one value would be lost, and excessive depth are errors.
func Decode(b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, errors.New("not valid UTF-8")
	}
	if !json.Valid(b) {
		return nil, whyInvalid(b)
	}
	r := &reader{text: b}
	v := r.value(0)
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

// whyInvalid is what is wrong with a text that is not one JSON value.
func whyInvalid(b []byte) error {
	var first json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&first); err != nil {
		return err
	}
	return errors.New("content after the JSON value")
}

// MustDecode reads canonical JSON that this program wrote; anything else is a
// bug, and panics.
func MustDecode(canonical []byte) any {
	v, err := Decode(canonical)
	if err != nil {
		panic(fmt.Sprintf("not canonical JSON: %v", err))
	}
	return v
}

// reader makes a tree of a text that is known to be valid JSON.
type reader struct {
	text []byte
	at   int
	// err is the first reason to refuse it nevertheless.
	err error
}

// value reads the next value; depth is how many hold it.
func (r *reader) value(depth int) any {
	r.space()
	container := r.text[r.at] == '{' || r.text[r.at] == '['
	if container && depth == maxDepth && r.err == nil {
		r.err = fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	switch {
	case r.err != nil:
		return nil
	case r.text[r.at] == '{':
		return r.object(depth)
	case r.text[r.at] == '[':
		return r.array(depth)
	case r.text[r.at] == '"':
		return r.string()
	}
	return r.word()
}

// space passes over white space.
func (r *reader) space() {
	for r.at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n"), r.text[r.at]) >= 0 {
		r.at++
	}
}

// ends reads the sign after a value, and tells whether it is the last one; so
// is everything after an error.
func (r *reader) ends(last byte) bool {
	r.space()
	r.at++
	return r.err != nil || r.text[r.at-1] == last
}

// empty reads the sign that opens an object or an array, and the last one if it
// comes at once.
func (r *reader) empty(last byte) bool {
	r.at++
	r.space()
	if r.text[r.at] != last {
		return false
	}
	r.at++
	return true
}

func (r *reader) object(depth int) any {
	fields := map[string]any{}
	if r.empty('}') {
		return fields
	}
	for {
		r.space()
		key := r.string()
		if _, twice := fields[key]; twice && r.err == nil {
			r.err = fmt.Errorf("one object has the key %.100q twice", key)
		}
		r.ends(':')
		fields[key] = r.value(depth + 1)
		if r.ends('}') {
			return fields
		}
	}
}

func (r *reader) array(depth int) any {
	elements := []any{}
	if r.empty(']') {
		return elements
	}
	for {
		elements = append(elements, r.value(depth+1))
		if r.ends(']') {
			return elements
		}
	}
}

// string reads a text.
func (r *reader) string() string {
	start, plain := r.at, true
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			plain = false
			r.at++
		}
	}
	r.at++
	if plain {
		return string(r.text[start+1 : r.at-1])
	}
	var text string
	_ = json.Unmarshal(r.text[start:r.at], &text) // it is valid
	return text
}

// word reads a number, or null, true or false.
func (r *reader) word() any {
	start := r.at
	for r.at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,]}"), r.text[r.at]) < 0 {
		r.at++
	}
	switch word := string(r.text[start:r.at]); word {
	case "null":
		return nil
	case "true", "false":
		return word == "true"
	default:
		return Number(json.Number(word))
	}
}

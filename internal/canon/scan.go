package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// errSyntax means that a text is not valid JSON. Canonicalize returns the error of encoding/json instead.
var errSyntax = errors.New("wrong syntax")

// maxDepth limits nested objects and arrays: no manifest or answer has more.
const maxDepth = 200

// Canonicalize returns the canonical form of a text that is one JSON value in UTF-8. Anything after the
// value, a duplicate key, and nesting deeper than maxDepth are errors.
func Canonicalize(text []byte) ([]byte, error) {
	s := Converter{out: make([]byte, 0, len(text))}
	return s.Canonicalize(text)
}

// Converter converts JSON to its canonical form in one pass, without a tree. It is for one goroutine, and
// reuses its memory.
type Converter struct {
	in         []byte
	at         int
	out, spare []byte   // out is the canonical form; spare is for sorting a part of it
	members    []member // has the members of the objects whose end is not read yet
	escaped    bool     // a key has an escape, so its bytes do not sort like its text
	err        error
}

// member is a member of an object, as offsets in out: the start of its key with the quote, and the ends
// of key and value.
type member struct{ start, key, end int }

// Canonicalize is as the function. The result is valid until the next call.
func (s *Converter) Canonicalize(text []byte) ([]byte, error) {
	s.in, s.at, s.err, s.escaped = text, 0, nil, false
	s.out, s.members = s.out[:0], s.members[:0]
	s.readValue(0)
	switch {
	case s.err == nil && len(bytes.TrimLeft(text[s.at:], " \t\r\n")) == 0:
		return s.out, nil
	case !utf8.Valid(text):
		return nil, errors.New("not valid UTF-8")
	}
	var first json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&first); err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, errors.New("content after the JSON value")
	}
	return nil, s.err
}

// failWith stops reading with err. It keeps the first error.
func (s *Converter) failWith(err error) {
	if s.err == nil {
		s.err = err
	}
}

// peekByte skips white space and returns the next byte, 0 at the end.
func (s *Converter) peekByte() byte {
	for ; s.at < len(s.in); s.at++ {
		if c := s.in[s.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return max(c, 1) // a 0 byte is an error like 1
		}
	}
	s.failWith(errSyntax)
	return 0
}

// takeByte copies the next byte if it is sign, and reports whether it was.
func (s *Converter) takeByte(sign byte) bool {
	if s.peekByte() != sign {
		return false
	}
	s.at++
	s.out = append(s.out, sign)
	return true
}

// readValue reads a value that is nested in depth others.
func (s *Converter) readValue(depth int) {
	c := s.peekByte()
	if (c == '{' || c == '[') && depth == maxDepth {
		s.failWith(fmt.Errorf("it is nested more than %d deep", maxDepth))
	}
	switch {
	case s.err != nil:
	case c == '"':
		s.readString()
	case s.takeByte('{'):
		s.readObject(depth + 1)
	case s.takeByte('['):
		s.readArray(depth + 1)
	case c == 't':
		s.readLiteral("true")
	case c == 'f':
		s.readLiteral("false")
	case c == 'n':
		s.readLiteral("null")
	default:
		s.readNumber()
	}
}

// hasMore reports whether another value follows in an object or array that ends with last.
func (s *Converter) hasMore(last byte) bool {
	if s.err != nil || s.takeByte(',') {
		return s.err == nil
	}
	if !s.takeByte(last) {
		s.failWith(errSyntax)
	}
	return false
}

func (s *Converter) readArray(depth int) {
	for more := !s.takeByte(']'); more; more = s.hasMore(']') {
		s.readValue(depth)
	}
}

func (s *Converter) readObject(depth int) {
	first, begin, sorted := len(s.members), len(s.out), true
	for more := !s.takeByte('}'); more; more = s.hasMore('}') {
		m := member{start: len(s.out)}
		s.readKey()
		m.key = len(s.out) - 1
		s.readValue(depth)
		if m.end = len(s.out); s.err != nil {
			return
		}
		if len(s.members) > first && s.compareKeys(s.members[len(s.members)-1], m) >= 0 {
			sorted = false
		}
		s.members = append(s.members, m)
	}
	if !sorted && s.err == nil {
		s.sortMembers(s.members[first:], begin)
	}
	s.members = s.members[:first]
}

func (s *Converter) readKey() {
	from := len(s.out)
	if s.peekByte() != '"' {
		s.failWith(errSyntax)
		return
	}
	s.readString()
	s.escaped = s.escaped || bytes.IndexByte(s.out[from:], '\\') >= 0
	if s.err == nil && !s.takeByte(':') {
		s.failWith(errSyntax)
	}
}

func (s *Converter) compareKeys(a, b member) int {
	x, y := s.out[a.start:a.key], s.out[b.start:b.key]
	if s.escaped {
		return strings.Compare(unquoteString(x), unquoteString(y))
	}
	return bytes.Compare(x[1:len(x)-1], y[1:len(y)-1])
}

// sortMembers sorts the members of the object that begins at begin and ends with out.
func (s *Converter) sortMembers(members []member, begin int) {
	slices.SortFunc(members, func(a, b member) int { return s.compareKeys(a, b) })
	for i := 1; i < len(members); i++ {
		if m := members[i]; s.compareKeys(members[i-1], m) == 0 {
			s.failWith(fmt.Errorf("one object has the key %.100q twice", unquoteString(s.out[m.start:m.key])))
		}
	}
	s.spare = append(s.spare[:0], s.out[begin:]...)
	s.out = s.out[:begin]
	for _, m := range members {
		s.out = append(append(s.out, s.spare[m.start-begin:m.end-begin]...), ',')
	}
	s.out[len(s.out)-1] = '}'
}

func (s *Converter) readString() {
	end, plain, ascii := s.findStringEnd()
	if s.err != nil {
		return
	}
	quoted := s.in[s.at:end]
	s.at = end
	switch {
	case !ascii && !utf8.Valid(quoted):
		s.failWith(errSyntax)
	case plain:
		s.out = append(s.out, quoted...)
	case !json.Valid(quoted):
		s.failWith(errSyntax)
	default:
		s.out = appendString(s.out, unquoteString(quoted))
	}
}

// findStringEnd returns the end of a JSON string. plain reports whether Append would write each of its
// escapes, so that the string can be copied.
func (s *Converter) findStringEnd() (end int, plain, ascii bool) {
	plain, ascii = true, true
	for end = s.at + 1; end < len(s.in); end++ {
		c := s.in[end]
		if c > '"' && c < utf8.RuneSelf && c != '\\' {
			continue
		}
		switch {
		case c == '"':
			return end + 1, plain, ascii
		case c < ' ':
			s.failWith(errSyntax)
			return end, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		case c == '\\':
			if end++; end < len(s.in) {
				plain = plain && strings.IndexByte(`"\ntrbf`, s.in[end]) >= 0
			}
		}
	}
	s.failWith(errSyntax)
	return end, false, false
}

func (s *Converter) readLiteral(word string) {
	if !bytes.HasPrefix(s.in[s.at:], []byte(word)) {
		s.failWith(errSyntax)
		return
	}
	s.at += len(word)
	s.out = append(s.out, word...)
}

func (s *Converter) readNumber() {
	end := s.at
	for end < len(s.in) && (s.in[end] >= '0' && s.in[end] <= '9' || bytes.IndexByte([]byte("-+.eE"), s.in[end]) >= 0) {
		end++
	}
	text := s.in[s.at:end]
	switch {
	case isCanonicalInteger(string(text)) || isCanonicalDecimal(string(text)):
		s.out = append(s.out, text...)
	case json.Valid(text):
		s.out = append(s.out, Number(json.Number(text))...)
	default:
		s.failWith(errSyntax)
	}
	s.at = end
}

// Members iterates over the members of an object in canonical JSON: keys without quotes but with
// escapes, and values. Another value has none. It copies nothing.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for at := 1; at < len(object) && object[0] == '{' && object[at] == '"'; {
			colon := valueEnd(object, at)
			end := valueEnd(object, colon+1)
			if !yield(object[at+1:colon-1], object[colon+1:end]) {
				return
			}
			at = end + 1
		}
	}
}

// UnquoteKey returns a key that Members yields without escapes.
func UnquoteKey(key []byte) string {
	return unquoteString(slices.Concat([]byte{'"'}, key, []byte{'"'}))
}

// Elements iterates over the elements of an array in canonical JSON. It copies nothing.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func(element []byte) bool) {
		for at := 1; at < len(array)-1; {
			end := valueEnd(array, at)
			if !yield(array[at:end]) {
				return
			}
			at = end + 1
		}
	}
}

// CountValues counts a value in canonical JSON and all below it.
func CountValues(b []byte) int {
	n := 1
	for at := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			at = valueEnd(b, at) - 1
		case ',':
			n++
		case '{', '[':
			if b[at+1] != b[at]+2 { // the bracket that closes it
				n++
			}
		}
	}
	return n
}

// valueEnd returns the end of the value that starts at an offset of canonical JSON.
func valueEnd(b []byte, at int) int {
	for depth := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			for at++; b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return at // after a number or a word
			}
			if b[at] == ',' {
				continue
			}
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(b)
}

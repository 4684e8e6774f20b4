package api

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// errInvalidUTF8 is an answer that is not text.
var errInvalidUTF8 = errors.New("not valid UTF-8")

// source is the body of a list on its way to the decoder: it holds the bounds
// of sizes, checks the encoding, and remembers what stopped it.
type source struct {
	r io.Reader
	// read counts bytes; limit is where the present value must have ended.
	read, limit int64
	// object is the bound of one value, list that of all; most is what the bound
	// of all was before earlier pages took their part of it.
	object, list, most int64
	// tail is the head of a character that the last read cut.
	tail []byte
	// err is what stopped the reading for good, for a decoder may ask again
	// after an error.
	err error
}

// begin starts a value at an offset: it may be as long as an object.
func (s *source) begin(offset int64) { s.limit = offset + s.object }

// bound is how far it may be read now.
func (s *source) bound() int64 { return min(s.limit, s.list) }

// Read reads up to the bounds.
func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	bound := s.bound()
	if s.read >= bound {
		s.err = s.tooLarge()
		return 0, s.err
	}
	if room := bound - s.read; int64(len(p)) > room {
		p = p[:room]
	}
	var n int
	n, s.err = s.r.Read(p)
	s.read += int64(n)
	if !s.valid(p[:n]) {
		s.err = errInvalidUTF8
		return 0, s.err
	}
	return n, s.err
}

func (s *source) tooLarge() error {
	if s.read >= s.list {
		return fmt.Errorf("the list is larger than %s", size(s.most))
	}
	return fmt.Errorf("an object is larger than %s", size(s.object))
}

// valid checks the encoding across the borders of reads.
func (s *source) valid(p []byte) bool {
	for len(s.tail) > 0 && len(p) > 0 && !utf8.FullRune(s.tail) {
		s.tail = append(s.tail, p[0])
		p = p[1:]
	}
	if len(s.tail) > 0 && utf8.FullRune(s.tail) {
		if !utf8.Valid(s.tail) {
			return false
		}
		s.tail = s.tail[:0]
	}
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if head := p[len(p)-back:]; utf8.RuneStart(head[0]) {
			if !utf8.FullRune(head) {
				s.tail = append(s.tail, head...)
				p = p[:len(p)-back]
			}
			break
		}
	}
	return utf8.Valid(p)
}

// size writes a number of bytes for people.
func size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

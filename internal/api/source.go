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
// of sizes, checks the encoding, and remembers whether an error was the
// connection's or the content's.
type source struct {
	r io.Reader
	// read counts bytes; limit is where the present value must have ended.
	read, limit int64
	// object is the bound of one value; list, with over, that of all.
	object, list int64
	// tail is the head of a character that the last read cut.
	tail []byte
	// err is what stopped the reading, nil or io.EOF where nothing went wrong;
	// content says that what was read is at fault, and not the connection.
	err     error
	content bool
}

// begin starts a value at an offset: it may be as long as an object.
func (s *source) begin(offset int64) { s.limit = offset + s.object }

// Read reads up to the bounds.
func (s *source) Read(p []byte) (int, error) {
	bound := min(s.limit, s.list)
	if s.read >= bound {
		s.content = true
		s.err = fmt.Errorf("an object is larger than %s", size(s.object))
		if s.read >= s.list {
			s.err = fmt.Errorf("the list is larger than %s", size(s.list))
		}
		return 0, s.err
	}
	if room := bound - s.read; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := s.r.Read(p)
	s.read += int64(n)
	if !s.valid(p[:n]) {
		s.content, s.err = true, errInvalidUTF8
		return 0, s.err
	}
	if err != nil {
		s.err = err
	}
	return n, err
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

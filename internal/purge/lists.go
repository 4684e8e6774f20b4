package purge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ListEntry is an entry of a list, and its line number from 1.
type ListEntry struct {
	Text string
	Line int
}

// maxLine limits a line of a list, in bytes: no server accepts a longer address.
const maxLine = 64 << 10

// ReadLines reads a list with one entry a line. It skips blank lines and those that start with #, and trims entries.
func ReadLines(r io.Reader) ([]ListEntry, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	var list []ListEntry
	for n := 1; s.Scan(); n++ {
		line := s.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if text := strings.TrimSpace(string(line)); text != "" && text[0] != '#' {
			list = append(list, ListEntry{text, n})
		}
	}
	err := s.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it has a line of more than %d bytes: write one entry a line", maxLine)
	}
	return list, err
}

package manifest

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// maxSourceLine bounds the line that a finding carries: JSON may be one line.
const maxSourceLine = 2000

// lines finds the lines of a file. It builds its index on first use, because most files have no finding.
type lines struct {
	data   []byte
	starts []int
	near   spot // where at looked last
}

// spot is a line, a column, and their offset in the text.
type spot struct{ line, column, at int }

// text returns a line, from 1, without its line break, or "" if it is too long to show or may have a password.
func (l *lines) text(line int) string {
	if b := l.bytes(line); len(b) <= maxSourceLine && (bytes.IndexByte(b, '@') < 0 || !login().Match(b)) {
		return string(b)
	}
	return ""
}

// bytes returns a line, from 1, without its line break.
func (l *lines) bytes(line int) []byte {
	if l == nil || line < 1 || line > l.count() {
		return nil
	}
	return bytes.TrimRight(l.data[l.offset(line):l.offset(line+1)], "\r\n")
}

// offset returns where a line starts, or the end of the file.
func (l *lines) offset(line int) int {
	if line > l.count() {
		return len(l.data)
	}
	return l.starts[max(line, 1)-1]
}

// endOf returns where the text of a line ends, before its line break.
func (l *lines) endOf(line int) int { return l.offset(line) + len(l.bytes(line)) }

// count counts the lines, as git and editors do.
func (l *lines) count() int {
	if l.starts == nil {
		l.starts = make([]int, 1, bytes.Count(l.data, []byte("\n"))+2)
		for i, c := range l.data {
			if c == '\n' {
				l.starts = append(l.starts, i+1)
			}
		}
	}
	return len(l.starts)
}

// position returns the line and column of an offset.
func (l *lines) position(offset int) (line, column int) {
	line = min(sort.Search(l.count(), func(i int) bool { return l.starts[i] > offset }), l.count())
	return line, utf8.RuneCount(l.data[l.starts[line-1]:offset]) + 1
}

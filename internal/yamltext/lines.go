package yamltext

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// maxSourceLine bounds the line that a finding carries: JSON may be one line.
const maxSourceLine = 2000

// LineIndex finds the lines of a file. It builds its index on first use, because most files have no finding.
type LineIndex struct {
	Data   []byte
	starts []int
	near   textSpot // where at looked last
}

// textSpot is a line, a column, and their offset in the text.
type textSpot struct{ line, column, at int }

// Text returns a line, from 1, without its line break, or "" if it is too long to show or may have a password.
func (l *LineIndex) Text(line int) string {
	if b := l.Bytes(line); len(b) <= maxSourceLine && (bytes.IndexByte(b, '@') < 0 || !login().Match(b)) {
		return string(b)
	}
	return ""
}

// Bytes returns a line, from 1, without its line break.
func (l *LineIndex) Bytes(line int) []byte {
	if l == nil || line < 1 || line > l.Count() {
		return nil
	}
	return bytes.TrimRight(l.Data[l.Offset(line):l.Offset(line+1)], "\r\n")
}

// Offset returns where a line starts, or the end of the file.
func (l *LineIndex) Offset(line int) int {
	if line > l.Count() {
		return len(l.Data)
	}
	return l.starts[max(line, 1)-1]
}

// EndOf returns where the text of a line ends, before its line break.
func (l *LineIndex) EndOf(line int) int { return l.Offset(line) + len(l.Bytes(line)) }

// Count counts the lines, as git and editors do.
func (l *LineIndex) Count() int {
	if l.starts == nil {
		l.starts = make([]int, 1, bytes.Count(l.Data, []byte("\n"))+2)
		for i, c := range l.Data {
			if c == '\n' {
				l.starts = append(l.starts, i+1)
			}
		}
	}
	return len(l.starts)
}

// Position returns the line and column of an offset.
func (l *LineIndex) Position(offset int) (line, column int) {
	line = min(sort.Search(l.Count(), func(i int) bool { return l.starts[i] > offset }), l.Count())
	return line, utf8.RuneCount(l.Data[l.starts[line-1]:offset]) + 1
}

// Offset returns the byte offset of a column, from 0 and in characters, in a line.
func Offset(line string, column int) int {
	at := 0
	for ; column > 0 && at < len(line); column-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

package manifest

import (
	"bytes"
	"slices"
)

// ReplaceIn returns the file that the object stands in with another document in
// the object's place; data is the file as it was loaded. The documents around it
// stay byte by byte, and the line ends are the file's; the object's own comments
// go.
func (o *Object) ReplaceIn(data, text []byte) []byte {
	in := lines{data: data}
	first := 0
	for line := o.Line; line >= 1; line-- {
		if parting().Match(in.bytes(line)) {
			first = line
			break
		}
	}
	if first == o.Line {
		text = slices.Concat([]byte("---\n"), text) // the document begins behind its hyphens
	} else {
		first++
	}
	last := o.Line
	for last < in.count() && !parting().Match(in.bytes(last+1)) {
		last++
	}
	if newSource(data).crlf {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return slices.Concat(data[:in.offset(first)], text, data[in.offset(last+1):])
}

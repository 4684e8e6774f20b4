package manifest

import (
	"cmp"
	"encoding/binary"
	"strconv"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// lineColumn is a line and a column, from 1, in characters.
type lineColumn struct{ line, column uint32 }

func newLineColumn(line, column int) lineColumn { return lineColumn{uint32(line), uint32(column)} }

// encodedPlaces encodes places in order, each as the lines since the one before and the column. Most take two
// bytes, because every object keeps its places in memory.
type encodedPlaces []byte

// appendPosition appends a place that comes after another.
func (p encodedPlaces) appendPosition(before, next lineColumn) encodedPlaces {
	p = binary.AppendVarint(p, int64(next.line)-int64(before.line))
	return binary.AppendUvarint(p, uint64(next.column))
}

// jsonWithPlaces are a document in canonical JSON, with the place of each of its nodes in the same order.
type jsonWithPlaces struct {
	json   []byte
	places encodedPlaces
}

// Position returns the line and column, from 1 and in characters, of a field such as
// spec.locations[2].cache.edgeTTL, or of its nearest existing parent. It returns 0, 0 for an object that
// was not read from a file.
func (o *Object) Position(field string) (line, column int) {
	at := o.Positions([]string{field})[0]
	return at[0], at[1]
}

// Positions returns the lines and columns of several fields, as Position does, and reads the object only once.
func (o *Object) Positions(fields []string) [][2]int {
	found := map[string]lineColumn{}
	parents := make([][]string, len(fields))
	for i, field := range fields {
		parents[i] = withParents(field)
		for _, path := range parents[i] {
			found[path] = lineColumn{}
		}
	}
	(&placeFinder{places: o.positions.places, found: found}).scanValue("", true, o.positions.json)
	out := make([][2]int, len(fields))
	for i := range fields {
		at := newLineColumn(o.Line, o.Column)
		for _, path := range parents[i] {
			at = cmp.Or(found[path], at)
		}
		out[i] = [2]int{int(at.line), int(at.column)}
	}
	return out
}

// withParents returns the paths of all parents of a field, and its own: spec, spec.locations,
// spec.locations[2].
func withParents(field string) (all []string) {
	path := ""
	for _, step := range kind.PathSteps(field) {
		if name, inBrackets := kind.StepName(step); inBrackets && step[1] != '"' {
			path += step
		} else {
			path = kind.JoinField(path, name)
		}
		all = append(all, path)
	}
	return all
}

// placeFinder reads the places of a value in order, and sets those of the paths in found.
type placeFinder struct {
	places encodedPlaces
	last   lineColumn
	found  map[string]lineColumn
	buffer []byte
}

// scanValue reads the places of a value and of all below it. It builds paths only below those in found,
// because building all would take most of the time.
func (w *placeFinder) scanValue(path string, named bool, json []byte) {
	w.readPlace()
	if named && path != "" {
		if _, named = w.found[path]; named {
			w.found[path] = w.last
		}
	}
	switch {
	case !named:
		for range canon.CountValues(json) - 1 {
			w.readPlace()
		}
	case json[0] == '{':
		for key, v := range canon.Members(json) {
			w.scanValue(kind.JoinField(path, unescapeName(string(key))), true, v)
		}
	case json[0] == '[':
		i := 0
		for v := range canon.Elements(json) {
			at := w.wantedPath(path, i)
			w.scanValue(at, at != "", v)
			i++
		}
	}
}

// readPlace reads the next place. An object that was not read from a file has none.
func (w *placeFinder) readPlace() {
	lines, n := binary.Varint(w.places)
	column, m := binary.Uvarint(w.places[max(n, 0):])
	if n > 0 && m > 0 {
		w.places, w.last = w.places[n+m:], lineColumn{uint32(int64(w.last.line) + lines), uint32(column)}
	}
}

// wantedPath returns the path of an element if it is in found, or "". It builds no other string.
func (w *placeFinder) wantedPath(list string, i int) string {
	w.buffer = append(strconv.AppendInt(append(append(w.buffer[:0], list...), '['), int64(i), 10), ']')
	if _, ok := w.found[string(w.buffer)]; ok {
		return string(w.buffer)
	}
	return ""
}

// unescapeName reads a name as JSON has it between quotes.
func unescapeName(name string) string {
	if strings.Contains(name, `\`) {
		name, _ = strconv.Unquote(`"` + name + `"`) // JSON's escapes are Go's
	}
	return name
}

// placeFindings sets the line and column of findings that have none. It looks for all at once, because finding one reads the whole object.
func (o *Object) placeFindings(all diag.List, text *LineIndex) {
	var found []*diag.Finding
	var fields []string
	for i := range all {
		if x := &all[i]; x.Line == 0 {
			found, fields = append(found, x), append(fields, x.Field)
		}
	}
	if fields == nil {
		return
	}
	for i, at := range o.Positions(fields) {
		found[i].Line, found[i].Column, found[i].Source = at[0], at[1], text.Text(at[0])
	}
}

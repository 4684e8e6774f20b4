package manifest

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
)

// place is a line and a column, from 1, in characters.
type place struct{ line, column uint32 }

func newPlace(line, column int) place { return place{uint32(line), uint32(column)} }

// places are one place after the other: how many lines it is from the one before,
// and its column, in two bytes for nearly all. Objects wait with theirs.
type places []byte

// add appends a place behind another.
func (p places) add(before, next place) places {
	p = binary.AppendVarint(p, int64(next.line)-int64(before.line))
	return binary.AppendUvarint(p, uint64(next.column))
}

// next takes the first place off, which stands behind another; ok is false where
// there is none.
func (p places) next(before place) (next place, rest places, ok bool) {
	if len(p) == 0 {
		return before, nil, false
	}
	lines, n := binary.Varint(p)
	column, m := binary.Uvarint(p[n:])
	return place{uint32(int64(before.line) + lines), uint32(column)}, p[n+m:], true
}

// skeleton is a value in canonical JSON with one place for each of its nodes,
// in the order in which the nodes stand in the JSON.
type skeleton struct {
	json   []byte
	places places
}

// positions tell where the fields of an object stand. The spec's JSON is the
// object's own; head is the rest of the document, with null for the spec.
type positions struct {
	head skeleton
	spec places
}

// Place returns the line and column, from 1 and in characters, of a field such
// as spec.locations[2].cache.edgeTTL, or of its nearest parent that is there;
// 0, 0 for an object that was not read from a file.
func (o *Object) Place(field string) (line, column int) {
	steps := splitField(field)
	if len(steps) == 0 {
		return o.Line, o.Column
	}
	var p place
	var depth int
	if steps[0] == "spec" && len(o.positions.spec) > 0 {
		p, depth = skeleton{o.Spec, o.positions.spec}.find(steps[1:])
		depth++
	} else {
		p, depth = o.positions.head.find(steps)
	}
	if depth == 0 || p == (place{}) {
		return o.Line, o.Column
	}
	return int(p.line), int(p.column)
}

// splitField takes a path apart; an index becomes its digits, which is how
// find sees the elements of a list.
func splitField(field string) []string {
	var steps []string
	for field != "" {
		switch {
		case field[0] == '.':
			field = field[1:]
		case strings.HasPrefix(field, `["`):
			quoted, err := strconv.QuotedPrefix(field[1:])
			if err != nil {
				return steps
			}
			name, _ := strconv.Unquote(quoted)
			steps = append(steps, name)
			field = strings.TrimPrefix(field[1+len(quoted):], "]")
		case field[0] == '[':
			index, rest, _ := strings.Cut(field[1:], "]")
			steps, field = append(steps, index), rest
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			steps, field = append(steps, field[:end]), field[end:]
		}
	}
	return steps
}

// find follows the steps as far as they go and returns the place of the last
// node reached and how many steps that took.
func (s skeleton) find(steps []string) (p place, depth int) {
	w := walker{skeleton: s}
	for w.pass() {
		p = w.place
		if depth == len(steps) || !w.enter(steps[depth]) {
			return p, depth
		}
		depth++
	}
	return p, depth
}

// walker moves over canonical JSON and takes the places of the nodes that it
// passes.
type walker struct {
	skeleton
	at int
	// place is that of the node which was passed last.
	place place
}

// pass goes past the start of a node, and tells whether its place is known.
func (w *walker) pass() (ok bool) {
	w.place, w.places, ok = w.places.next(w.place)
	return ok
}

// enter moves from a mapping or list that was passed to the start of the member
// that the step names, and tells whether there is one.
func (w *walker) enter(step string) bool {
	open := w.json[w.at]
	if open != '{' && open != '[' || w.json[w.at+1] == open+2 {
		return false
	}
	want := string(canon.Append(nil, step))
	w.at++
	for i := 0; ; i++ {
		key := strconv.Itoa(i)
		if open == '{' {
			start := w.at
			w.skipText()
			key = string(w.json[start:w.at])
			w.at++
		}
		if key == want || open == '[' && key == step {
			return true
		}
		w.skip()
		if w.json[w.at] != ',' {
			return false
		}
		w.at++
	}
}

// skip moves behind a value.
func (w *walker) skip() {
	w.pass()
	w.skipValue()
}

// skipValue moves behind a value of which the start was passed.
func (w *walker) skipValue() {
	switch open := w.json[w.at]; open {
	case '"':
		w.skipText()
	case '{', '[':
		w.at++
		for w.json[w.at] != open+2 {
			if open == '{' {
				w.skipText()
				w.at++
			}
			w.skip()
			if w.json[w.at] == ',' {
				w.at++
			}
		}
		w.at++
	default:
		for w.at < len(w.json) && strings.IndexByte(",]}", w.json[w.at]) < 0 {
			w.at++
		}
	}
}

// skipText moves behind a text.
func (w *walker) skipText() {
	for w.at++; w.json[w.at] != '"'; w.at++ {
		if w.json[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}

// Places returns what Place does for each of the fields, as lines and columns;
// it reads the object once for all of them.
func (o *Object) Places(fields []string) [][2]int {
	head, spec := &wanted{}, &wanted{}
	for i, field := range fields {
		steps := splitField(field)
		if len(steps) > 0 && steps[0] == "spec" && len(o.positions.spec) > 0 {
			spec.add(steps[1:], i)
		} else {
			head.add(steps, i)
		}
	}
	found := make([]place, len(fields))
	for i := range found {
		found[i] = place{uint32(o.Line), uint32(o.Column)}
	}
	head.all = nil // the document as a whole has the object's own place
	head.find(&walker{skeleton: o.positions.head}, found)
	spec.find(&walker{skeleton: skeleton{o.Spec, o.positions.spec}}, found)
	out := make([][2]int, len(fields))
	for i, p := range found {
		out[i] = [2]int{int(p.line), int(p.column)}
	}
	return out
}

// wanted are the fields below a value whose places are asked for, by their first
// steps as JSON writes them.
type wanted struct {
	below map[string]*wanted
	// all are the numbers of the fields here and below.
	all []int
}

func (w *wanted) add(steps []string, number int) {
	for _, step := range steps {
		w.all = append(w.all, number)
		name := string(canon.Append(nil, step))
		next := w.below[name]
		if next == nil {
			next = &wanted{}
			if w.below == nil {
				w.below = map[string]*wanted{}
			}
			w.below[name] = next
		}
		w = next
	}
	w.all = append(w.all, number)
}

// find notes the place of the value at which the walker stands for all that is
// wanted here or below, goes on to what is there of that, and moves behind it.
func (w *wanted) find(at *walker, found []place) {
	if !at.pass() {
		return
	}
	if at.place != (place{}) {
		for _, number := range w.all {
			found[number] = at.place
		}
	}
	open := at.json[at.at]
	if len(w.below) == 0 || open != '{' && open != '[' {
		at.skipValue()
		return
	}
	at.at++
	for i := 0; at.json[at.at] != open+2; i++ {
		name := strconv.Quote(strconv.Itoa(i))
		if open == '{' {
			start := at.at
			at.skipText()
			name = string(at.json[start:at.at])
			at.at++
		}
		if next := w.below[name]; next != nil {
			next.find(at, found)
		} else {
			at.skip()
		}
		if at.json[at.at] == ',' {
			at.at++
		}
	}
	at.at++
}

// positions are what a converter found, copied into one piece.
func (c *converter) positions() positions {
	all := slices.Concat(c.head.json, c.head.places, c.spec.places)
	head, spec := len(c.head.json), len(c.head.json)+len(c.head.places)
	return positions{skeleton{all[:head], all[head:spec]}, all[spec:]}
}

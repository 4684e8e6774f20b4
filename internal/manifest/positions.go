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

// places are places one after the other, each as the number of lines from the one
// before and its column. Nearly all take two bytes: every object keeps its own.
type places []byte

// add appends a place that comes after another.
func (p places) add(before, next place) places {
	p = binary.AppendVarint(p, int64(next.line)-int64(before.line))
	return binary.AppendUvarint(p, uint64(next.column))
}

// next returns the first place, which comes after another, and the rest; ok is
// false if there is none.
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

// positions say where the fields of an object stand. The spec's JSON is the
// object's own; head is the rest of the document, with null for the spec.
type positions struct {
	head skeleton
	spec places
}

// Place returns the line and column, from 1 and in characters, of a field such
// as spec.locations[2].cache.edgeTTL, or of its nearest parent that is there;
// 0, 0 for an object that was not read from a file.
func (o *Object) Place(field string) (line, column int) {
	at := o.Places([]string{field})[0]
	return at[0], at[1]
}

// Places returns the lines and columns of fields, as Place does; it reads the
// object once for all of them.
func (o *Object) Places(fields []string) [][2]int {
	head, spec := &query{}, &query{}
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
		found[i] = newPlace(o.Line, o.Column)
	}
	head.all = nil // the document as a whole has the object's own place
	head.find(&jsonWalker{skeleton: o.positions.head}, found)
	spec.find(&jsonWalker{skeleton: skeleton{o.Spec, o.positions.spec}}, found)
	out := make([][2]int, len(fields))
	for i, p := range found {
		out[i] = [2]int{int(p.line), int(p.column)}
	}
	return out
}

// splitField takes a path apart; an index becomes its digits, which is how
// a query names the elements of a list.
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

// jsonWalker moves over canonical JSON and takes the place of each node that it
// passes.
type jsonWalker struct {
	skeleton
	at int
	// place is that of the last node.
	place place
}

// pass takes the place of the next node, and reports whether there is one.
func (w *jsonWalker) pass() (ok bool) {
	w.place, w.places, ok = w.places.next(w.place)
	return ok
}

// members calls visit at the value of each member or element of what the walker is
// at, with its index and, for a member, its name as JSON. It moves behind all.
func (w *jsonWalker) members(visit func(i int, name []byte)) {
	open := w.json[w.at]
	w.at++
	for i := 0; w.json[w.at] != open+2; i++ { // ] is [+2, and } is {+2
		start := w.at
		if open == '{' {
			w.skipText()
			w.at++
		}
		visit(i, w.json[start:max(start, w.at-1)])
		if w.json[w.at] == ',' {
			w.at++
		}
	}
	w.at++
}

// skip moves behind a value whose place was taken.
func (w *jsonWalker) skip() {
	switch w.json[w.at] {
	case '"':
		w.skipText()
	case '{', '[':
		w.members(func(int, []byte) {
			w.pass()
			w.skip()
		})
	default:
		for w.at < len(w.json) && strings.IndexByte(",]}", w.json[w.at]) < 0 {
			w.at++
		}
	}
}

// skipText moves behind a text.
func (w *jsonWalker) skipText() {
	for w.at++; w.json[w.at] != '"'; w.at++ {
		if w.json[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}

// query is the places that are asked for at and below a value; members have their
// names as JSON.
type query struct {
	below map[string]*query
	// all are the numbers of the fields at and below the value.
	all []int
}

func (q *query) add(steps []string, number int) {
	for _, step := range steps {
		q.all = append(q.all, number)
		name := string(canon.Append(nil, step))
		next := q.below[name]
		if next == nil {
			next = &query{}
			if q.below == nil {
				q.below = map[string]*query{}
			}
			q.below[name] = next
		}
		q = next
	}
	q.all = append(q.all, number)
}

// find notes the place of the value at the walker for all fields at and below it,
// then the places of those below, and moves behind the value.
func (q *query) find(at *jsonWalker, found []place) {
	if !at.pass() {
		return
	}
	if at.place != (place{}) {
		for _, number := range q.all {
			found[number] = at.place
		}
	}
	open := at.json[at.at]
	if len(q.below) == 0 || open != '{' && open != '[' {
		at.skip()
		return
	}
	elements := map[int]*query{}
	for name, next := range q.below {
		if i, err := strconv.Atoi(strings.Trim(name, `"`)); err == nil && open == '[' {
			elements[i] = next
		}
	}
	at.members(func(i int, name []byte) {
		next := elements[i]
		if open == '{' {
			next = q.below[string(name)]
		}
		if next != nil {
			next.find(at, found)
		} else {
			at.pass()
			at.skip()
		}
	})
}

// positions are what a converter found, copied into one piece.
func (c *converter) positions() positions {
	all := slices.Concat(c.head.json, c.head.places, c.spec.places)
	head, spec := len(c.head.json), len(c.head.json)+len(c.head.places)
	return positions{skeleton{all[:head], all[head:spec]}, all[spec:]}
}

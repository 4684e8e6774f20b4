package manifest

import (
	"strconv"
	"strings"

	"trueup/internal/canon"
)

// place is a line and a column, from 1, in characters.
type place struct{ line, column uint32 }

// skeleton is a value in canonical JSON with one place for each of its nodes,
// in the order in which the nodes stand in the JSON.
type skeleton struct {
	json   []byte
	places []place
}

// positions tell where the fields of an object stand. The spec's JSON is the
// object's own; head is the rest of the document, with null for the spec.
type positions struct {
	head skeleton
	spec []place
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
	for {
		if w.node >= len(s.places) {
			return p, depth
		}
		p = s.places[w.node]
		if depth == len(steps) || !w.enter(steps[depth]) {
			return p, depth
		}
		depth++
	}
}

// walker moves over canonical JSON and counts the nodes that it passes.
type walker struct {
	skeleton
	at   int
	node int
}

// enter moves from the start of a mapping or list to the start of the member
// that the step names, and tells whether there is one.
func (w *walker) enter(step string) bool {
	open := w.json[w.at]
	if open != '{' && open != '[' || w.json[w.at+1] == open+2 {
		return false
	}
	want := string(canon.Append(nil, step))
	w.at++
	w.node++
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
	switch open := w.json[w.at]; open {
	case '"':
		w.node++
		w.skipText()
	case '{', '[':
		w.node++
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
		w.node++
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
	if at.node >= len(at.places) {
		return
	}
	if p := at.places[at.node]; p != (place{}) {
		for _, number := range w.all {
			found[number] = p
		}
	}
	open := at.json[at.at]
	if len(w.below) == 0 || open != '{' && open != '[' {
		at.skip()
		return
	}
	at.at++
	at.node++
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

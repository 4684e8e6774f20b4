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

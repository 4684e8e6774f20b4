package effect

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func at(steps ...any) []any { return steps }

// line is a change at a place of live and of what the patch makes of it.
func line(path string, live, after []any, was, is any, moved bool) ShownChange {
	return ShownChange{path, steps(live, after), was, is, moved}
}

func steps(live, after []any) []PathStep {
	all := make([]PathStep, len(live))
	for i := range live {
		if name, ok := live[i].(string); ok {
			all[i].Field = name
		} else {
			all[i] = PathStep{Element: true, Live: live[i].(int), After: after[i].(int)}
		}
	}
	return all
}

// TestUnshown: each request changes something, or a line says something, that the
// other does not.
func TestUnshown(t *testing.T) {
	const live = `{"a":"1","b":{"c":2,"d":true},"l":[{"n":"x","v":1,"w":1},{"n":"y","v":2}],"s":["p","q"]}`
	value := func(text string) any { return parsed(t, text) }
	for name, c := range map[string]struct {
		body  string
		lines []ShownChange
		want  []string
	}{
		"nothing":              {`{"spec":{}}`, nil, nil},
		"the same, typed":      {`{"spec":{"a":1,"b":{"c":"2","d":"true"}}}`, nil, nil},
		"a scalar":             {`{"spec":{"a":"2"}}`, nil, []string{"this request would also change spec.a"}},
		"a scalar, shown":      {`{"spec":{"a":"2"}}`, []ShownChange{line("a", at("a"), at("a"), "1", "2", false)}, nil},
		"another value":        {`{"spec":{"a":"3"}}`, []ShownChange{line("a", at("a"), at("a"), "1", "2", false)}, []string{"the plan's change of a differs from what this request does"}},
		"another value before": {`{"spec":{"a":"2"}}`, []ShownChange{line("a", at("a"), at("a"), "0", "2", false)}, []string{"the plan's change of a differs from what this request does"}},
		"a line too many":      {`{"spec":{}}`, []ShownChange{line("a", at("a"), at("a"), "1", "2", false)}, []string{"the plan's change of a differs from what this request does"}},
		"a line of what stays": {`{"spec":{}}`, []ShownChange{line("a", at("a"), at("a"), "1", "1", false)}, []string{"the plan's change of a differs from what this request does"}},
		"another name":         {`{"spec":{"a":"2"}}`, []ShownChange{line("b", at("a"), at("a"), "1", "2", false)}, []string{"the plan shows a change of b, but that path names another value"}},
		"removed with all":     {`{"spec":{"b":null}}`, []ShownChange{line("b", at("b"), at("b"), value(`{"c":2,"d":true}`), nil, false)}, nil},
		"removed in part":      {`{"spec":{"b":{"c":null}}}`, nil, []string{"this request would also change spec.b.c"}},
		"an object for text":   {`{"spec":{"a":{"x":null}}}`, nil, []string{"this request would also change spec.a"}},
		"beside the spec":      {`{"spec":{},"metadata":{"name":"z"}}`, nil, []string{"this request would also change metadata"}},
		"a precondition":       {`{"spec":{},"metadata":{"resourceVersion":"7"}}`, nil, nil},
		"no JSON":              {`{`, nil, []string{"the request is not JSON: unexpected EOF"}},
		"a field of an element": {
			`{"spec":{"l":[{"n":"x","v":1,"w":1},{"n":"y","v":3}]}}`,
			[]ShownChange{line("l[y].v", at("l", 1, "v"), at("l", 1, "v"), value("2"), value("3"), false)},
			nil,
		},
		"a field of an element that another line names": {
			`{"spec":{"l":[{"n":"x","v":1,"w":1},{"n":"y","v":3}]}}`,
			[]ShownChange{line("l[x].v", at("l", 1, "v"), at("l", 1, "v"), value("2"), value("3"), false)},
			[]string{"the plan shows a change of l[x].v, but that path names another value"},
		},
		"a field that an element loses": {
			`{"spec":{"l":[{"n":"x","v":1},{"n":"y","v":3}]}}`,
			[]ShownChange{line("l[y].v", at("l", 1, "v"), at("l", 1, "v"), value("2"), value("3"), false)},
			[]string{"this request would also change spec.l[0].w"},
		},
		"an element dropped": {`{"spec":{"l":[{"n":"x","v":1,"w":1}]}}`, nil, []string{"this request would also add, drop or move elements of spec.l"}},
		"an element dropped, shown": {
			`{"spec":{"l":[{"n":"y","v":2}]}}`,
			[]ShownChange{line("l[x]", at("l", 0), at("l", -1), value(`{"n":"x","v":1,"w":1}`), nil, false)},
			nil,
		},
		"another element dropped": {
			`{"spec":{"l":[{"n":"x","v":1,"w":1}]}}`,
			[]ShownChange{line("l[x]", at("l", 0), at("l", -1), value(`{"n":"x","v":1,"w":1}`), nil, false)},
			[]string{"this request would also change spec.l[1].n", "this request would also change spec.l[1].v", "this request would also change spec.l[1].w"},
		},
		"an element added, shown": {
			`{"spec":{"l":[{"n":"z"},{"n":"x","v":1,"w":1},{"n":"y","v":2}]}}`,
			[]ShownChange{line("l[z]", at("l", -1), at("l", 0), nil, value(`{"n":"z"}`), false)},
			nil,
		},
		"one element for another, shown": {
			`{"spec":{"l":[{"n":"x","v":1,"w":1},{"n":"z"}]}}`,
			[]ShownChange{line("l[z]", at("l", -1), at("l", 1), nil, value(`{"n":"z"}`), false), line("l[y]", at("l", 1), at("l", -1), value(`{"n":"y","v":2}`), nil, false)},
			nil,
		},
		"moved":        {`{"spec":{"s":["q","p"]}}`, nil, []string{"this request would also change spec.s[0]", "this request would also change spec.s[1]"}},
		"moved, shown": {`{"spec":{"s":["q","p"]}}`, []ShownChange{line("s[q]", at("s", 1), at("s", 0), nil, nil, true)}, nil},
		"moved and changed": {
			`{"spec":{"l":[{"n":"y","v":9},{"n":"x","v":1,"w":1}]}}`,
			[]ShownChange{line("l[y]", at("l", 1), at("l", 0), nil, nil, true)},
			[]string{"this request would also change spec.l[1].v"},
		},
		"moved and changed, shown": {
			`{"spec":{"l":[{"n":"y","v":9},{"n":"x","v":1,"w":1}]}}`,
			[]ShownChange{line("l[y]", at("l", 1), at("l", 0), nil, nil, true), line("l[y].v", at("l", 1, "v"), at("l", 0, "v"), value("2"), value("9"), false)},
			nil,
		},
		"two places under one name": {
			`{"spec":{"l":[{"n":"x","v":5,"w":1},{"n":"y","v":5}]}}`,
			[]ShownChange{
				line("l[0].v", at("l", 0, "v"), at("l", 0, "v"), value("1"), value("5"), false),
				line("l[0].v", at("l", 1, "v"), at("l", 1, "v"), value("2"), value("5"), false),
			},
			[]string{"the plan shows a change of l[0].v, but that path names another value"},
		},
		"a list for an object": {`{"spec":{"b":[]}}`, []ShownChange{line("b", at("b"), at("b"), value(`{"c":2,"d":true}`), value("[]"), false)}, nil},
		"no spec at all":       {`{}`, nil, []string{"this request would also change spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := UnshownChanges([]byte(c.body), parsed(t, live), c.lines); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestOneNameForTwoPlaces: nobody could tell the lines apart, unless they say the same.
func TestOneNameForTwoPlaces(t *testing.T) {
	live := parsed(t, `{"l":[{"n":"x","v":1},{"n":"x","v":2}],"s":["p","p"]}`)
	lines := []ShownChange{
		line("l[x].v", at("l", 0, "v"), at("l", 0, "v"), parsed(t, "1"), parsed(t, "5"), false),
		line("l[x].v", at("l", 1, "v"), at("l", 1, "v"), parsed(t, "2"), parsed(t, "5"), false),
	}
	got := UnshownChanges([]byte(`{"spec":{"l":[{"n":"x","v":5},{"n":"x","v":5}]}}`), live, lines)
	if !slices.Equal(got, []string{"the plan shows the changes of two places under one path, l[x].v"}) {
		t.Errorf("%q", got)
	}
	lines = []ShownChange{line("s[p]", at("s", 0), at("s", -1), "p", nil, false), line("s[p]", at("s", 1), at("s", -1), "p", nil, false)}
	if got := UnshownChanges([]byte(`{"spec":{"s":[]}}`), live, lines); got != nil {
		t.Errorf("%q", got)
	}
}

// TestNames: what people read names an element by what it holds.
func TestNames(t *testing.T) {
	element := parsed(t, `{"host":"a.example","port":443,"weight":"1","path":"/*","on":true,"deep":{"x":"y"}}`)
	for name, want := range map[string]bool{
		"3": true, "/*": true, "a.example:443": true, "a.example/*": true, "443": true, "true": true,
		"": false, "4": false, "y": false, "a.example:80": false, "/": false, ":": false, "a.example:": true,
	} {
		if got := namesElement(name, element, 3); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if !namesElement("x", "x", 0) || namesElement("y", "x", 0) || !namesElement("0", "x", 0) || !namesElement("a]b[", parsed(t, `{"n":"a]b["}`), 7) {
		t.Error("scalars, and signs of a path")
	}
}

// TestReads: quoted names and brackets in names are followed.
func TestReads(t *testing.T) {
	v := parsed(t, `{"a.b":{"":[{"n":"x]"}]},"l":[null,{"p":"/]["}]}`)
	for path, place := range map[string][]any{
		`["a.b"][""]["x]"]`: at("a.b", "", 0), `["a.b"][""]["x]"].n`: at("a.b", "", 0, "n"),
		`l["/]["]`: at("l", 0), `l["/]["].p`: at("l", 0, "p"), `l[0].q`: at("l", 0, "q"),
	} {
		if !pathMatchesPlace(path, steps(place, place), v, v) {
			t.Errorf("%s is not read as %v", path, place)
		}
	}
	for path, place := range map[string][]any{`a.b`: at("a.b"), `l[1]`: at("l", 0), `l`: at("l", 0), `l[0]x`: at("l", 0, "q"), `l[/][]`: at("l", 0), `["a.b"][""][x]]`: at("a.b", "", 0), `["l"]`: at("l"), `x`: at()} {
		if pathMatchesPlace(path, steps(place, place), v, v) {
			t.Errorf("%s is read as %v", path, place)
		}
	}
	live, after := parsed(t, `{"l":[{"n":"x","s":["p"]}]}`), parsed(t, `{"l":[{"n":"y"},{"n":"x","k":"1","s":[]}]}`)
	if !pathMatchesPlace("l[x:1].s[p]", steps(at("l", 0, "s", 0), at("l", 1, "s", -1)), live, after) {
		t.Error("an element may have its name from either side")
	}
	if pathMatchesPlace("l[y].s[p]", steps(at("l", 0, "s", 0), at("l", 1, "s", -1)), live, after) {
		t.Error("another element has that name")
	}
}

package merge_test

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
)

// universe is a small world of specs: all that git, live and a record may have under one law.
type universe struct {
	name      string
	law       func() *law
	overrides []override
	git       []any
	live      []any
	records   []any
}

// override changes a law as the project file can.
type override struct {
	name string
	do   func(*law)
}

// docs are the specs of all alternatives for its fields. Each of them is JSON, or "" for none.
func docs(fields map[string][]string) []any {
	all := []string{"{"}
	for _, name := range canon.SortedKeys(anyFields(fields)) {
		var more []string
		for _, before := range all {
			for _, v := range fields[name] {
				if v != "" {
					v = fmt.Sprintf("%q:%s,", name, v)
				}
				more = append(more, before+v)
			}
		}
		all = more
	}
	out := make([]any, len(all))
	for i, text := range all {
		out[i] = canon.MustDecode([]byte(strings.TrimSuffix(text, ",") + "}"))
	}
	return out
}

func anyFields[V any](m map[string]V) map[string]any {
	out := map[string]any{}
	for k := range m {
		out[k] = nil
	}
	return out
}

// lists are all lists of up to two of these elements, and more.
func lists(elements []string, more ...string) []string {
	out := append(more, "[]")
	for _, a := range elements {
		out = append(out, "["+a+"]")
		for _, b := range elements {
			out = append(out, "["+a+","+b+"]")
		}
	}
	return out
}

// keyedLists are all lists of up to one element of each kind, in both orders, and more.
func keyedLists(ps, qs []string, more ...string) []string {
	out := append(more, "[]")
	for _, p := range ps {
		out = append(out, "["+p+"]")
		for _, q := range qs {
			out = append(out, "["+p+","+q+"]", "["+q+","+p+"]")
		}
	}
	for _, q := range qs {
		out = append(out, "["+q+"]")
	}
	return out
}

// elements are the forms of an element with this key.
func elements(key string, fields ...string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = strings.TrimSuffix(fmt.Sprintf(`{"n":%q,%s`, key, f), ",") + "}"
	}
	return out
}

// skips are the overrides that exclude a place.
func skips(place string, at func(*law) *law) (out []override) {
	for _, skip := range []string{"ignore", "readOnly", "omit"} {
		out = append(out, override{skip + " " + place, func(l *law) { at(l).skip = skip }})
	}
	return out
}

// The values are a, which servers answer as a number, and b.
const a, liveA, b = `"1"`, `1`, `"x"`

const noOverride = "no override"

func universes() []universe {
	none := override{noOverride, func(*law) {}}
	field := func(name string) func(*law) *law { return func(l *law) *law { return l.fields[name] } }
	inItem := func(name string) func(*law) *law { return func(l *law) *law { return l.fields["l"].item.fields[name] } }
	set := override{"the list is a set", func(l *law) { l.fields["l"].set = true }}
	noKey := override{"no list key", func(l *law) { l.fields["l"].key = "" }}
	more := func(short, all []string) []string {
		if isLong() {
			return all
		}
		return short
	}
	return []universe{
		{
			name: "two fields, one with a field of its own",
			law: func() *law {
				return &law{fields: map[string]*law{"f": {}, "o": {fields: map[string]*law{"x": {}}}}}
			},
			overrides: slices.Concat([]override{none}, skips("f", field("f")), skips("o", field("o")),
				skips("o.x", func(l *law) *law { return l.fields["o"].fields["x"] })),
			git:     docs(map[string][]string{"f": {"", "null", a, b}, "o": {"", "null", "{}", `{"x":null}`, `{"x":` + a + `}`, `{"x":` + b + `}`}}),
			live:    docs(map[string][]string{"f": {"", liveA, b}, "o": more([]string{"", "{}", `{"x":` + liveA + `}`, `{"x":` + b + `}`}, []string{"", "null", "{}", `{"x":null}`, `{"x":` + liveA + `}`, `{"x":` + b + `}`})}),
			records: docs(map[string][]string{"f": {"", a, b}, "o": {"", `{"x":` + a + `}`, `{"x":` + b + `}`}}),
		},
		{
			name: "a keyed list of two elements",
			law: func() *law {
				return &law{fields: map[string]*law{"l": {key: "n", item: &law{fields: map[string]*law{"n": {}, "v": {}}}}}}
			},
			overrides: slices.Concat([]override{none, set, noKey}, skips("l", field("l")), skips("l.v", inItem("v"))),
			git: docs(map[string][]string{"l": more(
				keyedLists(elements("p", "", `"v":null`, `"v":`+a), elements("q", "", `"v":`+a), "", "null"),
				keyedLists(elements("p", "", `"v":null`, `"v":`+a, `"v":`+b), elements("q", "", `"v":`+a, `"v":`+b), "", "null"))}),
			live: docs(map[string][]string{"l": more(
				keyedLists(elements("p", "", `"v":`+liveA, `"v":`+b), elements("q", ""), "", "null"),
				keyedLists(elements("p", "", `"v":`+liveA, `"v":`+b), elements("q", "", `"v":`+liveA), "", "null"))}),
			records: docs(map[string][]string{"l": more(
				keyedLists(elements("p", "", `"v":`+b), elements("q", ""), ""),
				keyedLists(elements("p", "", `"v":`+a, `"v":`+b), elements("q", "", `"v":`+a), ""))}),
		},
		{
			name: "a field beside a keyed list of elements with two fields",
			law: func() *law {
				return &law{fields: map[string]*law{"f": {}, "l": {key: "n", item: &law{fields: map[string]*law{"n": {}, "v": {}, "w": {}}}}}}
			},
			overrides: slices.Concat([]override{none, set}, skips("f", field("f")), skips("l.w", inItem("w"))),
			git:       docs(map[string][]string{"f": {"", a}, "l": keyedLists(elements("p", "", `"v":`+a+`,"w":`+b, `"w":null`), elements("q", ""), "")}),
			live:      docs(map[string][]string{"f": more([]string{b}, []string{"", b}), "l": keyedLists(elements("p", "", `"v":`+liveA+`,"w":`+b), elements("q", `"v":`+b), "")}),
			records:   docs(map[string][]string{"f": {"", a}, "l": keyedLists(elements("p", `"w":`+a), elements("q", ""), "")}),
		},
		{
			name: "a list of texts",
			law: func() *law {
				return &law{fields: map[string]*law{"l": {item: &law{}}}}
			},
			overrides: slices.Concat([]override{none, set}, skips("l", field("l"))),
			git:       docs(map[string][]string{"l": lists([]string{"null", a, b}, "", "null")}),
			live:      docs(map[string][]string{"l": lists([]string{"null", liveA, b}, "", "null")}),
			records:   docs(map[string][]string{"l": lists([]string{a, b}, "")}),
		},
		{
			name: "a list of objects without a key",
			law: func() *law {
				return &law{fields: map[string]*law{"l": {item: &law{fields: map[string]*law{"v": {}, "w": {}}}}}}
			},
			overrides: slices.Concat([]override{none, set}, skips("l", field("l")), skips("l.w", inItem("w"))),
			git:       docs(map[string][]string{"l": lists([]string{`{"v":` + a + `}`, `{"v":` + b + `}`, `{"v":` + a + `,"w":` + a + `}`, `{"v":` + a + `,"w":null}`}, "")}),
			live:      docs(map[string][]string{"l": lists([]string{`{"v":` + liveA + `}`, `{"v":` + b + `}`, `{"v":` + liveA + `,"w":` + b + `}`}, "")}),
			records:   docs(map[string][]string{"l": lists([]string{`{"v":` + a + `}`, `{"v":` + b + `,"w":` + b + `}`}, "")}),
		},
	}
}

// withRecords are the pairs of a spec that was applied and one that is pending.
func (u universe) withRecords() (pairs [][2]any) {
	all := append([]any{nil}, u.records...)
	for i, applied := range all {
		for j, pending := range all {
			if isLong() || i == 0 || j == 0 {
				pairs = append(pairs, [2]any{applied, pending})
			}
		}
	}
	return pairs
}

// isLong reports whether all is combined with all. Else an override is tried without options, and one record at a time.
func isLong() bool { return long.Times(1) >= 100 }

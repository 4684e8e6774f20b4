package merge

import (
	"reflect"
	"slices"
	"testing"
)

func paths(values []PathValue) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.Path)
	}
	return out
}

// TestFirstContact: no patch drops a live list element that git never had from
// a list that nobody took over (docs/design.md 0.1).
func TestFirstContact(t *testing.T) {
	const (
		ab  = `{"upstreams":[{"name":"a"},{"name":"b"}]}`
		a   = `{"upstreams":[{"name":"a"}]}`
		srv = `{"upstreams":[{"name":"a","servers":[{"host":"h","port":"1"},{"host":"h","port":"2"}]}]}`
		one = `{"upstreams":[{"name":"a","servers":[{"host":"h","port":"1"}]}]}`
	)
	for name, c := range map[string]struct {
		applied, pending, desired, live string
		want                            []string
	}{
		"no record":                     {"", "", a, ab, []string{"upstreams[b]"}},
		"nothing lost":                  {"", "", ab, a, nil},
		"reordered":                     {"", "", `{"upstreams":[{"name":"b"},{"name":"a","x":"1"}]}`, ab, nil},
		"record without the list":       {`{}`, "", a, ab, []string{"upstreams[b]"}},
		"list taken over":               {a, "", a, ab, nil},
		"element was removed from git":  {ab, "", a, ab, nil},
		"pending had it":                {"", ab, a, ab, nil},
		"pending had another":           {"", a, a, ab, []string{"upstreams[b]"}},
		"applied lacks, pending has":    {`{}`, ab, a, ab, nil},
		"nested list":                   {"", "", one, srv, []string{"upstreams[a].servers[h:2]"}},
		"nested, only outer taken over": {a, "", one, srv, []string{"upstreams[a].servers[h:2]"}},
		"nested taken over":             {one, "", one, srv, nil},
		"nested of a pending element":   {"", one, `{"upstreams":[]}`, srv, []string{"upstreams[a].servers[h:2]"}},
		"key removed, applied":          {a, "", `{}`, ab, nil},
		"key removed, pending only":     {"", a, `{}`, ab, []string{"upstreams[b]"}},
		"emptied":                       {"", "", `{"upstreams":[]}`, ab, []string{"upstreams[a]", "upstreams[b]"}},
		"literal null":                  {"", "", `{"upstreams":null}`, ab, []string{"upstreams[a]", "upstreams[b]"}},
		"another type":                  {"", "", `{"upstreams":{"x":"1"}}`, a, []string{"upstreams[a]"}},
		"scalar for a list":             {`{}`, "", `{"upstreams":"x"}`, a, []string{"upstreams[a]"}},
		"null over an object":           {`{}`, "", `{"tls":null}`, `{"tls":{"list":[1]}}`, []string{"tls.list[0]"}},
		"collateral list":               {`{"tls":{"forced":"1"}}`, "", `{}`, `{"tls":{"forced":"1","list":[1]}}`, []string{"tls.list[0]"}},
		"scalars":                       {"", "", `{"plain":["a"]}`, `{"plain":["a","b"]}`, []string{"plain[1]"}},
		"scalars, same length":          {"", "", `{"plain":["a"]}`, `{"plain":["b"]}`, []string{"plain[0]"}},
		"scalars, other order":          {"", "", `{"plain":["a","b"]}`, `{"plain":["b","a"]}`, nil},
		"scalars, pending":              {"", `{"plain":["b"]}`, `{"plain":["a"]}`, `{"plain":["b"]}`, nil},
		"scalars, pending another":      {"", `{"plain":["c"]}`, `{"plain":["a"]}`, `{"plain":["b"]}`, []string{"plain[0]"}},
		"duplicate keys":                {"", "", `{"rules":[{"name":"r"},{"name":"r"}]}`, `{"rules":[{"name":"r"},{"name":"s"}]}`, []string{"rules[1]"}},
		"lists in lists": {
			"", "", `{"rules":[{"name":"r","constraints":[[{"type":"ip"}]]}]}`,
			`{"rules":[{"name":"r","constraints":[[{"type":"asn"}]]}]}`,
			[]string{"rules[r].constraints[0][0]"},
		},
		"lists in lists, taken over": {
			`{"rules":[{"name":"r","constraints":[]}]}`, "", `{"rules":[{"name":"r","constraints":[[{"type":"ip"}],[]]}]}`,
			`{"rules":[{"name":"r","constraints":[[{"type":"asn"}],[{"type":"ip"}]]}]}`, nil,
		},
		"a list beyond a matched element": {
			"", "", `{"plain":[{"x":"1"},{"y":"1"}]}`, `{"plain":[{"x":"1","deep":{"l":[1]}}]}`, []string{"plain[0].deep.l[0]"},
		},
		"a list deep beyond a matched element": {
			"", "", `{"plain":[[{"x":"1"}],["y"]]}`, `{"plain":[[{"x":"1","l":[1]}]]}`, []string{"plain[0][0].l[0]"},
		},
		"ambiguous wildcard": {
			"", "", `{"locations":[{"path":"/a"}]}`, `{"locations":[{"path":"/a","host":"h"},{"path":"/a","host":"i"}]}`,
			[]string{"locations[h/a]", "locations[i/a]"},
		},
		"discriminated": {
			"", "", `{"rules":[{"name":"r","action":{"type":"deny"}}]}`,
			`{"rules":[{"name":"r","action":{"type":"limit","limit":{"by":["ip"]}}}]}`,
			[]string{"rules[r].action.limit.by[0]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Rules: specRules(), Applied: decode(t, c.applied), Pending: some(decode(t, c.pending)),
				Desired: decode(t, c.desired), Live: decode(t, c.live),
			}
			if got := paths(Compare(in).FirstContact); !slices.Equal(got, c.want) {
				t.Errorf("first contact %q, want %q", got, c.want)
			}
			in.TakeOver = true
			if got := paths(Compare(in).FirstContact); got != nil {
				t.Errorf("taken over, and still %q", got)
			}
		})
	}
}

// TestSectionZero holds what design section 0 and B3 add to the table of B6.
func TestSectionZero(t *testing.T) {
	for name, c := range map[string]struct {
		applied, pending, desired, live, patch string
		change                                 Difference
		preserved, collateral                  []string
	}{
		"0.2 a write without an answer is ours": {
			applied: `{"tls":{"forced":"1"}}`, pending: `{"tls":{"forced":"2"}}`,
			desired: `{"tls":{"forced":"1"}}`, live: `{"tls":{"forced":"2"}}`,
			patch: `{"tls":{"forced":"1"}}`, change: Difference{Path: "tls.forced", Class: Changed},
		},
		"0.2 a pending key that git dropped goes": {
			applied: `{}`, pending: `{"x":"1"}`, desired: `{}`, live: `{"x":"1"}`,
			patch: `{"x":null}`, change: Difference{Path: "x", Class: Removed},
		},
		"0.16 absent host is a wildcard, its live value stays": {
			applied: `{}`, desired: `{"locations":[{"path":"/a","ttl":"2"}]}`, live: `{"locations":[{"path":"/a","host":"h","ttl":"1","x":"1"}]}`,
			patch:  `{"locations":[{"path":"/a","host":"h","ttl":"2","x":"1"}]}`,
			change: Difference{Path: "locations[/a].ttl", Class: TakeOver}, preserved: []string{"locations[/a].host", "locations[/a].x"},
		},
		"0.16 exact keys pair before wildcards": {
			applied: `{}`, desired: `{"locations":[{"path":"/a","ttl":"2"},{"path":"/a","host":"h"}]}`,
			live:   `{"locations":[{"path":"/a","host":"i","ttl":"1"},{"path":"/a","host":"h"}]}`,
			patch:  `{"locations":[{"path":"/a","host":"i","ttl":"2"},{"path":"/a","host":"h"}]}`,
			change: Difference{Path: "locations[/a].ttl", Class: TakeOver}, preserved: []string{"locations[/a].host"},
		},
		"0.16 ambiguous, same length: by position, nothing carried": {
			applied: `{"locations":[]}`, desired: `{"locations":[{"path":"/a"},{"path":"/b","ttl":"2"}]}`,
			live:   `{"locations":[{"path":"/a","host":"h","x":"1"},{"path":"/a","host":"i"}]}`,
			patch:  `{"locations":[{"path":"/a"},{"path":"/b","ttl":"2"}]}`,
			change: Difference{Path: "locations[i/a]", Class: DriftOverwrite}, collateral: []string{"locations[/a].host", "locations[/a].x"},
		},
		"0.17 kept fields take the documented type": {
			applied: `{}`, desired: `{"upstreams":[{"name":"a","servers":[{"host":"h","port":"1","weight":"2"}]}]}`,
			live:   `{"upstreams":[{"name":"a","scheme":true,"q":"3","z":4,"servers":[{"host":"h","port":1,"weight":1}]}]}`,
			patch:  `{"upstreams":[{"name":"a","scheme":"true","q":3,"z":4,"servers":[{"host":"h","port":"1","weight":"2"}]}]}`,
			change: Difference{Path: "upstreams[a].servers[h:1].weight", Class: TakeOver}, preserved: []string{"upstreams[a].q", "upstreams[a].scheme", "upstreams[a].z"},
		},
		"B3 the server's own fields go along as they are live": {
			applied: `{}`, desired: `{"locations":[{"path":"/a","ttl":"2","rid":"mine"}]}`, live: `{"locations":[{"path":"/a","ttl":"1","rid":"7","x":{"n":null,"l":[null,1]}}]}`,
			patch:  `{"locations":[{"path":"/a","rid":"7","ttl":"2","x":{"l":[1]}}]}`,
			change: Difference{Path: "locations[/a].ttl", Class: TakeOver}, preserved: []string{"locations[/a].x"},
		},
		"B3 an old discriminator's sibling goes": {
			applied: `{}`, desired: `{"rules":[{"name":"r","action":{"type":"deny"}}]}`, live: `{"rules":[{"name":"r","action":{"type":"limit","limit":{"n":1},"x":"1"}}]}`,
			patch:  `{"rules":[{"name":"r","action":{"type":"deny","x":"1"}}]}`,
			change: Difference{Path: "rules[r].action.type", Class: TakeOver}, preserved: []string{"rules[r].action.x"}, collateral: []string{"rules[r].action.limit"},
		},
		"B3 nothing is carried by position": {
			applied: `{"plain":[{"a":1}]}`, desired: `{"plain":[{"a":2}]}`, live: `{"plain":[{"a":1,"b":1}]}`,
			patch:  `{"plain":[{"a":2}]}`,
			change: Difference{Path: "plain[0].a", Class: Changed}, collateral: []string{"plain[0].b"},
		},
		"removed with what lies below": {
			applied: `{"upstreams":[{"name":"a"},{"name":"b"}]}`, desired: `{"upstreams":[{"name":"a"}]}`,
			live:   `{"upstreams":[{"name":"a"},{"name":"b","x":"1"}]}`,
			patch:  `{"upstreams":[{"name":"a"}]}`,
			change: Difference{Path: "upstreams[b]", Class: Removed},
		},
		"removed list with what was added to it": {
			applied: `{"upstreams":[{"name":"a","scheme":"x"}]}`, desired: `{}`, live: `{"upstreams":[{"name":"a","scheme":"y"},{"name":"b"}]}`,
			patch: `{"upstreams":null}`, change: Difference{Path: "upstreams", Class: RemovedConflict},
		},
		"an element deleted outside git comes back": {
			applied: `{"upstreams":[{"name":"a"}]}`, desired: `{"upstreams":[{"name":"a","scheme":null}]}`, live: `{"upstreams":[]}`,
			patch: `{"upstreams":[{"name":"a"}]}`, change: Difference{Path: "upstreams[a]", Class: DriftOverwrite},
		},
		"moved in live": {
			applied: `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`, desired: `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`,
			live:   `{"rules":[{"name":"t"},{"name":"r"},{"name":"s"}]}`,
			patch:  `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`,
			change: Difference{Path: "rules[t]", Class: DriftOverwrite, Moved: true},
		},
		"moved in git": {
			applied: `{"rules":[{"name":"t"},{"name":"r"},{"name":"s"}]}`, desired: `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`,
			live:   `{"rules":[{"name":"t"},{"name":"r"},{"name":"s"}]}`,
			patch:  `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`,
			change: Difference{Path: "rules[t]", Class: Changed, Moved: true},
		},
		"moved in both": {
			applied: `{"rules":[{"name":"s"},{"name":"r"},{"name":"t"}]}`, desired: `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`,
			live:   `{"rules":[{"name":"t"},{"name":"r"},{"name":"s"}]}`,
			patch:  `{"rules":[{"name":"r"},{"name":"s"},{"name":"t"}]}`,
			change: Difference{Path: "rules[t]", Class: Conflict, Moved: true},
		},
		"moved, nobody knows by whom": {
			desired: `{"rules":[{"name":"r"},{"name":"s"}]}`, live: `{"rules":[{"name":"s"},{"name":"r"}]}`,
			patch: `{"rules":[{"name":"r"},{"name":"s"}]}`, change: Difference{Path: "rules[r]", Class: UnknownBase, Moved: true},
		},
		"an added element without a record": {
			desired: `{"rules":[]}`, live: `{"rules":[{"name":"s"}]}`,
			patch: `{"rules":[]}`, change: Difference{Path: "rules[s]", Class: UnknownBase},
		},
		"one scalar added in the middle": {
			applied: `{"plain":["a","c"]}`, desired: `{"plain":["a","b","c"]}`, live: `{"plain":["a","c"]}`,
			patch: `{"plain":["a","b","c"]}`, change: Difference{Path: "plain[1]", Class: Changed},
		},
		"scalars of a set are shown by value": {
			applied: `{"locations":[{"path":"/a","tags":["x"]}]}`, desired: `{"locations":[{"path":"/a","tags":["y","x"]}]}`, live: `{"locations":[{"path":"/a","tags":["x"]}]}`,
			patch: `{"locations":[{"path":"/a","tags":["x","y"]}]}`, change: Difference{Path: "locations[/a].tags[y]", Class: Changed},
		},
		"odd names are quoted": {
			applied: `{}`, desired: `{"a.b":{"":"1"}}`, live: `{"a.b":{}}`,
			patch: `{"a.b":{"":"1"}}`, change: Difference{Path: `["a.b"][""]`, Class: Changed},
		},
		"keys that would look alike are shown whole": {
			applied: `{"locations":[]}`, desired: `{"locations":[{"path":"/a","host":"h"}]}`, live: `{"locations":[{"path":"/a","host":"i"}]}`,
			patch: `{"locations":[{"path":"/a","host":"h"}]}`, change: Difference{Path: "locations[h/a]", Class: Changed},
		},
		"keys of one list that a wildcard makes alike are shown whole": {
			applied: `{"locations":[{"path":"/a","b":"1"},{"path":"/a","host":"h","b":"1"}]}`,
			desired: `{"locations":[{"path":"/a","b":"1"},{"path":"/a","host":"h","b":"2"}]}`,
			live:    `{"locations":[{"path":"/a","b":"1"},{"path":"/a","host":"h","b":"1"}]}`,
			patch:   `{"locations":[{"path":"/a","b":"1"},{"path":"/a","host":"h","b":"2"}]}`,
			change:  Difference{Path: "locations[h/a].b", Class: Changed},
		},
		"nulls inside lists are not sent": {
			applied: `{}`, desired: `{"plain":[null,{"a":null,"b":"1"}]}`, live: `{"plain":[{"a":"x"},null]}`,
			patch: `{"plain":[{"b":"1"}]}`, change: Difference{Path: "plain[0].b", Class: Changed}, collateral: []string{"plain[1]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			res := Compare(Input{
				Rules: specRules(), Applied: decode(t, c.applied), Pending: some(decode(t, c.pending)),
				Desired: decode(t, c.desired), Live: decode(t, c.live),
			})
			wantPatch(t, res, c.patch)
			if !slices.ContainsFunc(res.Changes, func(ch Difference) bool {
				return ch.Path == c.change.Path && ch.Class == c.change.Class && ch.Moved == c.change.Moved
			}) {
				t.Errorf("want %+v, got %+v", c.change, res.Changes)
			}
			if got := paths(res.Preserved); !slices.Equal(got, c.preserved) {
				t.Errorf("preserved %q, want %q", got, c.preserved)
			}
			if got := paths(res.Collateral); !slices.Equal(got, c.collateral) {
				t.Errorf("collateral %q, want %q", got, c.collateral)
			}
		})
	}
}

// TestOverrides: what the project file says stands above the schema (0.20).
func TestOverrides(t *testing.T) {
	for name, c := range map[string]struct{ desired, live, patch string }{
		"ignored":               {`{"tls":{"forced":"1"}}`, `{"tls":{"forced":"2"}}`, ""},
		"ignored and removed":   {`{"tls":{}}`, `{"tls":{"forced":"2"}}`, ""},
		"read-only":             {`{"state":"1"}`, `{"state":"2"}`, ""},
		"order does not matter": {`{"locations":[{"path":"/a"},{"path":"/b"}]}`, `{"locations":[{"path":"/b"},{"path":"/a"}]}`, ""},
		"ignored in an element that is sent": {
			`{"locations":[{"path":"/a","ttl":"1","x":"2"},{"path":"/b","ttl":"1"}]}`, `{"locations":[{"path":"/a","ttl":9,"x":"1"},{"path":"/b"}]}`,
			`{"locations":[{"path":"/a","ttl":"9","x":"2"},{"path":"/b"}]}`,
		},
		"ignored in an element that is new": {
			`{"locations":[{"path":"/a","ttl":"1"}]}`, `{"locations":[]}`, `{"locations":[{"path":"/a","ttl":"1"}]}`,
		},
		"ignored, and only live has it": {
			`{"locations":[{"path":"/a","x":"2"}]}`, `{"locations":[{"path":"/a","ttl":"9"}]}`, `{"locations":[{"path":"/a","ttl":"9","x":"2"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Rules: overridden(), Applied: decode(t, `{"tls":{"forced":"2"},"locations":[{"path":"/a","ttl":"9"}]}`),
				Desired: decode(t, c.desired), Live: decode(t, c.live),
			}
			if c.patch == "" {
				in.Applied = decode(t, `{"tls":{"forced":"2"}}`)
			}
			wantPatch(t, Compare(in), c.patch)
		})
	}
	t.Run("ignored in an element without a key", func(t *testing.T) {
		rules := &Rules{Fields: map[string]*Rules{"l": {Fields: map[string]*Rules{"a": {Ignore: true}}}}}
		in := Input{Rules: rules, Desired: decode(t, `{"l":[{"a":1,"b":1}]}`), Live: decode(t, `{"l":[{"a":2,"b":2}]}`)}
		wantPatch(t, Compare(in), `{"l":[{"a":2,"b":1}]}`)
		in.Live = decode(t, `{"l":[{"a":2,"b":1}]}`)
		wantPatch(t, Compare(in), "")
	})
	t.Run("omitted", func(t *testing.T) {
		rules := &Rules{Fields: map[string]*Rules{"l": {Key: []string{"n"}, Item: &Rules{Fields: map[string]*Rules{
			"id": {Omit: true}, "deep": {Item: &Rules{Fields: map[string]*Rules{"id": {Omit: true}}}},
		}}}}}
		res := Compare(Input{
			Rules:   rules,
			Desired: decode(t, `{"l":[{"n":"a","id":"mine","b":1}]}`),
			Live:    decode(t, `{"l":[{"n":"a","id":"7","b":2,"deep":[{"id":1,"c":2}]}]}`),
		})
		wantPatch(t, res, `{"l":[{"b":1,"deep":[{"c":2}],"n":"a"}]}`)
		if got := paths(res.Collateral); !slices.Equal(got, []string{"l[a].deep[0].id", "l[a].id"}) {
			t.Errorf("collateral %q", got)
		}
	})
	t.Run("key", func(t *testing.T) {
		rules := &Rules{Fields: map[string]*Rules{"l": {Key: []string{"id"}, Join: ":", Set: true}}}
		wantPatch(t, Compare(Input{
			Rules: rules, Desired: decode(t, `{"l":[{"id":1,"a":2},{"id":2}]}`), Live: decode(t, `{"l":[{"id":2},{"id":1,"a":1,"z":1}]}`),
		}), `{"l":[{"id":2},{"id":1,"a":2,"z":1}]}`)
	})
}

// TestUnplaced: which of git's elements an excluded value belongs to must be known.
func TestUnplaced(t *testing.T) {
	item := &Rules{Fields: map[string]*Rules{"ign": {Ignore: true}, "own": {ReadOnly: true}, "out": {Omit: true}}}
	for name, c := range map[string]struct {
		key           []string
		desired, live string
		unplaced      []string
	}{
		"one may be the other":  {nil, `[{"a":1},{"a":9}]`, `[{"a":1,"ign":1},{"a":2,"ign":2,"own":3,"out":4},{"a":3}]`, []string{"l[1].ign", "l[1].own"}},
		"by position":           {nil, `[{"a":1},{"a":9}]`, `[{"a":1,"ign":1},{"a":2,"ign":2}]`, nil},
		"only dropped":          {nil, `[{"a":1}]`, `[{"a":1,"ign":1},{"a":2,"ign":2}]`, nil},
		"only added":            {nil, `[{"a":1,"ign":9},{"a":2}]`, `[{"a":1,"ign":1}]`, nil},
		"nothing to place":      {nil, `[{"a":1},{"a":9}]`, `[{"a":1,"ign":1},{"a":2},{"a":3}]`, nil},
		"told apart by key":     {[]string{"a"}, `[{"a":1},{"a":9}]`, `[{"a":1,"ign":1},{"a":2,"ign":2}]`, nil},
		"a key that may agree":  {[]string{"a", "b"}, `[{"a":1},{"a":2,"b":2,"c":1}]`, `[{"a":1,"b":7,"ign":1},{"a":1,"b":8,"ign":2},{"a":2,"b":2}]`, []string{"l[7].ign", "l[8].ign"}},
		"keys that can't agree": {[]string{"a", "b"}, `[{"a":3},{"a":2,"b":2,"c":1}]`, `[{"a":1,"b":7,"ign":1},{"a":2,"b":2}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			res := Compare(Input{
				Rules:   &Rules{Fields: map[string]*Rules{"l": {Key: c.key, Item: item}}},
				Desired: map[string]any{"l": decode(t, c.desired)}, Live: map[string]any{"l": decode(t, c.live)},
			})
			if got := paths(res.Unplaced); !slices.Equal(got, c.unplaced) {
				t.Errorf("unplaced %q, want %q; patch %s", got, c.unplaced, encode(res.Patch))
			}
		})
	}
}

func TestListsThatAreSent(t *testing.T) {
	res := Compare(Input{
		Rules: specRules(), Applied: decode(t, `{}`),
		Desired: decode(t, `{"upstreams":[{"name":"a","servers":[{"host":"h","port":"1"}]}],"plain":["x"]}`),
		Live:    decode(t, `{"upstreams":[{"name":"a","servers":[]}],"plain":["x"]}`),
	})
	if len(res.Lists) != 1 || res.Lists[0] != (SentList{"upstreams", 1}) {
		t.Errorf("lists %+v", res.Lists)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		before, request, now string
		want                 []Mismatch
	}{
		"kept, with more":              {"", `{"tls":{"forced":"true"}}`, `{"tls":{"forced":true,"auto":"x"},"y":1}`, nil},
		"other order of a set":         {"", `{"upstreams":[{"name":"a"},{"name":"b"}]}`, `{"upstreams":[{"name":"b"},{"name":"a"}]}`, nil},
		"rewritten":                    {"", `{"tls":{"forced":"a"}}`, `{"tls":{"forced":"b"}}`, []Mismatch{{Path: "tls.forced", Fault: NotKept}}},
		"dropped":                      {"", `{"x":"a"}`, `{}`, []Mismatch{{Path: "x", Fault: NotKept}}},
		"number for text":              {"", `{"x":"0600.0e0"}`, `{"x":1}`, []Mismatch{{Path: "x", Fault: NotKept}}},
		"only the type":                {"", `{"x":"1.0"}`, `{"x":1}`, []Mismatch{{Path: "x", Fault: NotKept, SameNumber: true}}},
		"sorted":                       {"", `{"rules":[{"name":"s"},{"name":"r"}]}`, `{"rules":[{"name":"r"},{"name":"s"}]}`, []Mismatch{{Path: "rules", Fault: NotKept}}},
		"sorted scalars":               {"", `{"plain":["b","a"]}`, `{"plain":["a","b"]}`, []Mismatch{{Path: "plain", Fault: NotKept}}},
		"removed":                      {`{"x":"a"}`, `{"x":null}`, `{}`, nil},
		"removed, and default":         {`{"x":"a"}`, `{"x":null}`, `{"x":"b"}`, nil},
		"not removed":                  {`{"x":"a"}`, `{"x":null}`, `{"x":"a"}`, []Mismatch{{Path: "x", Fault: NotRemoved}}},
		"an object not removed":        {`{"tls":{"forced":"a"}}`, `{"tls":null}`, `{"tls":{"forced":"a"}}`, []Mismatch{{Path: "tls", Fault: NotRemoved}}},
		"not removed, but added to":    {`{"tls":{"forced":"a"}}`, `{"tls":null}`, `{"tls":{"forced":"a","auto":"b"}}`, []Mismatch{{Path: "tls", Fault: NotRemoved}}},
		"removed in part":              {`{"tls":{"forced":"a","auto":"b"}}`, `{"tls":null}`, `{"tls":{"forced":"a"}}`, nil},
		"elements of a removed object": {`{"tls":{"forced":"a","l":["x"]}}`, `{"tls":null}`, `{"tls":{"l":["x"]}}`, []Mismatch{{Path: "tls.l[0]", Fault: NotRemoved}}},
		"a list removed in part":       {`{"plain":["a","b"]}`, `{"plain":null}`, `{"plain":["b","c"]}`, []Mismatch{{Path: "plain[0]", Fault: NotRemoved}}},
		"merged elements": {
			`{"upstreams":[{"name":"a","scheme":"s"}]}`, `{"upstreams":[{"name":"a"}]}`, `{"upstreams":[{"name":"a","scheme":"s"}]}`,
			[]Mismatch{{Path: "upstreams[a].scheme", Fault: NotRemoved}},
		},
		"an element not removed": {
			`{"upstreams":[{"name":"a"},{"name":"b"}]}`, `{"upstreams":[{"name":"a"}]}`, `{"upstreams":[{"name":"a"},{"name":"b"}]}`,
			[]Mismatch{{Path: "upstreams[b]", Fault: NotRemoved}},
		},
		"a replaced spec": {
			`{"tls":{"forced":"a"},"plain":["x"],"hostname":"h"}`, `{"tls":{"auto":"b"}}`, `{"tls":{"auto":"b"}}`,
			[]Mismatch{{Path: "hostname", Fault: Altered}, {Path: "plain", Fault: Altered}, {Path: "tls.forced", Fault: Altered}},
		},
		"altered beside":  {`{"hostname":"h"}`, `{"tls":{"auto":"b"}}`, `{"tls":{"auto":"b"},"hostname":"i"}`, []Mismatch{{Path: "hostname", Fault: Altered}}},
		"added beside":    {`{"plain":["x"]}`, `{"tls":{"auto":"b"}}`, `{"tls":{"auto":"b"},"plain":["x","y"]}`, []Mismatch{{Path: "plain[1]", Fault: Altered}}},
		"filled in":       {`{"plain":[]}`, `{"tls":{"auto":"b"}}`, `{"tls":{"auto":"b","forced":"c"},"plain":["x"],"rate":1}`, nil},
		"empties":         {`{"tls":{"forced":"a"}}`, `{"tls":{"forced":null},"upstreams":[]}`, `{"tls":[]}`, nil},
		"and out of them": {`{"tls":{"forced":"a"}}`, `{"tls":{"forced":null},"upstreams":[]}`, `{"upstreams":[{"name":"a"}]}`, []Mismatch{{Path: "upstreams[a]", Fault: NotKept}}},
		"lost in part": {
			"", `{"upstreams":[{"name":"a","servers":[{"host":"h","port":"1"}]}]}`, `{"upstreams":[{"name":"a","servers":[{"host":"h","port":"2"}]}]}`,
			[]Mismatch{{Path: "upstreams[a].servers[h:1]", Fault: NotKept}, {Path: "upstreams[a].servers[h:2]", Fault: NotKept}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := CompletedWrite{Rules: specRules(), Before: decode(t, c.before), Request: decode(t, c.request), Now: decode(t, c.now)}.Check()
			for i := range found {
				found[i] = Mismatch{Path: found[i].Path, Fault: found[i].Fault, SameNumber: found[i].SameNumber}
			}
			if !reflect.DeepEqual(found, c.want) {
				t.Errorf("found %+v, want %+v", found, c.want)
			}
		})
	}
}

func TestNothingThatIsSentIsNull(t *testing.T) {
	if got := encode(SendableValue(nil, decode(t, `{"a":null,"b":{"c":null},"d":[null,{"e":null,"f":1}],"g":"x"}`))); got != `{"b":{},"d":[{"f":1}],"g":"x"}` {
		t.Error(got)
	}
}

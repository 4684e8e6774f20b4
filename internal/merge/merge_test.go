package merge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"trueup/internal/effect"
	"trueup/internal/kind"
)

// caseRules are those of docs/design.md B6: L is keyed by host and path and ordered, U
// by name and a set, S in U by host and port and a set.
func caseRules() *Rules {
	server := &Rules{Fields: map[string]*Rules{"host": {Type: kind.Text}, "port": {Type: kind.Text}}}
	return &Rules{Fields: map[string]*Rules{
		"L": {Key: []string{"host", "path"}},
		"U": {Key: []string{"name"}, Set: true, Item: &Rules{Fields: map[string]*Rules{
			"S": {Key: []string{"host", "port"}, Set: true, Join: ":", Item: server},
		}}},
	}}
}

// TestDesignCases is the table of docs/design.md B6.
func TestDesignCases(t *testing.T) {
	for _, c := range []struct {
		name, base, desired, live, patch string
		class                            ChangeKind
		path                             string
	}{
		{"1", `{"a":1}`, `{"a":1}`, `{"a":1}`, "", "", ""},
		{"2", `{"a":1}`, `{"a":2}`, `{"a":1}`, `{"a":2}`, Changed, "a"},
		{"3", `{"a":1}`, `{"a":1}`, `{"a":9}`, `{"a":1}`, DriftOverwrite, "a"},
		{"4", `{"a":1}`, `{"a":2}`, `{"a":9}`, `{"a":2}`, Conflict, "a"},
		{"5", `{"a":1}`, `{"a":2}`, `{"a":2}`, "", Converged, "a"},
		{"6", `{"a":1}`, `{}`, `{"a":1}`, `{"a":null}`, Removed, "a"},
		{"6b", `{"a":1}`, `{}`, `{"a":2}`, `{"a":null}`, RemovedConflict, "a"},
		{"7", `{"a":1}`, `{}`, `{}`, "", "", ""},
		{"8", `{"a":1}`, `{}`, `{"a":null}`, "", "", ""},
		{"9", `{}`, `{}`, `{"a":1}`, "", "", ""},
		{"10", ``, `{"a":"1"}`, `{"a":"1","z":1}`, "", "", ""},
		{"10b", ``, `{"a":"1"}`, `{"a":"2"}`, `{"a":"1"}`, UnknownBase, "a"},
		{"11", `{}`, `{"a":"true"}`, `{"a":true}`, "", Converged, "a"},
		{"12", `{}`, `{"a":"300"}`, `{"a":300}`, "", Converged, "a"},
		{"13", `{}`, `{"a":null}`, `{"a":"x"}`, `{"a":null}`, Removed, "a"},
		{"13b", `{"U":[]}`, `{"U":null}`, `{"U":[{"name":"a"}]}`, `{"U":null}`, DriftOverwrite, "U"},
		{"14", `{}`, `{"a":null}`, `{}`, "", "", ""},
		{"15", `{}`, `{"a":{}}`, `{}`, `{"a":{}}`, Changed, "a"},
		{"16", `{}`, `{"a":{}}`, `{"a":{"b":1}}`, "", "", ""},
		{"17", `{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":1,"c":2}}`, `{"a":{"b":null}}`, Removed, "a.b"},
		{"18", `{"a":{"b":1}}`, `{}`, `{"a":{"b":1,"c":2}}`, `{"a":null}`, Removed, "a"},
		{"19", `{}`, `{"U":[]}`, `{"U":[{"name":"a"}]}`, `{"U":[]}`, TakeOver, "U[a]"},
		{"20", `{}`, `{"U":[{"name":"a"},{"name":"b"}]}`, `{"U":[{"name":"b"},{"name":"a"}]}`, "", Converged, "U[a].name"},
		{
			"21", `{}`, `{"L":[{"path":"/a"},{"path":"/b"}]}`, `{"L":[{"path":"/b"},{"path":"/a"}]}`,
			`{"L":[{"path":"/a"},{"path":"/b"}]}`, TakeOver, "L[/a]",
		},
		{"22", `{}`, `{"U":[{"name":"a","w":"1"}]}`, `{"U":[{"name":"a","w":1,"dflt":"d"}]}`, "", Converged, "U[a].w"},
		{
			"23", `{"U":[{"name":"a","w":1}]}`, `{"U":[{"name":"a","w":2}]}`, `{"U":[{"name":"a","w":1,"dflt":"x"}]}`,
			`{"U":[{"name":"a","w":2,"dflt":"x"}]}`, Changed, "U[a].w",
		},
		{
			"24", `{"U":[{"name":"a","w":1,"k":1}]}`, `{"U":[{"name":"a","w":1}]}`, `{"U":[{"name":"a","w":1,"k":1,"dflt":"x"}]}`,
			`{"U":[{"name":"a","w":1,"dflt":"x"}]}`, Removed, "U[a].k",
		},
		{
			"25", `{"U":[{"name":"a"},{"name":"b"}]}`, `{"U":[{"name":"a"}]}`, `{"U":[{"name":"a"},{"name":"b"}]}`,
			`{"U":[{"name":"a"}]}`, Removed, "U[b]",
		},
		{
			"26", `{"U":[{"name":"a"}]}`, `{"U":[{"name":"a"}]}`, `{"U":[{"name":"a"},{"name":"x"}]}`,
			`{"U":[{"name":"a"}]}`, DriftOverwrite, "U[x]",
		},
		{"27", `{"U":[{"name":"a"}]}`, `{}`, `{"U":[{"name":"a"}]}`, `{"U":null}`, Removed, "U"},
		{"28", `{"a":["b"]}`, `{"a":"c"}`, `{"a":["b"]}`, `{"a":"c"}`, Changed, "a"},
		{"29", `{}`, `{"a":{"b":"c"}}`, `{"a":"x"}`, `{"a":{"b":"c"}}`, TakeOver, "a"},
		{"30", `{}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[1,2]}`, TakeOver, "a[0]"},
		{
			"31", `{}`, `{"U":[{"name":"a","S":[{"host":"h","port":"80","w":1}]}]}`,
			`{"U":[{"name":"a","q":1,"S":[{"host":"h","port":80,"w":2,"id":7}]}]}`,
			`{"U":[{"name":"a","q":1,"S":[{"host":"h","port":"80","w":1,"id":7}]}]}`, TakeOver, "U[a].S[h:80].w",
		},
		{"32", `{}`, `{"U":[{"name":"a"},{"name":"a"}]}`, `{"U":[{"name":"a"},{"name":"a"}]}`, "", Converged, "U[0].name"},
		{"33", `{}`, `{"a":0}`, `{}`, `{"a":0}`, Changed, "a"},
		{"34", `{}`, `{"a":""}`, `{"a":null}`, `{"a":""}`, Changed, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := Compare(Input{
				Rules: caseRules(), Applied: decode(t, c.base),
				Desired: decode(t, c.desired), Live: decode(t, c.live),
			})
			wantPatch(t, res, c.patch)
			all := append(slices.Clone(res.Changes), res.Notes...)
			if c.class == "" && len(all) == 0 {
				return
			}
			if !slices.ContainsFunc(all, func(ch Difference) bool { return ch.Class == c.class && ch.Path == c.path }) {
				t.Errorf("want %s at %s, got %+v", c.class, c.path, all)
			}
		})
	}
}

func wantPatch(t *testing.T, res Comparison, want string) {
	t.Helper()
	got := ""
	if res.Patch != nil {
		got = encode(res.Patch)
	}
	if want != "" {
		want = encode(decode(t, want))
	}
	if got != want {
		t.Errorf("patch\n got  %s\n want %s", got, want)
	}
}

// vector is one of the corpus's merge patches.
type vector struct {
	Source  string          `json:"source"`
	Kind    string          `json:"kind"`
	Target  json.RawMessage `json:"target"`
	Patch   json.RawMessage `json:"patch"`
	Result  json.RawMessage `json:"result"`
	Agrees  *bool           `json:"rfc7386_agrees"`
	Changed json.RawMessage `json:"modified"`
	First   json.RawMessage `json:"patch1"`
	Second  json.RawMessage `json:"patch2"`
	// Roundtrip says that the patch makes the modified document of the target.
	Roundtrip bool `json:"rfc7386_roundtrip"`
}

// corpusVectors are the corpus's vectors of a kind.
func corpusVectors(t *testing.T, kind string) []vector {
	t.Helper()
	dir := os.Getenv("TRUEUP_CORPUS")
	if dir == "" {
		t.Skip("TRUEUP_CORPUS does not name the corpus")
	}
	b, err := os.ReadFile(filepath.Join(dir, "merge-patch", "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all, vectors []vector
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Kind == kind {
			vectors = append(vectors, v)
		}
	}
	if len(vectors) == 0 {
		t.Fatalf("the corpus has no vector of the kind %s", kind)
	}
	return vectors
}

func TestApplyCorpus(t *testing.T) {
	for i, v := range corpusVectors(t, "apply") {
		if v.Agrees != nil && !*v.Agrees {
			continue
		}
		target := decode(t, string(v.Target))
		before := encode(target)
		got := effect.ApplyPatch(decode(t, string(v.Patch)), target)
		if !reflect.DeepEqual(got, decode(t, string(v.Result))) {
			t.Errorf("vector %d (%s): %s + %s = %s, want %s", i, v.Source, v.Target, v.Patch, encode(got), v.Result)
		}
		if encode(target) != before {
			t.Errorf("vector %d: the target was changed", i)
		}
	}
}

// TestDiffCorpus: what git had and live has is the target, what git wants is
// the modified document: the patch is the vector's, where both are objects as
// specs are; any other vector is one for the interpreter.
func TestDiffCorpus(t *testing.T) {
	for i, v := range corpusVectors(t, "diff") {
		target, modified, patch := decode(t, string(v.Target)), decode(t, string(v.Changed)), decode(t, string(v.Patch))
		_, fromObject := target.(map[string]any)
		_, toObject := modified.(map[string]any)
		if !fromObject || !toObject {
			if v.Roundtrip && !reflect.DeepEqual(effect.ApplyPatch(patch, target), modified) {
				t.Errorf("vector %d (%s): %s + %s = %s", i, v.Source, v.Target, v.Patch, encode(effect.ApplyPatch(patch, target)))
			}
			continue
		}
		res := Compare(Input{Applied: target, Desired: modified, Live: target})
		if !reflect.DeepEqual(any(res.Patch), patch) || len(res.FirstContact) > 0 {
			t.Errorf("vector %d (%s): from %s to %s: %s, want %s", i, v.Source, v.Target, v.Changed, encode(res.Patch), v.Patch)
		}
	}
}

// TestComposeCorpus: one patch after another does what the composed one does,
// to an object that has none and some of their fields.
func TestComposeCorpus(t *testing.T) {
	for i, v := range corpusVectors(t, "compose") {
		first, second, composed := decode(t, string(v.First)), decode(t, string(v.Second)), decode(t, string(v.Result))
		for _, text := range []string{`{}`, `{"a":"x","b":{"c":"y"},"z":1}`} {
			if _, object := first.(map[string]any); !object && text != `{}` {
				continue // a patch that is no object forgets the target
			}
			target := decode(t, text)
			got, want := effect.ApplyPatch(second, effect.ApplyPatch(first, target)), effect.ApplyPatch(composed, target)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("vector %d (%s) on %s: %s, want %s", i, v.Source, text, encode(got), encode(want))
			}
		}
	}
}

// TestApplyRFC7396 is the table of RFC 7396, appendix A.
func TestApplyRFC7396(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		if got := effect.ApplyPatch(decode(t, c[1]), decode(t, c[0])); encode(got) != encode(decode(t, c[2])) {
			t.Errorf("%s + %s = %s, want %s", c[0], c[1], encode(got), c[2])
		}
	}
}

func TestScalars(t *testing.T) {
	number := &Rules{Type: kind.Number}
	for _, c := range []struct {
		rules *Rules
		a, b  string
		equal bool
	}{
		{nil, `"true"`, `true`, true},
		{nil, `"300"`, `300`, true},
		{nil, `10.0`, `1e1`, true},
		{nil, `"1.0"`, `1`, false},
		{nil, `"1"`, `true`, false},
		{nil, `1`, `true`, false},
		{nil, `"True"`, `true`, false},
		{nil, `"a"`, `"A"`, false},
		{nil, `""`, `null`, false},
		{nil, `"null"`, `null`, false},
		{nil, `"10"`, `"10.0"`, false},
		{number, `"1.0"`, `1`, true},
		{number, `"x"`, `"x"`, true},
		{number, `"x"`, `1`, false},
		{number, `" 1"`, `1`, false},
	} {
		for _, r := range []*Rules{c.rules, {Type: c.rules.scalarType()}} {
			if got := scalarEqual(r, decode(t, c.a), decode(t, c.b)); got != c.equal {
				t.Errorf("%s = %s: %v", c.a, c.b, got)
			}
			if got := scalarEqual(r, decode(t, c.b), decode(t, c.a)); got != c.equal {
				t.Errorf("%s = %s: %v", c.b, c.a, got)
			}
		}
	}
	for _, c := range []struct {
		t        kind.FieldType
		in, want any
	}{
		{kind.Text, json.Number("443"), "443"},
		{kind.Text, true, "true"},
		{kind.Bool, "false", false},
		{kind.Bool, "off", "off"},
		{kind.Number, "60", json.Number("60")},
		{kind.Number, "1.0", "1.0"},
		{kind.Number, "007", "007"},
		{kind.AnyType, json.Number("1"), json.Number("1")},
	} {
		if got := convertScalar(c.t, c.in); got != c.want {
			t.Errorf("typed(%d, %#v) = %#v, want %#v", c.t, c.in, got, c.want)
		}
	}
}

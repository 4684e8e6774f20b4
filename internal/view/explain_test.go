package view

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

// TestEveryFieldIsExplained: a path of each field of each kind and of our own files
// is explained, and has an example where there is anything to write.
func TestEveryFieldIsExplained(t *testing.T) {
	all := 0
	var each func(tp Topic, f *kind.Field, path string)
	each = func(tp Topic, f *kind.Field, path string) {
		all++
		tp.asked, tp.path = tp.titleOf()+"."+path, path
		facts, err := tp.FindFacts()
		if err != nil {
			t.Fatalf("%s: %v", tp.asked, err)
		}
		if facts.Title == "" && path != "" && !strings.HasSuffix(path, "]") && facts.Description == "" {
			t.Errorf("%s says nothing", tp.asked)
		}
		if facts.Text == "" || facts.Example == nil {
			t.Errorf("%s: %v, example %v", tp.asked, err, facts.Example)
		}
		for _, name := range f.Names {
			each(tp, f.Fields[name], kind.JoinField(path, name))
		}
		if f.Any != nil {
			each(tp, f.Any, kind.JoinField(path, "any-name"))
		}
		if f.Item != nil {
			each(tp, f.Item, path+"[0]")
		}
	}
	for _, k := range kind.AllKinds() {
		each(Topic{Kind: k, root: k.Root()}, k.Root(), "")
	}
	for _, name := range kind.OwnFiles() {
		root, _ := kind.OwnFileFields(name)
		each(Topic{asked: name, root: root}, root, "")
	}
	if all < 120 {
		t.Errorf("only %d fields", all)
	}
}

// TestAnyPathIsExplainedOrRefused: whatever is typed, there is an answer.
func TestAnyPathIsExplainedOrRefused(t *testing.T) {
	object := map[string]any{"spec": map[string]any{
		"locations": []any{map[string]any{"path": "/a.b/*"}, "odd", nil, []any{map[string]any{"cache": 1}}},
		"firewall":  map[string]any{"rules": []any{map[string]any{"name": "x", "constraints": []any{[]any{map[string]any{"type": "y"}}}}}},
	}}
	pieces := []string{
		"spec", "locations", "firewall", "rules", "constraints", "profiles", "delivery", "token", "url", "0", "7", "x", ".", "..", "[", "]", "[0]", "[]",
		"[0][0]", "[/a.b/*]", `["path"]`, "[x].", ".type", "status", "metadata", "overrides", "é", "\x00", "/",
	}
	var all []Topic
	for _, k := range kind.AllKinds() {
		all = append(all, Topic{Kind: k, root: k.Root()})
	}
	for _, name := range kind.OwnFiles() {
		root, _ := kind.OwnFileFields(name)
		all = append(all, Topic{asked: name, root: root})
	}
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "path"), rapid.SampledFrom([]string{"", "."}).Draw(t, "between"))
		for _, tp := range all {
			tp.path = path
			facts, err := tp.FindFacts()
			if err != nil {
				continue
			}
			if facts.Text == "" || facts.Example == nil {
				t.Errorf("%q: %v, example %v", path, err, facts.Example)
			}
			steps, _ := kind.SplitPath(tp.path)
			followSteps(valueAtPath{value: object, field: tp.root}, steps)
		}
	})
}

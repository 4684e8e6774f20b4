package merge

import (
	"reflect"
	"testing"
)

func TestManaged(t *testing.T) {
	rules := &Rules{Fields: map[string]*Rules{
		"a": {Ignore: true},
		"l": {Key: []string{"name"}, Item: &Rules{Fields: map[string]*Rules{"id": {ReadOnly: true}}}},
	}}
	spec := map[string]any{"a": "1", "b": nil, "l": []any{map[string]any{"name": "x", "id": "7"}, "y"}}
	want := map[string]any{"b": nil, "l": []any{map[string]any{"name": "x"}, "y"}}
	if got := ManagedValue(rules, spec); !reflect.DeepEqual(got, want) || spec["a"] != "1" {
		t.Errorf("managed %v of %v", got, spec)
	}
	if got := ManagedValue(nil, spec); !reflect.DeepEqual(got, spec) {
		t.Errorf("managed %v without rules", got)
	}
	if !rules.HasExcluded() || (&Rules{Fields: map[string]*Rules{"b": {Set: true}}}).HasExcluded() {
		t.Error("rules that leave something to the server are those that ignore, at any depth")
	}
	if got := SendableValue(rules, spec); !reflect.DeepEqual(got, map[string]any{"a": "1", "l": []any{map[string]any{"name": "x"}, "y"}}) {
		t.Errorf("sendable %v", got)
	}
}

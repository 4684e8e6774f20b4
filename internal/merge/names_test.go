package merge

import (
	"slices"
	"strings"
	"testing"
)

// TestNames: the short name, the whole key or the index of an element stands for it in the path of a change, whatever the
// other list has.
func TestNames(t *testing.T) {
	r := &Rules{Key: []string{"host", "path"}}
	element := func(host, path string) any { return map[string]any{"host": host, "path": path} }
	want := []any{element("a", "/x"), element("a", "/y")}
	if names := NameElements(r, want); !slices.Equal(names, []string{"/x", "/y"}) {
		t.Errorf("%q", names)
	}
	names := []string{"/x", "a/x", "0", "/y", "a/y", "1"}
	for _, have := range [][]any{nil, {element("b", "/x")}, {element("a", "/x"), element("a", "/x")}} {
		for _, c := range Compare(Input{
			Rules:   &Rules{Fields: map[string]*Rules{"l": r}},
			Desired: map[string]any{"l": want}, Live: map[string]any{"l": have}, TakeOver: true,
		}).Changes {
			known := c.Path == "l" || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(c.Path, "l["+name+"]") })
			if c.Desired != nil && !known {
				t.Errorf("against %v: %q has none of %q", have, c.Path, names)
			}
		}
	}
	if names := NameElements(r, []any{"text", map[string]any{}}); !slices.Equal(names, []string{"0", "1"}) {
		t.Errorf("%q", names)
	}
}

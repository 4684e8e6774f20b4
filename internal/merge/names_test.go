package merge

import (
	"slices"
	"strings"
	"testing"
)

// TestNames: an element is found by what stands for it in the path of a change,
// whatever the other list has.
func TestNames(t *testing.T) {
	r := &Rules{Key: []string{"host", "path"}}
	element := func(host, path string) any { return map[string]any{"host": host, "path": path} }
	want := []any{element("a", "/x"), element("a", "/y")}
	names := NameElements(r, want)
	if !slices.Equal(names, [][3]string{{"/x", "a/x", "0"}, {"/y", "a/y", "1"}}) {
		t.Errorf("%q", names)
	}
	for _, have := range [][]any{nil, {element("b", "/x")}, {element("a", "/x"), element("a", "/x")}} {
		for _, c := range Compare(Input{
			Rules:   &Rules{Fields: map[string]*Rules{"l": r}},
			Desired: map[string]any{"l": want}, Live: map[string]any{"l": have}, TakeOver: true,
		}).Changes {
			known := c.Path == "l" || slices.ContainsFunc(names, func(of [3]string) bool {
				return slices.ContainsFunc(of[:], func(name string) bool { return strings.HasPrefix(c.Path, "l["+name+"]") })
			})
			if c.Desired != nil && !known {
				t.Errorf("against %v: %q has none of %q", have, c.Path, names)
			}
		}
	}
	if names := NameElements(r, []any{"text", map[string]any{}}); !slices.Equal(names, [][3]string{{"0", "0", "0"}, {"1", "1", "1"}}) {
		t.Errorf("%q", names)
	}
}

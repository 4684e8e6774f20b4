package kind_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

// TestPathsReadAsTheyWereWritten: whatever the names of fields and elements are, a path has one reading, and no name
// looks like a part of it.
func TestPathsReadAsTheyWereWritten(t *testing.T) {
	name := rapid.OneOf(
		rapid.SampledFrom([]string{"cache", "X-Frame-Options", "/static/*", "a.example.com:443", "limit].action: 1 # x", `a"b`, "", "0", "[x]", "a.b", "\u202e", "ö"}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([][]string{nil, {"name"}, {"host", "path"}}).Draw(t, "key")
		path, want := "", []string(nil)
		for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
			n := name.Draw(t, "name")
			if i > 0 && rapid.Bool().Draw(t, "element") {
				quoted := kind.QuoteElement(key, n)
				if plain := quoted == n; plain && strings.ContainsAny(n, "[]\"#= \u202e") {
					t.Fatalf("%q has no quotes", n)
				}
				path += "[" + quoted + "]"
			} else {
				path = kind.JoinField(path, n)
			}
			want = append(want, n)
		}
		steps, ok := kind.SplitPath(path)
		var got []string
		for _, s := range steps {
			n, _ := kind.StepName(s)
			got = append(got, n)
		}
		if !ok || !slices.Equal(got, want) {
			t.Fatalf("%s: %q, %v, want %q", path, got, ok, want)
		}
	})
}

// FuzzSplitPath holds that no text is too much, and that what is read is the whole of it.
func FuzzSplitPath(f *testing.F) {
	for _, seed := range []string{`a["b]"].c`, "a[b][c]", `["a.b"]`, "a..b", `a["`, "[", "a[b]c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		cdn, _ := kind.FindKind("CDN")
		_ = cdn.Spec().FindField(path)
		steps, ok := kind.SplitPath(path)
		if whole := strings.Join(steps, ""); ok && strings.ReplaceAll(whole, ".", "") != strings.ReplaceAll(path, ".", "") {
			t.Fatalf("%q is %q", path, steps)
		}
	})
}

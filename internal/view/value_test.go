package view

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		in   any
		want string
	}{
		{nil, "(absent)"},
		{"true", `"true"`},
		{true, "true"},
		{json.Number("1.50"), "1.50"},
		{"<a> & \"b\"\n", `"<a> & \"b\"\n"`},
		{map[string]any{"b": []any{nil}, "a": 1}, `{a: 1, b: [null]}`},
		{long, `"` + long[:39] + "…" + long[:39] + `" (302 bytes)`},
		{"a" + strings.Repeat(" ", 400) + "b", `"a·400 spaces·b"`},
		{json.Number("bad"), `"bad"`},
	} {
		if got := FormatValue(c.in, false).String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestPairNeverHidesTheDifference(t *testing.T) {
	start := strings.Repeat("same ", 100)
	for _, c := range [][2]any{
		{start + "old", start + "new"},
		{map[string]any{"a": start, "b": 1}, map[string]any{"a": start, "b": 2}},
		{"x" + start, "y" + start},
	} {
		a, b := FormatPair(c[0], c[1], false)
		if a == b {
			t.Errorf("both are shown as %s", a)
		}
		if a.Width() > MaxText+60 || b.Width() > MaxText+60 {
			t.Errorf("%d and %d columns", a.Width(), b.Width())
		}
	}
}

package canon_test

import (
	"testing"

	"trueup/internal/canon"
)

// TestAt: what is not there, or is below another value than an object, is nil or empty.
func TestAt(t *testing.T) {
	v := canon.MustDecode([]byte(`{"a":{"b":"text","c":null,"d":[]}}`))
	for _, c := range []struct {
		path []string
		text string
		has  bool
	}{
		{nil, "", true},
		{[]string{"a"}, "", true},
		{[]string{"a", "b"}, "text", true},
		{[]string{"a", "c"}, "", false},
		{[]string{"a", "d"}, "", true},
		{[]string{"a", "b", "c"}, "", false},
		{[]string{"a", "d", "0"}, "", false},
		{[]string{"x", "y"}, "", false},
	} {
		if got := canon.At(v, c.path...); (got != nil) != c.has || canon.TextAt(v, c.path...) != c.text {
			t.Errorf("%q is %v", c.path, got)
		}
	}
	if canon.Object(canon.At(v, "a")) == nil || canon.Object(canon.At(v, "a", "d")) != nil || canon.Object(nil) != nil {
		t.Error("only an object is one")
	}
}

package report

import (
	"bytes"
	"strings"
	"testing"

	"trueup/internal/view"
)

func TestMarkedRowsAreAlignedAndColoured(t *testing.T) {
	rows := [][]string{{"ok", "delivery", "an answer"}, {"FAIL", "a", "it is long and is broken at the edge"}, {"", "", "fix: x"}, {"-", "b", "\x1b[31m::error::"}}
	for _, c := range []struct {
		opts view.TextOptions
		want string
	}{
		{view.TextOptions{}, "ok    delivery  an answer\nFAIL  a         it is long and is broken at the edge\n                fix: x\n-     b         \\x1b[31m::error::\n"},
		{
			view.TextOptions{Width: 40},
			"ok    delivery  an answer\nFAIL  a         it is long and is broken\n                at the edge\n                fix: x\n-     b         \\x1b[31m::error::\n",
		},
	} {
		var out bytes.Buffer
		if err := NewLineWriter(&out, 0).MarkedTable(rows, c.opts); err != nil || out.String() != c.want {
			t.Errorf("%v\n%s\nwant\n%s", err, &out, c.want)
		}
	}
	var out bytes.Buffer
	if err := NewLineWriter(&out, 0).MarkedTable(rows, view.TextOptions{Color: true}); err != nil || strings.Count(out.String(), "\x1b[3") != 2 {
		t.Errorf("%v: %q", err, &out)
	}
}

// TestAPathStaysWhole: it is of no use in two parts.
func TestAPathStaysWhole(t *testing.T) {
	var out bytes.Buffer
	rows := [][]string{
		{"ok", "a", "short/path.yaml", ""},
		{"ok", "somewhere-else", "manifests/long/path.yaml", ""},
		{"ok", "b", "manifests/long/path.yaml", "and why it is so"},
		{"only"},
		{""},
	}
	if err := NewLineWriter(&out, 0).MarkedTable(rows, view.TextOptions{Width: 40}); err != nil {
		t.Fatal(err)
	}
	const want = `ok  a               short/path.yaml
ok  somewhere-else
    manifests/long/path.yaml
ok  b
    manifests/long/path.yaml  and why it
    is so
only

`
	if out.String() != want {
		t.Errorf("%s", &out)
	}
}

package generate

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// TestCut: of two long texts, the lines that differ and a few around them stay, whatever is before and behind them.
func TestCut(t *testing.T) {
	var lines [][]byte
	for i := range 1000 {
		lines = append(lines, fmt.Appendf(nil, "line %d\n", i))
	}
	text := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	for name, c := range map[string]struct {
		after   [][]byte
		leftOut int
		lines   int
	}{
		"in the middle": {slices.Concat(lines[:500], [][]byte{[]byte("other\n")}, lines[501:]), 490, 21},
		"at the start":  {slices.Concat([][]byte{[]byte("other\n")}, lines[1:]), 0, 11},
		"at the end":    {slices.Concat(lines[:999], [][]byte{[]byte("other")}), 989, 11},
		"added":         {slices.Concat(lines, lines[:1]), 990, 10},
		"removed":       {slices.Concat(lines[:10], lines[20:]), 0, 30},
		"none left":     {nil, 0, 1000},
	} {
		i := &PulledObject{Before: text(lines...), After: text(c.after...)}
		i.cutEqualLines()
		before, after := text(lines...), text(c.after...)
		head := text(lines[:i.LeftOut]...)
		tail := before[len(head)+len(i.Before):]
		if n := bytes.Count(i.Before, []byte("\n")); i.LeftOut != c.leftOut || n != c.lines {
			t.Errorf("%s: %d lines after %d", name, n, i.LeftOut)
		}
		if !bytes.Equal(slices.Concat(head, i.Before, tail), before) || !bytes.Equal(slices.Concat(head, i.After, tail), after) {
			t.Errorf("%s: the rest is not equal:\n%s\n%s", name, i.Before, i.After)
		}
	}
}

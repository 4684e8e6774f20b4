package report

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/view"

	"pgregory.net/rapid"

	"trueup/internal/merge"
	"trueup/internal/plan"
)

// TestARenameIsOneLine: a text has a line for each rename and for each other change, and no format has
// more rows.
func TestARenameIsOneLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		item := plan.Item{Key: key("CDN", "shop"), Op: plan.Patch}
		want := 0
		for i := range rapid.IntRange(0, 4).Draw(rt, "renames") {
			var names []string
			for j := range rapid.IntRange(1, 20).Draw(rt, "elements") {
				names = append(names, fmt.Sprintf("/%d", j))
			}
			rename(&item, "locations", "host", fmt.Sprintf("a%d.example.com", i), fmt.Sprintf("b%d.example.com", i), names...)
			want++
		}
		for i := range rapid.IntRange(0, 5).Draw(rt, "others") {
			item.Changes = append(item.Changes, changes([]merge.Difference{{Path: fmt.Sprintf("tls.t%d", i), Class: merge.Changed, Live: "1", Desired: "2"}})...)
			want++
		}
		if rows := view.NewObjectView(item, view.TextOptions{}).Rows(); len(rows) != want {
			rt.Fatalf("%d rows, want %d", len(rows), want)
		}
		opts := view.TextOptions{Width: 1000}
		out := renderLines(func(p *printer) {
			p.width = opts.Width
			printRows(p, view.NewObjectView(item, opts))
		})
		n := 0
		for _, line := range out {
			n += strings.Count(line.String(), "  ~ ")
		}
		if n != want {
			rt.Fatalf("%d lines, want %d: %s", n, want, out)
		}
	})
}

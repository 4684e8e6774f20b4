package report

import (
	"strings"
	"testing"

	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// TestLinesFit holds that no line with a space to break at is wider than the
// terminal, but for the lines of a manifest.
func TestLinesFit(t *testing.T) {
	pl := examplePlan()
	long := changedItem()
	long.Path = strings.Repeat("environments/production/", 6) + "shop.yaml"
	pl.Items = append(pl.Items, long)
	pl.Summary.Unmanaged = 1000
	for _, columns := range []int{40, 60, 80, 100, 120, 140, 200} {
		out := render(t, "text", Document{Command: "plan", Plan: pl, Errors: []string{strings.Repeat("what went wrong ", 20)}}, view.TextOptions{Width: columns, Verbose: true})
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSuffix(line, "\n")
			if clean(line).Width() > columns {
				t.Errorf("%d columns of %d: %s", clean(line).Width(), columns, line)
			}
		}
	}
}

func TestHeadingOfALongPath(t *testing.T) {
	item := plan.Item{Key: key("CDN", "shop"), Path: strings.Repeat("漢字/", 30) + "shop.yaml", Line: 7, Op: plan.Patch, Changes: changes([]merge.Difference{{Path: "a", Class: merge.Changed, Desired: "1"}})}
	out := string(render(t, "text", Document{Plan: &plan.Plan{Items: []plan.Item{item}}}, view.TextOptions{Width: 40}))
	lines := strings.Split(out, "\n")
	if lines[0] != "CDN shop" || !strings.HasPrefix(lines[1], "    …") || !strings.HasSuffix(lines[1], "/shop.yaml:7") || clean(lines[1]).Width() > 40 {
		t.Error(out)
	}
}

// TestHostileTextInASummary: what a summary quotes comes from outside as well.
func TestHostileTextInASummary(t *testing.T) {
	for _, s := range seeds {
		server := map[string]any{"host": s, "port": s, "weight": s, s: []any{s, s + s}}
		item := plan.Item{Key: key("CDN", "x"), Op: plan.Patch, Changes: changes([]merge.Difference{
			{Path: "upstreams[b].servers[" + s + "]", Class: merge.Changed, Desired: server},
			{Path: "upstreams[b].servers[a:1]", Class: merge.Removed, Live: server},
		})}
		for _, columns := range []int{0, 40, 80} {
			doc := Document{Command: "plan", Plan: &plan.Plan{Items: []plan.Item{item}}}
			checkPlain(t, "text", render(t, "text", doc, view.TextOptions{Width: columns}))
			md := render(t, "markdown", doc, view.TextOptions{})
			checkPlain(t, "markdown", md)
			checkMarkdown(t, md, maxMarkdown, "")
		}
	}
}

package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// ofDifferent is a plan of so many objects whose changes are all different. Every tenth is grave, and every hundredth
// removes something.
func ofDifferent(n int) *plan.Plan {
	pl := &plan.Plan{Format: plan.Format}
	for i := range n {
		item := plan.Item{Key: key("CDN", fmt.Sprintf("cdn-%05d", i)), Op: plan.Patch, Line: 1}
		item.Path = fmt.Sprintf("cdns/%s.yaml", item.Name)
		for j := range 3 {
			path := fmt.Sprintf("locations[/path-%d/*].cache.edgeTTL", j)
			item.Changes = append(item.Changes, plan.Change{
				Difference: merge.Difference{Path: path, Class: merge.DriftOverwrite, Live: fmt.Sprint(i), Desired: fmt.Sprint(i + j)},
				Cause:      plan.FromDrift, Line: 100,
			})
		}
		if c := &item.Changes[len(item.Changes)-1]; i%10 == 0 {
			c.Path, c.Risk = fmt.Sprintf("locations[/grave-%d/*].upstream", i), kind.RiskSecurity
			item.Risk = kind.RiskSecurity
		} else if i%100 == 1 {
			c.Path, c.Desired = fmt.Sprintf("locations[/gone-%d/*]", i), nil
		}
		body := fmt.Sprintf(`{"spec":{"locations":[%s{}]}}`, strings.Repeat(`{"path":"/a","upstream":"origin"},`, 60))
		item.Request = &plan.Request{Method: "PATCH", ContentType: "application/merge-patch+json", Body: []byte(body)}
		pl.Items = append(pl.Items, item)
	}
	return pl
}

// TestPageOfManyObjects: a page has at most 15 MB, and names each object, and what is grave or removed of it.
func TestPageOfManyObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: large, and slow with the race detector")
	}
	const most = 15_000_000
	n := long.Choose(4000, 10_000)
	pl := ofDifferent(n)
	out := render(t, "html", Document{Command: "plan", Plan: pl}, view.TextOptions{})
	if len(out) > most {
		t.Errorf("the page has %d bytes", len(out))
	}
	checkHTML(t, out)
	found := map[string]bool{}
	for _, name := range regexp.MustCompile(`id="CDN/cdn-\d+"|\[/(grave|gone)-\d+/\*\]`).FindAllString(string(out), -1) {
		found[name] = true
	}
	for i := range pl.Items {
		names := []string{fmt.Sprintf("id=%q", "CDN/"+pl.Items[i].Name)}
		if i%10 == 0 {
			names = append(names, fmt.Sprintf("[/grave-%d/*]", i))
		} else if i%100 == 1 {
			names = append(names, fmt.Sprintf("[/gone-%d/*]", i))
		}
		for _, name := range names {
			if !found[name] {
				t.Fatalf("%s is not in the page", name)
			}
		}
	}
	details := bytes.Count(out, []byte("<article"))
	if want := fmt.Sprintf("%d more objects. The page only names", n-details); details < 500 || !bytes.Contains(out, []byte(want)) {
		t.Errorf("%d objects have details, and the page does not say %q", details, want)
	}
}

// TestPageOfOneLargeObject: however large it is, the first object has its details.
func TestPageOfOneLargeObject(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: large, and slow with the race detector")
	}
	out := render(t, "html", Document{Command: "plan", Plan: ofLarge(12_000)}, view.TextOptions{})
	if len(out) < maxHTMLDetails || bytes.Contains(out, []byte("more object")) {
		t.Errorf("the page has %d bytes", len(out))
	}
}

// TestPageOfEqualObjects: of many objects, equal changes are shown once, with all names.
func TestPageOfEqualObjects(t *testing.T) {
	pl := ofMany(maxHTMLObjects + 1)
	for i := range pl.Items {
		pl.Items[i].Name = fmt.Sprintf("equal-%d", i)
	}
	page := string(render(t, "html", Document{Command: "plan", Plan: pl}, view.TextOptions{}))
	if n := strings.Count(page, "<article"); n != 1 || !strings.Contains(page, "1001 objects") || !strings.Contains(page, "equal-1000") {
		t.Errorf("%d objects", n)
	}
	if line := regexp.MustCompile(`class="at">line \d+`).FindString(page); line != "" {
		t.Errorf("all objects have %s", line)
	}
}

// TestFiltersOfManyObjects: a filter counts objects and lines, not what the page has joined.
func TestFiltersOfManyObjects(t *testing.T) {
	pl := ofMany(maxHTMLObjects + 1)
	for i := range pl.Items {
		pl.Items[i].Name, pl.Items[i].Changes[0].Line = fmt.Sprintf("equal-%d", i), i+1
	}
	pl.Items = append(pl.Items, plan.Item{Key: key("Purge", "p"), Op: plan.Post, Purge: &plan.PurgeInfo{}, Cause: plan.FromPending})
	page := newHTMLPage(Document{Command: "plan", Plan: pl}, view.TextOptions{})
	counts := map[string]int{}
	for _, f := range page.Filters {
		for _, c := range f.Choices {
			counts[c.Value] += c.N
		}
	}
	lines := 0
	for _, i := range page.Items {
		lines += max(len(i.Keys), 1) * len(strings.Fields(i.Whys()))
	}
	if counts["to change"] != 1001 || counts["CDN"] != 1001 || counts["to post once"] != 1 || counts["Purge"] != 1 {
		t.Errorf("the filters count %v", counts)
	}
	if all := sum(page.Filters[0].Choices, func(c view.Tally) int { return c.N }); lines != all {
		t.Errorf("%d lines have causes, and the filter counts %d", lines, all)
	}
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/plan"
)

// maxQuiet is how many warnings of one rule about what a plan leaves as it is are
// shown one by one, and maxPlaces how many places stand for more of them.
const (
	maxQuiet  = 3
	maxPlaces = 3
)

// shownFindings are the findings of a document as people read them. In a plan, the
// warnings of a rule about what it does not change are one if they are many:
// validate, which has no plan, and Verbose show each.
func shownFindings(doc Document, opts Options) []alike {
	if doc.Plan == nil || opts.Verbose {
		return singly(doc.Findings)
	}
	items := itemsByFile(doc.Plan)
	quiet := map[string][]diag.Finding{}
	is := make([]bool, len(doc.Findings))
	for i, f := range doc.Findings {
		if is[i] = f.Severity == diag.Warning && f.Line > 0 && !touched(items[f.Path], f); is[i] {
			quiet[f.Rule] = append(quiet[f.Rule], f)
		}
	}
	var all []alike
	for i, f := range doc.Findings {
		same := quiet[f.Rule]
		switch {
		case !is[i] || len(same) <= maxQuiet:
			all = append(all, alike{Finding: f})
		case same[0] == f:
			all = append(all, alike{Finding: counted(same)})
		}
	}
	return all
}

// counted is one finding for many of a rule.
func counted(same []diag.Finding) diag.Finding {
	places := make([]string, 0, maxPlaces)
	for _, f := range same[:maxPlaces] {
		places = append(places, fmt.Sprintf("%s:%d:%d", f.Path, f.Line, f.Column))
	}
	return diag.Finding{
		Rule: same[0].Rule, Severity: diag.Warning,
		Message: fmt.Sprintf("%d findings about objects that this plan does not change: %s and %d more", len(same), strings.Join(places, ", "), len(same)-maxPlaces),
		Fix:     "to see all of them, run trueup validate, or plan -v",
	}
}

// itemsByFile are the items of each file in the order of their lines.
func itemsByFile(pl *plan.Plan) map[string][]plan.Item {
	items := map[string][]plan.Item{}
	for _, it := range pl.Items {
		items[it.Path] = append(items[it.Path], it)
	}
	for _, list := range items {
		slices.SortStableFunc(list, func(a, b plan.Item) int { return cmp.Compare(a.Line, b.Line) })
	}
	return items
}

// touched reports whether the item that a finding is in changes what it is about.
func touched(items []plan.Item, f diag.Finding) bool {
	i, _ := slices.BinarySearchFunc(items, f.Line+1, func(it plan.Item, line int) int { return cmp.Compare(it.Line, line) })
	return i > 0 && items[i-1].Touches(f.Field)
}

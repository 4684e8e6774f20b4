package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// equalFindings is a finding and others with the same message.
type equalFindings struct {
	diag.Finding
	others []diag.Finding
	// Link is the anchor of its object in HTML.
	Link safe
}

func alikeFindings(found diag.List) []equalFindings {
	var all []equalFindings
	at := map[[2]string]int{}
	for _, f := range found {
		text := [2]string{f.Rule, f.Message}
		i, known := at[text]
		if !known {
			at[text] = len(all)
			all = append(all, equalFindings{Finding: f})
			continue
		}
		all[i].others = append(all[i].others, f)
	}
	return all
}

// Also names the other places; empty for none.
func (a equalFindings) Also() safe {
	if len(a.others) == 0 {
		return safe{}
	}
	places := make([]safe, len(a.others))
	for i, f := range a.others {
		places[i] = view.Location(f)
	}
	return safetext.F("also at %s", view.Limited(places, ", "))
}

// fixes returns the label of the fix, which may apply only to the first place.
func (a equalFindings) fixes() string {
	if slices.ContainsFunc(a.others, func(f diag.Finding) bool { return f.Fix != a.Fix }) {
		return "fix of the first"
	}
	return "fix"
}

// If a plan has more than maxQuiet warnings of a rule about what it does not change,
// one finding with maxPlaces places replaces them.
const (
	maxQuiet  = 3
	maxPlaces = 3
)

// shownFindings returns the findings of a document. Without a plan, or with Verbose, it
// merges none.
func shownFindings(doc Document, opts view.TextOptions) []equalFindings {
	quiet := map[string][]diag.Finding{}
	isQuiet := func(diag.Finding) bool { return false }
	if doc.Plan != nil && !opts.Verbose {
		isQuiet = untouchedBy(doc.Plan)
	}
	for _, f := range doc.Findings {
		if isQuiet(f) {
			quiet[f.Rule] = append(quiet[f.Rule], f)
		}
	}
	var all []equalFindings
	for _, f := range doc.Findings {
		if opts.Brief && isQuiet(f) {
			continue
		}
		switch same := quiet[f.Rule]; {
		case len(same) <= maxQuiet || !isQuiet(f):
			all = append(all, equalFindings{Finding: f})
		case same[0] == f:
			all = append(all, equalFindings{Finding: manyAsOne(same)})
		}
	}
	return all
}

// quietLine counts the warnings about what a plan does not change; empty without any.
func quietLine(doc Document) safe {
	isQuiet, n := untouchedBy(doc.Plan), 0
	for _, f := range doc.Findings {
		n += view.OneIf(isQuiet(f))
	}
	if n == 0 {
		return safe{}
	}
	return safetext.F("%d about objects that this plan does not change. -v shows them.", n)
}

// untouchedBy returns a function that reports whether a finding is a warning about what a plan does not change.
func untouchedBy(pl *plan.Plan) func(diag.Finding) bool {
	items := itemsByFile(pl)
	return func(f diag.Finding) bool {
		item := itemAt(items[f.Path], f.Line)
		return f.Severity == diag.Warning && f.Line > 0 && f.Rule != requesttest.Rule && (item == nil || !item.Touches(f.Field))
	}
}

func manyAsOne(same []diag.Finding) diag.Finding {
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

// itemsByFile returns the items of each manifest in order of their lines.
func itemsByFile(pl *plan.Plan) map[string][]*plan.Item {
	items := map[string][]*plan.Item{}
	for i := range pl.Items {
		if item := &pl.Items[i]; item.Path != "" {
			items[item.Path] = append(items[item.Path], item)
		}
	}
	for _, list := range items {
		slices.SortStableFunc(list, func(a, b *plan.Item) int { return cmp.Compare(a.Line, b.Line) })
	}
	return items
}

// itemAt returns the item that contains the line, or nil. The items must be sorted by line.
func itemAt(items []*plan.Item, line int) *plan.Item {
	i, _ := slices.BinarySearchFunc(items, line+1, func(it *plan.Item, line int) int { return cmp.Compare(it.Line, line) })
	if i == 0 {
		return nil
	}
	return items[i-1]
}

// silencedFindings returns the warnings and the advice that comments in manifests hide.
func silencedFindings(doc Document) diag.List {
	if doc.Plan == nil {
		return doc.Silenced
	}
	return slices.Concat(doc.Silenced, doc.Plan.Silenced)
}

const tabWidth = 4

// excerptLine shortens a source line to columns, and returns the display column of its column.
// It cuts text far left of that column.
func excerptLine(line string, column, columns int) (safe, int) {
	runes := []rune(line)
	at := min(max(column-1, 0), len(runes))
	before, after := shownSource(runes[:at]), shownSource(runes[at:])
	if before.Width() > columns-columns/3 {
		before = before.CutLeft(columns/2 + 1)
	}
	return safetext.F("%s%s", before, after).Cut(columns), before.Width()
}

func shownSource(runes []rune) safe {
	return clean(strings.ReplaceAll(string(runes), "\t", strings.Repeat(" ", tabWidth)))
}

package report

import (
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// equalFindings is a finding and others with the same message.
type equalFindings struct {
	diag.Finding
	others []diag.Finding
	// Link is the anchor of its object in HTML.
	Link safeText
}

func groupEqualFindings(found diag.List) []equalFindings {
	groups := diag.GroupBy(found, func(f diag.Finding) [2]string { return [2]string{f.Rule, f.Message} })
	return diag.MapList(groups, func(g []diag.Finding) equalFindings { return equalFindings{Finding: g[0], others: g[1:]} })
}

// Also names the other places; empty for none.
func (a equalFindings) Also() safeText {
	if len(a.others) == 0 {
		return safeText{}
	}
	places := diag.MapList(a.others, view.FormatLocation)
	return safetext.F("also at %s", view.JoinLimited(places, ", "))
}

// fixLabel returns the label of the fix, which may apply only to the first place.
func (a equalFindings) fixLabel() string {
	if slices.ContainsFunc(a.others, func(f diag.Finding) bool { return f.Fix != a.Fix }) {
		return "fix of the first"
	}
	return "fix"
}

// shownFindings returns the findings of a document. Of a plan, it leaves out warnings about what the plan does not change, unless
// Verbose is set.
func shownFindings(doc Document, opts view.TextOptions) []equalFindings {
	shown := slices.Clone(doc.Findings)
	if doc.Plan != nil && !opts.Verbose {
		itemAt := view.ItemFinder(doc.Plan)
		shown = slices.DeleteFunc(shown, func(f diag.Finding) bool {
			item, isQuiet := itemAt(f.Path, f.Line), f.Severity == diag.Warning && f.Line > 0 && f.Rule != requesttest.Rule
			return isQuiet && (item.Kind == "" || !item.ChangesField(f.Field))
		})
	}
	return diag.MapList(shown, func(f diag.Finding) equalFindings { return equalFindings{Finding: f} })
}

// unrelatedWarnings counts the warnings that shownFindings leaves out; nothing without any.
func unrelatedWarnings(doc Document, opts view.TextOptions) []safeText {
	n := len(doc.Findings) - len(shownFindings(doc, opts))
	if n == 0 {
		return nil
	}
	return []safeText{safetext.F("%s about objects that this plan does not change: trueup validate, or plan -v, shows all", safetext.Count(n, "warning"))}
}

// silencedLines returns a line for each finding that a comment in a manifest hides, with the reason.
func silencedLines(doc Document) (lines []safeText) {
	found := doc.Silenced
	if doc.Plan != nil {
		found = slices.Concat(found, doc.Plan.Silenced)
	}
	for _, f := range found {
		name := safetext.F("%s%s", view.LocationPrefix(f), clean(f.Rule).Truncate(view.MaxPath))
		lines = append(lines, safetext.Join(safetext.NonEmpty(name, view.CleanMessage(f.Silenced)), ": "))
	}
	return lines
}

const tabWidth = 4

// excerptLine shortens a source line to columns, and returns the display column of its column.
// It cuts text far left of that column.
func excerptLine(line string, column, columns int) (safeText, int) {
	runes := []rune(line)
	at := min(max(column-1, 0), len(runes))
	before, after := shownSource(runes[:at]), shownSource(runes[at:])
	if before.Width() > columns-columns/3 {
		before = before.TruncateLeft(columns/2 + 1)
	}
	return safetext.F("%s%s", before, after).Truncate(columns), before.Width()
}

func shownSource(runes []rune) safeText {
	return clean(strings.ReplaceAll(string(runes), "\t", strings.Repeat(" ", tabWidth)))
}

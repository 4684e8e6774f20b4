package report

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
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
		isQuiet = view.ManifestsOf(doc.Plan).IsUnrelatedWarning
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
			all = append(all, equalFindings{Finding: mergeEqualFindings(same)})
		}
	}
	return all
}

// unrelatedWarnings counts the warnings about what a plan does not change; empty without any.
func unrelatedWarnings(doc Document) safeText {
	isQuiet, n := view.ManifestsOf(doc.Plan).IsUnrelatedWarning, 0
	for _, f := range doc.Findings {
		n += view.OneIf(isQuiet(f))
	}
	if n == 0 {
		return safeText{}
	}
	return safetext.F("%d about objects that this plan does not change. -v shows them.", n)
}

func mergeEqualFindings(same []diag.Finding) diag.Finding {
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

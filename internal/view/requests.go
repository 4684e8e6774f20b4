package view

import (
	"slices"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

// A brief plan lists the first lines about requests, and names the first hosts and paths of each.
const (
	maxRequestLines = 12
	maxRequestNames = 5
)

// RequestSection is what a plan does to the requests of the site.
type RequestSection struct {
	Title safetext.Text
	Lines []safetext.Text
	// Rank is that of the worst line.
	Rank Rank
}

// RequestsOf returns the section about requests of a plan; it has no lines if the plan changes no object that answers
// requests.
func RequestsOf(pl *plan.Plan, opts Options) RequestSection {
	s := RequestSection{Title: clean("Requests that change, the worst first"), Rank: rankChange}
	lines := routing.JoinLines(pl.Requests, true)
	switch {
	case pl.HidesRequests:
	case len(lines) > 0 && lines[0].Drift:
		s.Title = clean("Requests that live answers otherwise than git, the worst first")
	case slices.ContainsFunc(pl.Items, func(it plan.Item) bool { return it.Happened || it.Waits }): // what git changes is not compared
	case len(lines) == 0 && slices.ContainsFunc(pl.Items, changesAnswers):
		s.Title, s.Lines = clean("Requests"), []safetext.Text{clean("none is answered in another way")}
	}
	if len(lines) > 0 && lines[0].Effect == routing.Dark {
		s.Rank = rankStops
	}
	s.addLines(lines, opts)
	return s
}

// addLines adds the lines, not all of them if the report is brief.
func (s *RequestSection) addLines(lines []routing.Line, opts Options) {
	names, more := routing.All, 0
	if opts.Brief {
		names = maxRequestNames
		if len(lines) > maxRequestLines+1 {
			lines, more = lines[:maxRequestLines], len(lines)-maxRequestLines
		}
	}
	isOther := func(l routing.Line) bool { return !slices.Equal(l.Objects, lines[0].Objects) || len(l.Objects) > 1 }
	areSeveral := slices.ContainsFunc(lines, isOther)
	for _, l := range lines {
		s.Lines = append(s.Lines, DescribeRequests(l, names, areSeveral))
	}
	if more > 0 {
		s.Lines = append(s.Lines, safetext.F("and %d more; -v lists them", more))
	}
}

// changesAnswers reports whether an item changes an object that answers requests.
func changesAnswers(item plan.Item) bool {
	k, ok := kind.FindKind(item.Kind)
	return ok && k.CanPatch() && k.HostField != "" && (item.Op == plan.Patch || item.Op == plan.Create) && !item.Happened
}

// DescribeRequests returns a line, with the objects whose change does it if there may be others.
func DescribeRequests(l routing.Line, names int, areSeveral bool) safetext.Text {
	text := clean(l.Sentence(names))
	if !areSeveral {
		return text
	}
	keys := NamesOf(l.Objects)
	if more := len(keys) - names; more > 1 {
		keys = append(keys[:names], safetext.F("%d more", more))
	}
	return safetext.F("%s [%s]", text, safetext.Join(keys, ", "))
}

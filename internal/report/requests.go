package report

import (
	"fmt"
	"slices"
	"strings"

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

// requestSection is what a plan does to the requests of the site.
type requestSection struct {
	Title safe
	Lines []safe
	// rank is that of the worst line.
	rank rank
}

// requestsOf returns the section about requests of a plan; it has no lines if the plan changes no object that answers
// requests.
func requestsOf(pl *plan.Plan, opts Options) requestSection {
	s := requestSection{Title: clean("Requests that change, the worst first"), rank: rankChange}
	merged := mergedLines(pl.Requests)
	switch {
	case pl.HidesRequests:
	case len(merged) > 0 && merged[0].Drift:
		s.Title = clean("Requests that live answers otherwise than git, the worst first")
	case len(merged) == 0 && slices.ContainsFunc(pl.Items, changesAnswers):
		s.Title, s.Lines = clean("Requests"), []safe{clean("none is answered in another way")}
	}
	if len(merged) > 0 && merged[0].Effect == routing.Dark {
		s.rank = rankStops
	}
	s.Lines = append(s.Lines, requestLines(merged, areSeveral(pl.Requests), opts)...)
	return s
}

// requestLines returns lines, or the first ones of a brief plan.
func requestLines(lines []routing.Line, objects bool, opts Options) (texts []safe) {
	names, more := routing.All, 0
	if opts.Brief {
		names = maxRequestNames
		if len(lines) > maxRequestLines+1 {
			lines, more = lines[:maxRequestLines], len(lines)-maxRequestLines
		}
	}
	for _, l := range lines {
		texts = append(texts, requestLineOf(l, names, objects))
	}
	if more > 0 {
		texts = append(texts, safetext.F("and %d more; -v lists them", more))
	}
	return texts
}

// areSeveral reports whether lines have several objects.
func areSeveral(lines []routing.Line) bool {
	return slices.ContainsFunc(lines, func(l routing.Line) bool { return len(l.Objects) != 1 || l.Objects[0] != lines[0].Objects[0] })
}

// changesAnswers reports whether an item changes an object that answers requests.
func changesAnswers(item plan.Item) bool {
	k, ok := kind.Named(item.Kind)
	return ok && k.CanPatch() && k.HostField != "" && item.Op == plan.Patch && !item.Happened
}

// requestLineOf returns a line, with the objects whose change does it if there may be others.
func requestLineOf(l routing.Line, names int, objects bool) safe {
	text := clean(l.Sentence(names))
	if !objects {
		return text
	}
	keys := l.Objects
	more := safe{}
	if rest := len(keys) - names; rest > 0 {
		keys, more = keys[:names], safetext.F("%d more", rest)
	}
	return safetext.F("%s [%s]", text, safetext.Join(safetext.Filled(safetext.Join(namesOf(keys), ", "), more), " and "))
}

// mergedLines makes one of lines of several objects that say the same of other hosts.
func mergedLines(lines []routing.Line) (out []routing.Line) {
	at := map[string]int{}
	for _, l := range lines {
		id := fmt.Sprint(l.Effect, l.Paths, l.What(maxRequestNames), len(l.Hosts) > 0, l.Drift)
		i, known := at[id]
		if !known || l.As != "" || l.IgnoringCase || len(l.Hosts) == 0 {
			at[id] = len(out)
			out = append(out, l)
			continue
		}
		same := &out[i]
		same.Hosts = append(slices.Clip(same.Hosts), l.Hosts...)
		for _, key := range l.Objects {
			if !slices.Contains(same.Objects, key) {
				same.Objects = append(slices.Clip(same.Objects), key)
			}
		}
	}
	return out
}

// textRequests writes the section about requests.
func textRequests(p *printer, pl *plan.Plan, opts Options) {
	s := requestsOf(pl, opts)
	if len(s.Lines) == 0 {
		return
	}
	p.gap()
	p.wrapped(indent, span{safetext.F("%s:", s.Title), strong})
	for _, line := range s.Lines {
		p.wrapped(hang, span{safetext.F("    %s", line), plain})
	}
}

// requestRemarks returns a remark about the requests that an object is the first to change, at the first location that
// differs.
func requestRemarks(item plan.Item, pl *plan.Plan, at Place) []remark {
	var lines []safe
	rule := "plan/requests"
	for _, l := range pl.Requests {
		if l.Objects[0] != item.Key {
			continue
		}
		if l.Effect == routing.Dark {
			rule = "plan/unserved"
		}
		lines = append(lines, requestLineOf(l, maxParts, len(l.Objects) > 1))
	}
	if len(lines) == 0 || item.Op == plan.Create && rule == "plan/requests" {
		return nil
	}
	r := itemRemark(item, rule, at, safetext.F("requests: %s", lines[0]))
	r.more = lines[1:min(len(lines), maxParts)]
	if rest := len(lines) - maxParts; rest > 0 {
		r.more = append(slices.Clip(r.more), safetext.F("and %s", safetext.Count(rest, "more line")))
	}
	i := slices.IndexFunc(item.Changes, func(c plan.Change) bool { return c.Line > 0 && strings.HasPrefix(c.Path, "locations[") })
	if i >= 0 && r.file != "" {
		r.Line, r.Column = item.Changes[i].Line, max(item.Changes[i].Column, 0)
	}
	return []remark{r}
}

// requestCases returns a test case for each line about requests.
func requestCases(pl *plan.Plan) (cases []testCase) {
	for _, l := range pl.Requests {
		cases = append(cases, testCase{Class: clean("trueup.requests"), Name: clean(l.Who(maxParts)).Cut(maxPath), Lines: []safe{requestLineOf(l, maxParts, true)}})
	}
	return cases
}

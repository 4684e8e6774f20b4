package report

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// scoreOf returns the score of a report of a document that has shown nothing. A plan that was applied needs no reader.
func scoreOf(doc Document) *view.Score {
	var facts []view.Fact
	for _, s := range settingsOf(doc.Plan) {
		facts = append(facts, factsIn(s.Rows)...)
	}
	if doc.Plan != nil && doc.Apply == nil {
		for _, item := range doc.Plan.Items {
			if !isShort(item) && (item.Purge != nil || item.Op == plan.Delete || view.MustShow(item.Risk)) {
				facts = append(facts, factsOf(item)...)
			}
		}
	}
	return view.NewScore(facts)
}

// factsOf returns what the plan changes of an object, from the plan itself and not from the rows about it.
func factsOf(item plan.Item) (facts []view.Fact) {
	for _, l := range item.AllLines() {
		if visible(l.Class, Options{}) && l.Class != plan.Stays {
			facts = append(facts, factsOfLine(item, l)...)
		}
	}
	return slices.Concat(facts, factsOfPurge(item), factsOfAll(item))
}

// factsIn returns what rows show.
func factsIn(rows []row) (facts []view.Fact) {
	for _, r := range rows {
		facts = append(facts, r.facts...)
	}
	return facts
}

// mustShow reports whether one of the facts must be shown.
func mustShow(facts []view.Fact) bool {
	return slices.ContainsFunc(facts, func(f view.Fact) bool { return view.MustShow(f.Risk) })
}

// factsOfLine returns a fact for each element that a line is about.
func factsOfLine(item plan.Item, l plan.Line) []view.Fact {
	if len(l.Elements) == 0 {
		return []view.Fact{{Object: item.Key, Path: kind.Steps(l.Path), Risk: l.Risk}}
	}
	facts, list, field := make([]view.Fact, len(l.Elements)), kind.Steps(l.List), kind.Steps(strings.TrimPrefix(l.Path, l.List+"."))
	for i, e := range l.Elements {
		facts[i] = view.Fact{Object: item.Key, Path: slices.Concat(list, []string{"[" + e + "]"}, field), Risk: l.Risk}
	}
	return facts
}

// factsOfPurge returns the prefixes that a purge invalidates.
func factsOfPurge(item plan.Item) (facts []view.Fact) {
	if item.Purge == nil {
		return nil
	}
	prefixes, _ := pathsOf(item)
	for _, path := range prefixes {
		facts = append(facts, view.Fact{Object: item.Key, Path: []string{"paths", path}, Risk: kind.RiskAvailability})
	}
	return facts
}

// factsOfAll returns the fact that an object is deleted, or that a purge which is posted invalidates everything.
func factsOfAll(item plan.Item) []view.Fact {
	if item.Op == plan.Delete {
		return []view.Fact{{Object: item.Key, Path: []string{view.Deleted}, Risk: max(item.Risk, kind.RiskServes)}}
	}
	if item.Op != plan.Post || item.Purge == nil || !item.Purge.Everything {
		return nil
	}
	return []view.Fact{{Object: item.Key, Path: []string{"everything"}, Risk: kind.RiskAvailability}}
}

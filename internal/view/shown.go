package view

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// ScoreOf returns the score of a report that has shown nothing. A plan that was applied needs no reader.
func ScoreOf(pl *plan.Plan, applied bool) *Score {
	var facts []Fact
	for _, s := range SettingsOf(pl) {
		facts = append(facts, FactsIn(s.Rows)...)
	}
	if pl != nil && !applied {
		for _, item := range pl.Items {
			if !isShort(item) && (item.Purge != nil || item.Op == plan.Delete || MustShow(item.Risk)) {
				facts = append(facts, factsOf(item)...)
			}
		}
	}
	return NewScore(facts)
}

// factsOf returns what the plan changes of an object, from the plan itself and not from the rows about it.
func factsOf(item plan.Item) (facts []Fact) {
	for _, l := range item.AllLines() {
		if isVisible(l.Class, Options{}) && l.Class != plan.Stays {
			facts = append(facts, factsOfLine(item, l)...)
		}
	}
	return slices.Concat(facts, factsOfPurge(item), factsOfAll(item))
}

// FactsIn returns what rows show.
func FactsIn(rows []Row) (facts []Fact) {
	for _, r := range rows {
		facts = append(facts, r.Facts...)
	}
	return facts
}

// MustShowOneOf reports whether one of the facts must be shown.
func MustShowOneOf(facts []Fact) bool {
	return slices.ContainsFunc(facts, func(f Fact) bool { return MustShow(f.Risk) })
}

// factsOfLine returns a fact for each element that a line is about.
func factsOfLine(item plan.Item, l plan.Line) []Fact {
	if len(l.Elements) == 0 {
		return []Fact{{Object: item.Key, Path: kind.PathSteps(l.Path), Risk: l.Risk}}
	}
	facts, list, field := make([]Fact, len(l.Elements)), kind.PathSteps(l.List), kind.PathSteps(strings.TrimPrefix(l.Path, l.List+"."))
	for i, e := range l.Elements {
		facts[i] = Fact{Object: item.Key, Path: slices.Concat(list, []string{"[" + e + "]"}, field), Risk: l.Risk}
	}
	return facts
}

// factsOfPurge returns the prefixes that a purge invalidates.
func factsOfPurge(item plan.Item) (facts []Fact) {
	if item.Purge == nil {
		return nil
	}
	prefixes, _ := pathsOf(item)
	for _, path := range prefixes {
		facts = append(facts, Fact{Object: item.Key, Path: []string{"paths", path}, Risk: kind.RiskAvailability})
	}
	return facts
}

// factsOfAll returns the fact that an object is deleted, or that a purge which is posted invalidates everything.
func factsOfAll(item plan.Item) []Fact {
	if item.Op == plan.Delete {
		return []Fact{{Object: item.Key, Path: []string{Deleted}, Risk: max(item.Risk, kind.RiskServes)}}
	}
	if item.Op != plan.Post || item.Purge == nil || !item.Purge.Everything {
		return nil
	}
	return []Fact{{Object: item.Key, Path: []string{"everything"}, Risk: kind.RiskAvailability}}
}

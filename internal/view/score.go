// Package view says what a reader sees of a plan: objects with their lines, causes, counts and risks, and which of them no format may
// leave out. It also explains fields and words. It prints nothing.
package view

import (
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// MustShow reports whether a change of that risk must be shown with its name and its values. Others may be counted.
func MustShow(risk kind.Risk) bool { return risk >= kind.RiskAvailability }

// ChangeFact names one thing that a plan changes.
type ChangeFact struct {
	Object kind.Key
	Path   string
	Risk   kind.Risk
}

// Deleted is the path of the fact that an object is deleted.
const Deleted = "deleted"

func (f ChangeFact) id() string {
	return f.Object.Project + "\x00" + f.Object.String() + "\x00" + f.Path
}

// FactTracker says which facts that must be shown a report has shown, which it has counted, and which are left.
type FactTracker struct {
	left    map[string][]ChangeFact
	counted map[string]int // by what they do
}

// cantUndo is what a deletion does.
const cantUndo = "can't be undone, because they delete an object"

// NewScore returns the score of a report that has shown nothing.
func NewScore(facts []ChangeFact) *FactTracker {
	s := &FactTracker{left: map[string][]ChangeFact{}, counted: map[string]int{}}
	for _, f := range facts {
		if MustShow(f.Risk) {
			s.left[f.id()] = append(s.left[f.id()], f)
		}
	}
	return s
}

// MarkShown notes that the report shows the facts with their values. A nil score notes nothing.
func (s *FactTracker) MarkShown(facts ...ChangeFact) {
	if s == nil {
		return
	}
	for _, f := range facts {
		delete(s.left, f.id())
	}
}

// CountRemaining notes that the report counts all facts that it has not shown, and returns how many these are.
func (s *FactTracker) CountRemaining() (total int) {
	if s == nil {
		return 0
	}
	s.MarkCounted(s.Remaining()...)
	for _, n := range s.counted {
		total += n
	}
	return total
}

// MarkCounted notes that the report counts those of the facts that it has not shown.
func (s *FactTracker) MarkCounted(facts ...ChangeFact) {
	for _, f := range facts {
		if left := s.left[f.id()]; f.Path == Deleted {
			s.counted[cantUndo] += len(left)
		} else if len(left) > 0 {
			s.counted[left[0].Risk.Meaning()] += len(left)
		}
		delete(s.left, f.id())
	}
}

// CountedText says how many facts of each class the report counts instead of showing them.
func (s *FactTracker) CountedText() safetext.Text {
	var parts []safetext.Text
	for _, does := range append([]string{cantUndo}, diag.MapList(kind.Risks(), kind.Risk.Meaning)...) {
		if n := s.counted[does]; n > 0 {
			parts = append(parts, safetext.F("%d that %s", n, does))
		}
	}
	return safetext.Join(parts, "; ")
}

// HasRemaining reports whether the report has neither shown nor counted one of the facts.
func (s *FactTracker) HasRemaining(facts []ChangeFact) bool {
	return slices.ContainsFunc(facts, func(f ChangeFact) bool { return s.left[f.id()] != nil })
}

// Remaining returns the facts that the report has neither shown nor counted.
func (s *FactTracker) Remaining() (all []ChangeFact) {
	for _, id := range slices.Sorted(maps.Keys(s.left)) {
		all = append(all, s.left[id]...)
	}
	return all
}

// NewPlanScore returns the score of a report that has shown nothing. A plan that was applied needs no reader.
func NewPlanScore(pl *plan.Plan, applied bool) *FactTracker {
	var facts []ChangeFact
	for _, s := range SettingsOf(pl) {
		facts = append(facts, FactsOfRows(s.Lines())...)
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
func factsOf(item plan.Item) (facts []ChangeFact) {
	for _, l := range item.AllLines() {
		if isVisible(l.Class, TextOptions{}) {
			facts = append(facts, factsOfLine(item, l)...)
		}
	}
	return slices.Concat(facts, factsOfPurge(item), wholeObjectFacts(item))
}

// FactsOfRows returns what rows show.
func FactsOfRows(rows []Row) (facts []ChangeFact) {
	for _, r := range rows {
		facts = append(facts, r.Facts...)
	}
	return facts
}

// MustShowOneOf reports whether one of the facts must be shown.
func MustShowOneOf(facts []ChangeFact) bool {
	return slices.ContainsFunc(facts, func(f ChangeFact) bool { return MustShow(f.Risk) })
}

// factsOfLine returns a fact for each element that a line is about.
func factsOfLine(item plan.Item, l plan.ChangeLine) []ChangeFact {
	if len(l.Elements) == 0 {
		return []ChangeFact{{Object: item.Key, Path: l.Path, Risk: l.Risk}}
	}
	return diag.MapList(l.Elements, func(element string) ChangeFact {
		return ChangeFact{Object: item.Key, Path: l.List + "[" + element + "]" + strings.TrimPrefix(l.Path, l.List), Risk: l.Risk}
	})
}

// factsOfPurge returns the prefixes that a purge invalidates.
func factsOfPurge(item plan.Item) []ChangeFact {
	if item.Purge == nil {
		return nil
	}
	prefixes, _ := pathsOf(item)
	return diag.MapList(prefixes, func(path string) ChangeFact {
		return ChangeFact{Object: item.Key, Path: "paths[" + path + "]", Risk: kind.RiskAvailability}
	})
}

// wholeObjectFacts returns the fact that an object is deleted, or that a purge which is posted invalidates everything.
func wholeObjectFacts(item plan.Item) []ChangeFact {
	if item.Op == plan.Delete {
		return []ChangeFact{{Object: item.Key, Path: Deleted, Risk: max(item.Risk, kind.RiskServes)}}
	}
	if item.Op != plan.Post || item.Purge == nil || !item.Purge.Everything {
		return nil
	}
	return []ChangeFact{{Object: item.Key, Path: "everything", Risk: kind.RiskAvailability}}
}

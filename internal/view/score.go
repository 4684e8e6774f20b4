// Package view says what a reader sees of a plan: objects with their lines, causes, counts and risks, and which of them no format may
// leave out. It prints nothing.
package view

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"trueup/internal/kind"
)

// MustShow reports whether a change of that risk must be shown with its name and its values. Others may be counted.
func MustShow(risk kind.Risk) bool { return risk >= kind.RiskAvailability }

// Fact names one thing that a plan changes.
type Fact struct {
	Object kind.Key
	// Path has the keys on the way to it, as kind.PathSteps returns them.
	Path []string
	Risk kind.Risk
}

// Deleted is the path of the fact that an object is deleted.
const Deleted = "deleted"

func (f Fact) isDeletion() bool { return len(f.Path) == 1 && f.Path[0] == Deleted }

// Of returns the same fact about another object.
func (f Fact) Of(object kind.Key) Fact {
	f.Object = object
	return f
}

func (f Fact) id() string {
	return f.Object.Project + "\x00" + f.Object.String() + "\x00" + strings.Join(f.Path, "\x00")
}

// Score says which facts that must be shown a report has shown, which it has counted, and which are left. Formats may use
// one from several goroutines.
type Score struct {
	lock    sync.Mutex
	left    map[string][]Fact
	counted map[kind.Risk]int
	deleted int // of those that are counted
}

// NewScore returns the score of a report that has shown nothing.
func NewScore(facts []Fact) *Score {
	s := &Score{left: map[string][]Fact{}, counted: map[kind.Risk]int{}}
	for _, f := range facts {
		if MustShow(f.Risk) {
			s.left[f.id()] = append(s.left[f.id()], f)
		}
	}
	return s
}

// Show notes that the report shows the facts with their values. A nil score notes nothing.
func (s *Score) Show(facts ...Fact) {
	if s == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, f := range facts {
		delete(s.left, f.id())
	}
}

// Count notes that the report counts all facts that it has not shown, and returns how many these are.
func (s *Score) Count() (total int) {
	if s == nil {
		return 0
	}
	s.CountThese(s.Left()...)
	total = s.deleted
	for _, n := range s.counted {
		total += n
	}
	return total
}

// CountThese notes that the report counts those of the facts that it has not shown.
func (s *Score) CountThese(facts ...Fact) {
	if s == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, f := range facts {
		left := s.left[f.id()]
		if delete(s.left, f.id()); len(left) > 0 && f.isDeletion() {
			s.deleted += len(left)
		} else if len(left) > 0 {
			s.counted[left[0].Risk] += len(left)
		}
	}
}

// CountedDeletions returns how many deletions the report counts instead of showing them.
func (s *Score) CountedDeletions() int { return s.deleted }

// Counted returns how many facts of a risk, without deletions, the report counts instead of showing them.
func (s *Score) Counted(risk kind.Risk) int { return s.counted[risk] }

// IsLeft reports whether the report has neither shown nor counted one of the facts.
func (s *Score) IsLeft(facts []Fact) bool {
	return slices.ContainsFunc(facts, func(f Fact) bool { return s.left[f.id()] != nil })
}

// Left returns the facts that the report has neither shown nor counted.
func (s *Score) Left() (all []Fact) {
	for _, id := range slices.Sorted(maps.Keys(s.left)) {
		all = append(all, s.left[id]...)
	}
	return all
}

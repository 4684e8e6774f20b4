// Package view decides how a reader sees what a plan changes: how values are shortened, which changes no format may
// leave out, and which of those one has shown so far. It prints nothing.
package view

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"trueup/internal/kind"
)

// MustShow reports whether a change of that risk must be shown with its name and its values. Others may be counted.
func MustShow(risk kind.Risk) bool { return risk >= kind.RiskAvailability }

// Fact names one thing that a plan changes.
type Fact struct {
	Object kind.Key
	Path   string
	Risk   kind.Risk
}

// Of returns the same fact about another object.
func (f Fact) Of(object kind.Key) Fact {
	f.Object = object
	return f
}

// Score says which facts that must be shown a report has shown, which it has counted, and which are left. Formats may use
// one from several goroutines.
type Score struct {
	lock    sync.Mutex
	left    map[Fact]int
	counted map[kind.Risk]int
}

// NewScore returns the score of a report that has shown nothing.
func NewScore(facts []Fact) *Score {
	s := &Score{left: map[Fact]int{}, counted: map[kind.Risk]int{}}
	for _, f := range facts {
		if MustShow(f.Risk) {
			s.left[f]++
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
		delete(s.left, f)
	}
}

// Count notes that the report counts all facts that it has not shown, and returns how many these are.
func (s *Score) Count() int {
	if s == nil {
		return 0
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for f, n := range s.left {
		s.counted[f.Risk] += n
	}
	clear(s.left)
	total := 0
	for _, n := range s.counted {
		total += n
	}
	return total
}

// Counted returns how many facts of a risk the report counts instead of showing them.
func (s *Score) Counted(risk kind.Risk) int { return s.counted[risk] }

// Left returns the facts that the report has neither shown nor counted.
func (s *Score) Left() []Fact {
	return slices.SortedFunc(maps.Keys(s.left), func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Path, b.Path))
	})
}

// Package diag holds the one finding type: what is wrong, where, by which rule and how to mend it;
// and knows invisible characters. It neither finds nor prints anything.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says whether a finding stops the run.
type Severity uint8

// The severities: a Warning is shown, an Error stops everything (exit 4), and
// Advice never becomes an error, however strict a run is.
const (
	Warning Severity = iota
	Error
	Advice
)

func severities() []string { return []string{Warning: "warning", Error: "error", Advice: "advice"} }

// String returns "warning", "error" or "advice".
func (s Severity) String() string { return severities()[s] }

// MarshalText writes the severity as its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a severity.
func (s *Severity) UnmarshalText(b []byte) error {
	i := slices.Index(severities(), string(b))
	if i < 0 {
		return fmt.Errorf("unknown severity %q", b)
	}
	*s = Severity(i)
	return nil
}

// Finding is one thing that a person should know or mend.
type Finding struct {
	// Path is the file as the user named it; "-" is standard input.
	Path string `json:"path,omitempty"`
	// Line and Column count from 1, columns in characters; 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the place inside the object, such as spec.tls.forced.
	Field string `json:"field,omitempty"`
	// Rule is the name of a page in docs/rules.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	// Write is the YAML to put in the place of the value or key at which the
	// finding stands, where the rule is sure of it.
	Write    string   `json:"-"`
	Severity Severity `json:"severity"`
	// Source is the line of the file that Line names, without its end.
	Source string `json:"source,omitempty"`
	// Silenced is the reason that a comment in the file gives for not showing the
	// finding; those that have one stand in lists of their own.
	Silenced string `json:"silenced,omitempty"`
}

// String prints the finding as editors and problem matchers expect it.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", f.Path, f.Line, f.Column, f.Severity, f.Message, f.Rule)
}

// List is a number of findings.
type List []Finding

// Count returns how many findings have the severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, f := range l {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether any finding is an error.
func (l List) HasErrors() bool { return l.Count(Error) > 0 }

// Sort orders the list by file and place, then by rule and text.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

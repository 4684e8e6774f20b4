// Package diag has the type of findings: what is wrong, where, by which rule, and how to fix it. It also
// knows invisible characters.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity reports whether a finding stops the run.
type Severity uint8

// The severities: an Error stops the run (exit 4), a Warning does not, and Advice never becomes an error,
// not even in a strict run.
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

// Finding is an error, warning or hint at a line of a file.
type Finding struct {
	// Path is the file as the user named it; "-" is standard input.
	Path string `json:"path,omitempty"`
	// Line and Column count from 1, columns in characters; 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the path in the object, such as spec.tls.forced.
	Field string `json:"field,omitempty"`
	// Rule is the name of a page in docs/rules.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	// Write is YAML that replaces the value or key at the finding's place, or empty if the rule is not sure.
	Write    string   `json:"-"`
	Severity Severity `json:"severity"`
	// Source is the text of the line, without its end.
	Source string `json:"source,omitempty"`
	// Silenced is the reason of a comment in the file that hides the finding. Such findings have
	// lists of their own.
	Silenced string `json:"silenced,omitempty"`
}

// String returns the finding as editors and problem matchers expect it.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", f.Path, f.Line, f.Column, f.Severity, f.Message, f.Rule)
}

// List is a list of findings.
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

// Sort sorts by file and place, then by rule and text.
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

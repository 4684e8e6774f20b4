package manifest

import "trueup/internal/diag"

// Silence is a comment in a manifest that keeps findings of a rule from being shown:
// # trueup:ignore RULE REASON.
type Silence struct {
	Rule, Reason string
	// Line is where the comment stands, from 1.
	Line int
	of   ignore
}

// Governs reports whether the comment keeps a finding of the same file from being
// shown.
func (s Silence) Governs(f diag.Finding) bool { return s.of.governs(f) }

// Silences returns the comments of the manifest that silence rules.
func (o *Object) Silences() []Silence {
	all := make([]Silence, len(o.ignores))
	for i, of := range o.ignores {
		all[i] = Silence{Rule: of.rule, Reason: of.reason, Line: of.line, of: of}
	}
	return all
}

// HasSilences reports whether a comment of any manifest silences a rule.
func (s *Set) HasSilences() bool {
	for _, o := range s.Objects {
		if len(o.ignores) > 0 {
			return true
		}
	}
	return false
}

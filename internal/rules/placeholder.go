package rules

import (
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// namingFields are the fields whose values name something.
const namingFields = " name namespace hostname subdomains host persistentVolumeClaimName tokenName expireName "

// reportPlaceholders reports placeholders in fields that name something, or in all others.
func (s *RuleSubject) reportPlaceholders(inNames bool) {
	if !mayHavePlaceholder(s.Doc) { // paths of texts are expensive
		return
	}
	s.eachText("", "", s.Doc, func(at, field, text string) {
		if found := diag.FindPlaceholder(text); found != "" && inNames == strings.Contains(namingFields, " "+field+" ") {
			s.report(at, "the placeholder "+diag.Quote(found)+" was not filled in", "write the value, or render the template first")
		}
	})
}

// eachText calls visit with every text below v, in the order of keys, its path, and the name of its field.
func (s *RuleSubject) eachText(at, field string, v any, visit func(at, field, text string)) {
	switch t := v.(type) {
	case string:
		visit(at, field, t)
	case []any:
		for i, e := range t {
			s.eachText(kind.JoinIndex(at, i), field, e, visit)
		}
	case map[string]any:
		for _, name := range canon.SortedKeys(t) {
			s.eachText(kind.JoinField(at, name), name, t[name], visit)
		}
	}
}

// mayHavePlaceholder reports whether a text below v has a character that a placeholder begins with.
func mayHavePlaceholder(v any) bool {
	switch t := v.(type) {
	case string:
		return strings.ContainsAny(t, "$%<{")
	case []any:
		return slices.ContainsFunc(t, mayHavePlaceholder)
	case map[string]any:
		for _, e := range t {
			if mayHavePlaceholder(e) {
				return true
			}
		}
	}
	return false
}

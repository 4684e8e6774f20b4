package manifest

import (
	"slices"

	"trueup/internal/diag"
)

// Rule is one check of manifests, with everything that its page in docs/rules
// says. One file a rule: rule_*.go.
type Rule struct {
	Name     string
	Severity diag.Severity
	// Summary is one sentence; Why says what goes wrong otherwise and cites
	// the platform's document; Fix says what to write.
	Summary string
	Why     string
	Fix     string
	// Bad is a manifest that the rule refuses, Good the mended one; both are
	// run by the tests and shown on the page.
	Bad  string
	Good string
	// object checks one object while its tree is at hand; nil for none.
	object func(*subject)
	// set checks what only all objects together show; nil for none.
	set func(*Set, *reporter)
}

// Rules returns every rule in the order of their names.
func Rules() []Rule {
	rules := slices.Clone(table())
	slices.SortFunc(rules, func(a, b Rule) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return rules
}

// subject is the object that a rule checks.
type subject struct {
	*Object
	// Doc is the whole document, Tree its spec (nil where it is no mapping).
	Doc     map[string]any
	Tree    map[string]any
	Options Options
	*reporter
}

// table lists the rules; the loader's own (yaml, schema and envelope) have
// neither object nor set.
func table() []Rule {
	return []Rule{}
}

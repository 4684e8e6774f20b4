package manifest

import (
	"fmt"
	"slices"
	"strings"

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
	// Live is what is live beside the examples, where that matters.
	Live string
	// NeedsLive says that the plan checks the rule, because it takes what is
	// live or the ledger.
	NeedsLive bool
	// object checks one object while its tree is at hand; nil for none.
	object func(*subject)
	// set checks what only all objects together show; nil for none.
	set func(*Set, *reporter)
	// idle reports whether the options leave nothing to check; nil for never.
	idle func(Options) bool
}

// Rules returns every rule in the order of their names.
func Rules() []Rule {
	rules := table()
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return rules
}

// Verdict heads the example of what the rule is against.
func (r *Rule) Verdict() string {
	switch r.Severity {
	case diag.Warning:
		return "Warned of"
	case diag.Advice:
		return "Advised against"
	case diag.Error:
	}
	return "Refused"
}

// Excerpt returns an example of a rule as people read it: long lists of paths
// are cut, and characters that can't be seen are named.
func Excerpt(example string) string {
	const item, most = "    - /", 10
	var b strings.Builder
	var run []string
	flush := func() {
		if len(run) > most {
			run = []string{run[0], run[1], fmt.Sprintf("    # ... %d more ...\n", len(run)-3), run[len(run)-1]}
		}
		b.WriteString(strings.Join(run, ""))
		run = nil
	}
	for line := range strings.Lines(example) {
		if strings.HasPrefix(line, item) {
			run = append(run, line)
			continue
		}
		flush()
		b.WriteString(line)
	}
	flush()
	return strings.ReplaceAll(b.String(), "\u200b", "<U+200B>")
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
	return slices.Concat(
		yamlRules(), envelopeRules(), schemaRules(), ignoreRules(), adviceRules(),
		[]Rule{
			upstreamUnknown(), upstreamUnused(),
			duplicateUpstream(), duplicateRule(), duplicateLocation(), duplicateServer(),
			portRange(), weightNumber(), ttlNumber(), statusCode(), ratelimitOdd(), locationPathOdd(),
			hostnameTaken(), hostnameShape(), hostnameOdd(), nameShape(), nameOdd(), namespace(), serverOwned(),
			purgePath(), purgePathOdd(), purgePathCovered(), purgeSubdomain(), purgeNameGeneric(),
			purgeLimits(), purgeLimitsSet(), purgeHostname(), purgeHostnameCase(), purgeSpent(), typeSettings(), ruleUnnamed(),
			snapshotClass(), snapshotSource(), snapshotChanged(), deprecatedPurgeURL(),
		},
	)
}

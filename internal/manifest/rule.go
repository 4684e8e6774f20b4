package manifest

import (
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"trueup/internal/diag"
)

// The rules that the plan checks, because they need what is live or the ledger.
const (
	RuleHostnameTaken   = "hostname-taken" // of what is live; among manifests it is checked here
	RulePurgeEverything = "purge-everything"
	RulePurgeHostname   = "purge-hostname"
	RulePurgeMissing    = "purge-missing"
	RulePurgeSpent      = "purge-spent"
	RulePurgeUnmatched  = "purge-unmatched"
	RuleSnapshotChanged = "snapshot-changed"
)

// Rule is one check of manifests, with everything that its page in docs/rules
// says. The text is in rules/NAME.txtar.
type Rule struct {
	Name     string
	Severity diag.Severity
	// Summary is one sentence; Why says what goes wrong otherwise and cites
	// the platform's document; Fix says what to write.
	Summary string
	Why     string
	Fix     string
	// Bad is a manifest that breaks the rule, Good the corrected one; the
	// tests run both, and the page shows them. "# ... N more ..." stands for
	// elements that continue the numbers of those around it, and <U+XXXX> for
	// a character that can't be seen.
	Bad  string
	Good string
	// Live is what is live beside the examples, where that matters.
	Live string
	// NeedsLive reports whether the plan checks the rule, because it needs
	// what is live or the ledger.
	NeedsLive bool
	check
}

// check is how manifests are checked by a rule. The rules of the loader and of
// the plan have none: they report by name.
type check struct {
	// object checks one object while its tree is at hand.
	object func(*subject)
	// set checks what only all objects together show.
	set func(*Set, *reporter)
	// idle reports whether the options leave nothing to check; nil for never.
	idle func(Options) bool
}

// checks returns the checks by the names of their rules.
func checks() map[string]check {
	const digits = "write digits in quotes, such as "
	ofCDN := func(f func(*subject)) check { return check{object: only(cdn, f)} }
	ofPurge := func(f func(*subject)) check { return check{object: only(purging, f)} }
	ofSnapshot := func(f func(*subject)) check { return check{object: only(snapshot, f)} }
	return map[string]check{
		"cors-credentials":     ofCDN(checkCORSCredentials),
		"deprecated-purge-url": {object: checkDeprecatedPurgeURL, idle: func(opts Options) bool { return opts.DeprecatedPurgeURL == "" }},
		"duplicate-location":   noDuplicates("", "locations[]", "the location", "merge the two, or change the path or host of one", locationKey),
		"duplicate-rule":       noDuplicates("firewall", "rules[]", "the firewall rule", "rename one of them, or remove it", nameKey),
		"duplicate-server":     noDuplicates("upstreams[]", "servers[]", "the server", "remove one, and raise the weight of the other", serverKey),
		"duplicate-upstream":   noDuplicates("", "upstreams[]", "the upstream", "rename one of them, or remove it", nameKey),
		"hostname-odd":         {object: checkHostnameOdd},
		"hostname-shape":       {object: checkHostnameShape},
		RuleHostnameTaken:      {set: checkHostnameTaken},
		"location-path-odd":    ofCDN(checkLocationPathOdd),
		"location-unreachable": ofCDN(checkLocationUnreachable),
		"name-odd":             {object: checkNameOdd},
		"name-shape":           {object: checkNameShape},
		"namespace":            {object: checkNamespace},
		"port-range":           numeric("upstreams[].servers[]", 1, 65535, "the port %q is not a number from 1 to 65535", digits+`"443"`, "port"),
		"purge-hostname-case":  {set: checkPurgeHostnameCase},
		"purge-limits":         ofPurge(checkPurgeLimits),
		"purge-limits-set":     {set: checkPurgeLimitsSet},
		"purge-name-generic":   ofPurge(checkPurgeNameGeneric),
		"purge-path":           ofPurge(checkPurgePath),
		coveredRule:            ofPurge(checkPurgePathCovered),
		"purge-path-odd":       ofPurge(checkPurgePathOdd),
		"purge-subdomain":      ofPurge(checkPurgeSubdomain),
		"ratelimit-locks-out":  ofCDN(checkRatelimitLocksOut),
		"ratelimit-odd":        ofCDN(checkRatelimitOdd),
		"rule-unnamed":         ofCDN(checkRuleUnnamed),
		"server-owned":         {object: checkServerOwned},
		"snapshot-class":       ofSnapshot(checkSnapshotClass),
		"snapshot-source":      ofSnapshot(checkSnapshotSource),
		"status-code": numeric(ratelimits, 100, 599, "%q is not an HTTP status",
			`write a number from 100 to 599 in quotes, such as "429"`, "statusCode", "validationStatusCode"),
		"tls-not-forced": ofCDN(checkTLSNotForced),
		"ttl-number": numeric("locations[].cache", 0, math.MaxInt64, "the TTL %q is not a whole number from 0",
			digits+`"3600", and the unit in ttlTimeUnit`, "edgeTTL", "browserTTL"),
		"type-settings":    ofCDN(checkTypeSettings),
		"upstream-unknown": ofCDN(checkUpstreamUnknown),
		"upstream-unused":  ofCDN(checkUpstreamUnused),
		"weight-number":    numeric("upstreams[].servers[]", 0, math.MaxInt32, "the weight %q is not a whole number from 0", digits+`"1"`, "weight"),
	}
}

//go:embed rules/*.txtar
var ruleTexts embed.FS

// Rules returns every rule in the order of their names. Nobody changes them.
func Rules() []Rule { return allRules() }

var allRules = sync.OnceValue(readRules)

var rulesByName = sync.OnceValue(func() map[string]*Rule {
	all := map[string]*Rule{}
	for i := range Rules() {
		all[Rules()[i].Name] = &Rules()[i]
	}
	return all
})

// readRules reads the texts of the rules, which are part of the program: one
// that is malformed is a mistake of ours, and panics.
func readRules() []Rule {
	files, err := ruleTexts.ReadDir("rules")
	if err != nil {
		panic(err)
	}
	checks := checks()
	rules := make([]Rule, 0, len(files))
	for _, file := range files {
		text, err := ruleTexts.ReadFile(path.Join("rules", file.Name()))
		if err != nil {
			panic(err)
		}
		rule := parseRule(strings.TrimSuffix(file.Name(), ".txtar"), text)
		rule.check = checks[rule.Name]
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return rules
}

// parseRule reads the text of a rule: lines "severity: S" and "needs: live", the
// summary and the reason as paragraphs, then the files fix, live.yaml, bad.yaml
// and good.yaml.
func parseRule(name string, text []byte) Rule {
	archive := txtar.Parse(text)
	head, prose, _ := strings.Cut(string(archive.Comment), "\n\n")
	summary, why, _ := strings.Cut(prose, "\n\n")
	rule := Rule{Name: name, Summary: oneLine(summary), Why: oneLine(why)}
	for line := range strings.Lines(head) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "severity":
			if err := rule.Severity.UnmarshalText([]byte(value)); err != nil {
				panic(fmt.Sprintf("rule %s: %v", name, err))
			}
		case "needs":
			rule.NeedsLive = value == "live"
		}
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "fix":
			rule.Fix = oneLine(string(f.Data))
		case "live.yaml":
			rule.Live = string(f.Data)
		case "bad.yaml":
			rule.Bad = string(f.Data)
		case "good.yaml":
			rule.Good = string(f.Data)
		}
	}
	return rule
}

func oneLine(paragraph string) string { return strings.Join(strings.Fields(paragraph), " ") }

// subject is the object that a rule checks.
type subject struct {
	*Object
	// Doc is the whole document, Tree its spec (nil where it is no mapping).
	Doc     map[string]any
	Tree    map[string]any
	Options Options
	// hosts are kept for the rules that look at them.
	hosts []host
	*reporter
}

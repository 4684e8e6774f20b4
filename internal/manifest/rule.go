package manifest

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// The rules that the plan checks, because they need live objects or the ledger.
const (
	RuleHostnameTaken   = "hostname-taken" // this package checks it, too, among manifests
	RulePurgeEverything = "purge-everything"
	RulePurgeHostname   = "purge-hostname"
	RulePurgeMissing    = "purge-missing"
	RulePurgeSpent      = "purge-spent"
	RulePurgeUnmatched  = "purge-unmatched"
	RuleSnapshotChanged = "snapshot-changed"
)

// Rule is one check of manifests, with the text of its page in docs/rules, from rules/NAME.txtar.
type Rule struct {
	Name     string
	Severity diag.Severity
	// Summary is one sentence; Why says what goes wrong otherwise and cites the platform's document;
	// Fix says what to write.
	Summary string
	Why     string
	Fix     string
	// Bad is a manifest that breaks the rule, and Good the corrected one. Tests run both.
	// "# ... N more ..." means numbered elements like those around it, and <U+XXXX> an invisible character.
	Bad  string
	Good string
	// Live has the live objects of the examples, if the rule needs any.
	Live string
	// NeedsLive reports whether the plan checks the rule, because it needs what is live or the ledger.
	NeedsLive bool
	check
}

// check is the function of a rule. Rules of the loader and of the plan have none here.
type check struct {
	// object checks one object; kind is the only kind to check, whose spec is a mapping then, or "" for all.
	object func(*subject)
	kind   string
	// set checks all objects together.
	set func(*Set, reportOn)
	// idle reports whether the options leave nothing to check; nil for never.
	idle func(Options) bool
}

// reportOn adds a finding at a field of an object.
type reportOn func(o *Object, field, message, fix string)

// checks returns the checks by the names of their rules.
func checks() map[string]check {
	of := func(kindName string) func(func(*subject)) check {
		return func(object func(*subject)) check { return check{kind: kindName, object: object} }
	}
	ofCDN, ofPurge, ofSnapshot := of(cdn), of(purging), of(snapshot)
	return map[string]check{
		"cors-credentials":     ofCDN(checkCORSCredentials),
		"deprecated-purge-url": {object: checkDeprecatedPurgeURL, idle: func(opts Options) bool { return opts.DeprecatedPurgeURL == "" }},
		"duplicate-location":   ofCDN(noDuplicates("", "locations", "merge the two, or change the path or host of one")),
		"duplicate-rule":       ofCDN(noDuplicates("firewall", "rules", "rename one of them, or remove it")),
		"duplicate-server":     ofCDN(noDuplicates("upstreams[]", "servers", "remove one, and raise the weight of the other")),
		"duplicate-upstream":   ofCDN(noDuplicates("", "upstreams", "rename one of them, or remove it")),
		"hostname-odd":         {object: checkHostnameOdd},
		"hostname-shape":       {object: checkHostnameShape},
		RuleHostnameTaken:      {set: checkHostnameTaken},
		"location-host":        ofCDN(checkLocationHost),
		"location-path-odd":    ofCDN(checkLocationPathOdd),
		"location-unreachable": ofCDN(checkLocationUnreachable),
		"name-odd":             {object: checkNameOdd},
		"name-shape":           {object: checkNameShape},
		"namespace":            {object: checkNamespace},
		"port-range":           ofCDN(inRange("upstreams[].servers[]", "", "port")),
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
		"request-test":         of(kind.RequestTest().Name)(checkRequestTest),
		"rule-unnamed":         ofCDN(checkRuleUnnamed),
		"server-owned":         {object: checkServerOwned},
		"snapshot-class":       ofSnapshot(checkSnapshotClass),
		"snapshot-source":      ofSnapshot(checkSnapshotSource),
		"status-code":          ofCDN(inRange(ratelimits, "", "statusCode", "validationStatusCode")),
		"tls-forced-off":       ofCDN(checkTLSForcedOff),
		"tls-not-forced":       ofCDN(checkTLSNotForced),
		"ttl-number":           ofCDN(inRange("locations[].cache", ", and the unit in ttlTimeUnit", "edgeTTL", "browserTTL")),
		"type-settings":        ofCDN(checkTypeSettings),
		"upstream-unknown":     ofCDN(checkUpstreamUnknown),
		"upstream-unused":      ofCDN(checkUpstreamUnused),
		"weight-number":        ofCDN(inRange("upstreams[].servers[]", "", "weight")),
	}
}

//go:embed rules/*.txtar
var ruleTexts embed.FS

// Rules returns every rule, sorted by name. Callers must not change them.
func Rules() []Rule { return allRules() }

var allRules = sync.OnceValue(readRules)

var rulesByName = sync.OnceValue(func() map[string]*Rule {
	all := map[string]*Rule{}
	for i := range Rules() {
		all[Rules()[i].Name] = &Rules()[i]
	}
	return all
})

// readRules reads the embedded texts of the rules, and panics if one is malformed.
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

// parseRule reads the text of a rule: lines "severity: S" and "needs: live", the summary and the reason
// as paragraphs, then the files fix, live.yaml, bad.yaml and good.yaml.
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
	parts := map[string]*string{"fix": &rule.Fix, "live.yaml": &rule.Live, "bad.yaml": &rule.Bad, "good.yaml": &rule.Good}
	for _, f := range archive.Files {
		*parts[f.Name] = string(f.Data)
	}
	rule.Fix = oneLine(rule.Fix)
	return rule
}

func oneLine(paragraph string) string { return strings.Join(strings.Fields(paragraph), " ") }

// subject is the object that a rule checks.
type subject struct {
	*Object
	// Doc is the whole document, and Tree its spec, or nil if that is not a mapping.
	Doc     map[string]any
	Tree    map[string]any
	Options Options
	hosts   []host               // the result of unusual
	found   map[string][]located // the results of each, by place
	// rule is the running rule, and file collects its findings.
	rule *Rule
	file *file
}

// report adds a finding of the running rule at a field such as spec.locations[2].cache.edgeTTL (see child and
// element). file.place adds the lines of all findings at once, because finding one reads the whole object.
func (s *subject) report(field, message, fix string) {
	s.file.add(0, 0, s.rule.Name, s.rule.Severity, field, message, fix)
}

// full does what file.full does, for a rule whose message is expensive to compose.
func (s *subject) full() bool { return s.file.full(s.rule.Severity) }

// place sets the line and column of the findings of the current document that have none.
func (f *file) place(o *Object) {
	var found []*diag.Finding
	var fields []string
	for i := range f.findings[f.from:] {
		if x := &f.findings[f.from+i]; x.Line == 0 {
			found, fields = append(found, x), append(fields, x.Field)
		}
	}
	if fields == nil {
		return
	}
	for i, at := range o.Places(fields) {
		found[i].Line, found[i].Column, found[i].Source = at[0], at[1], f.lines.text(at[0])
	}
}

// element returns the path of the i-th element of a list, from 0.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Check runs the rules that need every object of the set. It adds what comments silence to the set.
func Check(set *Set, opts Options) (findings diag.List) {
	for i := range Rules() {
		rule := &Rules()[i]
		if rule.set == nil {
			continue
		}
		rule.set(set, func(o *Object, field, message, fix string) {
			x := diag.Finding{Path: o.Path, Field: clip(field), Rule: rule.Name, Severity: rule.Severity, Message: clip(message), Fix: clip(fix)}
			x.Line, x.Column = o.Place(field)
			shown, silenced := o.Sift(diag.List{x})
			findings, set.Silenced = append(findings, shown...), append(set.Silenced, silenced...)
		})
	}
	return opts.judge(findings)
}

// Advise returns the advice that needs only the manifest, whose spec is the tree, separated by whether a comment silences it.
// Advice never stops a run.
func Advise(o *Object, tree map[string]any, opts Options) (advice, silenced diag.List) {
	f := &file{path: o.Path}
	s := &subject{Object: o, Tree: tree, Options: opts, file: f}
	for i := range Rules() {
		if rule := &Rules()[i]; rule.Severity == diag.Advice {
			f.start() // each rule has room of its own
			s.run(rule)
		}
	}
	f.from = 0
	f.place(o)
	return o.Sift(f.findings)
}

func (s *subject) run(rule *Rule) {
	general := rule.kind == "" && s.Kind != kind.RequestTest()
	if s.rule = rule; rule.object != nil && (general || rule.kind == s.Kind.Name && s.Tree != nil) {
		rule.object(s)
	}
}

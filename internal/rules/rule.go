// Package rules checks decoded manifests, and has the page of each rule. It reads no file and knows no YAML: who
// calls it finds the lines of what it reports.
package rules

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// The names of rules that other packages check, or need to know.
const (
	IgnoreOdd = "ignore-odd"
	Namespace = "namespace"

	// The plan checks these, because they need live objects or the ledger.
	HostnameTaken   = "hostname-taken" // this package checks it, too, among manifests
	PurgeEverything = "purge-everything"
	PurgeHostname   = "purge-hostname"
	PurgeMissing    = "purge-missing"
	PurgeSpent      = "purge-spent"
	PurgeUnmatched  = "purge-unmatched"
	SnapshotChanged = "snapshot-changed"
)

// Rule is one check of manifests, with the text of its page in docs/rules, from NAME.txtar.
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
	object func(*RuleSubject)
	kind   string
	// set checks all objects together.
	set func([]CheckedObject, reportOn)
}

// RuleSettings are the settings of a project that rules read.
type RuleSettings struct {
	// Workspace is the name that metadata.namespace must have, or empty without a project.
	Workspace string
	// Precedence is platform.precedence of the project, or empty.
	Precedence string
}

// checks returns the checks by the names of their rules.
func checks() map[string]check {
	of := func(kindName string) func(func(*RuleSubject)) check {
		return func(object func(*RuleSubject)) check { return check{kind: kindName, object: object} }
	}
	ofCDN, ofPurge, ofSnapshot := of(cdn), of(purging), of(snapshot)
	return map[string]check{
		"cors-credentials":     ofCDN(checkCORSCredentials),
		"duplicate-location":   ofCDN(duplicateCheck("", "locations", "merge the two, or change the path or host of one")),
		"duplicate-rule":       ofCDN(duplicateCheck("firewall", "rules", "rename one of them, or remove it")),
		"duplicate-server":     ofCDN(duplicateCheck("upstreams[]", "servers", "remove one, and raise the weight of the other")),
		"duplicate-upstream":   ofCDN(duplicateCheck("", "upstreams", "rename one of them, or remove it")),
		"hostname-odd":         {object: checkHostnameOdd},
		"hostname-shape":       {object: checkHostnameShape},
		HostnameTaken:          {set: checkHostnameTaken},
		"location-host":        ofCDN(checkLocationHost),
		"location-path-odd":    ofCDN(checkLocationPathOdd),
		"location-unreachable": ofCDN(checkLocationUnreachable),
		"name-odd":             {object: checkNameOdd},
		"name-shape":           {object: checkNameShape},
		"namespace":            {object: checkNamespace},
		"placeholder":          {object: func(s *RuleSubject) { s.reportPlaceholders(true) }},
		"placeholder-odd":      {object: func(s *RuleSubject) { s.reportPlaceholders(false) }},
		"port-range":           ofCDN(rangeCheck("upstreams[].servers[]", "", "port")),
		"purge-hostname-case":  {set: checkPurgeHostnameCase},
		"purge-limits":         ofPurge(checkPurgeLimits),
		"purge-limits-set":     {set: checkPurgeLimitsSet},
		"purge-name-generic":   ofPurge(checkPurgeNameGeneric),
		"purge-path":           ofPurge(checkPurgePath),
		"purge-path-covered":   ofPurge(checkPurgePathCovered),
		"purge-path-odd":       ofPurge(checkPurgePathOdd),
		"purge-subdomain":      ofPurge(checkPurgeSubdomain),
		"ratelimit-locks-out":  ofCDN(checkRatelimitLocksOut),
		"ratelimit-odd":        ofCDN(checkRatelimitOdd),
		"request-test":         of(kind.RequestTestKind().Name)(checkRequestTest),
		"rule-unnamed":         ofCDN(checkRuleUnnamed),
		"server-owned":         {object: checkServerOwned},
		"snapshot-class":       ofSnapshot(checkSnapshotClass),
		"snapshot-source":      ofSnapshot(checkSnapshotSource),
		"status-code":          ofCDN(rangeCheck(ratelimits, "", "statusCode", "validationStatusCode")),
		"tls-forced-off":       ofCDN(checkTLSForcedOff),
		"tls-not-forced":       ofCDN(checkTLSNotForced),
		"ttl-number":           ofCDN(rangeCheck("locations[].cache", ", and the unit in ttlTimeUnit", "edgeTTL", "browserTTL")),
		"type-settings":        ofCDN(checkTypeSettings),
		"upstream-unknown":     ofCDN(checkUpstreamUnknown),
		"upstream-unused":      ofCDN(checkUpstreamUnused),
		"weight-number":        ofCDN(rangeCheck("upstreams[].servers[]", "", "weight")),
	}
}

//go:embed *.txtar
var ruleTexts embed.FS

// All returns every rule, sorted by name. Callers must not change them.
func All() []Rule { return allRules() }

var allRules = sync.OnceValue(readRules)

// ByName returns the rule with a name, or nil.
func ByName(name string) *Rule {
	if i := slices.IndexFunc(All(), func(r Rule) bool { return r.Name == name }); i >= 0 {
		return &All()[i]
	}
	return nil
}

// readRules reads the embedded texts of the rules, and panics if one is malformed.
func readRules() []Rule {
	files, err := ruleTexts.ReadDir(".")
	if err != nil {
		panic(err)
	}
	checks := checks()
	rules := make([]Rule, 0, len(files))
	for _, file := range files {
		text, err := ruleTexts.ReadFile(file.Name())
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

// RuleSubject is the object that rules check. Its functions give and take what depends on the file.
type RuleSubject struct {
	Kind       *kind.Kind
	Name, Host string
	// Doc is the whole document, and Tree its spec, or nil if that is not a mapping.
	Doc, Tree map[string]any
	JSON      []byte // of Doc
	Options   RuleSettings
	// Report takes a finding without a place, at a field such as spec.locations[2].cache.edgeTTL; Full reports
	// whether it would drop one.
	Report func(diag.Finding)
	Full   func(diag.Severity) bool
	// Line returns the line of a field.
	Line func(field string) int
	// Begin, if set, is called before each rule.
	Begin func()

	rule *Rule // the running one
}

// Run applies the rules that check one object: those of advice or the others.
func (s *RuleSubject) Run(advice bool) {
	for i := range All() {
		rule := &All()[i]
		general := rule.kind == "" && s.Kind != kind.RequestTestKind()
		if rule.object == nil || advice != (rule.Severity == diag.Advice) || !general && (rule.kind != s.Kind.Name || s.Tree == nil) {
			continue
		}
		if s.rule = rule; s.Begin != nil {
			s.Begin()
		}
		rule.object(s)
	}
}

// report adds a finding of the running rule at a field.
func (s *RuleSubject) report(field, message, fix string) {
	s.Report(diag.Finding{Field: field, Rule: s.rule.Name, Severity: s.rule.Severity, Message: message, Fix: fix})
}

// isFull reports whether a finding of the running rule would be dropped, so that it need not be composed.
func (s *RuleSubject) isFull() bool { return s.Full(s.rule.Severity) }

// CheckedObject is a manifest as the rules see it that compare several.
type CheckedObject interface {
	Key() kind.Key
	Hostname() string
	// LocationHosts returns the hosts of locations, and perhaps others.
	LocationHosts() []string
	Tree() map[string]any
	// At returns where a field is, as FILE:LINE.
	At(field string) string
}

// reportOn adds a finding at a field of an object.
type reportOn func(o CheckedObject, field, message, fix string)

// CheckSet applies the rules that need all objects.
func CheckSet(all []CheckedObject, report func(CheckedObject, diag.Finding)) {
	for _, rule := range All() {
		if rule.set != nil {
			rule.set(all, func(o CheckedObject, field, message, fix string) {
				report(o, diag.Finding{Field: field, Rule: rule.Name, Severity: rule.Severity, Message: message, Fix: fix})
			})
		}
	}
}

// CanBeSilenced reports whether a comment can silence the rule. Rules about file names have no line for
// a comment, and the rule about comments must stay visible.
func (r *Rule) CanBeSilenced() bool {
	return r.Severity != diag.Error && r.Bad != "" && r.Name != IgnoreOdd
}

package manifest

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// ruleSettings returns what rules read of the options.
func (o LoadSettings) ruleSettings() rules.RuleSettings {
	return rules.RuleSettings{Workspace: o.Workspace, DeprecatedPurgeURL: o.DeprecatedPurgeURL, Precedence: o.Precedence}
}

// newRuleSubject returns the object for rules that report to a file.
func (o *Object) newRuleSubject(doc, tree map[string]any, opts LoadSettings, f *FileState) *rules.RuleSubject {
	return &rules.RuleSubject{
		Kind: o.Kind, Name: o.Name, Host: o.Host, Doc: doc, Tree: tree, Options: opts.ruleSettings(),
		Report: func(x diag.Finding) { f.AddFinding(0, 0, x.Rule, x.Severity, x.Field, x.Message, x.Fix) },
		Full:   f.Full,
		Line: func(field string) int {
			line, _ := o.Position(field)
			return line
		},
	}
}

// Hostname returns the hostname that the object is about, or "".
func (o *Object) Hostname() string { return o.Host }

// LocationHosts returns the hosts of locations, and perhaps others.
func (o *Object) LocationHosts() []string { return routing.AppendHosts(nil, o.Spec) }

// At returns where a field is, as FILE:LINE.
func (o *Object) At(field string) string {
	line, _ := o.Position(field)
	return fmt.Sprintf("%s:%d", o.Path, line)
}

// CheckSet runs the rules that need every object of the set. It adds what comments silence to the set.
func CheckSet(set *Set, opts LoadSettings) (findings diag.List) {
	all := make([]rules.CheckedObject, len(set.Objects))
	for i, o := range set.Objects {
		all[i] = o
	}
	rules.CheckSet(all, func(of rules.CheckedObject, x diag.Finding) {
		o := of.(*Object)
		x.Line, x.Column = o.Position(x.Field)
		x.Path, x.Field, x.Message, x.Fix = o.Path, clip(x.Field), clip(x.Message), clip(x.Fix)
		shown, silenced := o.SplitSilenced(diag.List{x})
		findings, set.Silenced = append(findings, shown...), append(set.Silenced, silenced...)
	})
	return opts.ApplyStrict(findings)
}

// Advise returns the advice that needs only the manifest, whose spec is the tree, separated by whether a comment silences it.
// Advice never stops a run.
func Advise(o *Object, tree map[string]any, opts LoadSettings) (advice, silenced diag.List) {
	f := NewFileState(o.Path, nil)
	s := o.newRuleSubject(nil, tree, opts, f)
	s.Begin = f.StartDocument // each rule has room of its own
	s.Run(true)
	o.placeFindings(f.Findings, &f.Lines)
	return o.SplitSilenced(f.Findings)
}

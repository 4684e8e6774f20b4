package manifest

import "trueup/internal/diag"

// Advise returns the advice that takes nothing but the manifest, and apart from
// it what comments in the manifest silence.
func Advise(o *Object) (advice, silenced diag.List) {
	return advise(subject{Object: o, Tree: o.Tree()})
}

// advise runs the rules of objects that give advice, and so never stop a run.
func advise(own subject) (advice, silenced diag.List) {
	own.reporter = &reporter{limit: maxFindings}
	rules := Rules()
	for i := range rules {
		if rule := &rules[i]; rule.Severity == diag.Advice && rule.object != nil {
			own.run(rule)
			rule.object(&own)
		}
	}
	return own.findings, own.silenced
}

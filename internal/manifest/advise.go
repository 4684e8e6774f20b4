package manifest

import (
	"trueup/internal/canon"
	"trueup/internal/diag"
)

// Advise returns the advice that takes nothing but the manifest, and apart from
// it what comments in the manifest silence.
func Advise(o *Object) (advice, silenced diag.List) {
	if len(o.Spec) == 0 {
		return nil, nil // it has errors
	}
	tree, _ := canon.MustDecode(o.Spec).(map[string]any)
	return advise(subject{Object: o, Tree: tree})
}

// advise runs the rules of objects that give advice.
func advise(own subject) (advice, silenced diag.List) {
	own.reporter = &reporter{limit: maxFindings}
	for _, rule := range adviceRules() {
		if rule.object != nil {
			own.run(&rule)
			rule.object(&own)
		}
	}
	return own.findings, own.silenced
}

// adviceRules are the rules that never stop a run.
func adviceRules() []Rule {
	return []Rule{
		corsCredentials(), locationUnreachable(), ratelimitLocksOut(), tlsNotForced(),
		purgeMissing(), purgeEverything(), purgeUnmatched(),
	}
}

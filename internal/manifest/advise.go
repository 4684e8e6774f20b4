package manifest

import "trueup/internal/diag"

// Advise returns the advice that takes nothing but the manifest, and apart from
// it what comments in the manifest silence.
func Advise(o *Object) (advice, silenced diag.List) {
	return advise(subject{Object: o, Tree: o.Tree()})
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

package report

// The rules of remarks that are about a run or a plan, and not about what a
// manifest says; docs/reports.md explains them.
const (
	ruleFailed       safe = "run/failed"
	ruleNote         safe = "run/note"
	ruleNotApplied   safe = "apply/failed"
	ruleNotConverged safe = "apply/not-kept"
	ruleNotDecided   safe = "apply/blocked"
	ruleSkipped      safe = "apply/skipped"
	ruleNoRoom       safe = "apply/deferred"
	ruleSetting      safe = "plan/setting"
	ruleServes       safe = "plan/serves"
	ruleSecurity     safe = "plan/security"
	ruleBlocked      safe = "plan/blocked"
	ruleDelete       safe = "plan/delete"
	ruleLost         safe = "plan/lost"
	ruleConflict     safe = "plan/conflict"
	ruleGone         safe = "plan/gone"
	ruleDrift        safe = "plan/drift"
	ruleNotKept      safe = "plan/not-kept"
	ruleResent       safe = "plan/resent"
	ruleRemoved      safe = "plan/removed"
	rulePurge        safe = "plan/purge"
	ruleUnknown      safe = "plan/unknown"
	rulePending      safe = "plan/pending"
	ruleDeferred     safe = "plan/deferred"
	ruleInFlight     safe = "plan/in-flight"
	ruleKept         safe = "plan/kept"
)

// remarkRule is a rule with how loud it is and what it means.
type remarkRule struct {
	id    safe
	level level
	means safe
}

// tableOfRules is the table of the rules above, the most important first.
var tableOfRules = []remarkRule{
	{ruleFailed, errorLevel, "The run stopped before its end."},
	{ruleNotApplied, errorLevel, "A request failed or was not sent."},
	{ruleNotConverged, errorLevel, "The server did not keep what was sent."},
	{ruleNotDecided, errorLevel, "Nothing was sent for an object that a person must decide about."},
	{ruleBlocked, errorLevel, "Nothing is sent for this object as it is."},
	{ruleSetting, warningLevel, "A setting of the project, or a comment that silences a rule, differs from the base."},
	{ruleServes, warningLevel, "A change may serve other content, or none."},
	{ruleSecurity, warningLevel, "A change may expose protected content."},
	{ruleDelete, warningLevel, "An object that was removed from git is deleted, which can't be undone."},
	{ruleLost, warningLevel, "A live list element that git does not have would be dropped."},
	{ruleConflict, warningLevel, "Git and live both changed a value."},
	{ruleGone, warningLevel, "An object that was created is gone from live."},
	{ruleDrift, warningLevel, "A value was changed outside git."},
	{ruleNotKept, warningLevel, "The server did not keep a value when it was last sent, or it changed since."},
	{ruleResent, warningLevel, "A request that may have been sent before is sent again under the same name."},
	{ruleSkipped, warningLevel, "Nothing was sent for an object, because something before it failed or the run ended."},
	{ruleRemoved, noteLevel, "A value is removed because it was removed from git."},
	{rulePurge, noteLevel, "A cache purge is posted, once."},
	{ruleUnknown, noteLevel, "Git and live differ, and no record says which of them changed."},
	{rulePending, noteLevel, "An earlier change of git was not applied yet, and is sent too."},
	{ruleDeferred, noteLevel, "A limit of the platform defers a request."},
	{ruleNoRoom, noteLevel, "A limit of the platform deferred a request."},
	{ruleInFlight, noteLevel, "Another run is sending the request."},
	{ruleKept, noteLevel, "An object was removed from git and stays live."},
	{ruleNote, noteLevel, "A note about the run."},
}

// ruleNamed finds a rule of the table; its rank is 0 for one that is not in it,
// which is that of a manifest.
func ruleNamed(id safe) (rule remarkRule, rank int) {
	for i, r := range tableOfRules {
		if r.id == id {
			return r, i + 1
		}
	}
	return remarkRule{}, 0
}

func levelOf(id safe) level {
	rule, _ := ruleNamed(id)
	return rule.level
}

func ruleRank(id safe) int {
	_, rank := ruleNamed(id)
	return rank
}

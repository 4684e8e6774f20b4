package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// headed puts a title, which may be empty, before a sentence.
func headed(title string, sentence safe) safe {
	return safetext.Join(safetext.Filled(clean(title), sentence), ": ")
}

// titleOf returns the words before the sentence of counts: the command, or what show and status show, and the number of
// its projects if there are many.
func titleOf(doc Document) string {
	title := commandTitle(doc)
	if doc.Projects != nil && title != "" {
		title += " of " + safetext.Count(len(doc.Projects), "project").String()
	}
	return title
}

func commandTitle(doc Document) string {
	switch name := doc.Command; {
	case doc.Plan != nil && doc.Apply == nil && name != "drift":
		return "Plan"
	case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz ") != "":
		return ""
	default:
		return strings.ToUpper(name[:1]) + name[1:]
	}
}

func sentences(texts ...safe) safe { return safetext.Join(safetext.Filled(texts...), " ") }

// summaryOf returns the title of a document, its sentence of counts, and what a plan says of drift and the results of
// many projects.
func summaryOf(doc Document) (title string, lede, sub safe) {
	lede, sub = countsAndDrift(doc)
	if doc.Projects != nil && len(doc.Projects) == 0 && !doc.Fleet.headline().Empty() {
		lede = safe{} // nothing is selected, which does not say what a reader must know
	}
	return titleOf(doc), sentences(doc.Fleet.headline(), lede), sentences(sub, projectResults(doc.Projects))
}

func countsAndDrift(doc Document) (lede, sub safe) {
	switch {
	case doc.Apply != nil:
		return countsOf(doc), sub
	case doc.Plan == nil && doc.HasOwnText() && len(doc.Findings) == 0 && doc.Tests == nil:
		return clean(doc.Result), sub
	case doc.Plan == nil:
		return countsOf(doc), sub
	}
	if parts := driftParts(doc.Plan); doc.Command != "drift" && doc.Plan.Summary.Drifted > 0 {
		sub = counted("", parts)
	}
	if doc.Tests != nil {
		sub = sentences(sub, headed("Tests", testCounts(doc.Tests)))
	}
	return countsOf(doc), sub
}

// runSummary sums up the run in one line.
func runSummary(doc Document) safe {
	title, lede, sub := summaryOf(doc)
	text := headed(title, sentences(lede, sub))
	if doc.Apply == nil && doc.Plan == nil && doc.Projects == nil && len(doc.Errors) > 0 {
		text = safetext.F("The run stopped: %s.", safetext.Count(len(doc.Errors), "error"))
	}
	if doc.Plan != nil && doc.Plan.Offline {
		text = safetext.F("%s Offline: git was compared with git.", text)
	}
	if doc.Plan != nil && doc.Plan.Digest != "" {
		text = safetext.F("%s Digest %s.", text, clean(doc.Plan.Digest).Cut(maxPath))
	}
	if doc.Sandbox {
		text = safetext.F("%s %s.", text, Banner)
	}
	return text
}

// nextSteps returns one line for each verdict that needs action.
func nextSteps(r *apply.Result) []safe {
	const unseen, deferred, superseded apply.Verdict = "unseen", "deferred", "superseded"
	keys := map[apply.Verdict][]safe{}
	for _, o := range r.Outcomes {
		verdict := o.Verdict
		switch {
		case o.Status == apply.Deferred:
			verdict = deferred
		case verdict == apply.NotConverged && len(o.Mismatches) == 0:
			verdict = unseen
		case o.Fix == apply.FixSuperseded:
			verdict = superseded
		}
		keys[verdict] = append(keys[verdict], named(o.Key))
	}
	var steps []safe
	for _, s := range []struct {
		verdict       apply.Verdict
		before, after string
	}{
		{apply.Interrupted, "interrupted before ", ": run apply again; it does not repeat what is done"},
		{apply.Auth, "not allowed: ", ": check the token and its roles, then run apply again"},
		{apply.NeedsPerson, "a person must decide about ", ""},
		{apply.NotConverged, "the server has something else than what was sent for ", ": see the fix above"},
		{apply.Stale, "live differs from the plan for ", ", so trueup sent nothing there: review a new plan"},
		{superseded, "a newer commit is being applied: there is nothing to do here for ", ""},
		{apply.Partial, "run apply again for ", " when the cause is fixed; it does not repeat what is done"},
		{unseen, "live does not show what the server confirmed for ", ": check again with plan"},
		{deferred, "run apply again later for ", ""},
	} {
		if which := keys[s.verdict]; len(which) > 0 {
			steps = append(steps, safetext.F("%s%s%s", s.before, limited(which, ", "), s.after))
		}
	}
	return steps
}

func keyWidth(r *apply.Result) int {
	column := 0
	for _, o := range r.Outcomes {
		column = grow(column, named(o.Key).Width(), maxAlign)
	}
	return column
}

// opLook is how reports show an object as a whole: its mark, the title of its row, its headline and
// its rule.
type opLook struct {
	mark                  mark
	title, headline, rule string
}

// opOf returns the look of what apply does with an object, or of what happened to it outside git.
func opOf(item plan.Item) opLook {
	switch {
	case !item.Happened || item.Failed:
		return tableOfOps[item.Op]
	case item.Deleted:
		return opLook{markRemove, "deleted outside git", "deleted outside git", "plan/gone"}
	case item.Missing():
		return opLook{markRemove, "missing live", "missing live", "plan/unknown"}
	}
	return opLook{markChange, "", "changed outside git", ""}
}

var tableOfOps = map[plan.Op]opLook{
	plan.Create:   {markAdd, "create", "to create", ""},
	plan.Post:     {markOnce, "post once", "to post once", "plan/purge"},
	plan.Delete:   {markRemove, "delete", "to delete", "plan/delete"},
	plan.Blocked:  {markBlocked, "blocked: ", "blocked", "plan/blocked"},
	plan.InFlight: {markLater, "", "in flight elsewhere", "plan/in-flight"},
	plan.Deferred: {markLater, "deferred", "deferred", "plan/deferred"},
	plan.Kept:     {markSame, "kept: ", "kept", "plan/kept"},
	plan.Patch:    {markChange, "", "to change", ""},
	plan.None:     {markSame, "", "unchanged", ""},
}

func headline(item plan.Item, rows []row) safe {
	switch {
	case item.Waits:
		item.Waits = false
		return safetext.F("not applied: %s", headline(item, rows))
	case item.Happened && len(item.Changes) == 0 || !item.Happened && item.Op != plan.Patch && item.Op != plan.None:
		return safetext.Join(safetext.Filled(clean(opOf(item).headline), causeOf(item, Options{})), ", ")
	case len(rows) == 0:
		return clean("unchanged")
	}
	var whys []plan.Cause
	for _, r := range rows {
		whys = append(whys, r.Why)
	}
	counts := safetext.Join(safetext.Filled(safetext.Count(len(rows), "change"), inWords(tallied(whys))), ": ")
	if gone := item.Removals(); len(gone) > 0 {
		counts = safetext.F("%s; %s", counts, removals([]plan.Item{item}))
	}
	return counts
}

// mergeByCodeHost describes the commit that a code host makes to test a pull request. No branch
// contains it.
const mergeByCodeHost = "the code host's merge of the pull request"

// blame returns the commit that the plan was compared with, or why there is none and the fix.
func blame(b *plan.Blame) (base, problem, fix safe) {
	if b == nil {
		return base, problem, fix
	}
	if b.Base != "" {
		base = safetext.F("compared with %s", safetext.Join(safetext.Filled(clean(b.Ref).Cut(maxName), short(b.Base)), " at "))
		if b.Merge {
			base = safetext.F("%s; the checked-out commit is %s", base, mergeByCodeHost)
		}
	}
	return base, message(b.Problem), message(b.Fix)
}

func short(commit string) safe { return clean(commit[:min(7, len(commit))]) }

// settingsTitle is the heading of changes in trueup.yaml that affect the plan.
const settingsTitle = "Settings that differ from the base"

// maxHidden limits the listed differences that a setting hides. Grave ones are always listed and
// don't count.
const maxHidden = 40

// setting is a setting that differs from the base. Its rows are what changed in it, its place and effect, and the
// differences that it hides.
type setting struct {
	plan.Setting
	Rows []row
}

func settingsOf(pl *plan.Plan) []setting {
	if pl == nil {
		return nil
	}
	all := make([]setting, len(pl.Settings))
	for i, s := range pl.Settings {
		r := row{Path: clean(s.Field), reason: reason{Mark: markChange, Alarm: true}, facts: []view.Fact{{Path: []string{s.Field}, Risk: kind.RiskServes}}}
		switch {
		case s.Was != nil && s.Now != nil:
			r.Before, r.After = view.Pair(s.Was, s.Now, true)
		case s.Was != nil:
			r.Mark, r.Before = markRemove, value(s.Was, true)
		default:
			r.Mark, r.After = markAdd, value(s.Now, true)
		}
		where := location(diag.Finding{Path: s.Path, Line: s.Line})
		effect := row{Text: safetext.Join(safetext.Filled(where, clean(s.Consequence)), ": ")}
		all[i] = setting{s, append([]row{r, effect}, hiddenBy(pl, s)...)}
	}
	return all
}

// sidesOf names the two sides that a plan compares.
func sidesOf(pl *plan.Plan) (before, after string) {
	if pl.Offline {
		return "base", "head"
	}
	return "live", "git"
}

// hiddenBy returns the differences that a setting hides, the gravest first.
func hiddenBy(pl *plan.Plan, s plan.Setting) []row {
	hides, grave := make([]row, len(s.Hides)), 0
	before, after := sidesOf(pl)
	for i, h := range s.Hides {
		risk := max(riskAt(h.Kind, h.Path, h.Live), riskAt(h.Kind, h.Path, h.Git))
		must := view.MustShow(risk)
		text := safetext.F("hidden: %s %s: %s %s, %s %s", named(h.Key), view.CountSpaces(clean(h.Path)), before, value(h.Live, must), after, value(h.Git, must))
		hides[i] = row{Text: text, facts: []view.Fact{{Object: h.Key, Path: kind.Steps(h.Path), Risk: risk}}}
		grave += oneIf(must)
	}
	slices.SortStableFunc(hides, func(a, b row) int { return cmp.Compare(b.facts[0].Risk, a.facts[0].Risk) })
	if more := len(hides) - grave - maxHidden; more > 0 {
		hides = append(hides[:grave+maxHidden], row{Text: safetext.F("and %s: -o json has them all", safetext.Count(more, "more difference"))})
	}
	return hides
}

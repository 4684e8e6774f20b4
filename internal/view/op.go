package view

import (
	"cmp"
	"slices"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// JoinSentences joins sentences. All but the first start with a capital letter.
func JoinSentences(texts ...safetext.Text) safetext.Text {
	texts = safetext.NonEmpty(texts...)
	for i := 1; i < len(texts); i++ {
		texts[i] = texts[i].Capitalize()
	}
	return safetext.Join(texts, " ")
}

// opLook is how reports show an object as a whole: its mark, the title of its row, its headline, its rule, and its rank if its rows
// have no graver one.
type opLook struct {
	mark                  Mark
	title, headline, rule string
	rank                  Rank
}

// opLookOf returns the look of what apply does with an object, or of what happened to it outside git.
func opLookOf(item plan.Item) opLook {
	switch {
	case !item.Happened || item.Failed:
		return tableOfOps[item.Op]
	case item.Deleted:
		return opLook{MarkRemove, "deleted outside git", "deleted outside git", "plan/gone", RankRest}
	case item.IsReportedMissing():
		return opLook{MarkRemove, "missing live", "missing live", "plan/unknown", RankRest}
	}
	return opLook{MarkChange, "", "changed outside git", "", RankRest}
}

var tableOfOps = map[plan.Op]opLook{
	plan.Create:   {MarkAdd, "create", "to create", "", RankRest},
	plan.Post:     {MarkOnce, "post once", "to post once", "plan/purge", rankPurge},
	plan.Delete:   {MarkRemove, "delete", "to delete", "plan/delete", rankRemoval},
	plan.Blocked:  {MarkBlocked, "blocked: ", "blocked", "plan/blocked", rankBlocked},
	plan.InFlight: {MarkLater, "in flight elsewhere: ", "in flight elsewhere", "plan/in-flight", RankRest},
	plan.Deferred: {MarkLater, "deferred", "deferred", "plan/deferred", rankPurge},
	plan.Kept:     {MarkSame, "kept: ", "kept", "plan/kept", RankRest},
	plan.Patch:    {MarkChange, "", "to change", "", rankChange},
	plan.None:     {MarkSame, "", "unchanged", "", RankRest},
}

func headlineOf(item plan.Item, rows []Row) safetext.Text {
	switch {
	case item.Waits:
		item.Waits = false
		return safetext.F("not applied: %s", headlineOf(item, rows))
	case item.Happened && len(item.Changes) == 0 || !item.Happened && item.Op != plan.Patch && item.Op != plan.None:
		return safetext.Join(safetext.NonEmpty(clean(opLookOf(item).headline), describeObjectCause(item)), ", ")
	case len(rows) == 0:
		return clean("unchanged")
	}
	whys := diag.MapList(rows, func(r Row) plan.Cause { return r.Why })
	counts := safetext.Join(safetext.NonEmpty(safetext.Count(len(rows), "change"), DescribeTallies(countCauses(whys))), ": ")
	if len(item.RemovalLines()) > 0 {
		counts = safetext.F("%s; %s", counts, countRemovals([]plan.Item{item}))
	}
	return counts
}

// MergeByCodeHost describes the commit that a code host makes to test a pull request. No branch
// contains it.
const MergeByCodeHost = "the code host's merge of the pull request"

// DescribeBase returns the commit that the plan was compared with; empty for none.
func DescribeBase(b *plan.ComparedCommits) (base safetext.Text) {
	if b == nil || b.Base == "" {
		return base
	}
	base = safetext.F("compared with %s", safetext.Join(safetext.NonEmpty(clean(b.Ref).Truncate(MaxName), ShortCommit(b.Base)), " at "))
	if b.Merge {
		base = safetext.F("%s; the checked-out commit is %s", base, MergeByCodeHost)
	}
	return base
}

// NotesOf returns the notes of a plan. The first says why it was compared with no base, and the fix. A brief report has no note
// that needs no decision.
func NotesOf(pl *plan.Plan, opts TextOptions) (notes []safetext.Text) {
	if b := pl.Blame; b != nil && b.Problem != "" && (!opts.Brief || NeedsBase(pl)) {
		notes = append(notes, safetext.F("base: %s", safetext.Join(safetext.NonEmpty(CleanMessage(b.Problem), CleanMessage(b.Fix)), " - fix: ")))
	}
	for _, n := range pl.Notes {
		if !opts.Brief || n != plan.UnseenLedger {
			notes = append(notes, CleanMessage(n))
		}
	}
	return notes
}

// ShortCommit returns the beginning of the ID of a commit.
func ShortCommit(commit string) safetext.Text { return clean(commit[:min(7, len(commit))]) }

// SettingsTitle is the heading of changes in trueup.yaml that affect the plan.
const SettingsTitle = "Settings that differ from the base"

// maxHidden limits the listed differences that a setting hides. Grave ones are always listed and
// don't count.
const maxHidden = 40

// SettingsOf returns the settings that differ from the base: what changed in each, and as notes its place and effect, and the
// differences that it hides.
func SettingsOf(pl *plan.Plan) []ObjectView {
	if pl == nil {
		return nil
	}
	all := make([]ObjectView, len(pl.Settings))
	for i, s := range pl.Settings {
		r := Row{Path: clean(s.Field), Field: s.Field, Mark: MarkChange, Alarm: true, Facts: []ChangeFact{{Path: s.Field, Risk: kind.RiskServes}}}
		switch {
		case s.Was != nil && s.Now != nil:
			r.Before, r.After = FormatPair(s.Was, s.Now, true)
		case s.Was != nil:
			r.Mark, r.Before = MarkRemove, FormatValue(s.Was, true)
		default:
			r.Mark, r.After = MarkAdd, FormatValue(s.Now, true)
		}
		where := FormatLocation(diag.Finding{Path: s.Path, Line: s.Line})
		effect := Row{Text: safetext.Join(safetext.NonEmpty(where, clean(s.Consequence)), ": ")}
		all[i] = ObjectView{Path: s.Path, Line: s.Line, Changes: []Row{r}, Notes: append([]Row{effect}, hiddenRows(pl, s)...)}
	}
	return all
}

// hiddenRows returns the differences that a setting hides, the gravest first.
func hiddenRows(pl *plan.Plan, s plan.ChangedSetting) []Row {
	hides, grave := make([]Row, len(s.Hides)), 0
	before, after := "live", "git"
	if pl.Offline {
		before, after = "base", "head"
	}
	for i, h := range s.Hides {
		risk := max(riskAt(h.Kind, h.Path, h.Live), riskAt(h.Kind, h.Path, h.Git))
		must := MustShow(risk)
		text := safetext.F("hidden: %s %s: %s %s, %s %s", FormatKey(h.Key), CollapseSpaces(clean(h.Path)), before, FormatValue(h.Live, must), after, FormatValue(h.Git, must))
		hides[i] = Row{Text: text, Facts: []ChangeFact{{Object: h.Key, Path: h.Path, Risk: risk}}}
		grave += OneIf(must)
	}
	slices.SortStableFunc(hides, func(a, b Row) int { return cmp.Compare(b.Facts[0].Risk, a.Facts[0].Risk) })
	if more := len(hides) - grave - maxHidden; more > 0 {
		hides = append(hides[:grave+maxHidden], Row{Text: safetext.F("and %s: -o json has them all", safetext.Count(more, "more difference"))})
	}
	return hides
}

// NextSteps returns one line for each verdict that needs action.
func NextSteps(r *apply.Result) []safetext.Text {
	const unseen, deferred, inFlight, superseded apply.Verdict = "unseen", "deferred", "in flight", "superseded"
	keys := map[apply.Verdict][]safetext.Text{}
	for _, o := range r.Outcomes {
		verdict := o.Verdict
		switch {
		case o.Status == apply.Deferred:
			verdict = deferred
		case o.Status == apply.InFlight:
			verdict = inFlight
		case verdict == apply.NotConverged && len(o.Mismatches) == 0:
			verdict = unseen
		case o.Fix == apply.FixSuperseded:
			verdict = superseded
		}
		keys[verdict] = append(keys[verdict], FormatKey(o.Key))
	}
	var steps []safetext.Text
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
		{inFlight, "another run has claimed ", ": run apply again; it sends only what that run did not"},
		{unseen, "live does not show what the server confirmed for ", ": check again with plan"},
		{deferred, "run apply again later for ", ""},
	} {
		if which := keys[s.verdict]; len(which) > 0 {
			steps = append(steps, safetext.F("%s%s%s", s.before, JoinLimited(which, ", "), s.after))
		}
	}
	return steps
}

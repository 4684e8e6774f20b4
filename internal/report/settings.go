package report

import "trueup/internal/plan"

// settingsTitle heads what a change of the project itself does to the plan.
const settingsTitle safe = "Settings that differ from the base"

// maxHides is how many of the differences that one setting hides are shown.
const maxHides = 40

// settingRow is a setting as a marked line.
func settingRow(s plan.Setting) row {
	r := row{path: clean(s.Field), mark: markChange, alarm: true}
	switch {
	case s.Was == nil:
		r.mark = markAdd
	case s.Now == nil:
		r.mark = markRemove
	}
	if s.Was != nil {
		r.before = literal(s.Was)
	}
	if s.Now != nil {
		r.after = literal(s.Now)
	}
	return r
}

// sidesOf names what a plan compares.
func sidesOf(pl *plan.Plan) (before, after safe) {
	if pl.Offline {
		return "base", "head"
	}
	return "live", "git"
}

// settingNotes say where a setting of a plan is, what it does, and what it hides.
func settingNotes(pl *plan.Plan, s plan.Setting) []note {
	before, after := sidesOf(pl)
	where := clean(s.Path)
	if s.Line > 0 {
		where += ":" + number(s.Line)
	}
	notes := []note{{text: join(filled(where, clean(s.Consequence)), ": ")}}
	for _, h := range s.Hides[:min(len(s.Hides), maxHides)] {
		text := "hidden: " + named(h.Key) + " " + clean(h.Path) + ": " + before + " " + value(h.Live, true) + ", " + after + " " + value(h.Git, true)
		notes = append(notes, note{text: text})
	}
	if more := len(s.Hides) - maxHides; more > 0 {
		notes = append(notes, note{text: "and " + count(more, "more difference") + ": -o json has them all"})
	}
	return notes
}

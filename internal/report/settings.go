package report

import (
	"cmp"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// settingsTitle heads what a change of the project itself does to the plan.
const settingsTitle safe = "Settings that differ from the base"

// maxHides is how many of the differences that one setting hides are shown, beside
// those of the first two risks.
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
	where := clean(s.Path)
	if s.Line > 0 {
		where += ":" + number(s.Line)
	}
	notes := []note{{text: join(filled(where, clean(s.Consequence)), ": ")}}
	others := 0
	for _, h := range riskiestFirst(s.Hides) {
		n := hiddenNote(pl, h)
		if !n.risk.Grave() {
			if others++; others > maxHides {
				continue
			}
		}
		notes = append(notes, n)
	}
	if more := others - maxHides; more > 0 {
		notes = append(notes, note{text: "and " + count(more, "more difference") + ": -o json has them all"})
	}
	return notes
}

// riskiestFirst sorts what a setting hides by what is at stake.
func riskiestFirst(hides []plan.Hidden) []plan.Hidden {
	return slices.SortedStableFunc(slices.Values(hides), func(a, b plan.Hidden) int {
		return -cmp.Compare(riskOfHidden(a), riskOfHidden(b))
	})
}

func riskOfHidden(h plan.Hidden) kind.Risk {
	return max(riskAt(h.Kind, h.Path, h.Live), riskAt(h.Kind, h.Path, h.Git))
}

func hiddenNote(pl *plan.Plan, h plan.Hidden) note {
	before, after := sidesOf(pl)
	n := note{path: named(h.Key) + " " + clean(h.Path), risk: riskOfHidden(h)}
	n.text = "hidden: " + n.path + ": " + before + " " + value(h.Live, n.risk.Grave()) + ", " + after + " " + value(h.Git, n.risk.Grave())
	return n
}

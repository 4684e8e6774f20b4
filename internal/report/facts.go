package report

import (
	"fmt"
	"io"
	"slices"

	"trueup/internal/safetext"
	"trueup/internal/view"
)

// document writes a document, and at its end what the format left out although it must be shown.
func (f format) document(w io.Writer, doc Document, opts Options) error {
	doc.score = scoreOf(doc)
	if err := f.write(w, doc, opts); err != nil || f.programs {
		return err
	}
	left := doc.score.Left()
	switch {
	case len(left) == 0:
		return nil
	case f.rest == nil:
		return fmt.Errorf("it leaves out %s, the first is %s of %s", safetext.Count(len(left), "grave change"), left[0].Path, left[0].Object)
	}
	var lines []safe
	eachStatement(doc, func(facts []view.Fact, text safe) {
		if slices.ContainsFunc(facts, func(f view.Fact) bool { return slices.Contains(left, f) }) {
			lines = append(lines, text)
		}
	})
	return f.rest(w, lines)
}

// scoreOf returns the score of a report of a document that has shown nothing.
func scoreOf(doc Document) *view.Score {
	var all []view.Fact
	eachStatement(doc, func(facts []view.Fact, _ safe) { all = append(all, facts...) })
	return view.NewScore(all)
}

// eachStatement calls do with what a report of a document must say, in words: settings, and what the plan changes unless it was
// applied.
func eachStatement(doc Document, do func(facts []view.Fact, text safe)) {
	say := func(before safe, rows []row, notes []note) {
		for _, r := range rows {
			do(r.facts, safetext.F("%s%s", before, wholeSentence(r)))
		}
		for _, n := range notes {
			do(n.facts, safetext.F("%s%s", before, n.Text))
		}
	}
	for _, s := range settingsOf(doc.Plan) {
		say(safe{}, []row{s.Row}, s.Notes)
	}
	if doc.Plan == nil || doc.Apply != nil {
		return
	}
	for _, item := range doc.Plan.Items {
		if !oneLine(item) && (item.Purge != nil || view.MustShow(item.Risk)) {
			say(safetext.F("%s: ", named(item.Key)), itemRows(item, Options{}), itemNotes(item, Options{}))
		}
	}
}

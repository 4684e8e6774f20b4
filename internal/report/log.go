package report

import (
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// Log returns the entries of a ledger as a document. values is set if it shows what changed with its values.
func Log(entries []plan.Logged, values bool) Document {
	return Document{
		Data: map[string]any{"format": "trueup.log/v1", "entries": entries},
		Text: func(out LineWriter, shown view.TextOptions) { writeLog(out, entries, values, shown) },
	}
}

func writeLog(out LineWriter, entries []plan.Logged, values bool, shown view.TextOptions) {
	p := newPrinter(out.w, shown)
	for n, e := range entries {
		if n > 0 {
			p.printGap()
		}
		p.printWrapped(indent, styledText{safetext.F("entry %d  ", e.Entry), faint}, styledText{view.Message(e.Title()), strong})
		p.printBelow(plain, view.Message(e.Who()))
		var o view.ObjectView
		for _, c := range e.Changes {
			row := view.RowOf(plan.Item{Key: e.Key}, c, nil, shown)
			if row.Cause, row.Facts = (safe{}), nil; !values {
				row.Before, row.After, row.Details = safe{}, safe{}, nil
			}
			o.Changes = append(o.Changes, row)
		}
		textRows(p, o)
	}
	if len(entries) == 0 {
		p.printLine(styledText{clean("no entries"), plain})
	}
	_ = p.flush() // the output keeps its own error
}

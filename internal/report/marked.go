package report

import "strings"

// checkStyle is the look of the word that a marked row begins with.
func checkStyle(mark string) style {
	switch mark {
	case "ok":
		return added
	case "warn":
		return changed
	case "FAIL":
		return alarm
	}
	return faint
}

// Marked writes rows whose cells are aligned, and breaks what is too wide for the
// terminal. The first cell is a mark, which has a colour: ok, warn, FAIL, or
// anything else for what says nothing.
func (l Lines) Marked(rows [][]string, opts Options) error {
	var widths []int
	for _, row := range rows {
		row = filledCells(row)
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(clean(cell))+2)
		}
	}
	p := newPrinter(l.w, opts)
	for _, row := range rows {
		row = filledCells(row)
		spans := make([]span, len(row))
		for i, cell := range row {
			spans[i].text = clean(cell)
			if i < len(row)-1 {
				spans[i].text = pad(spans[i].text, widths[i])
			}
		}
		spans[0].style = checkStyle(row[0])
		p.marked(spans)
	}
	return p.flush()
}

// filledCells are those of a row up to the last that is not empty; one at least.
func filledCells(row []string) []string {
	for len(row) > 1 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	return row
}

// marked writes a row. Its last cell is broken between words; where one of them,
// such as the path of a file, has no room there, cells stand below the mark's
// column.
func (p *printer) marked(spans []span) {
	before, last := spans[:len(spans)-1], spans[len(spans)-1]
	hang := width(flat(before))
	if !p.wrap || len(before) == 0 || hang+longest(last.text) <= p.width {
		p.wrapped(hang, spans...)
		return
	}
	margin := width(spans[0].text)
	line := []span{spans[0]}
	for _, s := range spans[1:] {
		if len(line) > 1 && width(flat(line))+width(s.text) > p.width {
			p.wrapped(margin, line...)
			line = []span{{pad("", margin), plain}}
		}
		line = append(line, s)
	}
	p.wrapped(margin, line...)
}

// longest is the width of the widest word.
func longest(s safe) int {
	most := 0
	for word := range strings.FieldsSeq(string(s)) {
		most = max(most, width(clean(word)))
	}
	return most
}

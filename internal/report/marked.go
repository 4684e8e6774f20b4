package report

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

// Marked writes rows whose cells are aligned, and breaks the last cell where it
// is too wide for the terminal. The first cell is a mark, which has a colour:
// ok, warn, FAIL, or anything else for what says nothing.
func (l Lines) Marked(rows [][]string, opts Options) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(clean(cell))+2)
		}
	}
	hang := 0
	for _, w := range widths {
		hang += w
	}
	p := newPrinter(l.w, opts)
	for _, row := range rows {
		spans := make([]span, len(row))
		for i, cell := range row {
			spans[i].text = clean(cell)
			if i < len(row)-1 {
				spans[i].text = pad(spans[i].text, widths[i])
			}
		}
		spans[0].style = checkStyle(row[0])
		p.wrapped(hang, spans...)
	}
	return p.flush()
}

package report

import (
	"slices"
	"strings"

	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// Side by side needs minSides columns. The other two limit an object's diff, unless it has
// a grave change.
const (
	minSides     = 80
	maxDiffLines = 500
	maxDiffText  = 8000
)

// diffWriter writes at most left lines of at most columns, and counts the hidden ones.
type diffWriter struct {
	*printer
	left, columns, hidden int
}

// textDiff writes a diff of an object, with only the fields that differ, are kept or are
// dropped.
func textDiff(p *printer, pl *plan.Plan, item plan.Item, opts Options) {
	tree := objectTree(item, opts)
	parts := hunks(compareLines(textOf(tree, fromSide), textOf(tree, toSide)))
	if len(parts) == 0 {
		return
	}
	whole := item.Risk.Grave()
	w := diffWriter{printer: p, left: limit(whole, maxDiffLines), columns: limit(whole, maxDiffText)}
	before, after := sidesOf(pl)
	if item.Happened {
		before, after = after, before
	}
	if opts.Diff == DiffSides {
		w.sides(parts, before, after)
	} else {
		w.wrapped(indent, span{safetext.F("--- %s (%s)", named(item.Key), before), removed})
		w.wrapped(indent, span{safetext.F("+++ %s (%s)", named(item.Key), after), added})
		w.unified(parts, true)
	}
	if w.hidden > 0 {
		w.below(alarm, safetext.F("… %s: -o json has them all", safetext.Count(w.hidden, "more line")))
	}
}

// Versions are two versions of a file, without LeftOut equal lines before them.
type Versions struct {
	Path          string
	Before, After []byte
	LeftOut       int
}

// Diff writes a unified diff of two versions of a file.
func (l Lines) Diff(v Versions, opts Options) error {
	p := newPrinter(l.w, opts)
	p.wrap = false // other programs read diffs too
	p.line(span{safetext.F("--- %s", v.Path), removed})
	p.line(span{safetext.F("+++ %s", v.Path), added})
	w := diffWriter{printer: p, left: maxDiffLines, columns: maxDiffText}
	parts := hunks(compareLines(sourceLines(v.Before), sourceLines(v.After)))
	for i := range parts {
		parts[i].before, parts[i].after = parts[i].before+v.LeftOut, parts[i].after+v.LeftOut
	}
	w.unified(parts, false)
	if w.hidden > 0 {
		p.line(span{safetext.F("… %s", safetext.Count(w.hidden, "more line")), alarm})
	}
	return p.flush()
}

// sourceLines returns the lines of a file, with dots for spaces at their ends.
func sourceLines(text []byte) []textLine {
	var lines []textLine
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		text := strings.TrimRight(body, " ")
		shown := clean(text + strings.Repeat("·", len(body)-len(text)))
		if !ended {
			shown = safetext.F("%s (no line end)", shown)
		}
		lines = append(lines, textLine{text: shown})
	}
	return lines
}

// room reports whether one more line fits, and counts it.
func (w *diffWriter) room() bool {
	if w.left == 0 {
		w.hidden++
		return false
	}
	w.left--
	return true
}

// unified writes hunks that patch tools can read, unless lines wrap in a terminal.
// headsCount makes the heads count as lines.
func (w *diffWriter) unified(parts []hunk, headsCount bool) {
	for _, h := range parts {
		if headsCount && !w.room() {
			continue
		}
		before, after, section := h.head()
		w.wrapped(indent, span{safetext.F("@@ -%s +%s @@", before, after), once}, span{section, faint})
		for _, c := range h.lines {
			w.unifiedLine(c)
		}
	}
}

// head returns the range of a hunk in both texts, and the path around its first difference.
func (h hunk) head() (before, after, section safe) {
	var n, m int
	first := slices.IndexFunc(h.lines, func(c lineChange) bool { return !c.same() })
	if below := h.lines[first].line().below; !below.Empty() {
		section = safetext.F(" %s", below.Cut(maxPath))
	}
	for _, c := range h.lines {
		n, m = n+oneIf(c.before != nil), m+oneIf(c.after != nil)
	}
	// the number is the line in front of an empty range
	return safetext.F("%d,%d", h.before+min(n, 1), n), safetext.F("%d,%d", h.after+min(m, 1), m), section
}

func (w *diffWriter) unifiedLine(c lineChange) {
	before, after := c.spans(w.columns)
	if c.same() {
		if w.room() {
			w.diffLine(span{clean(" "), plain}, after, *c.after)
		}
		return
	}
	if c.before != nil && w.room() {
		line := *c.before
		if c.after != nil {
			line.Cause = safe{} // the line of git has it
		}
		w.diffLine(span{clean("-"), removed}, before, line)
	}
	if c.after != nil && w.room() {
		w.diffLine(span{clean("+"), added}, after, *c.after)
	}
}

func (c lineChange) spans(columns int) (before, after []span) {
	switch {
	case c.same():
		both := []span{{shorten(c.after.text, columns), plain}}
		return both, both
	case c.before == nil:
		return nil, []span{{shorten(c.after.text, columns), added}}
	case c.after == nil:
		return []span{{shorten(c.before.text, columns), removed}}, nil
	}
	return wordSpans(apart(c.before.text, c.after.text, columns))
}

// diffLine writes a line with its sign, and its cause after or below it.
func (w *diffWriter) diffLine(sign span, text []span, line textLine) {
	spans := append([]span{sign}, text...)
	depth := 1 + line.depth()
	if line.Cause.Empty() {
		w.wrapped(depth+2, spans...)
		return
	}
	cause := line.causeSpan()
	if whole := append(spans, span{clean("  "), plain}, cause); !w.wrap || flat(whole).Width() <= w.width {
		w.line(whole...)
		return
	}
	w.wrapped(depth+2, spans...)
	w.wrapped(depth+2, span{safetext.Spaces(depth), plain}, cause)
}

func (l textLine) depth() int {
	text := l.text.String()
	return len(text) - len(strings.TrimLeft(text, " "))
}

func (l textLine) causeSpan() span {
	s := faint
	if l.Alarm {
		s = alarm
	}
	return span{safetext.F("# %s", l.Cause), s}
}

// between separates the two sides. Its length in bytes, not columns, leaves a margin.
const between = " │ "

func (w *diffWriter) sides(parts []hunk, before, after string) {
	left := (w.width - indent - len(between)) / 2
	head := func(before, after safe) {
		w.line(span{safetext.F("    %s%s%s", before.Pad(left), between, after), faint})
	}
	head(clean(before), clean(after))
	for _, h := range parts {
		if _, _, section := h.head(); h.before+h.after > 0 && w.room() {
			section = safetext.F("⋯%s", section).Cut(left)
			head(section, section)
		}
		for _, c := range h.lines {
			if w.room() {
				w.sideLine(c, left)
			}
		}
	}
}

func (w *diffWriter) sideLine(c lineChange, columns int) {
	sign := sideMark(c)
	before, after := c.spans(w.columns)
	line := c.line()
	if !line.Cause.Empty() {
		if len(after) > 0 {
			after = append(slices.Clone(after), span{clean("  "), plain})
		}
		after = append(after, line.causeSpan())
	}
	depth := 2 + line.depth()
	lefts, rights := wrap(before, columns, depth), wrap(after, w.width-indent-len(between)-columns, depth)
	for i := range max(len(lefts), len(rights)) {
		row := []span{{safetext.F(" %s%s ", safetext.Spaces(2-len(sign)), string(sign)), tableOfMarks[sign].style}}
		used := 0
		if i < len(lefts) {
			row, used = append(row, lefts[i]...), flat(lefts[i]).Width()
		}
		row = append(row, span{safetext.F("%s%s", safetext.Spaces(columns-used), between), faint})
		if i < len(rights) {
			row = append(row, rights[i]...)
		}
		w.line(row...)
		sign = ""
	}
}

func sideMark(c lineChange) mark {
	switch {
	case c.same():
		return ""
	case c.line().Mark != "":
		return c.line().Mark
	case c.before == nil:
		return markAdd
	case c.after == nil:
		return markRemove
	default:
		return markChange
	}
}

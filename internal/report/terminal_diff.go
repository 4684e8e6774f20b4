package report

import (
	"math"
	"slices"
	"strings"

	"trueup/internal/plan"
)

// Side by side needs so many columns; an object's diff takes so many lines, and
// one of its lines so many columns before it is cut. An object with a change of the
// first two risks is never cut.
const (
	minSides     = 80
	maxDiffLines = 500
	maxDiffText  = 8000
)

// diffStyle is the way in which the report shows what differs, and says why it
// is not the one that was asked for.
func diffStyle(p *printer, opts Options) (style string, why safe) {
	if opts.Diff == DiffSides && p.width < minSides {
		return DiffUnified, "side by side needs " + number(minSides) + " columns and there are " + number(p.width) + ", so this is the unified form"
	}
	return opts.Diff, ""
}

// diff writes what differs inside an object as a diff of its text, in which
// there is only what a plan speaks of: what differs, is kept or is dropped.
func (w itemPrinter) diff(item plan.Item, style string) {
	tree := objectTree(item, w.opts)
	parts := hunks(compareLines(textOf(tree, live), textOf(tree, git)))
	if len(parts) == 0 {
		return
	}
	d := diffWriter{itemPrinter: w, left: maxDiffLines, columns: maxDiffText}
	if item.Risk.Grave() {
		d.left, d.columns = math.MaxInt, math.MaxInt
	}
	if style == DiffSides {
		d.sides(parts)
	} else {
		d.unified(item, parts)
	}
	if d.hidden > 0 {
		w.wrapped(hang, span{pad("", indent) + "… " + count(d.hidden, "more line") + ": -o json has them all", alarm})
	}
}

// diffWriter writes so many lines of a diff, each of so many columns, and counts the
// rest.
type diffWriter struct {
	itemPrinter
	left, columns, hidden int
}

// room reports whether one more line may be written.
func (w *diffWriter) room() bool {
	if w.left == 0 {
		w.hidden++
		return false
	}
	w.left--
	return true
}

// unified writes hunks as the tools for such diffs read them, as long as no
// terminal is too narrow for a line.
func (w *diffWriter) unified(item plan.Item, parts []hunk) {
	w.wrapped(indent, span{"--- " + named(item.Key) + " (" + w.before + ")", removed})
	w.wrapped(indent, span{"+++ " + named(item.Key) + " (" + w.after + ")", added})
	for _, h := range parts {
		if !w.room() {
			continue
		}
		before, after, section := h.head()
		w.wrapped(indent, span{"@@ -" + before + " +" + after + " @@", once}, span{section, faint})
		for _, c := range h.lines {
			w.unifiedLine(c)
		}
	}
}

// head says where a hunk is: its place in both texts, and the object that its
// first difference is in.
func (h hunk) head() (before, after, section safe) {
	var n, m int
	first := slices.IndexFunc(h.lines, func(c lineChange) bool { return !c.same() })
	if below := h.lines[first].line().below; below != "" {
		section = " " + cut(below, maxPath)
	}
	for _, c := range h.lines {
		if c.before != nil {
			n++
		}
		if c.after != nil {
			m++
		}
	}
	return lineRange(h.before, n), lineRange(h.after, m), section
}

// lineRange is where a hunk begins and how long it is; one without lines is
// behind the line that it names.
func lineRange(start, n int) safe {
	if n > 0 {
		start++
	}
	return number(start) + "," + number(n)
}

func (w *diffWriter) unifiedLine(c lineChange) {
	if c.same() {
		if w.room() {
			w.diffLine(" ", []span{{shorten(c.after.text, w.columns), plain}}, c.after)
		}
		return
	}
	before, after := c.spans(w.columns)
	if c.before != nil && w.room() {
		line := *c.before
		if c.after != nil {
			line.cause = "" // it stands behind what git has
		}
		w.diffLine("-", before, &line)
	}
	if c.after != nil && w.room() {
		w.diffLine("+", after, c.after)
	}
}

// spans are the two texts of a line with the words that differ marked.
func (c lineChange) spans(columns int) (before, after []span) {
	switch {
	case c.before == nil:
		return nil, []span{{shorten(c.after.text, columns), added}}
	case c.after == nil:
		return []span{{shorten(c.before.text, columns), removed}}, nil
	}
	x, y := apart(c.before.text, c.after.text, columns)
	if a, b, ok := intraline(x, y); ok {
		return partSpans(a, removed, removedPart), partSpans(b, added, addedPart)
	}
	return []span{{x, removed}}, []span{{y, added}}
}

// diffLine writes a line with its sign, and its cause behind it, or below it
// where a terminal has no room for both.
func (w *diffWriter) diffLine(sign safe, text []span, line *textLine) {
	look := map[safe]style{"-": removed, "+": added}[sign]
	spans := append([]span{{sign, look}}, text...)
	depth := 1 + len(line.text) - len(strings.TrimLeft(string(line.text), " "))
	if line.cause == "" {
		w.wrapped(depth+2, spans...)
		return
	}
	cause := causeSpan(line)
	if whole := append(spans, span{"  ", plain}, cause); !w.wrap || width(flat(whole)) <= w.width {
		w.line(whole...)
		return
	}
	w.wrapped(depth+2, spans...)
	w.wrapped(depth+2, span{pad("", depth), plain}, cause)
}

// causeSpan is a line's cause as a comment.
func causeSpan(line *textLine) span {
	if line.alarm {
		return span{"# " + line.cause, alarm}
	}
	return span{"# " + line.cause, faint}
}

// sides writes what is there on the left, and what git says on the right.
func (w *diffWriter) sides(parts []hunk) {
	left := (w.width - indent - len(between)) / 2
	w.line(span{pad("", indent) + pad(w.before, left), faint}, span{between, faint}, span{w.after, faint})
	for _, h := range parts {
		if _, _, section := h.head(); h.before+h.after > 0 && w.room() {
			w.line(span{pad("", indent) + pad(cut("⋯"+section, left), left), faint}, span{between, faint}, span{cut("⋯"+section, left), faint})
		}
		for _, c := range h.lines {
			if w.room() {
				w.sideLine(c, left)
			}
		}
	}
}

// between stands between the two sides.
const between safe = " │ "

func (w *diffWriter) sideLine(c lineChange, columns int) {
	sign := mark("")
	before, after := []span(nil), []span(nil)
	switch {
	case c.same():
		text := []span{{shorten(c.after.text, w.columns), plain}}
		before, after = text, text
	default:
		before, after = c.spans(w.columns)
		sign = sideMark(c)
	}
	line := c.line()
	if line.cause != "" {
		if len(after) > 0 {
			after = append(after, span{"  ", plain})
		}
		after = append(after, causeSpan(line))
	}
	depth := 2 + len(line.text) - len(strings.TrimLeft(string(line.text), " "))
	lefts, rights := wrap(before, columns, depth), wrap(after, w.width-indent-len(between)-columns, depth)
	for i := range max(len(lefts), len(rights)) {
		row := []span{{" " + pad("", 2-len(sign)) + safe(sign) + " ", markStyle(sign)}}
		used := 0
		if i < len(lefts) {
			row, used = append(row, lefts[i]...), width(flat(lefts[i]))
		}
		row = append(row, span{pad("", columns-used) + between, faint})
		if i < len(rights) {
			row = append(row, rights[i]...)
		}
		w.line(row...)
		sign = ""
	}
}

func sideMark(c lineChange) mark {
	switch {
	case c.line().mark != "":
		return c.line().mark
	case c.before == nil:
		return markAdd
	case c.after == nil:
		return markRemove
	default:
		return markChange
	}
}

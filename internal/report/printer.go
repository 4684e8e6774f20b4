package report

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fatih/color"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// style is the role of a piece of text.
type style uint8

const (
	plain style = iota
	strong
	faint
	added
	removed
	changed
	alarm
	once
)

// markStyle is the style of a mark in a terminal; in HTML its class and sign, and its name for
// screen readers.
type markStyle struct {
	style             style
	Class, Sign, Name string
}

var tableOfMarks = map[view.Mark]markStyle{
	view.MarkAdd:     {added, "add", "+", "added"},
	view.MarkChange:  {changed, "edit", "~", "changed"},
	view.MarkRemove:  {removed, "cut", "−", "removed"},
	view.MarkOnce:    {once, "once", "!", "once"},
	view.MarkBlocked: {alarm, "stop", "×", "blocked"},
	view.MarkLater:   {once, "once", ">", "later"},
	view.MarkSame:    {faint, "plain", "=", "unchanged"},
}

// tableOfOutcomeLooks has the look of each kind of outcome but those that sent something.
var tableOfOutcomeLooks = map[string]markStyle{
	string(apply.Failed):    {alarm, "bad", "✗", ""},
	string(apply.Blocked):   {changed, "bad", "✗", ""},
	string(apply.Deferred):  {changed, "wait", "●", ""},
	string(apply.InFlight):  {changed, "wait", "●", ""},
	string(apply.Skipped):   {faint, "wait", "●", ""},
	string(apply.Kept):      {faint, "wait", "●", ""},
	string(apply.Unchanged): {faint, "good", "✓", ""},
}

// outcomeLook returns the look of an outcome, with its label for a name.
func outcomeLook(o apply.ItemOutcome) markStyle {
	kind, _ := view.OutcomeKindOf(o)
	l := cmp.Or(tableOfOutcomeLooks[kind.What], markStyle{added, "good", "✓", ""})
	l.Name = kind.Label
	return l
}

// palette maps styles to colours; nil means no colour. It ignores the process's colour settings. It
// uses the 16 colours of the terminal's theme, so that light and dark themes work.
type palette map[style]*color.Color

func newPalette(enabled bool) palette {
	if !enabled {
		return nil
	}
	p := palette{
		strong:  color.New(color.Bold),
		faint:   color.New(color.Faint),
		added:   color.New(color.FgGreen),
		removed: color.New(color.FgRed),
		changed: color.New(color.FgYellow),
		alarm:   color.New(color.FgMagenta, color.Bold),
		once:    color.New(color.FgCyan, color.Bold),
	}
	for _, c := range p {
		c.EnableColor()
	}
	return p
}

type styledText struct {
	text  safeText
	style style
}

// printer writes lines of spans. flush returns the first error.
type printer struct {
	w       *bufio.Writer
	palette palette
	width   int
	// wrap is set for a terminal.
	wrap bool
	// score notes what is printed of a plan; nil for none.
	score *view.FactTracker
	// written is set after the first line. Before that, gap writes nothing.
	written bool
}

const (
	defaultWidth = 120
	minWidth     = 40
)

func newPrinter(w io.Writer, opts view.TextOptions) *printer {
	columns := max(cmp.Or(opts.Width, defaultWidth), minWidth)
	return &printer{w: bufio.NewWriter(w), palette: newPalette(opts.Color), width: columns, wrap: opts.Width > 0}
}

// printLine writes the spans as one line, without spaces at its end.
func (p *printer) printLine(spans ...styledText) {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.text = last.text.TrimRight(); !last.text.Empty() {
			break
		}
		spans = spans[:len(spans)-1]
	}
	if whole := joinSpans(spans); whole.EscapeCommands() != whole {
		spans = []styledText{{whole.EscapeCommands(), plain}}
		if p.wrap && whole.EscapeCommands().Width() > p.width {
			for _, piece := range wrapSpans(spans, p.width-1, 0) {
				p.printLine(piece...)
			}
			return
		}
	}
	// Ignore errors here: bufio keeps the first, and flush returns it.
	for _, s := range spans {
		text := s.text.String()
		if c := p.palette[s.style]; c != nil && text != "" {
			text = c.Sprint(text)
		}
		_, _ = p.w.WriteString(text)
	}
	_ = p.w.WriteByte('\n')
	p.written = true
}

// printWrapped writes the spans as one line. If they are too wide for a terminal, more lines
// follow, indented by hang.
func (p *printer) printWrapped(hang int, spans ...styledText) {
	if !p.wrap || joinSpans(spans).Width() <= p.width {
		p.printLine(spans...)
		return
	}
	for _, line := range wrapSpans(spans, p.width, hang) {
		p.printLine(line...)
	}
}

// maxSeen is the columns within which a change is set, however wide the terminal is: a reader does not look behind them, and where
// no terminal breaks lines, viewers cut them.
const maxSeen = 120

// columnsOfChanges returns the columns for the lines of changes.
func (p *printer) columnsOfChanges() int { return min(p.width, maxSeen) }

// printWithin writes the spans of a change, on more lines if they are too wide.
func (p *printer) printWithin(hang int, spans ...styledText) {
	for i := range spans {
		spans[i].text = spans[i].text.EscapeCommands() // now, because escapes make a line wider
	}
	for _, line := range wrapSpans(spans, p.columnsOfChanges(), hang) {
		p.printLine(line...)
	}
}

func (p *printer) printGap() {
	if p.written {
		_ = p.w.WriteByte('\n')
	}
}

func (p *printer) flush() error { return p.w.Flush() }

func joinSpans(spans []styledText) safeText {
	texts := diag.MapList(spans, func(s styledText) safeText { return s.text })
	return safetext.Join(texts, "")
}

// renderLines returns the lines that render prints, without colour.
func renderLines(render func(*printer)) []safeText {
	var b bytes.Buffer
	p := newPrinter(&b, view.TextOptions{})
	render(p)
	_ = p.flush() // a Buffer never fails
	return linesOf(b.String())
}

func linesOf(text string) (lines []safeText) {
	for line := range strings.Lines(text) {
		lines = append(lines, clean(strings.TrimSuffix(line, "\n")))
	}
	return lines
}

// wrapSpans breaks spans into lines of at most columns, and indents those after the first by
// hang. It breaks inside a word only if the word is longer than a line.
func wrapSpans(spans []styledText, columns, hang int) [][]styledText {
	if joinSpans(spans).Width() <= columns {
		return [][]styledText{spans}
	}
	w := wrapper{columns: columns, hang: min(hang, columns/2)}
	for _, word := range joinCommands(splitWords(spans), columns-w.hang) {
		if w.filled && w.column+joinSpans(word).TrimRight().Width() > columns {
			w.breakLine()
		}
		for _, s := range word {
			w.put(s)
		}
	}
	return append(w.lines, w.line)
}

// wrapLines is wrapSpans for a text without styles.
func wrapLines(text safeText, columns, hang int) []safeText {
	lines := wrapSpans([]styledText{{text, plain}}, columns, hang)
	return diag.MapList(lines, func(line []styledText) safeText { return joinSpans(line).TrimRight() })
}

type wrapper struct {
	columns, hang int
	lines         [][]styledText
	line          []styledText
	column        int
	// filled is set if the line has more than spaces.
	filled bool
}

func (w *wrapper) breakLine() {
	w.lines = append(w.lines, w.line)
	w.line, w.column, w.filled = []styledText{{safetext.Spaces(w.hang), plain}}, w.hang, false
}

// put adds a word to the line, and breaks it if it does not fit.
func (w *wrapper) put(s styledText) {
	text := s.text.TrimRight()
	space := s.text.Width() - text.Width()
	for !text.Empty() && w.column+text.Width() > w.columns {
		head, rest := text.Break(w.columns-w.column, w.column <= w.hang)
		w.push(styledText{head, s.style})
		text = rest
		w.breakLine()
	}
	w.push(styledText{text, s.style})
	w.filled = w.filled || !text.Empty()
	w.push(styledText{safetext.Spaces(min(space, w.columns-w.column)), s.style})
}

func (w *wrapper) push(s styledText) {
	if s.text.Empty() {
		return
	}
	w.column += s.text.Width()
	if last := len(w.line) - 1; last >= 0 && w.line[last].style == s.style {
		w.line[last].text = safetext.F("%s%s", w.line[last].text, s.text)
		return
	}
	w.line = append(w.line, s)
}

// splitWords splits spans after spaces. A word may have several styles.
func splitWords(spans []styledText) [][]styledText {
	var words [][]styledText
	var word []styledText
	for _, s := range spans {
		for _, piece := range s.text.Split(" ") {
			word = append(word, styledText{piece, s.style})
			if strings.HasSuffix(piece.String(), " ") {
				words = append(words, word)
				word = nil
			}
		}
	}
	return append(words, word)
}

// toCopy matches a command at the start of a text, to the end of its sentence or clause.
var toCopy = regexp.MustCompile(`^trueup [^,;:)]*?(--|/)[^,;:)]*`)

// joinCommands makes each command that fits into a line one word, so that it can be copied.
func joinCommands(words [][]styledText, most int) (joined [][]styledText) {
	for len(words) > 0 {
		n := 1
		if joinSpans(words[0]).String() == "trueup " {
			found := clean(toCopy.FindString(joinSpans(slices.Concat(words...)).String())).TrimRight()
			if w := found.Width(); w < most {
				n = max(1, len(strings.Fields(found.String())))
			}
		}
		joined, words = append(joined, slices.Concat(words[:n]...)), words[n:]
	}
	return joined
}

// MarkedTable writes rows with aligned cells, wrapped to the terminal. The first cell is ok, warn,
// FAIL or another mark, and sets the colour.
func (l LineWriter) MarkedTable(rows [][]string, opts view.TextOptions) error {
	var widths []int
	lines := make([][]styledText, len(rows))
	for n, row := range rows {
		for len(row) > 1 && row[len(row)-1] == "" {
			row = row[:len(row)-1]
		}
		for i, cell := range row {
			lines[n] = append(lines[n], styledText{text: clean(cell)})
			if i == len(row)-1 {
				break
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], clean(cell).Width()+2)
		}
	}
	p := newPrinter(l.w, opts)
	for n, spans := range lines {
		for i := range spans[:len(spans)-1] {
			spans[i].text = spans[i].text.Pad(widths[i])
		}
		spans[0].style = cmp.Or(map[string]style{"ok": added, "warn": changed, "FAIL": alarm}[rows[n][0]], faint)
		hang := joinSpans(spans[:len(spans)-1]).Width()
		for word := range strings.FieldsSeq(spans[len(spans)-1].text.String()) {
			if hang+clean(word).Width() > p.width { // a word, such as a path, stays whole
				hang = spans[0].text.Width()
			}
		}
		p.printWrapped(hang, spans...)
	}
	return p.flush()
}

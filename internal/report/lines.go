package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// LineWriter writes the output of a command outside a Document. It escapes its arguments:
// they can't start or end a line, or be a command to a terminal or a workflow runner.
type LineWriter struct {
	w io.Writer
	// width is that of a terminal, at which Printf breaks lines; 0 for a pipe or a file.
	width int
}

// NewLineWriter returns a LineWriter for a terminal of so many columns, or for a pipe or a file if that is 0.
func NewLineWriter(w io.Writer, columns int) LineWriter { return LineWriter{w, columns} }

// Printf writes lines, or a question without a line end. The format must be a constant.
// Every argument except integers becomes text that stays within its line. In a terminal, long lines
// break between words, but for indented ones and comments, which may be copied to a file.
func (l LineWriter) Printf(format string, args ...any) error {
	text := fmt.Sprintf(format, safetext.CleanArgs(args)...)
	if l.width == 0 {
		return l.Text(text)
	}
	var b bytes.Buffer
	p := newPrinter(&b, view.TextOptions{Width: l.width})
	for line := range strings.Lines(text) {
		p.wrap = !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#")
		p.printWrapped(indent, styledText{clean(strings.TrimSuffix(line, "\n")), plain})
	}
	_ = p.flush() // a Buffer takes everything
	lines := b.String()
	if !strings.HasSuffix(text, "\n") { // a question: the printer ended its line, and cut its last space
		lines = strings.TrimSuffix(lines, "\n") + text[len(strings.TrimRight(text, " ")):]
	}
	return l.raw(lines)
}

// Text writes several lines. It escapes all control characters except line breaks and tabs.
func (l LineWriter) Text(text string) error {
	_, err := l.Write([]byte(text))
	return err
}

// Write is Text for a library that prints help, usage and completion, which may quote the command line.
func (l LineWriter) Write(text []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		cells := diag.MapList(strings.Split(body, "\t"), clean)
		b.WriteString(safetext.Join(cells, "\t").EscapeCommands().String())
		if ended {
			b.WriteByte('\n')
		}
	}
	return len(text), l.raw(b.String())
}

// Source writes the text of a file, such as a manifest: unchanged to a pipe or a file,
// escaped to a terminal.
func (l LineWriter) Source(text []byte) error {
	if l.width > 0 {
		return l.Text(string(text))
	}
	_, err := l.w.Write(text)
	return err
}

// Table writes rows with aligned cells, each after the margin.
func (l LineWriter) Table(margin string, rows [][]string) error {
	lines := diag.MapList(rows, func(row []string) []string { return append([]string{margin + row[0]}, row[1:]...) })
	return l.MarkedTable(lines, view.TextOptions{})
}

// JSON writes v as JSON on several lines.
func (l LineWriter) JSON(v any) error {
	return writeIndented(l.w, v, nil)
}

// JSONLine writes a JSON text without line breaks after a constant prefix.
func (l LineWriter) JSONLine(before string, text []byte) error {
	return l.Text(clean(before).String() + safetext.CleanJSON(bytes.TrimRight(text, "\n")).String() + "\n")
}

// raw writes control sequences.
func (l LineWriter) raw(text string) error {
	_, err := io.WriteString(l.w, text)
	return err
}

// NewJSONStream returns a writer for lines of JSON that escapes every invisible character.
// It does not write a last line without a line break.
func NewJSONStream(w io.Writer) io.Writer {
	return &jsonStream{w: w}
}

// jsonStream collects text until a line ends, because a piece may end within a character.
type jsonStream struct {
	w       io.Writer
	pending []byte
}

func (l *jsonStream) Write(text []byte) (int, error) {
	l.pending = append(l.pending, text...)
	end := bytes.LastIndexByte(l.pending, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	if _, err := io.WriteString(l.w, safetext.CleanJSON(l.pending[:end]).String()); err != nil {
		return 0, err
	}
	l.pending = append(l.pending[:0], l.pending[end:]...)
	return len(text), nil
}

// ProgressLine renders an event as one line, without a newline.
func ProgressLine(e apply.Event) string {
	text := safetext.F("%s  %s", view.FormatKey(e.Key), view.CleanMessage(e.Phase))
	if e.Message != "" {
		text = safetext.F("%s  %s", text, view.CleanMessage(e.Message))
	}
	return text.EscapeCommands().String()
}

// ProgressText says how far an activity is, such as "reading manifests". of is the expected total, or 0 if it is unknown: an
// estimate, which done may exceed. took is the time since the start.
func ProgressText(doing string, done, of int, took time.Duration) string {
	since := clean(took.Round(time.Second).String())
	switch {
	case of > 0 && done <= of:
		return safetext.F("%s: %d of %d, %s", doing, done, of, since).String()
	case done > 0:
		return safetext.F("%s: %d, %s", doing, done, since).String()
	}
	return safetext.F("%s: %s", doing, since).String()
}

// Bar replaces the terminal's current line with a text of at most that many columns.
func (l LineWriter) Bar(text string, columns int) error {
	if columns < 1 {
		return l.ClearBar()
	}
	return l.raw(clearLine + clean(text).Truncate(columns).EscapeCommands().String())
}

// ClearBar removes the bar.
func (l LineWriter) ClearBar() error { return l.raw(clearLine) }

// clearLine clears the terminal's current line.
const clearLine = "\r\x1b[K"

// safeText is escaped text. Printers accept no other.
type safeText = safetext.Text

type markup = safetext.Markdown

func clean(s string) safeText { return safetext.Clean(s) }

// Clean escapes a text from outside for a line of a terminal or a log.
func Clean(s string) string { return clean(s).EscapeCommands().String() }

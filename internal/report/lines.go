package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"trueup/internal/graph"
	"trueup/internal/safetext"
)

// Lines writes what a command prints beside a Document. Nothing of what it is
// given can begin a line, end one, or be a command to a terminal or a workflow
// runner.
type Lines struct {
	w io.Writer
	// piped says that a program or a file takes what is written.
	piped bool
}

// NewLines returns Lines that are written to w, which may be a terminal.
func NewLines(w io.Writer) Lines { return Lines{w: w} }

// Piped is l for a pipe or a file, so that Source is written as it is.
func (l Lines) Piped() Lines {
	l.piped = true
	return l
}

// Printf writes lines, or a question without its end. The format is a constant
// of this program; of the arguments all but integers are taken as text, and
// each stays within its line.
func (l Lines) Printf(format string, args ...any) error {
	return l.write(fmt.Sprintf(format, safetext.Args(args)...))
}

// Text writes a text of this program that has several lines.
func (l Lines) Text(text string) error { return l.write(text) }

// Source writes the text of a file, such as a manifest. A pipe or a file is given
// its bytes, because it is data that is read again; a terminal is shown its
// lines.
func (l Lines) Source(text []byte) error {
	if !l.piped {
		return l.Text(string(text))
	}
	_, err := l.w.Write(text)
	return err
}

// Table writes rows whose cells are aligned, each row behind the margin.
func (l Lines) Table(margin string, rows [][]string) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		line := strings.TrimRight(cleanCells(row).String(), "\t ")
		_, _ = io.WriteString(w, margin+line+"\n") // a Builder takes everything
	}
	_ = w.Flush()
	return l.write(b.String())
}

// JSON writes v as JSON on several lines.
func (l Lines) JSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return l.write(CleanJSON(text) + "\n")
}

// JSONLine writes a JSON text, which has no line break, behind a word of this
// program, which may be empty.
func (l Lines) JSONLine(before string, text []byte) error {
	return l.write(clean(before).String() + CleanJSON(bytes.TrimRight(text, "\n")) + "\n")
}

// write is the one way out: nothing but line breaks and tabs is obeyed.
func (l Lines) write(text string) error {
	_, err := io.WriteString(Help(l.w), text)
	return err
}

// raw writes what a terminal obeys.
func (l Lines) raw(text string) error {
	_, err := io.WriteString(l.w, text)
	return err
}

func cleanCells(row []string) safe {
	cells := make([]safe, len(row))
	for i, cell := range row {
		cells[i] = clean(cell)
	}
	return safetext.Join(cells, "\t")
}

// Graph writes a diagram.
func (l Lines) Graph(g graph.Graph, opts graph.Options) error {
	return l.write(graph.Write(g, opts).String())
}

// Help is a writer for the text of a library that writes by itself: help,
// usage and completion, in which there may be a word of the command line. Line
// breaks and tabs stay as they are.
func Help(w io.Writer) io.Writer { return helpWriter{w} }

type helpWriter struct{ w io.Writer }

func (h helpWriter) Write(text []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(cleanCells(strings.Split(body, "\t")).Guarded().String())
		if ended {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(h.w, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// JSONStream is a writer for JSON texts, each on a line: every invisible character
// becomes its JSON escape. What is not followed by a line break is not written.
func JSONStream(w io.Writer) io.Writer {
	return &lineWriter{w: w, change: func(lines string) string { return CleanJSON([]byte(lines)) }}
}

// lineWriter takes text in pieces and writes whole lines, changed.
type lineWriter struct {
	w       io.Writer
	change  func(lines string) string
	pending []byte
}

func (l *lineWriter) Write(text []byte) (int, error) {
	l.pending = append(l.pending, text...)
	end := bytes.LastIndexByte(l.pending, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	if _, err := io.WriteString(l.w, l.change(string(l.pending[:end]))); err != nil {
		return 0, err
	}
	l.pending = append(l.pending[:0], l.pending[end:]...)
	return len(text), nil
}

// end writes a last line that does not end.
func (l *lineWriter) end() error {
	_, err := io.WriteString(l.w, l.change(string(l.pending)))
	return err
}

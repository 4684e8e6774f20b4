package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"trueup/internal/api"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

// outputWriter writes nothing after an error and keeps that error, so that no command succeeds when its output is lost.
// It is safe for concurrent use.
type outputWriter struct {
	lock sync.Mutex
	w    io.Writer
	err  error
}

func (o *outputWriter) Write(text []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(text)
	o.err = err
	return n, err
}

// close closes the output and returns its first error: some file systems report a full disk only then.
func (o *outputWriter) close() error {
	if c, ok := o.w.(io.Closer); ok {
		o.err = errors.Join(o.err, c.Close())
	}
	return o.err
}

// stdinReader is standard input. A read ends when the run ends, even if nobody answers at the terminal.
type stdinReader struct {
	ctx context.Context //nolint:containedctx // Read has no parameter for it
	r   io.Reader
}

// maxRead limits what is read at once, in bytes.
const maxRead = 64 << 10

func (in *stdinReader) Read(p []byte) (int, error) {
	type read struct {
		text []byte
		err  error
	}
	// The read goes on after the run has ended, so it must not write to p.
	text, done := make([]byte, min(len(p), maxRead)), make(chan read, 1)
	go func() {
		n, err := in.r.Read(text)
		done <- read{text[:n], err}
	}()
	select {
	case got := <-done:
		return copy(p, got.text), got.err
	case <-in.ctx.Done():
		return 0, in.ctx.Err()
	}
}

// Output returns standard output.
func (run *Run) Output() io.Writer { return run.stdout }

// stderr returns the lines of standard error.
func (run *Run) stderr() report.LineWriter {
	columns := 0
	if run.StderrWidth != nil {
		columns = run.StderrWidth()
	}
	return report.NewLineWriter(run.Stderr, columns)
}

// ask asks a question on standard error and returns the answer. It formats as report.Lines does.
func (run *Run) ask(format string, args ...any) (string, error) {
	if err := run.stderr().Printf(format, args...); err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	if run.answers == nil {
		run.answers = bufio.NewReader(run.Stdin)
	}
	answer, err := run.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	run.logging.Lock()
	defer run.logging.Unlock()
	run.tellAt = time.Time{} // wait barAfter again
	return strings.TrimSpace(answer), nil
}

// requireYes asks a question, and returns an error that starts with otherwise unless the answer is yes.
func (run *Run) requireYes(otherwise, format string, args ...any) error {
	answer, err := run.ask(format, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", otherwise, err)
	}
	return errorIf(answer != "yes", "%s", otherwise)
}

// log writes one line to standard error. It is safe for concurrent use, and ignores write errors: they must not stop a run.
func (run *Run) log(level slog.Level, text string) {
	run.logging.Lock()
	defer run.logging.Unlock()
	run.writeLogLine(level, text)
}

// writeLogLine is log for a caller that has locked logging. A line of one of many projects has its path.
func (run *Run) writeLogLine(level slog.Level, text string) {
	if m := run.member; m != nil { // what is neither a warning nor an error needs -v
		if level >= slog.LevelWarn || run.Verbose {
			m.of.logging.Lock()
			defer m.of.logging.Unlock()
			m.of.writeLogLine(level, m.path+": "+text)
		}
		return
	}
	run.clearBar()
	out := run.stderr()
	prefix := map[slog.Level]string{slog.LevelError: "trueup: ", slog.LevelWarn: "warning: "}[level]
	_ = out.Printf("%s%s\n", prefix, text)
}

// writeLostRecord writes a record that the ledger could not store to standard error, for ledger import.
func (run *Run) writeLostRecord(record []byte) {
	before := ledger.RescuePrefix
	if run.member != nil {
		before, run = run.member.path+": "+before, run.member.of
	}
	run.logging.Lock()
	defer run.logging.Unlock()
	run.clearBar()
	_ = run.stderr().JSONLine(before, record)
}

// logRequest shows a request and how it was answered (-v), and never a body.
func (run *Run) logRequest(e api.TraceEvent) {
	answer := e.Err
	if e.Status != 0 {
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	}
	notes := []string{e.Took.Round(time.Millisecond).String()}
	if e.Attempt > 1 {
		notes = append(notes, fmt.Sprintf("attempt %d", e.Attempt))
	}
	if e.RequestBytes > 0 {
		notes = append(notes, fmt.Sprintf("sent %d bytes", e.RequestBytes))
	}
	if e.Status != 0 && e.AnswerBytes >= 0 {
		notes = append(notes, fmt.Sprintf("got %d bytes", e.AnswerBytes))
	}
	if id := e.RequestID.String(); id != "" {
		notes = append(notes, "request id "+id)
	}
	run.log(slog.LevelDebug, fmt.Sprintf("%s %s -> %s (%s)", e.Method, e.URL, answer, strings.Join(notes, ", ")))
}

// barAfter is the time before a run shows its first bar, and barEvery that between two bars. Without a
// terminal, it writes a line every lineEvery.
const (
	barAfter  = time.Second
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// phase is a part of a run that shows its progress if it takes long.
type phase struct {
	run   *Run
	doing string
	begun time.Time
	// of is 0 if the total is unknown.
	done, of atomic.Int64

	// run.logging guards what follows. timer is nil if progress is not shown.
	timer *time.Timer
	ended bool
}

// startPhase starts a phase and the timer that shows its progress.
func (run *Run) startPhase(doing string) *phase {
	now := run.Now()
	p := &phase{run: run, doing: doing, begun: now}
	if run.Quiet || run.member != nil {
		return p
	}
	run.logging.Lock()
	defer run.logging.Unlock()
	if run.tellAt.IsZero() {
		silent := lineEvery
		if run.canShowBar() {
			silent = barAfter
		}
		run.tellAt = now.Add(silent)
	}
	p.timer = time.AfterFunc(run.tellAt.Sub(now), p.showProgress)
	return p
}

// setProgress sets the progress. Any goroutine may call it.
func (p *phase) setProgress(done, of int) {
	p.done.Store(int64(done))
	p.of.Store(int64(of))
}

// end ends the phase and removes its bar.
func (p *phase) end() {
	p.run.logging.Lock()
	defer p.run.logging.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.run.clearBar()
}

// showProgress shows the progress, and schedules the next call.
func (p *phase) showProgress() {
	run := p.run
	run.logging.Lock()
	defer run.logging.Unlock()
	if p.ended {
		return
	}
	now, every := run.Now(), lineEvery
	if run.canShowBar() {
		every = barEvery
		if columns := run.StderrWidth(); columns > 0 {
			run.bar = true
			_ = run.stderr().Bar(p.progressAt(now), columns-1)
		}
	} else {
		run.writeLogLine(slog.LevelInfo, p.progressAt(now))
	}
	run.tellAt = now.Add(every)
	p.timer.Reset(every)
}

func (p *phase) progressAt(now time.Time) string {
	return report.ProgressText(p.doing, int(p.done.Load()), int(p.of.Load()), now.Sub(p.begun))
}

// clearBar removes the bar from the last line of the terminal. The caller holds logging.
func (run *Run) clearBar() {
	if run.bar {
		_ = run.stderr().ClearBar()
		run.bar = false
	}
}

// canShowBar reports whether the terminal can show a bar, and the user did not ask for lines.
func (run *Run) canShowBar() bool {
	return run.StderrWidth != nil && run.StderrIsTTY && run.Getenv("TERM") != "dumb" &&
		!run.InCI() && !run.Verbose
}

// useColor reports whether to use colour: by NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR
// and TERM, then by whether the output is a terminal.
func (run *Run) useColor(terminal bool) bool {
	env := run.Getenv
	switch {
	case env("NO_COLOR") != "":
		return false
	case env("FORCE_COLOR") != "" || env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0":
		return true
	case env("CLICOLOR") == "0" || env("TERM") == "dumb":
		return false
	}
	return terminal
}

// WidestText is the widest that help and explain get, in columns: longer lines are hard to read.
const WidestText = 100

// WrapText breaks the lines of a text. Lines that follow each other are one paragraph, except for
// indented ones, which belong to a table.
func WrapText(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	columns = min(columns, WidestText)
	var out, paragraph []string
	for line := range strings.SplitSeq(text+"\n", "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		if paragraph != nil {
			out = append(out, WrapLine(strings.Join(paragraph, " "), columns)...)
			paragraph = nil
		}
		out = append(out, WrapLine(line, columns)...)
	}
	return strings.Join(out[:len(out)-1], "\n")
}

// WrapLine breaks a line between its words. The parts after the first are indented further, if the line
// is indented.
func WrapLine(line string, columns int) (out []string) {
	words := strings.TrimLeft(line, " ")
	margin := line[:len(line)-len(words)]
	if margin != "" {
		margin += "    "
	}
	for columns > 0 && utf8.RuneCountInString(line) > columns {
		at := strings.LastIndex(line[:columns+1], " ")
		if at <= len(margin) {
			break
		}
		out = append(out, strings.TrimRight(line[:at], " "))
		line = margin + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}

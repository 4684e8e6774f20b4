package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"trueup/internal/report"
)

// output is standard output. It keeps the first write that failed, so that no
// command can end well whose output is lost, and writes nothing after it.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(text []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(text)
	o.err = err
	return n, err
}

// close ends the output and returns what went wrong with it: some file systems
// tell of a full disk only at the end.
func (o *output) close() error {
	if c, ok := o.w.(io.Closer); ok {
		o.err = errors.Join(o.err, c.Close())
	}
	return o.err
}

// input is standard input, which is not waited for when the run is over: at a
// terminal nobody may ever answer.
type input struct {
	ctx context.Context //nolint:containedctx // a reader is given none
	r   io.Reader
}

// maxRead bounds what is read at once, in bytes.
const maxRead = 64 << 10

func (in *input) Read(p []byte) (int, error) {
	type read struct {
		text []byte
		err  error
	}
	// A read that is given up goes on, so that it must not touch p.
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

// ask asks a person on standard error; the format is as that of report.Lines.
// Who can't be shown the question can't answer it.
func (a *app) ask(format string, args ...any) (string, error) {
	if err := report.NewLines(a.env.Stderr).Printf(format, args...); err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	if a.answers == nil {
		a.answers = bufio.NewReader(a.env.Stdin)
	}
	answer, err := a.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	a.rest()
	return strings.TrimSpace(answer), nil
}

// printf writes to standard output, as table does. They return no error: a.stdout keeps the
// first write that failed, and Main ends with it.
func (a *app) printf(format string, args ...any) { _ = a.out.Printf(format, args...) }

func (a *app) table(margin string, rows [][]string) { _ = a.out.Table(margin, rows) }

package cli

import (
	"bytes"
	"context"
	"log/slog"

	"trueup/internal/ledger"
	"trueup/internal/report"
)

// log writes one line about the run to standard error, as people read it or as
// a JSON object (--log-format). It may be called from several goroutines. A line
// that can't be written stops no run, and changes no exit code.
func (a *app) log(level slog.Level, text string) { a.logMore(level, text, nil) }

// logMore writes a line with more lines below it for people, and as attributes
// for machines.
func (a *app) logMore(level slog.Level, text string, more []string, attrs ...slog.Attr) {
	a.logging.Lock()
	defer a.logging.Unlock()
	a.line(level, text, more, attrs...)
}

// line is logMore for who holds logging.
func (a *app) line(level slog.Level, text string, more []string, attrs ...slog.Attr) {
	a.noBar()
	if a.global.logFormat == "json" {
		var line bytes.Buffer
		record := slog.NewRecord(a.env.Now(), level, text, 0)
		record.AddAttrs(attrs...)
		_ = slog.NewJSONHandler(&line, &slog.HandlerOptions{Level: slog.LevelDebug}).Handle(context.Background(), record)
		_ = report.NewLines(a.env.Stderr).JSONLine("", line.Bytes())
		return
	}
	prefix := map[slog.Level]string{slog.LevelError: "trueup: ", slog.LevelWarn: "warning: "}[level]
	out := report.NewLines(a.env.Stderr)
	_ = out.Printf("%s%s\n", prefix, text)
	for _, line := range more {
		_ = out.Printf("  %s\n", line)
	}
}

// rescue writes a record that the ledger could not store to standard error,
// where ledger import finds it.
func (a *app) rescue(record []byte) {
	a.logging.Lock()
	defer a.logging.Unlock()
	a.noBar()
	_ = report.NewLines(a.env.Stderr).JSONLine(ledger.RescuePrefix, record)
}

package cli

import (
	"context"
	"fmt"
	"log/slog"

	"trueup/internal/report"
)

// log writes one line about the run to standard error, as people read it or as
// a JSON object (--log-format). It may be called from several goroutines.
func (a *app) log(level slog.Level, text string) {
	text = report.Clean(text)
	a.logging.Lock()
	defer a.logging.Unlock()
	if a.global.logFormat == "json" {
		record := slog.NewRecord(a.env.Now(), level, text, 0)
		// A line that can't be written must not stop the run.
		_ = slog.NewJSONHandler(a.env.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}).Handle(context.Background(), record)
		return
	}
	prefix := map[slog.Level]string{slog.LevelError: "trueup: ", slog.LevelWarn: "warning: "}[level]
	_, _ = fmt.Fprintln(a.env.Stderr, prefix+text)
}

package cli

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"trueup/internal/api"
)

// trace shows a request and the head of its answer (-v). Bodies are never shown.
func (a *app) trace(e api.TraceEvent) {
	answer := e.Err
	if e.Status != 0 {
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	}
	took := e.Took.Round(time.Millisecond)
	notes := []string{took.String()}
	if e.Attempt > 1 {
		notes = append(notes, fmt.Sprintf("attempt %d", e.Attempt))
	}
	if e.RequestBytes > 0 {
		notes = append(notes, fmt.Sprintf("sent %d bytes", e.RequestBytes))
	}
	if e.Status != 0 && e.AnswerBytes >= 0 {
		notes = append(notes, fmt.Sprintf("got %d bytes", e.AnswerBytes))
	}
	if e.RequestID != "" {
		notes = append(notes, "request id "+e.RequestID)
	}
	line := fmt.Sprintf("%s %s -> %s (%s)", e.Method, e.URL, answer, strings.Join(notes, ", "))
	a.logMore(
		slog.LevelDebug, line, append(headLines("> ", e.Header), headLines("< ", e.Answer)...),
		slog.String("method", e.Method), slog.String("url", e.URL), slog.Int("attempt", e.Attempt),
		slog.Int("status", e.Status), slog.String("error", e.Err), slog.String("requestId", e.RequestID),
		slog.Int("requestBytes", e.RequestBytes), slog.Int64("answerBytes", e.AnswerBytes), slog.Int64("ms", took.Milliseconds()),
		slog.Any("requestHeader", e.Header), slog.Any("answerHeader", e.Answer),
	)
}

// headLines are headers in the order of their names.
func headLines(prefix string, header http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			lines = append(lines, prefix+name+": "+value)
		}
	}
	return lines
}

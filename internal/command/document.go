package command

import (
	"fmt"
	"strings"

	"trueup/internal/report"
)

// say adds a message to a result.
func say(doc *report.Document, format string, args ...any) {
	doc.Messages = append(doc.Messages, fmt.Sprintf(format, args...))
}

// sayLines adds each line of a text as a message.
func sayLines(doc *report.Document, text string) {
	for line := range strings.Lines(text) {
		doc.Messages = append(doc.Messages, strings.TrimSuffix(line, "\n"))
	}
}

// said returns a result of one line.
func said(format string, args ...any) report.Document {
	return report.Document{Messages: []string{fmt.Sprintf(format, args...)}}
}

// table returns a list as a result: rows as text, and elements as JSON.
func table(format, name string, elements any, rows [][]string) report.Document {
	return report.Document{
		Data: map[string]any{"format": format, name: elements},
		Text: func(out report.LineWriter, _ report.FormatOptions) { out.Table("", rows) },
	}
}

// sourceText returns a file as a result. A pipe gets it unchanged.
func sourceText(text []byte) report.Document {
	return report.Document{Text: func(out report.LineWriter, _ report.FormatOptions) { out.Source(text) }}
}

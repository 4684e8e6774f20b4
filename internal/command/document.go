package command

import (
	"fmt"
	"strings"

	"trueup/internal/report"
)

// addMessage adds a message to a result.
func addMessage(doc *report.Document, format string, args ...any) {
	doc.Messages = append(doc.Messages, fmt.Sprintf(format, args...))
}

// addMessageLines adds each line of a text as a message.
func addMessageLines(doc *report.Document, text string) {
	for line := range strings.Lines(text) {
		doc.Messages = append(doc.Messages, strings.TrimSuffix(line, "\n"))
	}
}

// messageDocument returns a result of one line.
func messageDocument(format string, args ...any) report.Document {
	return report.Document{Messages: []string{fmt.Sprintf(format, args...)}}
}

// table returns a list as a result: rows as text, and elements as JSON.
func table(format, name string, elements any, rows [][]string) report.Document {
	return report.Document{
		Data: map[string]any{"format": format, name: elements},
		Text: func(out report.LineWriter, _ report.FormatOptions) { out.Table("", rows) },
	}
}

// fileDocument returns a file as a result. A pipe gets it unchanged.
func fileDocument(text []byte) report.Document {
	return report.Document{Text: func(out report.LineWriter, _ report.FormatOptions) { out.Source(text) }}
}

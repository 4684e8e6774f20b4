package command

import (
	"strings"
	"unicode/utf8"
)

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

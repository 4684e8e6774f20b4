package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
)

// reportSyntax reports what the parser rejected, and returns the line.
func (f *FileState) reportSyntax(data []byte, err error) int {
	at, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		at = &yaml.LoadError{Message: err.Error()}
	}
	mark := at.Mark
	if isAboutContext(at, len(bytes.TrimRight(data, "\r\n"))) {
		mark = at.ContextMark
	}
	line := min(max(mark.Line, 1), f.Lines.Count())
	for line > 1 && mark.Column <= 1 && f.isBetween(line) {
		line-- // the mistake is before the end of the document
	}
	if conflict().Match(f.Lines.Bytes(line - 1)) {
		line-- // the parser read on to find a colon
	}
	text := f.Lines.Bytes(line)
	column := len(text) - len(bytes.TrimLeft(text, " ")) + 1
	if mark.Line == line && mark.Column > 0 {
		column = min(mark.Column, utf8.RuneCount(text)+1)
	}
	if rest := text[ColumnOffset(string(text), column-1):]; bytes.HasPrefix(rest, []byte("\t")) {
		at.Message = "tab character"
	}
	m := explainMistake(at.Message, string(text))
	f.AddError(line, column, m.rule, "", m.message, m.fix)
	return line
}

// conflict matches a line that git writes around a conflict.
var conflict = diag.Pattern(`^(?:<{7}|={7}|>{7})(?: |$)`)

// isBetween reports whether a line is empty or between documents.
func (f *FileState) isBetween(line int) bool {
	text := f.Lines.Bytes(line)
	return len(text) == 0 || BetweenDocuments().Match(text)
}

// isAboutContext reports whether the mistake is at the start of a construct, and not where the parser
// noticed it, such as at the end of the text.
func isAboutContext(at *yaml.LoadError, end int) bool {
	switch at.ContextMsg {
	case "while scanning a simple key", "while scanning an alias", "while scanning an anchor":
		return true
	case "while scanning a quoted scalar", "while parsing a flow sequence", "while parsing a flow mapping":
		return at.Mark.Index >= end || strings.Contains(at.Message, "document indicator")
	}
	return false
}

// syntaxHint explains messages of the parser that contain part. An empty message means the parser's own.
type syntaxHint struct{ part, rule, message, fix string }

func knownMistakes() []syntaxHint {
	const (
		indentation = "fix the indentation"
		misfit      = "the line does not match the indentation of the lines before it"
		unclosed    = "a quote is not closed"
		quotes      = "put the text in quotes"
	)
	return []syntaxHint{
		{"exceeded max depth", ruleDepth, tooDeep, flatten},
		{"unknown anchor", RuleAlias, "", "text that starts with * needs quotes; an alias needs an anchor (&) before it"},
		{"alphabetic or numeric character", RuleSyntax, "an unquoted * or & starts an alias or an anchor", quotes + `, such as "*.example.com"`},
		{"tab character", RuleSyntax, "a tab where only spaces are allowed", "indent with spaces"},
		{"cannot start any token", RuleSyntax, "an unquoted text cannot start with this character", quotes},
		{"comment without preceding whitespace", RuleSyntax, "a comment right after a value", "write a space before #, or " + quotes},
		{"mapping values are not allowed", RuleSyntax, "a colon where no key is allowed", `put text that contains ": " in quotes, or ` + indentation},
		{"document start", ruleTrailing, "content after the end of the document", "remove it, or start a new document with a line ---"},
		{"invalid Unicode character escape code", RuleSyntax, "an escape that is half a character", "write the character itself, or both halves of it"},
		{
			"unknown escape character", RuleSyntax, "a backslash in double quotes starts an unknown escape",
			`write \\ for a backslash and / for \/, or put the text in single quotes`,
		},
		{"did not find expected key", RuleSyntax, misfit, indentation},
		{"did not find expected '-' indicator", RuleSyntax, misfit, indentation},
		{"unexpected end of stream", RuleSyntax, unclosed, "close the quote"},
		{"unexpected document indicator", RuleSyntax, unclosed, "close the quote"},
		{"could not find expected ':'", RuleSyntax, "a line without a colon where a key is expected", "write KEY: VALUE, or " + indentation},
		{"did not find expected node content", RuleSyntax, "a value is missing, or a bracket is not closed", "write the value, or close the bracket"},
		{"did not find expected ','", RuleSyntax, "a comma is missing, or a bracket is not closed", "write the comma, or close the bracket"},
		{"", RuleSyntax, "", "fix the YAML in this line or the one before it"},
	}
}

// explainMistake returns the mistake that the parser's message is about.
func explainMistake(message, line string) syntaxHint {
	if strings.Contains(line, "{{") || strings.Contains(line, "{%") {
		return syntaxHint{"", RuleSyntax, "this is a template, not YAML: " + message, "render the template first and give trueup the result"}
	}
	if conflict().MatchString(line) {
		return syntaxHint{"", RuleSyntax, "git could not merge this part of the file", "resolve the conflict, and remove the lines <<<<<<<, ======= and >>>>>>>"}
	}
	all := knownMistakes()
	m := all[slices.IndexFunc(all, func(m syntaxHint) bool { return strings.Contains(message, m.part) })] // the last one is about any message
	m.message = cmp.Or(m.message, message)
	return m
}

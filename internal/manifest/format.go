package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
)

// LeftError says why Format does not change a file.
type LeftError struct {
	// Line is where, from 1, or 0 for the whole file.
	Line   int
	Reason string
	// Findings, without the path, say why the file can't be read. They are empty if it can.
	Findings diag.List
}

// Error returns the line and the reason.
func (e *LeftError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

func left(line int, reason string) error { return &LeftError{Line: line, Reason: reason} }

// Format returns the canonical layout of a file of manifests: two spaces for each level, also for
// lists; no white space at the ends of lines; one empty line at most in a row; the fields of each
// paragraph (between empty lines) in the order of the schema. JSON stays JSON, over several lines.
//
// Format edits the text, so comments, quotes, anchors, brackets, byte order mark and line breaks stay. It
// compares the values and comments of the result with the file. An error is always a *LeftError: leave
// the file as it is.
func Format(data []byte) ([]byte, error) {
	text := newSource(data)
	if err := text.check(); err != nil {
		return nil, err
	}
	if isJSON(text.body) {
		return text.formatJSON()
	}
	var failed error
	for _, ordered := range []bool{true, false} {
		laid, err := lay(text.body, ordered)
		if err != nil {
			return nil, err
		}
		if failed = sameFile(text.body, laid); failed != nil {
			continue
		}
		if again, err := lay(laid, ordered); err != nil || !bytes.Equal(again, laid) {
			failed = left(0, "formatting it twice would give different results")
			continue
		}
		return text.whole(laid), nil
	}
	return nil, failed
}

// source is the text of a file without byte order mark and carriage returns.
type source struct {
	data, body []byte
	// mark is the byte order mark, crlf says that the first line ends in CR LF.
	mark, crlf bool
}

func newSource(data []byte) source {
	s := source{data: data}
	s.body, s.mark = bytes.CutPrefix(data, []byte("\uFEFF"))
	if end := bytes.IndexByte(s.body, '\n'); end > 0 && s.body[end-1] == '\r' {
		s.crlf = true
	}
	s.body = bytes.ReplaceAll(s.body, []byte("\r\n"), []byte("\n"))
	return s
}

// whole returns a text with the byte order mark and line breaks of the file.
func (s source) whole(text []byte) []byte {
	if s.crlf {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if s.mark {
		text = append([]byte("\uFEFF"), text...)
	}
	return text
}

// check rejects a file that can't be parsed, or whose line breaks differ.
func (s source) check() error {
	f := fileOf("", s.data)
	f.documents(func(*yaml.Node) {})
	for _, x := range f.findings {
		if x.Severity == diag.Error {
			return &LeftError{x.Line, x.Message, f.findings}
		}
	}
	if at := bytes.IndexAny(s.body, "\r\u0085\u2028\u2029"); at >= 0 {
		return left(bytes.Count(s.body[:at], []byte("\n"))+1, "its lines have different line ends")
	}
	return nil
}

func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \n\t")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// formatJSON writes each member and element on its own line.
func (s source) formatJSON() ([]byte, error) {
	var laid, before, after bytes.Buffer
	err := errors.Join(
		json.Indent(&laid, bytes.TrimSpace(s.body), "", "  "),
		json.Compact(&before, s.body), json.Compact(&after, laid.Bytes()))
	if err != nil {
		return nil, left(0, err.Error())
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		return nil, errDiffers
	}
	laid.WriteByte('\n')
	if err := sameNodes(s.body, laid.Bytes()); err != nil {
		return nil, err
	}
	return s.whole(laid.Bytes()), nil
}

func parse(text []byte) ([]*yaml.Node, error) {
	var all []*yaml.Node
	err := decode(text, func(doc *yaml.Node) { all = append(all, doc) })
	return all, err
}

// lay lays out a text with LF line breaks; ordered sorts the fields in the order of the schema.
func lay(text []byte, ordered bool) ([]byte, error) {
	docs, err := parse(text)
	if err != nil {
		return nil, left(0, err.Error())
	}
	l := newSheet(text)
	for _, doc := range docs {
		if err := l.document(doc, ordered); err != nil {
			return nil, err
		}
	}
	if err := l.layOut(); err != nil {
		return nil, err
	}
	for _, m := range l.mappings {
		l.sort(m)
	}
	return l.joined(), nil
}

// joined joins the lines, without empty lines at both ends or two of them in a row.
func (l *sheet) joined() []byte {
	var b strings.Builder
	empty := false
	for _, at := range l.order {
		if l.lines[at].kind == emptyLine {
			empty = b.Len() > 0
			continue
		}
		if empty {
			b.WriteByte('\n')
			empty = false
		}
		b.WriteString(l.lines[at].out)
		b.WriteByte('\n')
	}
	text := b.String()
	if l.unended {
		text = strings.TrimSuffix(text, "\n")
	}
	return []byte(text)
}

// countManifests counts the manifests of a file, also those with a misspelt kind, and reports whether it
// could parse all of the file.
func countManifests(data []byte) (n int, sound bool) {
	f := fileOf("", data)
	for _, doc := range f.read() {
		if _, near := nearKind(peekText(peek(doc, "kind"))); near {
			n++
		}
	}
	return n, !f.findings.HasErrors()
}

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
)

// LeftError says why Format does not change a file.
type LeftError struct {
	// Line is where, from 1, or 0 for the whole file.
	Line   int
	Reason string
	// Findings say why the file can't be read. They are empty if it can.
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
func Format(data []byte) ([]byte, error) { return newFormatting("", data).format() }

// formatting is a file to format.
type formatting struct {
	source
	docs     []*yaml.Node
	findings diag.List
}

// newFormatting parses a file. The path is that of its findings.
func newFormatting(path string, data []byte) *formatting {
	f := fileOf(path, data)
	return &formatting{newSource(data), f.read(), f.findings}
}

func (f *formatting) format() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var err error
	for _, ordered := range []bool{true, false} {
		var laid []byte
		if laid, err = checkedLayout(f.body, f.docs, ordered); err == nil {
			return slices.Concat(f.mark, f.broken(laid)), nil
		}
	}
	return nil, err
}

// check rejects a file that can't be read, or whose line breaks differ.
func (f *formatting) check() error {
	for _, x := range f.findings {
		if x.Severity == diag.Error {
			return &LeftError{x.Line, x.Message, f.findings}
		}
	}
	first := len(f.body)
	for _, odd := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		if at := bytes.Index(f.body[:first], []byte(odd)); at >= 0 {
			first = at
		}
	}
	if first < len(f.body) {
		return left(bytes.Count(f.body[:first], []byte("\n"))+1, "its lines have different line ends")
	}
	return nil
}

// source is the text of a file. body has neither the byte order mark nor carriage returns.
type source struct {
	mark, body []byte
	crlf       bool // the first line ends in CR LF
}

func newSource(data []byte) source {
	body := bytes.TrimPrefix(data, []byte("\uFEFF"))
	first, _, _ := bytes.Cut(body, []byte("\n"))
	return source{
		mark: data[:len(data)-len(body)], crlf: len(first) < len(body) && bytes.HasSuffix(first, []byte("\r")),
		body: bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")),
	}
}

// broken returns a text with the line breaks of the file.
func (s source) broken(text []byte) []byte {
	if s.crlf {
		return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	return text
}

func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \n\t")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// errDiffers reports a bug of this program, before it changes a file.
var errDiffers = left(0, "the result would have another meaning")

// checkedLayout lays out a text. It checks that the result has the same lines, apart from white space and
// order, the same values and styles, and trueup: comments at the same fields, and that its layout is final.
func checkedLayout(text []byte, docs []*yaml.Node, ordered bool) ([]byte, error) {
	laid, err := lay(text, docs, ordered)
	if err != nil || bytes.Equal(laid, text) {
		return laid, err
	}
	again := newFormatting("", laid)
	after := again.docs
	sameNode := func(was, is *yaml.Node) bool { return same(was, is, nil) }
	switch {
	case again.check() != nil, !slices.EqualFunc(docs, after, sameNode),
		!isJSON(text) && !slices.Equal(significantLines(text), significantLines(laid)):
		return nil, errDiffers
	case !slices.Equal(marked(text, docs), marked(laid, after)):
		return nil, left(0, "a trueup:ignore comment would move to another field")
	}
	if final, err := lay(laid, after, ordered); err != nil || !bytes.Equal(final, laid) {
		return nil, left(0, "formatting it twice would give different results")
	}
	return laid, nil
}

// significantLines returns the lines of a text without white space and leading hyphens, sorted.
func significantLines(text []byte) (all []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.Join(strings.Fields(strings.TrimLeft(line, " -")), ""); line != "" {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

// lay lays out a text with LF line breaks; ordered sorts the fields in the order of the schema. Each member
// and element of JSON gets its own line.
func lay(text []byte, docs []*yaml.Node, ordered bool) ([]byte, error) {
	if isJSON(text) {
		var out bytes.Buffer
		_ = json.Indent(&out, bytes.TrimSpace(text), "", "  ") // it is valid
		return append(out.Bytes(), '\n'), nil
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

// joined joins the lines, without white space at their ends, empty lines at both ends or two of them in a
// row.
func (l *sheet) joined() []byte {
	b := make([]byte, 0, len(l.text.data)+1)
	empty := false
	for _, at := range l.order {
		line := l.lines[at]
		if line.kind == emptyLine {
			empty = len(b) > 0
			continue
		}
		if empty {
			b = append(b, '\n')
			empty = false
		}
		if !line.open {
			line.out = strings.TrimRight(line.out, " \t")
		}
		b = append(append(b, line.out...), '\n')
	}
	if l.unended {
		b = bytes.TrimSuffix(b, []byte("\n"))
	}
	return b
}

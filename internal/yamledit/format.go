package yamledit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
	"trueup/internal/manifest"
)

// UnformattedError says why Format does not change a file.
type UnformattedError struct {
	// Line is where, from 1, or 0 for the whole file.
	Line   int
	Reason string
	// Findings say why the file can't be read. They are empty if it can.
	Findings diag.List
}

// Error returns the line and the reason.
func (e *UnformattedError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

func leftError(line int, reason string) error { return &UnformattedError{Line: line, Reason: reason} }

// Format returns the canonical layout of a file of manifests: two spaces for each level, also for
// lists; no white space at the ends of lines; one empty line at most in a row. JSON stays JSON, over several lines.
//
// Format edits the text, so comments, quotes, anchors, brackets, byte order mark and line breaks stay. It
// compares the values and comments of the result with the file. An error is always a *UnformattedError: leave
// the file as it is.
func Format(data []byte) ([]byte, error) {
	return newFormatting(manifest.NewFileState("", data), func(*yaml.Node) {}).format()
}

// formattedFile is a file that was laid out.
type formattedFile struct {
	source
	file *manifest.FileState
	laid []byte
	err  error // why it could not be laid out
}

// newFormatting reads a file, calls each with its documents, and lays them out one by one: their nodes take
// many times the memory of the text. Each member and element of JSON gets its own line.
func newFormatting(in *manifest.FileState, each func(doc *yaml.Node)) *formattedFile {
	f := &formattedFile{source: newSource(in.Lines.Data), file: in}
	asJSON := isJSON(f.body)
	sheet := sync.OnceValue(func() *textLayout { return newSheet(f.body) }) // not for what EachDocument refuses
	in.EachDocument(func(doc *yaml.Node) {
		switch each(doc); {
		case f.err != nil:
		case asJSON && isDeep(doc, manifest.MaxDepth):
			f.err = leftError(doc.Line, tooDeep)
		case !asJSON:
			f.err = sheet().layOutDocument(doc)
		}
	})
	switch {
	case f.err != nil || f.checkReadable() != nil:
	case asJSON:
		var out bytes.Buffer
		_ = json.Indent(&out, bytes.TrimSpace(f.body), "", "  ") // it is valid
		f.laid = append(out.Bytes(), '\n')
	default:
		f.laid, f.err = sheet().formattedText()
	}
	return f
}

const tooDeep = "it is nested too deeply"

// isDeep reports whether a node is nested more than some levels deep.
func isDeep(n *yaml.Node, levels int) bool {
	return levels < 0 || slices.ContainsFunc(n.Content, func(below *yaml.Node) bool { return isDeep(below, levels-1) })
}

// format returns the layout after a check.
func (f *formattedFile) format() ([]byte, error) {
	err := f.checkReadable()
	if err == nil {
		err = f.verifyLayout()
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(f.mark, f.breakLines(f.laid)), nil
}

// checkReadable rejects a file that can't be read.
func (f *formattedFile) checkReadable() error {
	for _, x := range f.file.Findings {
		if x.Severity == diag.Error {
			return &UnformattedError{x.Line, x.Message, f.file.Findings}
		}
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
	s := source{
		mark: data[:len(data)-len(body)], crlf: len(first) < len(body) && bytes.HasSuffix(first, []byte("\r")), body: body,
	}
	if bytes.Contains(body, []byte("\r\n")) {
		s.body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	}
	return s
}

// breakLines returns a text with the line breaks of the file.
func (s source) breakLines(text []byte) []byte {
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
var errDiffers = leftError(0, "the result would have another meaning")

// verifyLayout checks that the layout has the same lines, apart from white space, and the same values and styles, and that
// it is final.
func (f *formattedFile) verifyLayout() error {
	if f.err != nil || bytes.Equal(f.laid, f.body) {
		return f.err
	}
	again := newFormatting(manifest.NewFileState("", slices.Concat(f.mark, f.laid)), func(*yaml.Node) {})
	switch {
	case again.checkReadable() != nil, !sameDocuments(f.body, f.laid),
		!isJSON(f.body) && !slices.Equal(significantLines(f.body), significantLines(f.laid)):
		return errDiffers
	case again.err != nil || !bytes.Equal(again.laid, f.laid):
		return leftError(0, "formatting it twice would give different results")
	}
	return nil
}

// significantLines returns the lines of a text without white space.
func significantLines(text []byte) (all []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.Join(strings.Fields(line), ""); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// formattedText returns the layout, once all documents are known: the lines without white space at their ends, empty
// lines at both ends or two of them in a row.
func (l *textLayout) formattedText() ([]byte, error) {
	if err := l.layOutLines(); err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(l.text.Data)+1)
	empty := false
	for _, line := range l.lines {
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
	return b, nil
}

// sameNodes reports whether two nodes have the same values, styles and anchors. becomes replaces nodes below the first. A
// node without a tag is the same in any style.
func sameNodes(was, is *yaml.Node, becomes map[*yaml.Node][]*yaml.Node) bool {
	if was.Kind != is.Kind || was.Value != is.Value || was.Anchor != is.Anchor ||
		was.Tag != "" && (was.Tag != is.Tag || was.Style != is.Style) {
		return false
	}
	content := was.Content
	if len(becomes) > 0 {
		content = nil
		for _, below := range was.Content {
			if is, ok := becomes[below]; ok {
				content = append(content, is...)
			} else {
				content = append(content, below)
			}
		}
	}
	return slices.EqualFunc(content, is.Content, func(was, is *yaml.Node) bool { return sameNodes(was, is, becomes) })
}

// sameDocuments reports whether two texts have the same documents.
func sameDocuments(was, is []byte) bool {
	return slices.EqualFunc(manifest.NewFileState("", was).DocumentNodes(), manifest.NewFileState("", is).DocumentNodes(),
		func(was, is *yaml.Node) bool { return sameNodes(was, is, nil) })
}

package yamledit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

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
// lists; no white space at the ends of lines; one empty line at most in a row; the fields of each
// paragraph (between empty lines) in the order of the schema. JSON stays JSON, over several lines.
//
// Format edits the text, so comments, quotes, anchors, brackets, byte order mark and line breaks stay. It
// compares the values and comments of the result with the file. An error is always a *UnformattedError: leave
// the file as it is.
func Format(data []byte) ([]byte, error) {
	return newFormatting(manifest.NewFileState("", data), true, func(*yaml.Node) {}).format()
}

// formattedFile is a file that was laid out.
type formattedFile struct {
	source
	file *manifest.FileState
	laid []byte
	err  error // why it could not be laid out
}

// newFormatting reads a file, calls each with its documents, and lays them out one by one: their nodes take
// many times the memory of the text. ordered sorts the fields in the order of the schema. Each member and
// element of JSON gets its own line.
func newFormatting(in *manifest.FileState, ordered bool, each func(doc *yaml.Node)) *formattedFile {
	f := &formattedFile{source: newSource(in.Lines.Data), file: in}
	asJSON := isJSON(f.body)
	sheet := sync.OnceValue(func() *textLayout { return newSheet(f.body) }) // not for what Documents refuses
	in.EachDocument(func(doc *yaml.Node) {
		switch each(doc); {
		case f.err != nil:
		case asJSON && isDeep(doc, manifest.MaxDepth):
			f.err = leftError(doc.Line, tooDeep)
		case !asJSON:
			f.err = sheet().layOutDocument(doc, ordered)
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

// format returns the checked layout of a file that was laid out in the order of the schema or, if that
// fails, in its own.
func (f *formattedFile) format() ([]byte, error) {
	if err := f.checkReadable(); err != nil {
		return nil, err
	}
	err := f.verifyLayout(true)
	if err != nil {
		f = newFormatting(manifest.NewFileState("", f.data), false, func(*yaml.Node) {})
		err = f.verifyLayout(false)
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
	data, mark, body []byte
	crlf             bool // the first line ends in CR LF
}

func newSource(data []byte) source {
	body := bytes.TrimPrefix(data, []byte("\uFEFF"))
	first, _, _ := bytes.Cut(body, []byte("\n"))
	s := source{
		data: data, mark: data[:len(data)-len(body)], crlf: len(first) < len(body) && bytes.HasSuffix(first, []byte("\r")),
		body: body,
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

// verifyLayout checks that the layout has the same lines, apart from white space and order, the same values and
// styles, and trueup: comments at the same fields, and that it is final.
func (f *formattedFile) verifyLayout(ordered bool) error {
	if f.err != nil || bytes.Equal(f.laid, f.body) {
		return f.err
	}
	again := newFormatting(manifest.NewFileState("", slices.Concat(f.mark, f.laid)), ordered, func(*yaml.Node) {})
	switch {
	case again.checkReadable() != nil, !sameDocuments(f.body, f.laid),
		!isJSON(f.body) && !slices.Equal(significantLines(f.body), significantLines(f.laid)):
		return errDiffers
	case !slices.Equal(listMarks(f.body), listMarks(f.laid)):
		return leftError(0, "a trueup:ignore comment would move to another field")
	case again.err != nil || !bytes.Equal(again.laid, f.laid):
		return leftError(0, "formatting it twice would give different results")
	}
	return nil
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

// formattedText returns the layout, once all documents are known.
func (l *textLayout) formattedText() ([]byte, error) {
	if err := l.layOutLines(); err != nil {
		return nil, err
	}
	for _, m := range l.mappings {
		l.sortFields(m)
	}
	return l.joinLines(), nil
}

// joinLines joins the lines, without white space at their ends, empty lines at both ends or two of them in a
// row.
func (l *textLayout) joinLines() []byte {
	b := make([]byte, 0, len(l.text.Data)+1)
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

// sameNodes reports whether two nodes have the same values, styles and anchors, in any order of members.
// becomes replaces nodes below the first. A node without a tag is the same in any style.
func sameNodes(was, is *yaml.Node, becomes map[*yaml.Node][]*yaml.Node) bool {
	if was.Kind != is.Kind || was.Value != is.Value || was.Anchor != is.Anchor ||
		was.Tag != "" && (was.Tag != is.Tag || was.Style != is.Style) {
		return false
	}
	return slices.EqualFunc(sortedByName(was, becomes), sortedByName(is, nil), func(was, is *yaml.Node) bool { return sameNodes(was, is, becomes) })
}

// sortedByName returns what is below a node, and the members of a mapping sorted by name.
func sortedByName(n *yaml.Node, becomes map[*yaml.Node][]*yaml.Node) []*yaml.Node {
	content := n.Content
	if len(becomes) > 0 {
		content = nil
		for _, below := range n.Content {
			if is, ok := becomes[below]; ok {
				content = append(content, is...)
			} else {
				content = append(content, below)
			}
		}
	}
	if n.Kind != yaml.MappingNode {
		return content
	}
	pairs := slices.Collect(slices.Chunk(content, 2))
	slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	return slices.Concat(pairs...)
}

// sameDocuments reports whether two texts have the same documents.
func sameDocuments(was, is []byte) bool {
	next, stop := iter.Pull(documentsOf(is))
	defer stop()
	ok := true
	for doc := range documentsOf(was) {
		other, more := next()
		ok = ok && more && sameNodes(doc, other, nil)
	}
	_, more := next()
	return ok && !more
}

// documentsOf iterates over the documents of a text.
func documentsOf(text []byte) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		more := true
		manifest.NewFileState("", text).EachDocument(func(doc *yaml.Node) { more = more && yield(doc) })
	}
}

// listMarks returns each trueup: comment, with the number of the field that it covers, sorted. The numbers
// are the same in any order of members.
func listMarks(text []byte) []string {
	if !bytes.Contains(text, []byte(manifest.MarkName)) {
		return nil
	}
	var all []string
	numbers, last, i := map[int]int{}, 0, 0
	f := manifest.NewFileState("", text)
	f.EachDocument(func(doc *yaml.Node) {
		last = numberLines(doc, last, numbers)
		i++
		root := manifest.RootNode(doc)
		if root == nil {
			return
		}
		for _, m := range manifest.CommentsWithLines(root, f.TakeMarks(f.DocumentEnd(root.Line))) {
			from := m.From
			if m.Line < root.Line {
				from = 0 // the whole document
			}
			all = append(all, fmt.Sprintf("%d %s %s %s %d", i, m.Word, m.Rule, m.Reason, numbers[from]))
		}
	})
	slices.Sort(all)
	return all
}

// numberLines gives each line the number of the last node that starts there, and returns the highest number.
func numberLines(n *yaml.Node, last int, numbers map[int]int) int {
	last++
	numbers[n.Line] = last
	for _, below := range sortedByName(n, nil) {
		last = numberLines(below, last, numbers)
	}
	return last
}

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/plainyaml"
)

// The names of the loader's own rules.
const (
	ruleSyntax        = "yaml-syntax"
	ruleDuplicateKey  = "yaml-duplicate-key"
	ruleKey           = "yaml-key"
	ruleTag           = "yaml-tag"
	ruleNumber        = "yaml-number"
	ruleAlias         = "yaml-alias"
	ruleSize          = "yaml-size"
	ruleDepth         = "yaml-depth"
	ruleEncoding      = "yaml-encoding"
	ruleTrailing      = "yaml-trailing"
	ruleUnquoted      = "text-unquoted"
	ruleEmpty         = "empty-value"
	ruleUnknownKind   = "unknown-kind"
	ruleDuplicate     = "duplicate-object"
	ruleNotRegular    = "not-a-regular-file"
	ruleFileCase      = "file-name-case"
	ruleSchema        = "schema"
	ruleMisspeltField = "misspelt-field"
	ruleMisspeltValue = "misspelt-value"
	ruleUnknownField  = "unknown-field"
	ruleUnknownValue  = "unknown-value"
	ruleNotSent       = "metadata-not-sent"
	ruleIgnoreOdd     = "ignore-odd"
	ruleIgnoreUnused  = "ignore-unused"
)

// file is the state of reading one file.
type file struct {
	path     string
	lines    lines
	findings diag.List
	// from is the index of the first finding of the current document.
	from int
	// ofDocument and ofFile count the findings beyond the limit of a document and of the file.
	ofDocument, ofFile dropped
	// maxFindings raises the limits of findings, if it is higher.
	maxFindings int
	maxValues   int  // of a document
	comments    bool // the nodes of documents have their comments
	tagged      bool // the text has an exclamation mark, with which tags start
	questions   bool // the text has a question mark
	pool        *plainyaml.Pool
	// marks are the offsets of possible trueup: comments that no document has taken yet.
	marks [][]int
}

// dropped counts findings that are not shown; worst is the highest severity among them.
type dropped struct {
	count int
	worst diag.Severity
}

// The limits of findings keep a hostile file cheap. maxBroken limits how often reading continues after
// a syntax error.
const (
	maxFindings = 100
	maxOfFile   = 1000
	maxOfAll    = 100_000
	maxBroken   = 20
)

// full reports whether the document or the file has too many findings for another one, and then counts
// that one as dropped.
func (f *file) full(severity diag.Severity) bool {
	over := &f.ofDocument
	switch {
	case len(f.findings) >= max(maxOfFile, f.maxFindings):
		over = &f.ofFile
	case len(f.findings)-f.from < max(maxFindings, f.maxFindings):
		return false
	}
	over.count++
	over.worst = max(over.worst, severity)
	return true
}

// followsQuestionMark reports whether a question mark stands right before a node.
func (f *file) followsQuestionMark(n *yaml.Node) bool {
	if !f.questions {
		return false
	}
	at := f.lines.at(n)
	return at > 0 && f.lines.data[at-1] == '?'
}

func (f *file) start() { f.from, f.ofDocument = len(f.findings), dropped{} }

// unshown adds a finding, at the place of the last one, that more are not shown.
func (f *file) unshown(message string, worst diag.Severity) {
	last := f.findings[len(f.findings)-1]
	last.Severity, last.Field, last.Message, last.Fix = worst, "", message, "fix those that are shown first"
	f.findings = append(f.findings, last)
}

func (f *file) fail(line, column int, rule, field, message, fix string) *diag.Finding {
	return f.add(line, column, rule, diag.Error, field, message, fix)
}

// add adds a finding, unless there are too many. The caller may change it until the next one.
func (f *file) add(line, column int, rule string, severity diag.Severity, field, message, fix string) *diag.Finding {
	if f.full(severity) {
		return &diag.Finding{}
	}
	f.findings = append(f.findings, diag.Finding{
		Path: f.path, Line: line, Column: column, Field: clip(field), Rule: rule, Severity: severity,
		Message: clip(message), Fix: clip(fix), Source: f.lines.text(line),
	})
	return &f.findings[len(f.findings)-1]
}

// maxText limits each text of a finding, in bytes, because it may quote the file.
const maxText = 2000

func clip(s string) string {
	if strings.Contains(s, "@") {
		s = login().ReplaceAllString(s, "$1***@")
	}
	return cut(s, maxText)
}

// cut shortens a text to a number of bytes.
func cut(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// documents calls each with every document of the file. It reports a syntax error as a finding and
// continues at the next line ---, at most maxBroken times, so that one mistake does not hide another.
func (f *file) documents(each func(*yaml.Node)) {
	data, ok := f.clean(f.lines.data)
	for n := 0; ok && n < maxBroken; n++ {
		var err error
		if f.comments {
			err = decodeFully(asYAML(data), each)
		} else {
			err = decode(asYAML(data), f.pool, each)
		}
		if err == nil {
			return
		}
		f.start()
		data, ok = f.resume(f.syntax(data, err))
	}
}

// decode calls each with the documents of a text, up to the first error. Some have no comments. With a
// pool, some nodes are reused when each returns.
func decode(text []byte, pool *plainyaml.Pool, each func(*yaml.Node)) error {
	offset, line := plainyaml.Documents(text, pool, each)
	if offset == len(text) {
		return nil
	}
	err := decodeFully(text[offset:], func(doc *yaml.Node) {
		moveDown(doc, line-1)
		each(doc)
	})
	if err != nil && offset > 0 {
		err = decodeFully(text, func(*yaml.Node) {}) // its lines are those of the whole text
	}
	return err
}

// decodeFully is decode with comments, which takes several times as long.
func decodeFully(text []byte, each func(*yaml.Node)) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		switch err := safely(func() error { return dec.Decode(&doc) }); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if alias := aliasOfEarlier(&doc, doc.Line); alias != nil {
			return fmt.Errorf("yaml: line %d: unknown anchor '%s' referenced", alias.Line, alias.Value)
		}
		each(&doc)
	}
}

// aliasOfEarlier returns an alias below n whose anchor is above the line at which the document starts: YAML gives each
// document anchors of its own.
func aliasOfEarlier(n *yaml.Node, start int) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias.Line < start {
		return n
	}
	for _, below := range n.Content {
		if alias := aliasOfEarlier(below, start); alias != nil {
			return alias
		}
	}
	return nil
}

// moveDown adds lines to the places of a node and of all nodes below.
func moveDown(n *yaml.Node, lines int) {
	n.Line += lines
	for _, below := range n.Content {
		moveDown(below, lines)
	}
}

// safely returns a panic of a parser as an error.
func safely(parse func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return parse()
}

var (
	// login finds what may be the user and password of a URL.
	login      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w:(?://|\\\\)?|//)\S.*@`) })
	directives = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^%(YAML|TAG)[^\r\n]*`) })
	startLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^---([ \t]|$)`) })
)

// clean rejects characters that programs read differently, and removes a byte order mark and directives.
func (f *file) clean(data []byte) ([]byte, bool) {
	fail := func(line, column int, rule, message, fix string) ([]byte, bool) {
		f.fail(line, column, rule, "", message, fix)
		return nil, false
	}
	const utf8Fix = "save the file as UTF-8"
	for _, m := range []struct{ mark, encoding string }{
		{"\xFF\xFE\x00\x00", "UTF-32"}, // starts with the mark of UTF-16
		{"\x00\x00\xFE\xFF", "UTF-32"},
		{"\xFF\xFE", "UTF-16"},
		{"\xFE\xFF", "UTF-16"},
	} {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return fail(1, 1, ruleEncoding, "the file is "+m.encoding, utf8Fix)
		}
	}
	m, found := diag.FindMisread(data)
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	f.lines, f.marks = lines{data: data}, findMarks(data)
	f.tagged, f.questions = bytes.IndexByte(data, '!') >= 0, bytes.IndexByte(data, '?') >= 0
	if len(f.marks) == maxMarks {
		f.add(1, 1, ruleIgnoreOdd, diag.Warning, "", fmt.Sprintf("the file has %d or more trueup:ignore comments; the rest is not read", maxMarks), "split it into several files")
	}
	if found {
		return fail(m.Line, m.Column, ruleEncoding, m.Message, m.Fix)
	}
	if line := f.tooManyValues(data); line > 0 {
		return fail(line, 1, ruleSize, fmt.Sprintf("a document has more than %d values", f.maxValues), "split it into several documents")
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(bytes.Clone(data), '\n') // parsers disagree whether the last line of a block text ends without one
	}
	return f.dropDirectives(data), true
}

// tooManyValues returns the line at which a document exceeds the limit of values, or 0. It counts before
// parsing, because the parser's tree takes a hundred times the memory. Each value follows a line break,
// a comma, a bracket, or a hyphen, colon or question mark with a space.
func (f *file) tooManyValues(data []byte) int {
	if len(data) <= f.maxValues {
		return 0
	}
	values := 0
	for i, c := range data {
		switch c {
		case '\n':
			if bytes.HasPrefix(data[i+1:], []byte("---")) {
				values = 0
			}
			values++
		case ',', '[', '{':
			values++
		case '-', ':', '?':
			if i+1 < len(data) && (data[i+1] == ' ' || data[i+1] == '\t') {
				values++
			}
		}
		if values > f.maxValues {
			line, _ := f.lines.position(i)
			return line
		}
	}
	return 0
}

// dropDirectives reports directives and overwrites them with spaces, so that reading continues.
func (f *file) dropDirectives(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("%")) && !bytes.Contains(data, []byte("\n%")) {
		return data
	}
	kept := bytes.Clone(data)
	for _, at := range directives().FindAllIndex(data, -1) {
		line, column := f.lines.position(at[0])
		f.fail(line, column, ruleSyntax, "", "trueup does not read YAML directives", "remove the line")
		copy(kept[at[0]:at[1]], bytes.Repeat([]byte(" "), at[1]-at[0]))
	}
	return kept
}

// resume returns the file from the first document that starts after the line. Empty lines replace those
// before it, to keep the line numbers.
func (f *file) resume(line int) ([]byte, bool) {
	for line++; line <= f.lines.count(); line++ {
		if startLine().Match(f.lines.bytes(line)) {
			f.takeMarks(line) // they are in the document that can't be read
			return append(bytes.Repeat([]byte("\n"), line-1), f.lines.data[f.lines.offset(line):]...), true
		}
	}
	return nil, false
}

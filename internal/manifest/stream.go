package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
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

// file is one file while it is read.
type file struct {
	path     string
	lines    lines
	findings diag.List
	// from is where the findings of the current document start.
	from int
	// ofDocument and ofFile are the findings that were too many.
	ofDocument, ofFile dropped
	// maxFindings is how many findings there may be, if more than usual.
	maxFindings int
	// maxValues bounds the values of a document.
	maxValues int
	// marks are where comments may speak to this program that no document has taken yet.
	marks [][]int
}

// dropped counts findings that are not shown, and has the severest of them.
type dropped struct {
	count int
	worst diag.Severity
}

// The limits of the findings of a document, a file and all files: a hundred mistakes are enough to
// start with, and a hostile file costs little.
const (
	maxFindings = 100
	maxOfFile   = 1000
	maxOfAll    = 100_000
	maxBroken   = 20
)

// full reports whether the current document, or the file, has findings enough to drop another.
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

// start begins a document.
func (f *file) start() { f.from, f.ofDocument = len(f.findings), dropped{} }

// unshown adds that there are more findings, at the place of the last.
func (f *file) unshown(message string, worst diag.Severity) {
	last := f.findings[len(f.findings)-1]
	last.Severity, last.Field, last.Message, last.Fix = worst, "", message, "fix those that are shown first"
	f.findings = append(f.findings, last)
}

func (f *file) fail(line, column int, rule, field, message, fix string) *diag.Finding {
	return f.add(line, column, rule, diag.Error, field, message, fix)
}

// add adds a finding and returns it, or nil if there are too many. The pointer is valid until the next
// finding.
func (f *file) add(line, column int, rule string, severity diag.Severity, field, message, fix string) *diag.Finding {
	if f.full(severity) {
		return nil
	}
	f.findings = append(f.findings, diag.Finding{
		Path: f.path, Line: line, Column: column, Field: clip(field), Rule: rule, Severity: severity,
		Message: clip(message), Fix: clip(fix), Source: f.lines.text(line),
	})
	return &f.findings[len(f.findings)-1]
}

// sure sets the text that certainly fixes a finding, for fmt --fix.
func sure(x *diag.Finding, text string) {
	if x != nil {
		x.Write = text
	}
}

// maxText bounds, in bytes, what a finding repeats of a file.
const maxText = 2000

func clip(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return s
}

// documents calls each with every document of the file. What can't be read becomes a finding, and
// reading goes on at the next line that starts a document, so that one mistake does not hide another;
// but only maxBroken times.
func (f *file) documents(each func(*yaml.Node)) {
	data, ok := f.clean(f.lines.data)
	for n := 0; ok && n < maxBroken; n++ {
		err := decode(data, each)
		if err == nil {
			return
		}
		f.start()
		data, ok = f.resume(f.syntax(data, err))
	}
}

// decode reads the documents of a text up to the end or the first error.
func decode(text []byte, each func(*yaml.Node)) error {
	dec := yaml.NewDecoder(bytes.NewReader(asYAML(text)))
	for {
		var doc yaml.Node
		switch err := safely(func() error { return dec.Decode(&doc) }); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(&doc)
	}
}

// safely makes a panic of a parser an error: odd input makes them panic.
func safely(parse func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return parse()
}

var (
	directives = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^%(YAML|TAG)[^\r\n]*`) })
	startLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^---([ \t]|$)`) })
)

// clean rejects bytes that are not text in UTF-8, and removes a byte order mark and directives.
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
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	f.lines, f.marks = lines{data: data}, findMarks(data)
	if len(f.marks) == maxMarks {
		f.add(1, 1, ruleIgnoreOdd, diag.Warning, "", fmt.Sprintf("the file has %d or more trueup:ignore comments; the rest is not read", maxMarks), "split it into several files")
	}
	if i := firstUnprintable(data); i >= 0 {
		line, column := f.lines.position(i)
		if r, size := utf8.DecodeRune(data[i:]); r != utf8.RuneError || size > 1 {
			return fail(line, column, ruleEncoding, fmt.Sprintf("the control character U+%04X", r), "remove the character")
		}
		return fail(line, column, ruleEncoding, fmt.Sprintf("the byte 0x%02X is not UTF-8", data[i]), utf8Fix)
	}
	if line := f.tooManyValues(data); line > 0 {
		return fail(line, 1, ruleSize, fmt.Sprintf("a document has more than %d values", f.maxValues), "split it into several documents")
	}
	return f.dropDirectives(data), true
}

// tooManyValues returns the line at which a document exceeds the limit of its values, or 0. It counts
// before the parser makes a tree, which takes a hundred times the memory: each value follows a line
// break, a comma, a bracket, or a hyphen, colon or question mark with a space.
func (f *file) tooManyValues(data []byte) int {
	if len(data) <= f.maxValues {
		return 0
	}
	values := 0
	for i, c := range data {
		switch c {
		case '\n', '\r':
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

// dropDirectives rejects directives and blanks them, so that reading goes on.
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

// firstUnprintable returns the offset of the first byte that is not text, or -1.
func firstUnprintable(data []byte) int {
	valid := utf8.Valid(data)
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c == 0x7F:
			return i
		case c >= utf8.RuneSelf && !valid:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return i
			}
			i += size - 1
		}
	}
	return -1
}

// resume returns the rest of the file from the first document that starts after the line, with empty
// lines before it to keep the line numbers.
func (f *file) resume(line int) ([]byte, bool) {
	for line++; line <= f.lines.count(); line++ {
		if startLine().Match(f.lines.bytes(line)) {
			f.takeMarks(line) // of what can't be read
			return append(bytes.Repeat([]byte("\n"), line-1), f.lines.data[f.lines.offset(line):]...), true
		}
	}
	return nil, false
}

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"trueup/internal/diag"
)

// The names of the rules of this package. Those of others report by some of them, too.
const (
	RuleSyntax    = "yaml-syntax"
	RuleAlias     = "yaml-alias"
	RuleSize      = "yaml-size"
	RuleEncoding  = "yaml-encoding"
	ruleTrailing  = "yaml-trailing"
	ruleIgnoreOdd = "ignore-odd"
)

// FileState is the state of reading one file.
type FileState struct {
	Path     string
	Lines    LineIndex
	Findings diag.List
	// from is the index of the first finding of the current document.
	from int
	// beyondDocument and beyondFile count the findings beyond the limit of a document and of the file.
	beyondDocument, beyondFile droppedFindings
	// object has the comments that silence findings of the current document. The first findings, shown of them, are not silenced.
	object   *Object
	shown    int
	silenced diag.List
	// MaxFindings raises the limits of findings, if it is higher.
	MaxFindings int
	MaxValues   int  // of a document
	Comments    bool // the nodes of documents have their comments
	Pool        *NodePool
	// marks are the offsets of possible trueup: comments that no document has taken yet.
	marks [][]int
}

// maxValues is the default limit of the values of a document.
const maxValues = 500_000

// NewFileState returns a file with the default limits.
func NewFileState(path string, data []byte) *FileState {
	return &FileState{Path: path, Lines: LineIndex{Data: data}, MaxValues: maxValues}
}

// droppedFindings counts findings that are not shown; worst is the highest severity among them.
type droppedFindings struct {
	count int
	worst diag.Severity
}

// The limits of findings keep a hostile file cheap. maxBroken limits how often reading continues after
// a syntax error.
const (
	maxFindings = 100
	MaxOfFile   = 1000
	maxOfAll    = 100_000
	maxBroken   = 20
)

// Full reports whether the document or the file has too many findings for another one, and then counts
// that one as dropped. Silenced findings take no room. They are found at times only, because that reads the whole object.
func (f *FileState) Full(severity diag.Severity) bool {
	if f.object != nil && len(f.object.Silences) > 0 {
		if len(f.Findings)-f.shown < max(maxFindings, len(f.silenced)) {
			return false
		}
		f.removeSilenced()
	}
	return f.hasNoRoom(severity)
}

func (f *FileState) hasNoRoom(severity diag.Severity) bool {
	over := &f.beyondDocument
	switch {
	case len(f.Findings) >= max(MaxOfFile, f.MaxFindings):
		over = &f.beyondFile
	case len(f.Findings)-f.from < max(maxFindings, f.MaxFindings):
		return false
	}
	over.count++
	over.worst = max(over.worst, severity)
	return true
}

// removeSilenced places the latest findings of the object, and takes out those that its comments silence.
func (f *FileState) removeSilenced() {
	latest := f.Findings[f.shown:]
	f.object.placeFindings(latest, &f.Lines)
	others, silenced := f.object.SplitSilenced(latest)
	f.Findings, f.silenced = f.Findings[:f.shown], append(f.silenced, silenced...)
	for _, x := range others {
		if !f.hasNoRoom(x.Severity) {
			f.Findings = append(f.Findings, x)
		}
	}
	f.shown = len(f.Findings)
}

// StartDocument begins the findings of a document.
func (f *FileState) StartDocument() {
	f.from, f.shown, f.beyondDocument = len(f.Findings), len(f.Findings), droppedFindings{}
}

// DocumentFindings returns the findings of the current document.
func (f *FileState) DocumentFindings() diag.List { return f.Findings[f.from:] }

// EndDocument says how many findings of the document are not kept.
func (f *FileState) EndDocument() {
	if more := f.beyondDocument; more.count > 0 {
		f.addUnshown(fmt.Sprintf("the document has %d more findings, which are not shown", more.count), more.worst)
	}
}

// Finish says that findings are not kept, and sorts the others.
func (f *FileState) Finish() {
	if f.beyondFile.count > 0 {
		f.addUnshown(fmt.Sprintf("the file has more than %d findings; the rest is not shown", MaxOfFile), f.beyondFile.worst)
	}
	f.Findings.Sort()
	f.Findings = slices.Compact(f.Findings)
}

// addUnshown adds a finding, at the place of the last one, that more are not shown.
func (f *FileState) addUnshown(message string, worst diag.Severity) {
	last := f.Findings[len(f.Findings)-1]
	last.Severity, last.Field, last.Message, last.Fix = worst, "", message, "fix those that are shown first"
	f.Findings = append(f.Findings, last)
}

// AddError is AddFinding for an error.
func (f *FileState) AddError(line, column int, rule, field, message, fix string) *diag.Finding {
	return f.AddFinding(line, column, rule, diag.Error, field, message, fix)
}

// AddFinding adds a finding, unless there are too many. The caller may change it until the next one.
func (f *FileState) AddFinding(line, column int, rule string, severity diag.Severity, field, message, fix string) *diag.Finding {
	if f.Full(severity) {
		return &diag.Finding{}
	}
	f.Findings = append(f.Findings, diag.Finding{
		Path: f.Path, Line: line, Column: column, Field: clip(field), Rule: rule, Severity: severity,
		Message: clip(message), Fix: clip(fix), Source: f.Lines.Text(line),
	})
	return &f.Findings[len(f.Findings)-1]
}

// maxText limits each text of a finding, in bytes, because it may quote the file.
const maxText = 2000

// clip shortens a text of a finding, which may quote the file, and hides passwords.
func clip(s string) string {
	if strings.Contains(s, "@") {
		s = login().ReplaceAllString(s, "$1***@")
	}
	return diag.Truncate(s, maxText)
}

// EachDocument calls each with every document of the file. It reports a syntax error as a finding and
// continues at the next line ---, at most maxBroken times, so that one mistake does not hide another.
func (f *FileState) EachDocument(each func(*yaml.Node)) {
	data, ok := f.cleanText(f.Lines.Data)
	for n := 0; ok && n < maxBroken; n++ {
		var err error
		if f.Comments {
			err = decodeFully(joinSurrogates(data), each)
		} else {
			err = decodeDocuments(joinSurrogates(data), f.Pool, each)
		}
		if err == nil {
			return
		}
		f.StartDocument()
		data, ok = f.resumeAfter(f.reportSyntax(data, err))
	}
}

// DocumentNodes returns the documents of the file.
func (f *FileState) DocumentNodes() (docs []*yaml.Node) {
	f.EachDocument(func(doc *yaml.Node) { docs = append(docs, doc) })
	return docs
}

// decodeDocuments calls each with the documents of a text, up to the first error. Some have no comments. With a
// pool, some nodes are reused when each returns.
func decodeDocuments(text []byte, pool *NodePool, each func(*yaml.Node)) error {
	offset := plainDocuments(text, pool, each)
	if offset == len(text) {
		return nil
	}
	blank := func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}
	return decodeFully(append(bytes.Map(blank, text[:offset]), text[offset:]...), each) // its lines are those of the text
}

// decodeFully is decodeDocuments with comments, which takes several times as long.
func decodeFully(text []byte, each func(*yaml.Node)) error {
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxParsedDepth))))
	for err == nil {
		var doc yaml.Node
		if err = catchPanic(func() error { return loader.Load(&doc) }); err == nil {
			each(&doc)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// catchPanic returns a panic of a parser as an error.
func catchPanic(parse func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	return parse()
}

var (
	// login finds what may be the user and password of a URL.
	login      = diag.Pattern(`(\w:(?://|\\\\)?|//)\S.*@`)
	directives = diag.Pattern(`(?m)^%(YAML|TAG)[^\r\n]*`)
	startLine  = diag.Pattern(`^---([ \t]|$)`)
	// BetweenDocuments is a line between two documents.
	BetweenDocuments = diag.Pattern(`^(---|\.\.\.)([ \t]|$)`)
)

// cleanText rejects characters that programs read differently, and removes a byte order mark and directives.
func (f *FileState) cleanText(data []byte) ([]byte, bool) {
	fail := func(line, column int, rule, message, fix string) ([]byte, bool) {
		f.AddError(line, column, rule, "", message, fix)
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
			return fail(1, 1, RuleEncoding, "the file is "+m.encoding, utf8Fix)
		}
	}
	m, found := diag.FindMisread(data)
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	f.Lines, f.marks = LineIndex{Data: data}, findMarks(data)
	if len(f.marks) == maxMarks {
		f.AddFinding(1, 1, ruleIgnoreOdd, diag.Warning, "", fmt.Sprintf("the file has %d or more trueup:ignore comments; the rest is not read", maxMarks), "split it into several files")
	}
	if found {
		return fail(m.Line, m.Column, RuleEncoding, m.Message, m.Fix)
	}
	if line := f.tooManyValues(data); line > 0 {
		return fail(line, 1, RuleSize, fmt.Sprintf("a document has more than %d values", f.MaxValues), "split it into several documents")
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(bytes.Clone(data), '\n') // parsers disagree whether the last line of a block text ends without one
	}
	return f.dropDirectives(data), true
}

// tooManyValues returns the line at which a document exceeds the limit of values, or 0. It counts before
// parsing, because the parser's tree takes a hundred times the memory. Each value follows a line break,
// a comma, a bracket, or a hyphen, colon or question mark with a space.
func (f *FileState) tooManyValues(data []byte) int {
	if len(data) <= f.MaxValues {
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
		if values > f.MaxValues {
			line, _ := f.Lines.Position(i)
			return line
		}
	}
	return 0
}

// dropDirectives reports directives and overwrites them with spaces, so that reading continues.
func (f *FileState) dropDirectives(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("%")) && !bytes.Contains(data, []byte("\n%")) {
		return data
	}
	kept := bytes.Clone(data)
	for _, at := range directives().FindAllIndex(data, -1) {
		line, column := f.Lines.Position(at[0])
		f.AddError(line, column, RuleSyntax, "", "trueup does not read YAML directives", "remove the line")
		copy(kept[at[0]:at[1]], bytes.Repeat([]byte(" "), at[1]-at[0]))
	}
	return kept
}

// resumeAfter returns the file from the first document that starts after the line. Empty lines replace those
// before it, to keep the line numbers.
func (f *FileState) resumeAfter(line int) ([]byte, bool) {
	for line++; line <= f.Lines.Count(); line++ {
		if startLine().Match(f.Lines.Bytes(line)) {
			f.takeMarks(line) // they are in the document that can't be read
			return append(bytes.Repeat([]byte("\n"), line-1), f.Lines.Data[f.Lines.LineStart(line):]...), true
		}
	}
	return nil, false
}

// FirstAlias returns the line of the first alias of a YAML text, or 0. A parser without limits must not
// expand aliases, because a few lines can fill the memory. A text that is not YAML has none.
func FirstAlias(text []byte) (line int) {
	var look func(n *yaml.Node)
	look = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode && line == 0 {
			line = n.Line
		}
		for _, below := range n.Content {
			look(below)
		}
	}
	NewFileState("", text).EachDocument(look)
	return line
}

// jsonText matches a string of valid JSON, and jsonEscape an escape in one; a surrogate pair is one.
var (
	jsonText   = diag.Pattern(`"(?:[^"\\]|\\.)*"`)
	jsonEscape = diag.Pattern(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\.`)
)

// joinSurrogates rewrites the surrogate pairs of JSON, which the YAML parser rejects. Spaces keep the places of what
// follows. A text that is not JSON stays as it is.
func joinSurrogates(data []byte) []byte {
	start := bytes.TrimLeft(data, " \t\r\n")
	isFlow := len(start) > 0 && bytes.ContainsAny(start[:1], `{["`)
	if !isFlow || bytes.IndexByte(data, '\\') < 0 || !json.Valid(data) {
		return data
	}
	return jsonText().ReplaceAllFunc(data, func(text []byte) []byte {
		out := jsonEscape().ReplaceAllFunc(text, func(escape []byte) []byte {
			if len(escape) < len(`\ud83d\ude00`) {
				return escape
			}
			var character string
			_ = json.Unmarshal(slices.Concat([]byte{'"'}, escape, []byte{'"'}), &character) // jsonEscape matches valid pairs only
			return fmt.Appendf(nil, `\U%08x`, []rune(character)[0])
		})
		return append(out, bytes.Repeat([]byte(" "), len(text)-len(out))...)
	})
}

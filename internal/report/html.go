package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
)

// The page's template, style and script. They are constants of this program:
// text from outside comes in through html/template alone.
//
//go:embed html/page.tmpl html/style.css html/script.js
var htmlFiles embed.FS

// writeHTML renders one page that needs nothing beside it: it can be read
// without script, which filters and folds, and its policy lets a browser load,
// run and send nothing else.
func writeHTML(w io.Writer, doc Document, opts Options) error {
	page := newHTMLPage(doc, opts)
	style, script := embedded("style.css"), embedded("script.js")
	page.Style, page.Script = template.CSS(style), template.JS(script)
	page.Policy = policy(style, script)
	view, err := template.New("page.tmpl").Funcs(template.FuncMap{
		"message": message, "location": location, "source": sourceView, "short": func(s string) safe { return clean(s).Cut(maxPath) },
	}).ParseFS(htmlFiles, "html/page.tmpl")
	if err != nil {
		return err
	}
	// Workflow runners look for these anywhere in a log; a browser reads the
	// reference as the character.
	commands := strings.NewReplacer("##[", "#&#35;[", "##vso[", "#&#35;vso[")
	out := lineBuffer{pass: func(lines string) error {
		_, err := commands.WriteString(w, lines)
		return err
	}}
	if err := view.Execute(&out, page); err != nil {
		return err
	}
	return out.pass(string(out.pending))
}

// lineBuffer takes text in pieces and passes whole lines on, many at a time.
type lineBuffer struct {
	pass    func(lines string) error
	pending []byte
}

// linesAtOnce is how many bytes of text are worth passing on.
const linesAtOnce = 32 << 10

func (b *lineBuffer) Write(text []byte) (int, error) {
	end := bytes.LastIndexByte(text, '\n') + 1
	if end > 0 {
		end += len(b.pending)
	}
	b.pending = append(b.pending, text...)
	if len(b.pending) < linesAtOnce || end == 0 {
		return len(text), nil
	}
	if err := b.pass(string(b.pending[:end])); err != nil {
		return 0, err
	}
	b.pending = append(b.pending[:0], b.pending[end:]...)
	return len(text), nil
}

func embedded(name string) string {
	text, err := htmlFiles.ReadFile("html/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

// policy forbids everything but this style and this script.
func policy(style, script string) string {
	return "default-src 'none'; style-src '" + hashOf(style) + "'; script-src '" + hashOf(script) +
		"'; base-uri 'none'; form-action 'none'"
}

// hashOf is a text as a content security policy names it.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

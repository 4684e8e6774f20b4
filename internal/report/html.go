package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// Text from outside enters the page only through html/template.
//
//go:embed html/page.tmpl html/style.css html/script.js
var htmlFiles embed.FS

// writeHTML renders a page that loads and sends nothing, which its policy enforces. It can
// be read without the script, which only filters and folds.
func writeHTML(w io.Writer, doc Document, opts Options) error {
	page := newHTMLPage(doc, opts)
	style, script := embedded("style.css"), embedded("script.js")
	page.Style, page.Script = template.CSS(style), template.JS(script)
	page.Policy = policy(style, script)
	view, err := template.New("page.tmpl").Funcs(template.FuncMap{
		"sandboxBanner": func() string { return Banner },
		"offlineBanner": func() string { return offlineBanner },
		"settingsTitle": func() string { return settingsTitle },
		"short":         func(s any) safe { return clean(fmt.Sprint(s)).Cut(maxPath) },
		"link":          func(k kind.Key) string { return page.links[k].String() },
		"class":         func(s diag.Severity) string { return [...]string{"wait", "bad", "hint"}[s] },
		"look":          func(m mark) look { return tableOfMarks[m] },
		"status":        func(s apply.Status) look { return statusStyles[s].look },
		"message":       message,
		"location":      location,
		"source":        sourceView,
		"named":         named,
		"breakable":     breakable,
		"sentence":      sentence,
		"advices":       advices,
		"isAre":         countIs,
		"nextSteps":     nextSteps,
		"mismatch":      mismatchView,
		"body":          bodyView,
		"place":         source,
	}).ParseFS(htmlFiles, "html/page.tmpl")
	if err != nil {
		return err
	}
	// Workflow runners look for these anywhere in a log; a browser sees no difference.
	commands := strings.NewReplacer("##[", "#&#35;[", "##vso[", "#&#35;vso[")
	lines := &lineWriter{w: w, change: commands.Replace}
	out := bufio.NewWriterSize(lines, 32<<10)
	if err := view.Execute(out, page); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return lines.end()
}

func embedded(name string) string {
	text, err := htmlFiles.ReadFile("html/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

// policy forbids everything except this style and this script.
func policy(style, script string) string {
	return "default-src 'none'; style-src '" + hashOf(style) + "'; script-src '" + hashOf(script) +
		"'; base-uri 'none'; form-action 'none'"
}

// hashOf returns a hash in the form of a content security policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"
	"text/template"

	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// Code hosts show maxResults results of a SARIF log, and reject logs over 10 MB after
// compression; maxResultBytes is before compression.
const (
	maxResults     = 5000
	maxResultBytes = 8_000_000
)

// sarifRoom limits the results of a log.
type sarifRoom struct{ results, bytes int }

// sarifTemplate is the part of a SARIF 2.1.0 log that trueup writes. No library is used: they write
// placeholders for unknown fields.
//
//go:embed sarif.tmpl
var sarifTemplate string

// sarifLog is a Document with its remarks as the template writes them.
type sarifLog struct {
	Document
	page *template.Template
	// Notes are about no file. Rules has the first remark of each rule.
	Notes, Rules []remark
	Results      []json.RawMessage
	// Left counts the results that did not fit, and Grave the changes in them that must be read.
	Left, Grave int
}

func writeSARIF(w io.Writer, doc Document, _ view.TextOptions) error {
	log, err := newSARIF(doc, sarifRoom{maxResults, maxResultBytes})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := log.page.Execute(&text, log); err != nil {
		return err
	}
	return writeIndented(w, json.RawMessage(text.Bytes()), nil)
}

// newSARIF returns a log with the results that fit.
func newSARIF(doc Document, room sarifRoom) (*sarifLog, error) {
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			text, err := json.Marshal(v)
			return string(text), err
		},
		"clean": clean, "text": sarifText, "summary": runSummary, "count": safetext.Count,
	}).Parse(sarifTemplate))
	log := &sarifLog{Document: doc, page: page}
	rules := map[string]int{}
	for _, r := range remarks(doc) {
		if r.isAboutRun() {
			doc.score.MarkShown(r.facts...)
			log.Notes = append(log.Notes, r)
			continue
		}
		index, known := rules[r.rule]
		if !known {
			index = len(log.Rules)
		}
		var text bytes.Buffer
		if err := page.ExecuteTemplate(&text, "result", struct {
			remark
			Index int
			URI   string
		}{r, index, fileURI(cmp.Or(r.file, doc.Place.projectFile()))}); err != nil {
			return nil, err
		}
		if text.Len() > room.bytes || len(log.Results) == room.results {
			room.bytes = 0 // a less important result must not take its place
			log.Left++
			continue
		}
		doc.score.MarkShown(r.facts...)
		room.bytes -= text.Len()
		if !known {
			rules[r.rule] = index
			log.Rules = append(log.Rules, r)
		}
		log.Results = append(log.Results, text.Bytes())
	}
	if log.Left > 0 {
		log.Grave = doc.score.CountRemaining()
	}
	return log, nil
}

// ID is the same for all logs of one command in one folder, and differs otherwise.
func (l *sarifLog) ID() safeText { return clean(path.Join("trueup", l.Command, l.Place.Folder) + "/") }

// Version is that of the program that made the plan.
func (l *sarifLog) Version() safeText {
	if l.Plan == nil {
		return safeText{}
	}
	return clean(strings.TrimPrefix(l.Plan.Tool, "trueup "))
}

// Text returns the lines of a remark.
func (r remark) Text() safeText { return sarifText(r.lines()...) }

// fileURI returns the relative URI of a file. It encodes colons too, because a name could look
// like a scheme.
func fileURI(file string) string {
	parts := diag.MapList(strings.Split(file, "/"), url.PathEscape)
	return strings.ReplaceAll(strings.Join(parts, "/"), ":", "%3A")
}

// sarifText escapes lines: single braces are placeholders (3.11.5), and ]( may make a
// link (3.11.6).
func sarifText(lines ...safeText) safeText {
	escaped := diag.MapList(lines, func(line safeText) safeText { return line.Replace("{", "{{").Replace("}", "}}").Replace("](", "] (") })
	return safetext.Join(escaped, "\n")
}

// Means describes the rule of a remark. Of one of manifests, help is longer.
func (r remark) Means() (s struct{ Short, Help safeText }) {
	if known, _ := view.RuleByID(r.rule); known.ID != "" {
		s.Short = sarifText(clean(known.Means))
		s.Help = s.Short
		return s
	}
	s.Short = sarifText(safetext.F("The rule %s of trueup.", r.ID()))
	s.Help = safetext.F("%s trueup explain %s says why it matters and how to fix it.", s.Short, sarifText(r.ID()))
	return s
}

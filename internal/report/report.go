// Package report renders a Document in every output format and escapes all text
// from outside. It makes no decisions.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// Document is the result of one run.
type Document struct {
	// Command is the subcommand, such as plan.
	Command string `json:"command"`
	// Result is the name of the exit code.
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	// Sandbox is set if the run used the embedded platform.
	Sandbox bool `json:"sandbox"`
	// Objects counts the manifests.
	Objects  int       `json:"objects"`
	Findings diag.List `json:"findings"`
	// Silenced are warnings that comments in manifests hide.
	Silenced diag.List     `json:"silenced,omitempty"`
	Plan     *plan.Plan    `json:"plan,omitempty"`
	Apply    *apply.Result `json:"apply,omitempty"`
	// Tests are the results of request tests.
	Tests *requesttest.TestResults `json:"tests,omitempty"`
	// Messages are lines of a command without a plan.
	Messages []string `json:"messages,omitempty"`
	// Errors stopped the run.
	Errors []string `json:"errors"`
	// Project is set in a result of one of many projects.
	Project *ProjectResult `json:"project,omitempty"`
	// Projects are set in the result of many.
	Projects []ProjectResult `json:"projects,omitempty"`
	Fleet    *FleetFacts     `json:"fleet,omitempty"`
	// Annotations are findings that Text and Data have in their own words. Code hosts and test reports show them.
	Annotations diag.List `json:"-"`
	// Data replaces the Document in JSON, and Text writes the same for a person. Commands
	// without a plan set them.
	Data any                                `json:"-"`
	Text func(LineWriter, view.TextOptions) `json:"-"`
	// Place turns file names into paths from the top of the repository, for code hosts.
	Place FolderInRepo `json:"-"`
	// RunURL is the page of the CI run, and Files are the other reports of the run. A format
	// that must omit something points to them.
	RunURL string       `json:"-"`
	Files  []SideReport `json:"-"`
	// score says what a format has shown of the plan.
	score *view.FactTracker
}

// SideReport is a report of the same run in another format. The summary of the job has no path: its file is the runner's own.
type SideReport struct{ Format, Path string }

// title returns the name to show for a report in a format that omits little, or "".
func (f SideReport) title() safeText {
	if f.Format == "markdown" && f.Path == "" {
		return clean("the summary of the job")
	}
	return clean(map[string]string{"html": "the HTML page", "json": "the JSON report", "markdown": "the Markdown report"}[f.Format])
}

// FormatOptions change how much of a plan a report shows, and how it looks.
type FormatOptions = view.TextOptions

// outputFormat is a form of a Document. Unless it is for programs alone, Write holds it to all that a plan must show: rest appends what
// write left out, and without rest that is an error.
type outputFormat struct {
	name     string
	write    func(io.Writer, Document, view.TextOptions) error
	rest     func(io.Writer, []safeText) error
	programs bool
}

// formats has the default first.
var formats = []outputFormat{
	{name: "text", write: writeText, rest: writeLines},
	{name: "markdown", write: writeMarkdown},
	{name: "json", write: writeJSON, programs: true},
	{name: "html", write: writeHTML},
	{name: "github", write: writeGitHub},
	{name: "outputs", write: writeOutputs, programs: true},
	{name: "sarif", write: writeSARIF},
	{name: "junit", write: writeJUnit},
	{name: "codequality", write: writeCodeQuality},
}

// Formats returns the names that Write knows, the default first.
func Formats() []string {
	return diag.MapList(formats, func(f outputFormat) string { return f.name })
}

// Write renders doc in the named format. It returns errors of w: a full disk must not
// look like a complete report.
func Write(w io.Writer, name string, doc Document, opts view.TextOptions) error {
	for _, f := range formats {
		if f.name != name {
			continue
		}
		if err := f.writeDocument(w, doc, opts); err != nil {
			return fmt.Errorf("write %s report: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("unknown output format %q (one of %s)", name, strings.Join(Formats(), ", "))
}

// writeDocument writes a document, and at its end what the format left out although it must be shown.
func (f outputFormat) writeDocument(w io.Writer, doc Document, opts view.TextOptions) error {
	doc.score = view.NewPlanScore(doc.Plan, doc.Apply != nil)
	if err := f.write(w, doc, opts); err != nil || f.programs {
		return err
	}
	left := doc.score.Remaining()
	switch {
	case len(left) == 0:
		return nil
	case f.rest == nil:
		return fmt.Errorf("it leaves out %s, the first is %s of %s", safetext.Count(len(left), "grave change"), left[0].Path, left[0].Object)
	}
	var lines []safeText
	for _, o := range view.EveryObject(doc.Plan, view.TextOptions{}) {
		for _, r := range o.Lines() {
			if doc.score.HasRemaining(r.Facts) {
				lines = append(lines, safetext.F("%s: %s", view.FormatKey(o.Key), view.FullRowSentence(r)))
			}
		}
	}
	return f.rest(w, lines)
}

// ResultFormat is the version of the JSON format (schemas/result.schema.json). New versions
// of trueup only add fields to it.
const ResultFormat = "trueup.result/v1"

// documentJSON is the JSON form of a Document. Nothing in it is shortened.
type documentJSON struct {
	Format string `json:"format"`
	Document
}

func documentToJSON(doc Document) documentJSON {
	if doc.Findings == nil {
		doc.Findings = diag.List{}
	}
	if doc.Errors == nil {
		doc.Errors = []string{}
	}
	return documentJSON{ResultFormat, doc}
}

// WriteLine writes a Document as one line of JSON.
func WriteLine(w io.Writer, doc Document) error {
	return json.NewEncoder(NewJSONStream(w)).Encode(documentToJSON(doc))
}

func writeJSON(w io.Writer, doc Document, _ view.TextOptions) error {
	if doc.Data != nil {
		return writeIndented(w, doc.Data, nil)
	}
	r := documentToJSON(doc)
	if doc.Plan == nil {
		return writeIndented(w, r, nil)
	}
	shell := *doc.Plan
	shell.Items = shell.Items[:0]
	r.Plan = &shell
	return writeIndented(w, r, doc.Plan.Items)
}

// writeIndented writes v as JSON and inserts the items of its plan, which has none in v. It writes one at a time, to save memory.
func writeIndented(w io.Writer, v any, items []plan.Item) error {
	const empty, margin = "\n    \"items\": []", "    " // nothing earlier looks like it
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if len(items) > 0 {
		end := bytes.Index(text, []byte(empty)) + len(empty) - len("]")
		safetext.WriteJSON(out, text[:end])
		before := "\n"
		err := diag.RenderInOrder(len(items), func(b *bytes.Buffer, i int) error {
			one := json.NewEncoder(b)
			one.SetIndent(margin+"  ", "  ")
			return one.Encode(&items[i])
		}, func(element []byte) (more bool, err error) {
			_, _ = out.WriteString(before + margin + "  ")
			before = ",\n"
			safetext.WriteJSON(out, bytes.TrimSuffix(element, []byte("\n")))
			return true, nil
		})
		if err != nil {
			return err
		}
		_, _ = out.WriteString("\n" + margin)
		text = text[end:]
	}
	safetext.WriteJSON(out, text)
	_ = out.WriteByte('\n')
	return out.Flush()
}

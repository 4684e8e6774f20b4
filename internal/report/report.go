// Package report renders a Document; it is the only renderer, all escaping
// lives here, and it decides nothing.
package report

import (
	"fmt"
	"io"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
)

// Document is everything that one run has to say.
type Document struct {
	// Command is the name of the subcommand: plan, apply, drift or validate.
	Command string `json:"command"`
	// Result is the name of the exit code.
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	// Sandbox says that this is not the real platform.
	Sandbox bool `json:"sandbox"`
	// Objects counts the manifests that were read.
	Objects  int       `json:"objects"`
	Findings diag.List `json:"findings"`
	// Silenced are warnings that comments in manifests hide.
	Silenced diag.List     `json:"silenced,omitempty"`
	Plan     *plan.Plan    `json:"plan,omitempty"`
	Apply    *apply.Result `json:"apply,omitempty"`
	// Messages say what a command without a plan did, one line each.
	Messages []string `json:"messages,omitempty"`
	// Errors are what stopped the run, one line each.
	Errors []string `json:"errors"`
	// Data is the whole result as JSON, for a command that has a form of its own, and
	// Text writes the same for a person. Both are for commands without a plan.
	Data any                  `json:"-"`
	Text func(Lines, Options) `json:"-"`
	// Place is where the run was, for formats that name files to a code host.
	Place Place `json:"-"`
	// RunURL is the page of the CI run, and Files are the reports that the run
	// writes beside this one: a format that has no room for all points there.
	RunURL string `json:"-"`
	Files  []File `json:"-"`
}

// File is a report of the same run in another format.
type File struct{ Format, Path string }

// title is what people call a report in which they can read everything; empty for others.
func (f File) title() safe {
	return clean(map[string]string{
		"html": "the HTML page", "json": "the JSON report", "markdown": "the Markdown report", "summary": "the summary of the job",
	}[f.Format])
}

// The ways to show what differs inside an object.
const (
	// DiffFields is a line for each field that differs.
	DiffFields = "fields"
	// DiffUnified is a unified diff of the object's text, live against git.
	DiffUnified = "unified"
	// DiffSides are the two texts side by side.
	DiffSides = "side-by-side"
)

// Diffs returns the names of the ways, the default first.
func Diffs() []string { return []string{DiffFields, DiffUnified, DiffSides} }

// Options say how a Document is shown. Only the text format follows them, but for
// Verbose and ShowUnmanaged, which Markdown and HTML follow too.
type Options struct {
	// Color allows SGR sequences.
	Color bool
	// Width is the number of columns of the terminal; 0, where there is none,
	// lays out for 120 and breaks no sentence.
	Width int
	// Room is how many bytes Markdown may take in a file that has others' already;
	// 0 is no less than a format may take otherwise.
	Room int
	// Verbose shows also what needs nothing.
	Verbose bool
	// Diff is one of Diffs; empty is the first.
	Diff string
	// ShowUnmanaged names the live objects and fields that are not in git.
	ShowUnmanaged bool
}

// writer writes a Document in one format.
type writer func(io.Writer, Document, Options) error

// formats is the table of all formats, the default first.
var formats = []struct {
	name  string
	write writer
}{
	{"text", writeText},
	{"markdown", writeMarkdown(maxMarkdown)},
	{"json", writeJSON},
	{"html", writeHTML},
	{"summary", writeMarkdown(maxSummary)},
	{"github", writeGitHub},
	{"outputs", writePairs(func(key string) string { return key })},
	{"sarif", writeSARIF},
	{"junit", writeJUnit},
	{"codequality", writeCodeQuality},
	{"dotenv", writePairs(variable)},
}

// Formats returns the names that Write knows, the default first.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Write renders doc in the format of that name. An error of w is returned, so
// that a full disk or a closed pipe never looks like a good report.
func Write(w io.Writer, name string, doc Document, opts Options) error {
	for _, f := range formats {
		if f.name != name {
			continue
		}
		if err := f.write(w, doc, opts); err != nil {
			return fmt.Errorf("write %s report: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("unknown output format %q (one of %s)", name, strings.Join(Formats(), ", "))
}

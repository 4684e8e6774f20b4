package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// NotStarted is the result of a project that was not reached.
const NotStarted = "not-started"

// Project is what the run of one of many projects came to.
type Project struct {
	// Path is the folder of the project, from where the search began, with slashes.
	Path string `json:"path"`
	// Workspace is the UUID; empty if the settings of the project can't be read.
	Workspace string `json:"workspace,omitempty"`
	// Result is the name of the exit code, or NotStarted.
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	// Running is set from before the first request of an apply until its end.
	Running bool `json:"running,omitempty"`
	// Digest is that of its own plan, or empty. A merged plan has none.
	Digest string `json:"digest,omitempty"`
	// Summary counts what the run shows, in words, Errors say why the project failed, and Warnings are about its manifests
	// and the order of commits. Only trueup each lists them.
	Summary  string   `json:"summary,omitempty"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// calm is set if nothing is to be done or was done, and nothing waits for somebody.
	calm bool
}

// ProjectOf keeps what the table of projects shows of a result.
func ProjectOf(path string, doc Document) Project {
	r := Project{Path: path, Result: cmp.Or(doc.Result, exit.NameOf(doc.ExitCode)), ExitCode: doc.ExitCode}
	if r.Result == NotStarted {
		return r // why is the same for all of them, and said once
	}
	r.Errors, r.Warnings = reasonsOf(path, doc)
	doc = WithoutData(doc)
	hasCounts := doc.Plan != nil || doc.Apply != nil
	switch {
	case hasCounts || len(doc.Errors)+len(doc.Messages) == 0 || doc.Tests != nil:
		r.Summary = countsOf(doc).String()
	default:
		r.Summary = strings.Join(slices.DeleteFunc(slices.Clone(doc.Messages), func(m string) bool { return m == "" }), " ")
	}
	r.calm = doc.ExitCode == exit.OK && len(doc.Findings)+len(doc.Errors)+len(doc.Messages) == 0 && isCalm(doc)
	return r
}

// isCalm reports whether a plan or an apply leaves and left everything as it is, with nothing kept that git lacks.
func isCalm(doc Document) bool {
	var parts []view.Count
	switch {
	case doc.Apply != nil:
		parts = view.OutcomeParts(doc.Apply)
	case doc.Plan != nil:
		parts = view.PlanParts(doc.Plan)
	}
	return !slices.ContainsFunc(parts, func(p view.Count) bool { return p.N > 0 && (!p.Calm || p.Words == string(plan.Kept)) })
}

// WithoutData returns the document of a command that has a form of its own, such as status, with a message that counts
// what it has.
func WithoutData(doc Document) Document {
	if s, ok := doc.Data.(status); ok {
		doc.Messages = append(doc.Messages, s.counts)
	}
	doc.Data, doc.Text = nil, nil
	return doc
}

// mostReasons limits the errors and the warnings of a project: thousands of projects may have thousands of mistakes.
const mostReasons = 10

// reasonsOf returns why a project failed, which are the errors of its run, of its manifests, and of requests, and the
// warnings, which begin with the note about the order of commits. Files start from the folder of all projects.
func reasonsOf(project string, doc Document) (errors, warnings []string) {
	errors = slices.Clone(doc.Errors)
	said := strings.Join(errors, "\n")
	for _, f := range doc.Findings {
		named, list := strings.Contains(said, f.String()), &errors
		if f.Severity == diag.Warning {
			list = &warnings
		}
		if f.Path = path.Join(project, f.Path); f.Severity != diag.Advice && !named {
			*list = append(*list, f.String())
		}
	}
	if doc.Apply != nil {
		errors = addFailures(errors, doc.Apply.Outcomes)
	}
	if doc.Plan != nil && doc.Plan.OrderNote != "" && !strings.Contains(said, doc.Plan.OrderNote) {
		warnings = append([]string{doc.Plan.OrderNote}, warnings...)
	}
	return atMost(errors), atMost(warnings)
}

// addFailures adds the requests that failed. A refusal of the token is the same for several, and is added once.
func addFailures(errors []string, outcomes []apply.Outcome) []string {
	for _, o := range outcomes {
		switch refusal := o.Refusal(); {
		case o.Verdict == apply.OK || o.Status == apply.Skipped || slices.Contains(errors, refusal):
		case refusal != "":
			errors = append(errors, refusal)
		default:
			errors = append(errors, fmt.Sprintf("%s: %s", o.Key, cmp.Or(o.Message, o.What())))
		}
	}
	return errors
}

func atMost(list []string) []string {
	if more := len(list) - mostReasons; more > 1 {
		return append(list[:mostReasons:mostReasons], fmt.Sprintf("and %d more: --results DIR writes them", more))
	}
	return list
}

// Failed reports whether the project counts as a failure; Changes is what a run found, and no failure.
func (r Project) Failed() bool { return r.ExitCode != exit.OK && r.ExitCode != exit.Changes }

// Each returns the document of many projects, the worst first. The exit code is the worst of theirs and
// of what is known of all.
func Each(shard Shard, results []Project) Document {
	all, f := slices.Clone(results), &Fleet{Run: shard.Run, Facts: shard.Facts}
	code := f.code()
	for _, r := range all {
		code = exit.Worst(code, r.ExitCode)
	}
	rank := func(r Project) int { return 2*exit.Rank(r.ExitCode) + view.OneIf(r.calm) }
	slices.SortStableFunc(all, func(a, b Project) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Path, b.Path))
	})
	return Document{ExitCode: code, Projects: all, Fleet: f, Text: func(out Lines, opts Options) { textEach(out, opts, f, all) }}
}

// text returns what the table says of the project.
func (r Project) text() string {
	text := strings.TrimSpace(r.Summary + " " + strings.Join(append(r.Errors, r.Warnings...), "; "))
	if r.ExitCode != exit.OK {
		text = strings.TrimSuffix(r.Result+": "+text, ": ")
	}
	return text
}

// row returns the line of a project in the table.
func (r Project) row() []string {
	mark := "ok"
	switch {
	case r.Result == NotStarted:
		mark = "skipped"
	case r.Failed():
		mark = "FAIL"
	}
	return []string{mark, r.Path, r.text()}
}

// textEach writes the table of projects, then what is known of them, and their results.
func textEach(out Lines, opts Options, f *Fleet, all []Project) {
	rows, calm := tableOf(all, opts.Verbose)
	_ = out.Marked(rows, opts)
	if calm > 0 {
		word := map[string]string{"validate": "valid", "test": "passed"}[f.Command]
		_ = out.Printf("%s %s\n", diag.Plural(calm, "project", "projects"), cmp.Or(word, "without changes"))
	}
	if len(all) > 0 {
		_ = out.Printf("\n")
	}
	for _, line := range f.lines() {
		_ = out.Printf("%s\n", line)
	}
	var results []string
	counts := map[string]int{}
	for _, r := range all {
		if counts[r.Result]++; counts[r.Result] == 1 {
			results = append(results, r.Result)
		}
	}
	for i, result := range results {
		results[i] = diag.Plural(counts[result], result, result)
	}
	_ = out.Printf("%s in %s: %s.\n", f.Command, diag.Plural(len(all), "project", "projects"), cmp.Or(strings.Join(results, ", "), "nothing selected"))
}

// tableOf returns the rows of projects, and counts those that need no look, which have no row unless it is verbose. Those
// whose token was refused share one.
func tableOf(all []Project, verbose bool) (rows [][]string, calm int) {
	refused := map[string]int{}
	for _, r := range all {
		refused[r.refusal()]++
	}
	for _, r := range all {
		switch n := refused[r.refusal()]; {
		case r.calm && !verbose:
			calm++
		case r.refusal() == "" || n == 1:
			rows = append(rows, r.row())
		case n > 1:
			rows = append(rows, []string{"FAIL", diag.Plural(n, "project", "projects"), r.refusal()})
			refused[r.refusal()] = 0
		}
	}
	return rows, calm
}

// refusal returns why the token was refused, or "".
func (r Project) refusal() string {
	if r.ExitCode != exit.Auth {
		return ""
	}
	return r.Result + ": " + strings.Join(r.Errors, "; ")
}

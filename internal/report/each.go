package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"trueup/internal/view"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/fleet"
	"trueup/internal/plan"
)

// eachFormat is the version of the JSON form of trueup each (schemas/each.schema.json).
const eachFormat = "trueup.each/v1"

// NotStarted is the result of a project that was not reached.
const NotStarted = "not-started"

// ProjectResult is what the run of one of many projects came to.
type ProjectResult struct {
	Path string `json:"path"`
	// Result is the name of the exit code, or NotStarted.
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	// Summary counts what the run shows, in words.
	Summary string `json:"summary"`
	// Errors say why the project failed.
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings,omitempty"` // about its manifests, and the order of commits
	// calm is set if nothing is to be done or was done, and nothing waits for somebody.
	calm bool
}

// ProjectResultOf keeps what the table of projects shows of a result.
func ProjectResultOf(path string, doc Document) ProjectResult {
	r := ProjectResult{Path: path, Result: cmp.Or(doc.Result, exit.Name(doc.ExitCode)), ExitCode: doc.ExitCode}
	if r.Result == NotStarted {
		r.Errors = []string{}
		return r // why is the same for all of them, and said once
	}
	r.Errors, r.Warnings = reasons(path, doc)
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

// reasons returns why a project failed, which are the errors of its run, of its manifests, and of requests, and the
// warnings, which begin with the note about the order of commits. Files start from the folder of all projects.
func reasons(project string, doc Document) (errors, warnings []string) {
	errors = append([]string{}, doc.Errors...)
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
		for _, o := range doc.Apply.Outcomes {
			if o.Verdict != apply.OK && o.Status != apply.Skipped {
				errors = append(errors, fmt.Sprintf("%s: %s", o.Key, cmp.Or(o.Message, o.What())))
			}
		}
	}
	if doc.Plan != nil && doc.Plan.OrderNote != "" && !strings.Contains(said, doc.Plan.OrderNote) {
		warnings = append([]string{doc.Plan.OrderNote}, warnings...)
	}
	return atMost(errors), atMost(warnings)
}

func atMost(list []string) []string {
	if more := len(list) - mostReasons; more > 1 {
		return append(list[:mostReasons:mostReasons], fmt.Sprintf("and %d more: --results DIR writes them", more))
	}
	return list
}

// Failed reports whether the project counts as a failure; Changes is what a run found, and no failure.
func (r ProjectResult) Failed() bool { return r.ExitCode != exit.OK && r.ExitCode != exit.Changes }

// each is the JSON form of the results of many projects.
type each struct {
	Format string `json:"format"`
	Shard  int    `json:"shard"`
	Run
	Result   string          `json:"result"`
	ExitCode int             `json:"exitCode"`
	Facts    fleet.Facts     `json:"facts"`
	Projects []ProjectResult `json:"projects"`
}

// Each returns the document of many projects, the worst first. The exit code is the worst of theirs and
// of what is known of all.
func Each(shard ShardFile, results []ProjectResult) Document {
	all := append([]ProjectResult{}, results...)
	code := exit.OK
	for _, r := range all {
		code = exit.Worst(code, r.ExitCode)
	}
	code = exit.Worst(code, (&Fleet{Facts: shard.Facts}).code(shard.Command))
	rank := func(r ProjectResult) int { return 2*exit.Rank(r.ExitCode) + view.OneIf(r.calm) }
	slices.SortStableFunc(all, func(a, b ProjectResult) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Path, b.Path))
	})
	return Document{
		ExitCode: code, Data: each{eachFormat, shard.Shard, shard.Run, exit.Name(code), code, shard.Facts, all},
		Text: func(out Lines, opts view.Options) { textEach(out, opts, shard, all) },
	}
}

// text returns what the table says of the project.
func (r ProjectResult) text() string {
	text := strings.TrimSpace(r.Summary + " " + strings.Join(append(r.Errors, r.Warnings...), "; "))
	if r.ExitCode != exit.OK {
		text = strings.TrimSuffix(r.Result+": "+text, ": ")
	}
	return text
}

// row returns the line of a project in the table.
func (r ProjectResult) row() []string {
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
func textEach(out Lines, opts view.Options, shard ShardFile, all []ProjectResult) {
	rows, calm := tableOf(all, opts.Verbose)
	_ = out.Marked(rows, opts)
	if calm > 0 {
		word := map[string]string{"validate": "valid", "test": "passed"}[shard.Command]
		_ = out.Printf("%s %s\n", diag.Plural(calm, "project", "projects"), cmp.Or(word, "without changes"))
	}
	if len(all) > 0 {
		_ = out.Printf("\n")
	}
	for _, line := range (&Fleet{Facts: shard.Facts}).lines(shard.Command) {
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
	_ = out.Printf("%s in %s: %s.\n", shard.Command, diag.Plural(len(all), "project", "projects"), cmp.Or(strings.Join(results, ", "), "nothing selected"))
}

// tableOf returns the rows of projects, and counts those that need no look, which have no row unless it is verbose. Those
// whose token was refused share one.
func tableOf(all []ProjectResult, verbose bool) (rows [][]string, calm int) {
	refused := map[string]int{}
	for _, r := range all {
		if r.ExitCode == exit.Auth {
			refused[r.text()]++
		}
	}
	for _, r := range all {
		switch n := refused[r.text()]; {
		case n > 1:
			rows = append(rows, []string{"FAIL", diag.Plural(n, "project", "projects"), r.text()})
			refused[r.text()] = -1
		case n < 0:
		case r.calm && !verbose:
			calm++
		default:
			rows = append(rows, r.row())
		}
	}
	return rows, calm
}

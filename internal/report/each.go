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
	Warnings []string `json:"warnings,omitempty"` // about its manifests
	// calm is set if nothing is to be done or was done.
	calm bool
}

// ProjectResultOf keeps what the table of projects shows of a result.
func ProjectResultOf(path string, doc Document) ProjectResult {
	r := ProjectResult{Path: path, Result: exit.Name(doc.ExitCode), ExitCode: doc.ExitCode}
	r.Errors, r.Warnings = reasons(path, doc)
	if doc.Plan != nil || doc.Apply != nil || len(doc.Errors) == 0 {
		r.Summary = countsOf(doc).String()
	}
	var parts []count
	switch {
	case doc.Apply != nil:
		parts = outcomeParts(doc.Apply)
	case doc.Plan != nil:
		parts = planParts(doc.Plan)
	}
	r.calm = doc.ExitCode == exit.OK && len(doc.Findings)+len(doc.Errors) == 0
	for _, p := range parts {
		r.calm = r.calm && (p.calm || p.n == 0)
	}
	return r
}

// mostReasons limits the errors and the warnings of a project: thousands of projects may have thousands of mistakes.
const mostReasons = 10

// reasons returns why a project failed, which are the errors of its run, of its manifests, and of requests, and the
// warnings. Files start from the folder of all projects.
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
	return atMost(errors), atMost(warnings)
}

func atMost(list []string) []string {
	if more := len(list) - mostReasons; more > 1 {
		return append(list[:mostReasons:mostReasons], fmt.Sprintf("and %d more: --results DIR writes them", more))
	}
	return list
}

// ProjectNotStarted is the result of a project that was not reached.
func ProjectNotStarted(path string) ProjectResult {
	return ProjectResult{Path: path, Result: NotStarted, ExitCode: exit.Partial, Errors: []string{}}
}

// Failed reports whether the project counts as a failure; Changes is what a run found, and no failure.
func (r ProjectResult) Failed() bool { return r.ExitCode != exit.OK && r.ExitCode != exit.Changes }

// each is the JSON form of the results of many projects.
type each struct {
	Format   string          `json:"format"`
	Command  string          `json:"command"`
	Shard    int             `json:"shard"`
	Shards   int             `json:"shards"`
	Commit   string          `json:"commit,omitempty"`
	Tool     string          `json:"tool"`
	Result   string          `json:"result"`
	ExitCode int             `json:"exitCode"`
	Projects []ProjectResult `json:"projects"`
}

// Each returns the document of many projects, the worst first. The exit code is the worst of theirs.
func Each(shard ShardFile, results []ProjectResult) Document {
	all := slices.Clone(results)
	code := exit.OK
	for _, r := range all {
		code = exit.Worst(code, r.ExitCode)
	}
	rank := func(r ProjectResult) int {
		return 2*exit.Rank(r.ExitCode) + oneIf(r.calm)
	}
	slices.SortStableFunc(all, func(a, b ProjectResult) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Path, b.Path))
	})
	return Document{
		ExitCode: code, Annotations: failedProjects(all),
		Data: each{
			eachFormat, shard.Command, shard.Shard, shard.Shards, shard.Commit, shard.Tool, exit.Name(code), code,
			append([]ProjectResult{}, all...),
		},
		Text: func(out Lines, opts Options) { textEach(out, opts, shard.Command, all) },
	}
}

// failedProjects returns a finding for each project that failed.
func failedProjects(all []ProjectResult) (list diag.List) {
	for _, r := range all {
		if r.Failed() {
			list = append(list, diag.Finding{
				Path: path.Join(r.Path, "trueup.yaml"), Line: 1, Column: 1, Rule: projectRule, Severity: diag.Error,
				Message: fmt.Sprintf("project %s: %s", r.Path, r.text()),
			})
		}
	}
	return list
}

// text returns what the table says of the project.
func (r ProjectResult) text() string {
	text := strings.TrimSpace(r.Summary + " " + strings.Join(append(r.Errors, r.Warnings...), "; "))
	if r.ExitCode != exit.OK {
		text = strings.TrimSuffix(r.Result+": "+text, ": ")
	}
	return text
}

// textEach writes the table of projects. Those without changes are one line, unless the run is verbose.
func textEach(out Lines, opts Options, command string, all []ProjectResult) {
	var rows [][]string
	calm := 0
	counts := map[string]int{}
	for _, r := range all {
		counts[r.Result]++
		if r.calm && !opts.Verbose {
			calm++
			continue
		}
		mark := "ok"
		switch {
		case r.Result == NotStarted:
			mark = "skipped"
		case r.Failed():
			mark = "FAIL"
		}
		rows = append(rows, []string{mark, r.Path, r.text()})
	}
	_ = out.Marked(rows, opts)
	if calm > 0 {
		_ = out.Printf("%s without changes\n", diag.Plural(calm, "project", "projects"))
	}
	var parts []string
	for _, r := range all {
		if n := counts[r.Result]; n > 0 {
			parts = append(parts, diag.Plural(n, r.Result, r.Result))
			counts[r.Result] = 0
		}
	}
	if len(rows)+calm > 0 {
		_ = out.Printf("\n")
	}
	_ = out.Printf("%s in %s: %s.\n", command, diag.Plural(len(all), "project", "projects"), cmp.Or(strings.Join(parts, ", "), "nothing selected"))
}

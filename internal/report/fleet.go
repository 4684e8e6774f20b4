package report

import (
	"fmt"
	"path"
	"strings"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// NotStarted is the result of a project that was not reached.
const NotStarted = "not-started"

// ProjectResult is what the run of one of many projects came to.
type ProjectResult struct {
	// Path is the folder of the project, from where the search began, with slashes.
	Path string `json:"path"`
	// Workspace is the UUID; empty if the settings of the project can't be read.
	Workspace string `json:"workspace,omitempty"`
	// Result is the name of the exit code, or NotStarted.
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	// Digest is that of its own plan, or empty. A merged plan has none.
	Digest string `json:"digest,omitempty"`
}

// ResultOf returns the document of one of many projects. A command with a form of its own, such as status, becomes a message
// that counts what it has.
func ResultOf(path, workspace string, doc Document) Document {
	if s, ok := doc.Data.(statusDocument); ok {
		doc.Messages = append(doc.Messages, s.counts)
	}
	doc.Data, doc.Text = nil, nil
	doc.Project = &ProjectResult{Path: path, Workspace: workspace, Result: doc.Result, ExitCode: doc.ExitCode}
	return doc
}

// FleetRun is what the results of one run have in common.
type FleetRun struct {
	// Command is the subcommand that runs in each project, such as plan, and Flags are its flags.
	Command string `json:"command"`
	Flags   string `json:"flags,omitempty"`
	// Selection has the flags that leave out projects; empty for all projects.
	Selection string `json:"selection,omitempty"`
	// Commit is the one that is checked out; empty outside git.
	Commit string `json:"commit,omitempty"`
	// Tool names the program and its version.
	Tool string `json:"tool"`
	// Shards is 1 if one process runs all projects.
	Shards int `json:"shards"`
}

// ShardFormat is the version of Shard (schemas/shard.schema.json).
const ShardFormat = "trueup.shard/v1"

// ShardHead says which projects one process of trueup each runs. It is the first line of the file of their results, so that
// a missing result is noticed.
type ShardHead struct {
	Format string `json:"format"`
	Shard  int    `json:"shard"` // from 1
	FleetRun
	Started time.Time `json:"started"`
	// Error says why no project could be selected.
	Error string `json:"error,omitempty"`
	// Projects are the paths, sorted.
	Projects []string            `json:"projects"`
	Facts    config.FleetChanges `json:"facts"`
}

// ShardNames matches the names of the files of results.
const ShardNames = "shard-*-of-*.jsonl"

// FileName is the name of the file of the results.
func (s ShardHead) FileName() string { return fmt.Sprintf("shard-%d-of-%d.jsonl", s.Shard, s.Shards) }

// FleetFacts is what a merged result says beside the results of the projects.
type FleetFacts struct {
	FleetRun            `json:"run"`
	config.FleetChanges `json:"facts"`
	// Missing says which shards and results are not there. Projects without a result are of NotReached, as those that did
	// not start.
	Missing    []string `json:"missing,omitempty"`
	NotReached []string `json:"notReached,omitempty"`
	// NotPlanned are projects whose run ended before its plan.
	NotPlanned []string `json:"notPlanned,omitempty"`
}

// headline counts what a reader must know before the counts of the plan; empty if all is as expected. It has no text from
// outside, which a heading of Markdown could not take.
func (f *FleetFacts) headline() safeText {
	if f == nil {
		return safeText{}
	}
	var parts []safeText
	if n := len(f.Missing); n > 0 {
		parts = append(parts, safetext.F("%s missing", safetext.Count(n, "result")))
	}
	for _, fact := range f.facts() {
		if n := len(fact.projects); n > 0 {
			parts = append(parts, safetext.F("%s %s", safetext.Count(n, "project"), clean(fact.what)))
		}
	}
	if f.Unselected > 0 {
		parts = append(parts, safetext.F("%s not looked at", safetext.Count(f.Unselected, "project")))
	}
	if len(parts) == 0 {
		return safeText{}
	}
	return safetext.F("%s.", safetext.Join(parts, ", "))
}

// facts returns the projects about which something is known, and what.
func (f *FleetFacts) facts() []projectFact {
	var moved []string
	for _, m := range f.Moved {
		moved = append(moved, m.From+" to "+m.To)
	}
	return []projectFact{
		{f.NotReached, "not reached"}, {f.NotPlanned, "not planned"}, {f.Removed, "removed"}, {moved, "moved"}, {f.Added, "added"},
	}
}

type projectFact struct {
	projects []string
	what     string
}

// lines returns the facts as sentences.
func (f *FleetFacts) lines() (lines []string) {
	for _, fact := range f.facts() {
		if n := len(fact.projects); n > 0 {
			lines = append(lines, diag.Plural(n, "project", "projects")+" "+fact.what+": "+nameProjects(fact.projects))
		}
	}
	if len(f.Removed) > 0 {
		lines = append(lines, "the objects of removed projects are still live: delete them on the platform, or restore trueup.yaml")
	}
	if f.Unselected > 0 {
		text := diag.Plural(f.Unselected, "project was", "projects were") + " not looked at, because flags leave them out"
		if f.Command == "plan" || f.Command == "apply" {
			text += ": their drift and waiting changes are not in this " + f.Command
		}
		lines = append(lines, text)
	}
	return lines
}

// warnings returns a finding for each project that is gone: no other result has it.
func (f *FleetFacts) warnings() (list diag.List) {
	for _, at := range f.Removed {
		list = append(list, diag.Finding{
			Path: path.Join(at, "trueup.yaml"), Rule: view.ProjectRule, Severity: diag.Warning,
			Message: "the project " + at + " was removed, and its objects are still live", Fix: "delete them on the platform, or restore trueup.yaml",
		})
	}
	return list
}

// exitCode returns the exit code of what no project's result has. Where pending changes are one, a removed project is, too.
func (f *FleetFacts) exitCode() int {
	code := diag.ExitOK
	if isDetailed := strings.Contains(f.Flags, "--detailed-exitcode=true"); len(f.Removed) > 0 && (f.Command == "drift" || isDetailed) {
		code = diag.ExitChanges
	}
	if len(f.Missing) > 0 {
		code = diag.WorstExit(code, diag.ExitPartial)
	}
	return code
}

// nameProjects lists projects.
func nameProjects(names []string) string {
	const most = 100
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + " and " + safetext.Number(more).String() + " more, which -o json names"
	}
	return strings.Join(names, ", ")
}

package report

import (
	"fmt"
	"path"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/fleet"
	"trueup/internal/safetext"
)

// Run is what the results of one run have in common.
type Run struct {
	// Command is the subcommand that runs in each project, such as plan, and Flags are its flags.
	Command string `json:"command"`
	Flags   string `json:"flags,omitempty"`
	// Selection has the flags that leave out projects; empty for all projects.
	Selection string `json:"selection,omitempty"`
	// Commit is the one that is checked out; empty outside git. Dirty is a digest of the files that projects read and that
	// differ from it; empty without any.
	Commit string `json:"commit,omitempty"`
	Dirty  string `json:"dirty,omitempty"`
	// Tool names the program and its version.
	Tool string `json:"tool"`
	// Shards is 1 if one process runs all projects.
	Shards int `json:"shards"`
}

// difference says in what a run differs from another one, with the files of both.
func (r Run) difference(other Run, here, there string) string {
	for _, f := range []struct{ what, is, was string }{
		{"version of trueup", r.Tool, other.Tool},
		{"command", r.Command, other.Command},
		{"commit", r.Commit, other.Commit},
		{"selection", r.Selection, other.Selection},
		{"flags", r.Flags, other.Flags},
		{"uncommitted files", r.Dirty, other.Dirty},
		{"number of shards", fmt.Sprint(r.Shards), fmt.Sprint(other.Shards)},
	} {
		if f.is != f.was {
			return fmt.Sprintf("the %s is %.120q in %s and %.120q in %s", f.what, f.is, here, f.was, there)
		}
	}
	return ""
}

// Origin says which of many projects a result is of.
type Origin struct {
	// Path is the folder of the project, from where the search began, with slashes.
	Path string `json:"path"`
	// Workspace is the UUID; empty if the settings of the project can't be read.
	Workspace string `json:"workspace,omitempty"`
	// Fact is what the run says of the project beside its result: added, clashing, or moved from PATH.
	Fact string `json:"fact,omitempty"`
	// Running is set from before the first request of an apply until its end.
	Running bool `json:"running,omitempty"`
}

// ShardFormat is the version of Shard (schemas/shard.schema.json).
const ShardFormat = "trueup.shard/v1"

// Shard says which projects one process of trueup each runs. It is the first line of the file of their results, so that
// a missing result is noticed. Another try of an apply adds it again.
type Shard struct {
	Format string `json:"format"`
	Shard  int    `json:"shard"` // from 1
	Run
	Started time.Time `json:"started"`
	// Error says why no project could be selected.
	Error string `json:"error,omitempty"`
	// Projects are the paths, sorted.
	Projects []string    `json:"projects"`
	Facts    fleet.Facts `json:"facts"`
}

// ShardNames matches the names of the files of results.
const ShardNames = "shard-*-of-*.jsonl"

// Name is the name of the file of the results.
func (s Shard) Name() string { return fmt.Sprintf("shard-%d-of-%d.jsonl", s.Shard, s.Shards) }

// Fleet is what a merged result says beside the results of the projects.
type Fleet struct {
	Run         `json:"run"`
	fleet.Facts `json:"facts"`
	// Missing says which shards and results are not there. Projects without a result are of NotReached, as those that did
	// not start.
	Missing    []string `json:"missing,omitempty"`
	NotReached []string `json:"notReached,omitempty"`
	// NotPlanned are projects whose run ended before its plan.
	NotPlanned []string `json:"notPlanned,omitempty"`
}

// headline counts what a reader must know before the counts of the plan; empty if all is as expected. It has no text from
// outside, which a heading of Markdown could not take.
func (f *Fleet) headline() safe {
	if f == nil {
		return safe{}
	}
	var parts []safe
	if n := len(f.Missing); n > 0 {
		parts = append(parts, safetext.F("%s missing", safetext.Count(n, "result")))
	}
	for _, p := range []struct {
		n    int
		what string
	}{
		{len(f.NotReached), "not reached"},
		{len(f.NotPlanned), "not planned"},
		{len(f.Clashing), "clashing"},
		{len(f.Removed), "removed"},
		{len(f.Moved), "moved"},
		{len(f.Added), "added"},
		{f.Unselected, "not looked at"},
	} {
		if p.n > 0 {
			parts = append(parts, safetext.F("%s %s", safetext.Count(p.n, "project"), clean(p.what)))
		}
	}
	if len(parts) == 0 {
		return safe{}
	}
	return safetext.F("%s.", safetext.Join(parts, ", "))
}

// lines returns the facts as sentences.
func (f *Fleet) lines() (lines []string) {
	add := func(names []string, one, many string) {
		if n := len(names); n > 0 {
			lines = append(lines, diag.Plural(n, one, many)+": "+nameProjects(names))
		}
	}
	add(f.NotReached, "project was not reached", "projects were not reached")
	add(f.NotPlanned, "project has errors, so it has no plan", "projects have errors, so they have no plan")
	add(f.Clashing, "project contradicts another one", "projects contradict each other")
	add(f.Removed, "project was removed", "projects were removed")
	if len(f.Removed) > 0 {
		lines = append(lines, "the objects of removed projects are still live: delete them on the platform, or restore trueup.yaml")
	}
	for _, m := range f.Moved {
		lines = append(lines, fmt.Sprintf("the project %s moved to %s", m.From, m.To))
	}
	add(f.Added, "project is new", "projects are new")
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
func (f *Fleet) warnings() (list diag.List) {
	for _, at := range f.Removed {
		list = append(list, diag.Finding{
			Path: path.Join(at, "trueup.yaml"), Rule: projectRule, Severity: diag.Warning,
			Message: "the project " + at + " was removed, and its objects are still live", Fix: "delete them on the platform, or restore trueup.yaml",
		})
	}
	return list
}

// code returns the exit code of what no project's result has. Where pending changes are one, a removed project is, too.
func (f *Fleet) code() int {
	code := exit.OK
	if isDetailed := strings.Contains(f.Flags, "--detailed-exitcode=true"); len(f.Removed) > 0 && (f.Command == "drift" || isDetailed) {
		code = exit.Changes
	}
	if len(f.Missing) > 0 {
		code = exit.Worst(code, exit.Partial)
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

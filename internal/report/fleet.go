package report

import (
	"fmt"
	"path"
	"strings"
	"time"

	"trueup/internal/view"

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

// differs says in what a run differs from another one, whose file is named; empty if they are equal.
func (r Run) differs(other Run, name string) string {
	if what := r.difference(other, "here", "there"); what != "" {
		return fmt.Sprintf("it is not of the run of %s: %s", name, what)
	}
	return ""
}

// difference says in what a run differs from another one, with the places of both; empty if they are equal.
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
			return fmt.Sprintf("the %s is %.120q %s and %.120q %s", f.what, f.is, here, f.was, there)
		}
	}
	return ""
}

// Origin says where a result of one of many projects comes from.
type Origin struct {
	// Path is the folder of the project, from where the search began, with slashes.
	Path string `json:"path"`
	// Workspace is the UUID; empty if the settings of the project can't be read.
	Workspace string `json:"workspace,omitempty"`
	Run
	Shard int `json:"shard"` // from 1
	// Fact is what the run says of the project beside its result: added, clashing, or moved from PATH.
	Fact string `json:"fact,omitempty"`
	// Running is set from before the first request of an apply until its end.
	Running bool `json:"running,omitempty"`
}

// ShardFormat is the version of ShardFile (schemas/shard.schema.json).
const ShardFormat = "trueup.shard/v1"

// ShardFile says which projects one process of trueup each runs. It is written before the first of them starts, so that
// a missing result is noticed.
type ShardFile struct {
	Format string `json:"format"`
	Shard  int    `json:"shard"`
	Run
	// Started orders the tries of a shard.
	Started time.Time `json:"started"`
	// Try counts the tries that are in the same folder, from 2. The first one has none.
	Try int `json:"try,omitempty"`
	// Ended is set when all results are there, and Error if no project could be selected.
	Ended bool   `json:"ended,omitempty"`
	Error string `json:"error,omitempty"`
	// Projects are the paths, sorted. The result of each is in the folder that is named like this file.
	Projects []string    `json:"projects"`
	Facts    fleet.Facts `json:"facts"`
}

// ShardNames matches the name of each shard file.
const ShardNames = "shard-*-of-*.json"

// Name is the name of the shard file.
func (s ShardFile) Name() string { return s.Folder() + ".json" }

// Folder has the results. No project's folder is beside the shard file, so its name can't be that of another file.
func (s ShardFile) Folder() string {
	name := fmt.Sprintf("shard-%d-of-%d", s.Shard, s.Shards)
	if s.Try > 0 {
		name += fmt.Sprintf("-try-%d", s.Try)
	}
	return name
}

// ResultName is the name of the result of a project, beside the shard file.
func (s ShardFile) ResultName(project string) string {
	return path.Join(s.Folder(), project, "result.json")
}

// Fleet is what a merged result says beside the results of the projects.
type Fleet struct {
	fleet.Facts `json:"facts"`
	// Missing says which results are not there, or can't be used. They are of NotReached, as what did not start.
	Missing    []string `json:"missing,omitempty"`
	NotReached []string `json:"notReached,omitempty"`
	// NotPlanned are projects whose run ended before its plan.
	NotPlanned []string `json:"notPlanned,omitempty"`
	lostShards []int
	oddShards  []int // they are of another run
}

// headline counts what a reader must know before the counts of the plan; empty if all is as expected. It has no text from
// outside, which a heading of Markdown could not take.
func (f *Fleet) headline() safe {
	if f == nil {
		return safe{}
	}
	var parts []safe
	for _, n := range f.lostShards {
		parts = append(parts, safetext.F("shard %d is missing", n))
	}
	for _, n := range f.oddShards {
		parts = append(parts, safetext.F("shard %d is of another run", n))
	}
	if n := len(f.Missing) - len(f.lostShards) - len(f.oddShards); n > 0 {
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

// lines returns the facts as sentences. command is the one that ran.
func (f *Fleet) lines(command string) (lines []string) {
	add := func(names []string, one, many string) {
		if text := one; len(names) > 0 {
			if len(names) > 1 {
				text = many
			}
			lines = append(lines, fmt.Sprintf(text, nameProjects(names)))
		}
	}
	add(f.NotReached, "not reached, so nothing is known of it: %s", "not reached, so nothing is known of them: %s")
	add(f.NotPlanned, "not planned, because of its errors: %s", "not planned, because of their errors: %s")
	add(f.Clashing, "contradicts another project: %s", "contradict each other: %s")
	const gone = "trueup manages its objects no more, and they stay live: delete them on the platform, or restore trueup.yaml"
	add(f.Removed, "removed, so "+gone+": %s", "removed, so "+strings.Replace(gone, "its objects", "their objects", 1)+": %s")
	for _, m := range f.Moved {
		lines = append(lines, fmt.Sprintf("moved from %s to %s, which has its workspace", m.From, m.To))
	}
	add(f.Added, "new: %s", "new: %s")
	if f.Unselected > 0 {
		waits := map[bool]string{true: ": their drift and the changes that wait there are not in this " + command}[command == "plan" || command == "apply"]
		lines = append(lines, "not looked at: "+diag.Plural(f.Unselected, "project", "projects")+" that the flags leave out"+waits)
	}
	return lines
}

// warnings returns a finding for each project that is gone: no other result has it.
func (f *Fleet) warnings() (list diag.List) {
	for _, at := range f.Removed {
		list = append(list, diag.Finding{
			Path: path.Join(at, "trueup.yaml"), Rule: view.ProjectRule, Severity: diag.Warning,
			Message: "the project " + at + " is removed, and its objects stay live", Fix: "delete them on the platform, or restore trueup.yaml",
		})
	}
	return list
}

// code returns the exit code of what no project's result has: for drift, a removed project is a difference.
func (f *Fleet) code(command string) int {
	if command == "drift" && len(f.Removed) > 0 {
		return exit.Changes
	}
	return exit.OK
}

// nameProjects lists projects.
func nameProjects(names []string) string {
	const most = 100
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + " and " + safetext.Number(more).String() + " more, which -o json names"
	}
	return strings.Join(names, ", ")
}

package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
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

// ShardNames matches the names of files of results.
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

// projectFact is what is known about some projects.
type projectFact struct {
	projects []string
	what     string
}

// facts returns the projects about which something is known, and what.
func (f *FleetFacts) facts() []projectFact {
	moved := diag.MapList(f.Moved, func(m config.ProjectMove) string { return m.From + " to " + m.To })
	all := []projectFact{
		{f.NotReached, "not reached"}, {f.NotPlanned, "not planned"}, {f.Removed, "removed"}, {moved, "moved"}, {f.Added, "added"},
	}
	return slices.DeleteFunc(all, func(fact projectFact) bool { return len(fact.projects) == 0 })
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
		parts = append(parts, safetext.F("%s %s", safetext.Count(len(fact.projects), "project"), clean(fact.what)))
	}
	if f.Unselected > 0 {
		parts = append(parts, safetext.F("%s not looked at", safetext.Count(f.Unselected, "project")))
	}
	if len(parts) == 0 {
		return safeText{}
	}
	return safetext.F("%s.", safetext.Join(parts, ", "))
}

// lines returns the facts as sentences.
func (f *FleetFacts) lines() (lines []string) {
	for _, fact := range f.facts() {
		lines = append(lines, diag.Plural(len(fact.projects), "project", "projects")+" "+fact.what+": "+nameProjects(fact.projects))
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
func (f *FleetFacts) warnings() diag.List {
	return diag.MapList(f.Removed, func(at string) diag.Finding {
		return diag.Finding{
			Path: path.Join(at, "trueup.yaml"), Rule: view.ProjectRule, Severity: diag.Warning,
			Message: "the project " + at + " was removed, and its objects are still live", Fix: "delete them on the platform, or restore trueup.yaml",
		}
	})
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

// ReadResult reads a Document that was written as JSON. It has all that the JSON has; the places of changes in lists are
// not in it, so every warning about the manifest of a changed object counts as one about the change. Beside an error is what could be read.
func ReadResult(text []byte) (Document, error) {
	var in documentJSON
	err := unmarshal(text, &in)
	if err == nil {
		err = formatIs(in.Format, ResultFormat)
	}
	if err == nil && in.Plan != nil {
		err = formatIs(in.Plan.Format, plan.Format)
	}
	isUnexplained := func(c requesttest.Case) bool { return c.Result == requesttest.Failed && len(c.Failures) == 0 }
	if err == nil && in.Tests != nil && slices.ContainsFunc(in.Tests.Cases, isUnexplained) {
		err = errors.New("it is not a result: a test failed without a failure")
	}
	return in.Document, err
}

// unmarshal reads one JSON value and nothing else, with numbers as they are written.
func unmarshal(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(to)
	if err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		err = errors.New("there is more after the JSON value")
	}
	if err != nil {
		return fmt.Errorf("it is not JSON that trueup wrote: %w", err)
	}
	return nil
}

func formatIs(got, want string) error {
	if got != want {
		return fmt.Errorf("its format is %.60q, not %s: use the version of trueup that made it", got, want)
	}
	return nil
}

// shardResults is the file of the results of a shard.
type shardResults struct {
	ShardHead
	name      string
	byProject map[string]*Document // nil is damaged
	wrong     []string             // the lines that can't be read
}

// maxShard limits the results of a shard, in bytes.
const maxShard = 256 << 20

// readShard reads the file of a shard that this version of trueup made. A last line without an end is not there: the
// process was killed while it wrote.
func readShard(fsys fs.FS, name, tool string) (r shardResults, err error) {
	if info, err := fs.Stat(fsys, name); err != nil || info.Size() > maxShard {
		return r, cmp.Or(err, fmt.Errorf("it has more than %d bytes", maxShard))
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return r, err
	}
	lines := bytes.Split(text, []byte("\n"))
	if len(lines) == 1 {
		return r, errors.New("it is empty: run its shard again")
	}
	r = shardResults{name: name, byProject: map[string]*Document{}}
	if err := cmp.Or(unmarshal(lines[0], &r.ShardHead), formatIs(r.Format, ShardFormat)); err != nil {
		return r, err
	}
	switch {
	case r.Tool != tool:
		return r, fmt.Errorf("it was made by %.60q, and this is %q: merge results with the version that made them", r.Tool, tool)
	case r.Shard < 1 || r.Shard > r.Shards:
		return r, fmt.Errorf("it is for shard %d of %d, which does not exist", r.Shard, r.Shards)
	}
	for n, line := range lines[1 : len(lines)-1] {
		if err := r.addLine(line); err != nil {
			r.wrong = append(r.wrong, fmt.Sprintf("%s: line %d: %v", name, n+2, err))
		}
	}
	return r, nil
}

// addLine adds the result of a project.
func (r *shardResults) addLine(line []byte) error {
	doc, err := ReadResult(line)
	doc.Project = cmp.Or(doc.Project, &ProjectResult{})
	at := doc.Project.Path
	switch {
	case !slices.Contains(r.Projects, at):
		return cmp.Or(err, fmt.Errorf("it is of the project %.300q, which is not in the shard", at))
	case err == nil && diag.ExitName(doc.ExitCode) == "":
		err = fmt.Errorf("it is damaged, because no exit code is %d: run the shard again", doc.ExitCode)
	}
	if err != nil {
		r.byProject[at] = nil
		return fmt.Errorf("the result of the project %.300s: %w", at, err)
	}
	r.byProject[at] = &doc
	return nil
}

// CollectResults reads the results of many projects below a folder, and merges those of the newest run. The result names what is
// missing, and what does not belong to it.
func CollectResults(fsys fs.FS, tool string) (Document, error) {
	all, wrong, err := findShards(fsys, tool)
	if err != nil {
		return Document{}, err
	}
	newest := all[len(all)-1]
	facts := FleetFacts{FleetRun: newest.FleetRun, FleetChanges: newest.Facts}
	shards, of := map[int]string{}, map[string]string{} // the files
	var docs []Document
	for _, r := range all {
		reject := func(format string, args ...any) { wrong = append(wrong, r.name+": "+fmt.Sprintf(format, args...)) }
		switch other := shards[r.Shard]; {
		case r.FleetRun != newest.FleetRun:
			reject("it is of another run than %s, which is newer: remove one of them", newest.name)
			continue
		case other != "":
			reject("shard %d is there twice, also in %s: remove one of them", r.Shard, other)
			continue
		case r.Error != "":
			reject("no project could be selected: %s", r.Error)
		}
		shards[r.Shard] = r.name
		wrong = append(wrong, r.wrong...)
		for _, project := range r.Projects {
			switch doc, ok := r.byProject[project]; {
			case of[project] != "":
				reject("the project %.300s is also in %s: each project belongs to one shard", project, of[project])
			case doc != nil:
				docs = append(docs, *doc)
			case !ok:
				facts.NotReached = append(facts.NotReached, project)
				facts.Missing = append(facts.Missing, fmt.Sprintf("shard %d has no result of the project %.300s: its run did not end, so run the shard again", r.Shard, project))
			}
			of[project] = r.name
		}
	}
	for i := 1; i <= newest.Shards; i++ {
		if shards[i] == "" {
			facts.Missing = append(facts.Missing, fmt.Sprintf("shard %d of %d is missing: run it, or copy its file into this folder", i, newest.Shards))
		}
	}
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.Project.Path, b.Project.Path) })
	return MergeResults(facts, docs, wrong), nil
}

// findShards reads the files of results, and says what is wrong with those that can't be read. The newest is the last.
func findShards(fsys fs.FS, tool string) (all []shardResults, wrong []string, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if isShard, _ := path.Match(ShardNames, path.Base(name)); err != nil || !isShard || !d.Type().IsRegular() {
			return err
		}
		if r, err := readShard(fsys, name, tool); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", name, err))
		} else {
			all = append(all, r)
		}
		return nil
	})
	switch {
	case err != nil || len(all) > 0:
	case len(wrong) > 0:
		err = errors.New(strings.Join(wrong, "; "))
	default:
		err = errors.New("there is no shard-I-of-N.jsonl, so no job kept results: read the log of the job that finds the projects, or name another folder")
	}
	slices.SortStableFunc(all, func(a, b shardResults) int { return a.Started.Compare(b.Started) })
	return all, wrong, err
}

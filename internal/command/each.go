package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// eachOptions are the flags of trueup each.
type eachOptions struct {
	config.Selection
	list, matrix bool
	results      string
	jobs         int
	maxFailures  int // below 0 means no limit
}

func newEach(run *Run) *cobra.Command {
	o := eachOptions{}
	var cmd *cobra.Command
	cmd = newCommand(run, "each COMMAND...", func(ctx context.Context, words []string) (report.Document, error) {
		if before := cmd.ArgsLenAtDash(); before > 0 || before < 0 && len(words) > 0 {
			return report.Document{}, fmt.Errorf("%q is before --: write only flags there, and name another folder with -C", words[0])
		}
		if o.list {
			if err := o.checkList(cmd, words); err != nil {
				return report.Document{}, err
			}
			return listProjects(ctx, run, o)
		}
		line, err := parseMemberLine(run, cmd, words)
		if errors.Is(err, pflag.ErrHelp) {
			helped, _, _ := cmd.Root().Find(words)
			return report.Document{}, helped.Help()
		}
		if err = errors.Join(o.check(line.command), err); err != nil {
			return report.Document{}, err
		}
		return runEach(ctx, run, o, line)
	})
	cmd.Use = "each [flags] -- COMMAND [ARG...]"
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = func(_ *cobra.Command, words []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(words) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return slices.DeleteFunc(memberCommands(), func(name string) bool { return !strings.HasPrefix(name, begun) }), NoFiles
	}
	cmd.DisableFlagsInUseLine = true
	f := cmd.Flags()
	f.StringVar(&o.ChangedSince, "changed-since", "", "take only projects with a file that differs from commit `REF`")
	f.StringArrayVar(&o.Select, "select", nil, "take only projects whose path, or a folder above it, matches `GLOB`; repeatable")
	f.StringArrayVar(&o.Exclude, "exclude", nil, "leave out projects whose path, or a folder above it, matches `GLOB`; repeatable")
	f.Var(&o.Shard, "shard", "take part `I/N` of the projects, with I from 1 to N")
	f.BoolVar(&o.list, "list", false, "list the projects, and run nothing")
	f.BoolVar(&o.matrix, "matrix", false, "with --list, print the shards that the projects need, as a JSON list")
	f.StringVar(&o.results, "results", "", "write the results below `DIR`, for show")
	f.IntVar(&o.jobs, "jobs", 4, "run in `N` projects at once")
	f.IntVar(&o.maxFailures, "max-failures", -1, "start nothing further after more than `N` failed projects; -1 starts all")
	return cmd
}

// check rejects values that have no meaning.
func (o *eachOptions) check(command string) error {
	isPartial := slices.Contains([]string{"plan", "validate", "test"}, command)
	return errors.Join(
		errorIf(o.matrix, "--matrix needs --list"),
		errorIf(o.jobs < 1, "--jobs %d: write 1 or more", o.jobs),
		errorIf(o.ChangedSince != "" && command != "" && !isPartial,
			"--changed-since does not work with %s: live may differ from git where git did not change. Remove the flag: %[1]s takes every project", command),
	)
}

// runEach runs the command line in every selected project.
func runEach(ctx context.Context, run *Run, o eachOptions, line projectCommandLine) (doc report.Document, err error) {
	found, err := findFleet(ctx, run, o, line)
	shard := newShard(ctx, run, o, found, line)
	if err != nil {
		shard.Error = err.Error() // the merged result says it
	}
	out, failed := createResults(run, o.results, shard)
	if err = errors.Join(err, failed); err != nil {
		return doc, errors.Join(err, out.close())
	}
	run.API.Budget = api.NewSharedLimits(run.API.WritesPerSecond, shard.Shards, run.API.Parallelism)
	working := run.startPhase(line.command)
	working.setProgress(0, len(found.Projects))
	defer working.end()
	results := make([]report.Document, len(found.Projects))
	var ended, failures atomic.Int64
	keep := func(i int, doc report.Document) {
		p := found.Projects[i]
		doc = report.ResultOf(p.Path, p.Settings.Workspace.UUID, doc)
		_ = report.WriteLine(out, doc) // close returns the error
		results[i] = doc
		if doc.ExitCode != diag.ExitOK && doc.ExitCode != diag.ExitChanges {
			failures.Add(1) // changes are what the run found
		}
		working.setProgress(int(ended.Add(1)), len(found.Projects))
	}
	diag.InParallelWith(o.jobs, len(found.Projects), func(_ *struct{}, i int) (more bool) {
		if ctx.Err() != nil || o.maxFailures >= 0 && failures.Load() > int64(o.maxFailures) {
			return false
		}
		keep(i, runInProject(ctx, run, found.Projects[i], line))
		return true
	})
	why := whyNotStarted(ctx, o.maxFailures)
	for i := range results {
		if results[i].Project == nil {
			keep(i, report.Document{
				Command: line.command, Result: report.NotStarted, ExitCode: diag.OrInterrupted(ctx, diag.ExitPartial),
				Errors: []string{"trueup each did not start this project: " + why},
			})
		}
	}
	doc = report.MergeResults(report.FleetFacts{FleetRun: shard.FleetRun, FleetChanges: shard.Facts}, results, nil)
	if err := out.close(); err != nil {
		doc.Errors = append(doc.Errors, "--results: "+files.WithoutPath(err).Error())
		doc.ExitCode = diag.WorstExit(doc.ExitCode, diag.ExitError)
	}
	doc.ExitCode = diag.OrInterrupted(ctx, doc.ExitCode)
	return doc, nil
}

// listCommand stands for --list, which runs nothing.
const listCommand = ""

// findSearchFolder returns the folder of the run without links, because a search follows none.
func findSearchFolder(run *Run) (string, error) {
	dir, err := filepath.EvalSymlinks(run.Dir())
	if err != nil {
		return "", fmt.Errorf("-C %s: %w", run.Chdir, files.WithoutPath(err))
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", fmt.Errorf("-C %s is not a folder: name the folder that has the projects", run.Chdir)
	}
	return dir, nil
}

// findFleet returns the projects that the command runs in, and what is known of all.
func findFleet(ctx context.Context, run *Run, o eachOptions, line projectCommandLine) (found config.Fleet, err error) {
	dir, err := findSearchFolder(run)
	if err != nil {
		return found, err
	}
	base, isCompared := "", slices.Contains([]string{"plan", "apply", "drift"}, line.command)
	if isCompared {
		past := reconcile.NewCommitReader(run.Options, config.LoadedProject{}, nil).ReadPast(ctx, line.base, false).Blame
		if base = past.Base; line.base == "" && (base == "" || base == past.Head) {
			base = "HEAD^" // what the newest commit removed counts everywhere
		}
	}
	isLocal := run.Sandbox || slices.Contains([]string{listCommand, "validate", "test"}, line.command)
	if found, err = o.FindFleet(ctx, dir, base); err != nil {
		return found, err
	}
	if n := len(found.Projects); !isLocal && n > 1 && run.Getenv(config.WorkspacePin)+run.Getenv(config.LedgerPin) != "" {
		return found, fmt.Errorf("%s and %s belong to one project, and %d are selected: unset them, and pin all projects in the file that %s names",
			config.WorkspacePin, config.LedgerPin, n, config.ProjectsPin)
	}
	run.Shared.Root = found.Root
	if err = run.AddGonePins(&found, o.Selection, isLocal); err == nil && (isCompared || line.command == "validate") {
		reading := run.startPhase("reading manifests")
		defer reading.end()
		err = found.CompareHosts(ctx) // projects of one hostname would undo each other's changes
	}
	return found, err
}

// newShard says what this process runs.
func newShard(ctx context.Context, run *Run, o eachOptions, found config.Fleet, line projectCommandLine) report.ShardHead {
	part := o.Shard
	shard := report.ShardHead{
		Format: report.ShardFormat, Shard: max(part.Index, 1), Started: run.Now().UTC(), Facts: found.FleetChanges,
		Projects: append([]string{}, diag.MapList(found.Projects, func(p *config.ProjectFolder) string { return p.Path })...),
		FleetRun: report.FleetRun{
			Command: line.command, Flags: line.flags, Selection: o.Describe(found.Since), Tool: toolName(), Shards: max(part.Of, 1),
		},
	}
	if found.Root != "" {
		shard.Commit = found.Commit(ctx)
	}
	return shard
}

// whyNotStarted says why some projects did not run.
func whyNotStarted(ctx context.Context, bound int) string {
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return context.Cause(ctx).Error()
	case err != nil:
		return "the run was interrupted"
	}
	return fmt.Sprintf("more than %d failed (--max-failures)", bound)
}

// createResults begins the file of the results of a shard, without what an earlier run left. Without a name, it keeps nothing.
// Results of another number of shards may not be beside it.
func createResults(run *Run, name string, shard report.ShardHead) (out *outputWriter, err error) {
	out = &outputWriter{w: io.Discard}
	if name == "" {
		return out, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("--results %s: %w", name, files.WithoutPath(err))
		}
	}()
	root, err := files.FolderAt(run.Dir(), name).OpenOrCreate()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	others, _ := fs.Glob(root.FS(), report.ShardNames) // the pattern is valid
	for _, other := range others {
		if !strings.HasSuffix(other, fmt.Sprintf("-of-%d.jsonl", shard.Shards)) {
			return out, fmt.Errorf("it has results of another number of shards: name another folder, or remove %s", other)
		}
	}
	file, err := root.OpenFile(shard.FileName(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|files.NoWait, 0o644)
	if err == nil {
		out.w = file
		_ = json.NewEncoder(out).Encode(shard) // close returns the error
	}
	return out, err
}

// listedProject is a project in JSON (schemas/projects.schema.json).
type listedProject struct {
	Path      string          `json:"path"`
	Workspace *kind.Workspace `json:"workspace,omitempty"`
	Ledger    string          `json:"ledger,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// checkList rejects what has no meaning with --list.
func (o eachOptions) checkList(cmd *cobra.Command, words []string) error {
	wrong := []error{
		errorIf(len(words) > 0, "--list runs nothing: remove it, or what is after --"),
		errorIf(o.matrix && o.Shard.Of > 0, "--matrix lists all shards: remove --shard"),
	}
	for _, name := range []string{"results", "jobs", "max-failures"} {
		wrong = append(wrong, errorIf(cmd.Flags().Changed(name), "--%s does nothing with --list: remove it", name))
	}
	return errors.Join(wrong...)
}

// listProjects lists projects. One that can't be read, or contradicts another, has an error.
func listProjects(ctx context.Context, run *Run, o eachOptions) (doc report.Document, err error) {
	found, err := findFleet(ctx, run, o, projectCommandLine{command: listCommand})
	if err != nil {
		return doc, err
	}
	for _, gone := range found.Removed {
		run.Warn("%s was a project before, and its objects are still live: delete them on the platform, or restore its trueup.yaml", gone)
	}
	if o.matrix {
		return shardMatrix(len(found.Projects)), nil
	}
	list, rows := []listedProject{}, [][]string{{"PROJECT", "WORKSPACE", "LEDGER"}}
	for _, p := range found.Projects {
		row := listedProject{Path: p.Path, Workspace: &p.Settings.Workspace, Ledger: p.Settings.Ledger.Store}
		if p.Err != nil {
			row.Workspace, row.Error, doc.ExitCode = nil, p.Err.Error(), diag.ExitInvalid
			run.Log(slog.LevelError, row.Error)
		}
		list = append(list, row)
		rows = append(rows, []string{p.Path, cmp.Or(p.Settings.Workspace.Name, "?"), cmp.Or(row.Ledger, "none")})
	}
	doc.Data = map[string]any{"format": "trueup.projects/v1", "projects": list, "facts": found.FleetChanges}
	if len(list) == 0 {
		addMessage(&doc, "No project is selected.")
		return doc, nil
	}
	doc.Text = func(out report.LineWriter, _ report.FormatOptions) { out.Table("", rows) }
	return doc, nil
}

// A shard has at most perShard projects, up to maxShards shards: to start a job takes longer than to plan
// some projects.
const (
	perShard  = 50
	maxShards = 20
)

// shardMatrix returns the shards for so many projects, as one line. There is at least one, because CI services reject an
// empty matrix. A project that can't be read fails in its shard.
func shardMatrix(projects int) report.Document {
	shards := make([]string, min(max(1, (projects+perShard-1)/perShard), maxShards))
	for i := range shards {
		shards[i] = config.Shard{Index: i + 1, Of: len(shards)}.String()
	}
	line, _ := json.Marshal(shards) // they are text
	return report.Document{Data: shards, Text: func(out report.LineWriter, _ report.FormatOptions) { out.JSONLine("", line) }}
}

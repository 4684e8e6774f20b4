package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/fleet"
	"trueup/internal/kind"
	"trueup/internal/project"
	"trueup/internal/report"
)

// eachOptions are the flags of trueup each.
type eachOptions struct {
	fleet.Rollout
	fleet.Selection
	list, matrix bool
	results      string
}

func newEach(a *app) *cobra.Command {
	o := eachOptions{}
	var cmd *cobra.Command
	cmd = a.command("each COMMAND...", func(ctx context.Context, words []string) (report.Document, error) {
		if before := cmd.ArgsLenAtDash(); before > 0 || before < 0 && len(words) > 0 {
			return report.Document{}, fmt.Errorf("%q is before --: write only flags there, and name another folder with -C", words[0])
		}
		if o.list {
			if err := o.checkList(cmd, words); err != nil {
				return report.Document{}, err
			}
			return a.listProjects(ctx, o)
		}
		line, err := a.memberLine(cmd, words)
		if errors.Is(err, pflag.ErrHelp) {
			helped, _, _ := a.root.Find(words)
			return report.Document{}, helped.Help()
		}
		if err = errors.Join(o.check(cmd.Flags().Changed, line.command), err); err != nil {
			return report.Document{}, err
		}
		if len(o.Waves) == 0 {
			o.MaxFailures = -1
		}
		return a.each(ctx, o, line)
	})
	cmd.Use = "each [flags] -- COMMAND [ARG...]"
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = func(_ *cobra.Command, words []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(words) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return slices.DeleteFunc(memberNames(), func(name string) bool { return !strings.HasPrefix(name, begun) }), noFiles
	}
	cmd.DisableFlagsInUseLine = true
	o.register(cmd.Flags())
	return cmd
}

func (o *eachOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.ChangedSince, "changed-since", "", "take only projects with a file that differs from commit `REF`")
	f.StringArrayVar(&o.Select, "select", nil, "take only projects whose path, or a folder above it, matches `GLOB`; repeatable")
	f.StringArrayVar(&o.Exclude, "exclude", nil, "leave out projects whose path, or a folder above it, matches `GLOB`; repeatable")
	f.Var(&o.Shard, "shard", "take part `I/N` of the projects, with I from 1 to N")
	f.BoolVar(&o.list, "list", false, "list the projects, and run nothing")
	f.BoolVar(&o.matrix, "matrix", false, "with --list, print the shards that the projects need, as a JSON list")
	f.StringVar(&o.results, "results", "", "write the results below `DIR`, for show")
	f.IntVar(&o.Jobs, "jobs", 4, "run in `N` projects at once")
	f.Var(&o.Waves, "waves", "start no more than 1, then 10%, then 100% of the projects, for example: `1,10%,100%`")
	f.DurationVar(&o.Pause, "pause", 0, "time between two waves")
	f.IntVar(&o.MaxFailures, "max-failures", 0, "with --waves, start nothing further after more than `N` failed projects")
}

// check rejects values that have no meaning. changed reports whether a flag was set.
func (o *eachOptions) check(changed func(flag string) bool, command string) error {
	hasWaves, isPartial := len(o.Waves) > 0, slices.Contains([]string{"plan", "validate", "test"}, command)
	return errors.Join(
		refuse(o.matrix, "--matrix needs --list"),
		refuse(o.Jobs < 1, "--jobs %d: write 1 or more", o.Jobs),
		refuse(o.MaxFailures < 0, "--max-failures %d: write 0 or more", o.MaxFailures),
		refuse(o.Pause < 0, "--pause %s: write a time above 0, such as 10m", o.Pause),
		refuse(!hasWaves && (changed("pause") || changed("max-failures")), "--pause and --max-failures need --waves"),
		refuse(o.ChangedSince != "" && command != "" && !isPartial,
			"--changed-since does not work with %s: live may differ from git where git did not change. Remove the flag: %[1]s takes every project", command),
	)
}

// each runs the command line in every selected project.
func (a *app) each(ctx context.Context, o eachOptions, line memberLine) (doc report.Document, err error) {
	found, err := a.fleetFor(ctx, o, line)
	shard := a.newShard(ctx, o, found, line)
	if err != nil {
		shard.Error = err.Error() // the merged result says it
	}
	out, failed := a.openResults(o.results, shard)
	defer func() { err = errors.Join(err, out.close()) }()
	if err = errors.Join(err, failed); err != nil {
		return doc, err
	}
	results := make([]report.Project, len(found.Projects))
	a.shared.Budget = api.NewBudget(a.settings.writesPerSecond, shard.Shards, a.settings.parallelism)
	working := a.begin(line.command)
	working.reached(0, len(results))
	defer working.end()
	o.Sleep = a.env.Sleep
	var ended atomic.Int64
	keep := func(i int, doc report.Document) {
		p := found.Projects[i]
		if err := out.write(p, doc, false); err != nil {
			a.log(slog.LevelError, p.Path+": "+err.Error())
			doc.ExitCode, doc.Errors = exit.Worst(doc.ExitCode, exit.Error), append(doc.Errors, err.Error())
			doc.Result = exit.NameOf(doc.ExitCode)
		}
		results[i] = report.ProjectOf(p.Path, doc)
	}
	started := o.RunProjects(ctx, len(results), func(i int) (failed bool) {
		p := found.Projects[i]
		sends := func(doc report.Document) error { return out.write(p, doc, true) }
		keep(i, a.runMember(ctx, &member{of: a, path: p.Path, warnings: p.Warnings, sends: sends}, p, line))
		working.reached(int(ended.Add(1)), len(results))
		return results[i].Failed()
	})
	why := whyNotStarted(ctx, o.MaxFailures)
	if rest := len(results) - started; rest > 0 {
		a.log(slog.LevelError, diag.Plural(rest, "project was", "projects were")+" not started: "+why)
	}
	for i := range results[started:] {
		keep(started+i, report.Document{
			Command: line.command, Result: report.NotStarted, ExitCode: exit.OrInterrupted(ctx, exit.Partial),
			Errors: []string{"trueup each did not start this project: " + why},
		})
	}
	doc = report.Each(shard, results)
	doc.ExitCode = exit.OrInterrupted(ctx, doc.ExitCode)
	return doc, nil
}

// fleetFor returns the projects that the command runs in, and what is known of all.
func (a *app) fleetFor(ctx context.Context, o eachOptions, line memberLine) (found fleet.Fleet, err error) {
	dir, err := a.folder()
	if err != nil {
		return found, err
	}
	base, isCompared := "", line.base != nil || line.command == "drift"
	if isCompared {
		base = a.findBase(ctx, *cmp.Or(line.base, new(string)))
	}
	isLocal := line.command == "validate" || line.command == "test" || a.global.sandbox
	if found, err = o.SelectIn(ctx, dir, base); err != nil {
		return found, err
	}
	if err = a.comparePins(o, &found, isLocal); err == nil && (isCompared || line.command == "validate") {
		_, err = a.contents(ctx, &found) // projects of one hostname would undo each other's changes
	}
	return found, err
}

// findBase returns the commit to compare with. What the newest commit removed counts everywhere.
func (a *app) findBase(ctx context.Context, ref string) string {
	past := a.history(project.Loaded{}, nil).ReadPast(ctx, ref, false).Blame
	if ref == "" && (past.Base == "" || past.Base == past.Head) {
		return "HEAD^"
	}
	return past.Base
}

// comparePins adds the projects that are pinned and gone, and rejects the pins of one project for several, unless the run is
// local. It always reads the file of pins.
func (a *app) comparePins(o eachOptions, found *fleet.Fleet, isLocal bool) error {
	n := len(found.Projects)
	if !isLocal && n > 1 && a.env.Getenv(config.WorkspacePin)+a.env.Getenv(config.LedgerPin) != "" {
		return fmt.Errorf("%s and %s belong to one project, and %d are selected: unset them, and pin all projects in the file that %s names",
			config.WorkspacePin, config.LedgerPin, n, config.ProjectsPin)
	}
	a.shared.Root = found.Root
	gone, err := a.config().UnmanagedPins(found.Root, found.ManagesProject)
	if !isLocal {
		o.AddRemoved(found, gone)
	}
	return err
}

// newShard says what this process runs.
func (a *app) newShard(ctx context.Context, o eachOptions, found fleet.Fleet, line memberLine) report.Shard {
	part := o.Shard
	shard := report.Shard{
		Format: report.ShardFormat, Shard: max(part.Index, 1), Started: a.env.Now().UTC(), Projects: []string{}, Facts: found.Facts,
		Run: report.Run{
			Command: line.command, Flags: line.flags, Selection: o.Describe(found.Since), Tool: toolName(), Shards: max(part.Of, 1),
		},
	}
	if found.Root != "" {
		shard.Commit = found.Commit(ctx)
	}
	for _, p := range found.Projects {
		shard.Projects = append(shard.Projects, p.Path)
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

// listedProject is a project in JSON (schemas/projects.schema.json).
type listedProject struct {
	Path      string          `json:"path"`
	Workspace *kind.Workspace `json:"workspace,omitempty"`
	Objects   *int            `json:"objects,omitempty"`
	Ledger    string          `json:"ledger,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// checkList rejects what has no meaning with --list.
func (o eachOptions) checkList(cmd *cobra.Command, words []string) error {
	wrong := []error{
		refuse(len(words) > 0, "--list runs nothing: remove it, or what is after --"),
		refuse(o.matrix && o.Shard.Of > 0, "--matrix lists all shards: remove --shard"),
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		isUseful := slices.Contains([]string{"list", "matrix", "changed-since", "shard", "select", "exclude"}, f.Name)
		wrong = append(wrong, refuse(f.Changed && !isUseful, "--%s does nothing with --list: remove it", f.Name))
	})
	return errors.Join(wrong...)
}

// listProjects lists projects with what their manifests have. A project that can't be read fails alone.
func (a *app) listProjects(ctx context.Context, o eachOptions) (doc report.Document, err error) {
	dir, err := a.folder()
	if err != nil {
		return doc, err
	}
	found, err := o.SelectIn(ctx, dir, "")
	if err == nil {
		err = a.comparePins(o, &found, true)
	}
	if err != nil {
		return doc, err
	}
	for _, gone := range found.Removed {
		a.log(slog.LevelWarn, gone+" was a project before, and its objects are still live: delete them on the platform, or restore its trueup.yaml")
	}
	if o.matrix {
		return matrix(len(found.Projects)), nil
	}
	contents, err := a.contents(ctx, &found)
	if err != nil {
		return doc, err
	}
	list, rows := []listedProject{}, [][]string{{"PROJECT", "WORKSPACE", "OBJECTS", "LEDGER"}}
	for i, p := range found.Projects {
		row := listedProject{Path: p.Path, Ledger: p.Settings.Ledger.Store}
		if p.Err == nil {
			row.Workspace = &p.Settings.Workspace
		}
		objects := "?"
		if err := cmp.Or(contents[i].Err, p.Err); err != nil {
			row.Error, doc.ExitCode = err.Error(), exit.Invalid
			a.log(slog.LevelError, row.Error)
		} else {
			row.Objects, objects = &contents[i].Objects, strconv.Itoa(contents[i].Objects)
		}
		for _, f := range p.Warnings {
			a.log(slog.LevelWarn, fmt.Sprintf("%s:%d:%d: %s [%s]", path.Join(p.Path, f.Path), f.Line, f.Column, f.Message, f.Rule))
		}
		list = append(list, row)
		rows = append(rows, []string{p.Path, cmp.Or(p.Settings.Workspace.Name, "?"), objects, cmp.Or(row.Ledger, "none")})
	}
	doc.Data = map[string]any{"format": "trueup.projects/v1", "projects": list, "facts": found.Facts}
	doc.Text = func(out report.Lines, _ report.Options) {
		if len(list) == 0 {
			out.Printf("No project is selected.\n")
			return
		}
		out.Table("", rows)
	}
	return doc, nil
}

// A shard has at most perShard projects, up to maxShards shards: to start a job takes longer than to plan
// some projects.
const (
	perShard  = 50
	maxShards = 20
)

// matrix returns the shards for so many projects, as one line. There is at least one, because CI services reject an
// empty matrix. A project that can't be read fails in its shard.
func matrix(projects int) report.Document {
	shards := make([]string, min(max(1, (projects+perShard-1)/perShard), maxShards))
	for i := range shards {
		shards[i] = fleet.Shard{Index: i + 1, Of: len(shards)}.String()
	}
	line, err := json.Marshal(shards)
	if err != nil {
		panic(err) // it is text
	}
	return report.Document{Data: shards, Text: func(out report.Lines, _ report.Options) { out.JSONLine("", line) }}
}

// contents reads the manifests of all projects. Projects with the same hostname get an error.
func (a *app) contents(ctx context.Context, found *fleet.Fleet) ([]fleet.Contents, error) {
	reading := a.begin("reading manifests")
	defer reading.end()
	return found.ReadContents(ctx, a.settings.parallelism)
}

// folder returns the folder in which to search for projects.
func (a *app) folder() (string, error) {
	info, err := os.Stat(a.dir())
	switch {
	case err != nil:
		return "", fmt.Errorf("-C %s: %w", a.global.dir, files.WithoutPath(err))
	case !info.IsDir():
		return "", fmt.Errorf("-C %s is not a folder: name the folder that has the projects", a.global.dir)
	}
	return filepath.EvalSymlinks(a.dir()) // a search follows no link
}

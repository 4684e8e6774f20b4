package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/fleet"
	"trueup/internal/report"
)

// eachOptions are the flags of trueup each.
type eachOptions struct {
	fleet.Rollout
	selected *fleet.Selection
	results  string
	rps      float64
}

func newEach(a *app) *cobra.Command {
	o := eachOptions{}
	var cmd *cobra.Command
	cmd = a.command("each COMMAND...", func(ctx context.Context, words []string) (report.Document, error) {
		if before := cmd.ArgsLenAtDash(); before > 0 {
			return report.Document{}, fmt.Errorf("%q stands before --: only flags do; -C names another folder", words[0])
		}
		line, err := a.memberLine(cmd, words)
		if errors.Is(err, pflag.ErrHelp) {
			helped, _, _ := a.root.Find(words[:1])
			return report.Document{}, helped.Help()
		}
		if err = errors.Join(o.check(cmd.Flags().Changed), err); err != nil {
			return report.Document{}, err
		}
		if len(o.Waves) > 0 && !cmd.Flags().Changed("max-failures") {
			o.MaxFailures = 0
		}
		return a.each(ctx, o, line)
	})
	cmd.Use = "each [flags] -- COMMAND [ARG...]"
	cmd.Args = cobra.ArbitraryArgs
	// Not ValidArgs: every start of trueup would make these commands.
	cmd.ValidArgsFunction = func(_ *cobra.Command, words []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(words) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names := slices.DeleteFunc(memberNames(), func(name string) bool { return !strings.HasPrefix(name, begun) })
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.DisableFlagsInUseLine = true
	f := cmd.Flags()
	o.selected = registerSelection(f)
	f.StringVar(&o.results, "results", "", "write the result of each project below `DIR`, for merge-results")
	f.Float64Var(&o.rps, "rps", 0, "`N` writes per second of all projects and shards together; the default is 5, and no limit on loopback")
	f.IntVar(&o.Jobs, "jobs", 4, "run in `N` projects at once")
	f.Var(&o.Waves, "waves", "start no more than 1, then 10%, then 100% of the projects, for example: `1,10%,100%`")
	f.DurationVar(&o.Pause, "pause", 0, "time between two waves")
	f.IntVar(&o.MaxFailures, "max-failures", -1, "start nothing further after more than `N` failed projects; the default is no bound, and 0 with --waves")
	return cmd
}

// each runs the command line in every selected project.
func (a *app) each(ctx context.Context, o eachOptions, line []string) (doc report.Document, err error) {
	found, err := a.fleetFor(ctx, o, line[0])
	if err != nil {
		return doc, err
	}
	shard := report.ShardFile{
		Format: report.ShardFormat, Shard: max(o.selected.Shard.Index, 1), Shards: max(o.selected.Shard.Of, 1),
		Command: line[0], Commit: fleet.Commit(ctx, found.Root), Tool: toolName(), Started: a.env.Now().UTC(), Projects: []string{},
	}
	for _, p := range found.Projects {
		shard.Projects = append(shard.Projects, p.Path)
	}
	if err := checkResults(o.results, found, shard); err != nil {
		return doc, err
	}
	out, err := a.openResults(o.results, shard)
	if err != nil {
		return doc, err
	}
	defer out.close()
	results := make([]report.ProjectResult, len(found.Projects))
	budget := api.NewBudget(o.rps, shard.Shards, a.global.parallelism)
	working := a.begin(line[0])
	working.reached(0, len(results))
	defer working.end()
	o.Sleep = a.env.Sleep
	var ended atomic.Int64
	written := func(p fleet.Project, doc report.Document) report.Document {
		if err := out.write(p, doc, false); err != nil {
			a.log(slog.LevelError, p.Path+": "+err.Error())
			doc.ExitCode, doc.Errors = exit.Worst(doc.ExitCode, exit.Error), append(doc.Errors, err.Error())
		}
		return doc
	}
	started := o.Run(ctx, len(results), func(i int) (failed bool) {
		p := found.Projects[i]
		sends := func(doc report.Document) error { return out.write(p, doc, true) }
		doc := written(p, a.runMember(ctx, &member{of: a, path: p.Path, budget: budget, sends: sends}, p, line))
		results[i] = report.ProjectResultOf(p.Path, doc)
		working.reached(int(ended.Add(1)), len(results))
		return results[i].Failed()
	})
	why, code := whyNotStarted(ctx, o.MaxFailures), exit.OrInterrupted(ctx, exit.Partial)
	if rest := len(results) - started; rest > 0 {
		a.log(slog.LevelError, diag.Plural(rest, "project was", "projects were")+" not started: "+why)
	}
	for i, p := range found.Projects[started:] {
		results[started+i] = report.ProjectNotStarted(p.Path)
		written(p, report.Document{
			Command: line[0], Result: report.NotStarted, ExitCode: code,
			Errors: []string{"trueup each did not start this project: " + why},
		})
	}
	doc = report.Each(shard, results)
	doc.ExitCode = exit.OrInterrupted(ctx, doc.ExitCode)
	if err := out.end(); err != nil {
		return doc, exit.With(exit.Worst(doc.ExitCode, exit.Error), fmt.Errorf("--results: %w", err))
	}
	return doc, nil
}

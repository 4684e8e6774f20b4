package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/generate"
	"trueup/internal/manifest"
	"trueup/internal/purge"
	"trueup/internal/report"
)

func newNew(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "new"}
	cmd.AddCommand(newNewPurge(a), newNewSnapshot(a))
	return cmd
}

func newNewPurge(a *app) *cobra.Command {
	var opts generate.PurgeOptions
	cmd := a.command("purge [ADDRESS...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		env, err := a.beginCompose(ctx, opts)
		if err != nil {
			return doc, err
		}
		result, err := generate.WritePurges(ctx, env, opts, a.running, args, func() io.Reader { return a.stdin("paths") })
		if err != nil {
			return doc, err
		}
		if len(result.Manifests) == 0 && a.global.output == "text" {
			a.log(slog.LevelInfo, "nothing to purge, and nothing was written")
		}
		if opts.Dir == generate.ToStdout {
			return sourceText(result.Text), nil
		}
		return report.Document{Data: result, Messages: result.ManifestLines()}, nil
	})
	f := cmd.Flags()
	f.StringArrayVar(&opts.Hostnames, "hostname", nil, "the `HOST` of paths without one (default the only CDN in git); repeatable")
	f.StringArrayVar(&opts.Subdomains, "subdomain", nil, "also purge paths without a host on the subdomain `PART`; repeatable")
	f.StringVar(&opts.FromGit, "from-git", "", "purge the files that differ in `RANGE`: BASE..HEAD, or BASE...HEAD for what HEAD changed since it branched from BASE")
	f.StringArrayVar(&opts.Maps, "map", nil, "where --from-git finds files and the path that serves them, as `'FROM -> TO'`; FROM starts at the top of the repository; repeatable")
	f.BoolVar(&opts.NoIndex, "no-index", false, "do not purge a folder's own path together with its "+purge.Index)
	f.StringArrayVar(&opts.Lists, "from-list", nil, "purge the addresses of a list in `FILE`: one a line or a JSON list, also requests to the older service; repeatable")
	f.StringVar(&opts.Query, "query", "", "with --from-list, what to do with a query, as `POLICY`: drop, prefix (purge everything that starts with its path) or keep")
	oneOfFlag(f, "query", purge.QueryDropped, purge.QueryPrefix, purge.QueryKept)
	f.IntVar(&opts.Collapse, "collapse", 0, "if a folder has `N` or more paths, purge the whole folder instead; never /*")
	f.Lookup("collapse").NoOptDefVal = fmt.Sprint(purge.Pays)
	f.StringVar(&opts.Name, "name", "", "start the name with `BASE`, such as a release (default the commit and number of the CI run, or the time)")
	f.StringVar(&opts.Dir, "dir", "", "write to `DIR`, or - for standard output (default the folder with most purges, or purges/)")
	f.BoolVar(&opts.SkipUnplaced, "skip-unplaced", false, "skip what can't be purged as named")
	completeHosts := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		hosts := generate.HostingObjects(a.known(cmd.Context(), nil))
		return offers(hosts, func(o *manifest.Object) (string, string) { return o.Host, o.Key().String() }), noFiles
	}
	_ = cmd.RegisterFlagCompletionFunc("hostname", completeHosts) // it is there
	return cmd
}

// beginCompose checks the options, and reads the manifests beside which a command writes a new one.
func (a *app) beginCompose(ctx context.Context, opts generate.PurgeOptions) (env generate.PurgeEnv, err error) {
	if opts.Dir == generate.ToStdout && a.global.output != "text" {
		return env, errors.New("--dir - writes manifests to standard output, where -o would write the result: remove one of them")
	}
	if err := opts.CheckValues(); err != nil {
		return env, err
	}
	l, err := a.loadValid(ctx, nil, "nothing was written")
	if err != nil {
		return env, err
	}
	if a.global.sandbox {
		a.log(slog.LevelInfo, report.Banner)
	}
	return a.composeEnv(l), nil
}

func (a *app) composeEnv(l config.LoadedProject) generate.PurgeEnv {
	return generate.PurgeEnv{
		Options: a.config(), LoadedProject: l, Searched: a.searched(),
		Load: func(ctx context.Context, more ...manifest.PathSource) (config.LoadedProject, error) {
			return a.load(ctx, nil, more...)
		},
	}
}

func newStatusPurge(a *app) *cobra.Command {
	var all bool
	var only []string
	cmd := a.command("purge [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		l, err := a.loadValid(ctx, paths, "nothing is listed")
		if err != nil {
			return doc, err
		}
		list := generate.ListPurges(ctx, a.composeEnv(l), paths, only, all)
		return report.Document{Data: list, Text: func(out report.LineWriter, opts report.FormatOptions) { writePurges(out, list, opts) }}, nil
	})
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "also list old purges that are only in the ledger")
	f.StringArrayVar(&only, "only", nil, "list only purges of `STATUS`; repeatable")
	oneOfFlag(f, "only", generate.AllStatuses()...)
	return cmd
}

// writePurges writes a list as tables, and below them what a person must do.
func writePurges(out report.LineWriter, l generate.PurgeListing, opts report.FormatOptions) {
	if l.Sandbox {
		out.Printf("%s\n\n", report.Banner)
	}
	var rows [][]string
	for _, p := range l.Purges {
		rows = append(rows, []string{p.ShownStatus(), p.Name, p.String(), p.DescribeTime(), l.DescribePlace(p)})
	}
	if rows == nil && l.Problem != "" {
		rows = [][]string{{"no such purges in git"}}
	} else if rows == nil {
		rows = [][]string{{"no purges"}}
	}
	out.Marked(rows, report.FormatOptions{Width: opts.Width})
	for _, p := range l.Purges {
		if p.Fix != "" {
			out.Printf("\n%s\n  fix: %s\n", p.Says, p.Fix)
		}
	}
	switch {
	case l.Problem != "":
		out.Printf("\nledger: %s\n  fix: %s\n", l.Problem, l.Fix)
	case len(l.Hosts) > 0:
		out.Printf("\n")
		out.Table("", usageRows(l.Hosts))
		for _, h := range l.Hosts {
			if text := generate.OverLimits(h.HostUsage); text != "" {
				out.Printf("  %s\n", text)
			}
		}
	}
}

// usageRows shows what the purges of each hostname use of its limits.
func usageRows(hosts []generate.HostUsage) [][]string {
	rows := [][]string{{"limits, with active purges", "requests", "paths", "prefixes"}}
	of := func(n, most int) string { return fmt.Sprintf("%d of %d", n, most) }
	for _, h := range hosts {
		rows = append(rows, []string{
			"  " + h.Hostname, of(h.Active.Requests, h.Limits.Requests), of(h.Active.Paths, h.Limits.Paths), of(h.Active.Prefixes, h.Limits.Prefixes),
		})
		if h.WithDue != h.Active {
			rows = append(rows, []string{
				"    with due purges", strconv.Itoa(h.WithDue.Requests), strconv.Itoa(h.WithDue.Paths), strconv.Itoa(h.WithDue.Prefixes),
			})
		}
	}
	return rows
}

func newNewSnapshot(a *app) *cobra.Command {
	var opts generate.PurgeOptions
	cmd := a.command("snapshot DISK", func(ctx context.Context, args []string) (doc report.Document, err error) {
		env, err := a.beginCompose(ctx, opts)
		if err != nil {
			return doc, err
		}
		s, err := generate.WriteSnapshot(ctx, env, opts, a.running, args[0])
		switch {
		case err != nil:
			return doc, err
		case opts.Dir == generate.ToStdout:
			return sourceText(s.Text), nil
		}
		return report.Document{Data: s, Messages: []string{fmt.Sprintf("%s %s: %s of the disk %s", s.Status, s.File, s.Key, s.Disk)}}, nil
	})
	cmd.Flags().StringVar(&opts.Name, "name", "", "the `NAME` of the snapshot (default the disk and the date)")
	cmd.Flags().StringVar(&opts.Dir, "dir", "", "write to `DIR`, or - for standard output (default the folder with most snapshots, or snapshots/)")
	return cmd
}

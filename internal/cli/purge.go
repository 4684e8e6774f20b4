package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

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

// listOptions say what to make of lists of addresses.
type listOptions struct {
	files, cdns []string
	query       string
}

func newNewPurge(a *app) *cobra.Command {
	var opts generate.PurgeOptions
	var lists listOptions
	cmd := a.command("purge [ADDRESS...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		if err := lists.check(opts, args); err != nil {
			return doc, err
		}
		if len(lists.files) > 0 {
			return a.composeLists(ctx, opts, lists)
		}
		env, err := a.beginCompose(ctx, opts)
		if err != nil {
			return doc, err
		}
		src, err := generate.GatherPurgeSource(ctx, env, opts, args, func() io.Reader { return a.stdin("paths") })
		if err != nil {
			return doc, err
		}
		return a.compose(ctx, env, opts, src)
	})
	f := cmd.Flags()
	f.StringArrayVar(&opts.Hostnames, "hostname", nil, "the `HOST` of paths without one (default the only CDN in git); repeatable")
	f.StringArrayVar(&opts.Subdomains, "subdomain", nil, "also purge paths without a host on the subdomain `PART`; repeatable")
	f.StringVar(&opts.FromGit, "from-git", "", "purge the files that differ in `RANGE`: BASE..HEAD, or BASE...HEAD for what HEAD changed since it branched from BASE")
	f.StringArrayVar(&opts.Maps, "map", nil, "where --from-git finds files and the path that serves them, as `'FROM -> TO'`; FROM starts at the top of the repository; repeatable")
	f.BoolVar(&opts.NoIndex, "no-index", false, "do not purge a folder's own path together with its "+purge.Index)
	f.StringArrayVar(&lists.files, "from-list", nil, "purge the addresses of a list in `FILE`: one a line, JSON, or requests to the older service; repeatable")
	f.StringArrayVar(&lists.cdns, "cdn", nil, "with --from-list, the `HOSTNAME` of a CDN that no manifest has; repeatable")
	f.StringVar(&lists.query, "query", "", "with --from-list, what to do with a query, as `POLICY`: drop, prefix (purge everything that starts with its path) or keep")
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

// check refuses what lists can't be combined with.
func (o listOptions) check(opts generate.PurgeOptions, args []string) error {
	others := len(args)+len(opts.Subdomains)+len(opts.Maps) > 0 || opts.FromGit != "" || opts.NoIndex || opts.SkipUnplaced
	return cmp.Or(
		refuse(len(o.files) == 0 && (len(o.cdns) > 0 || o.query != ""), "--cdn and --query need a list of addresses: add --from-list"),
		refuse(len(o.files) > 0 && others, "--from-list reads lists alone: of the other flags, only --hostname, --collapse, --name and --dir apply"),
		refuse(len(o.files) > 0 && len(opts.Hostnames) > 1, "--hostname is the one host of the paths in a list: name one"),
	)
}

// composeLists writes manifests of purges from lists of addresses.
func (a *app) composeLists(ctx context.Context, opts generate.PurgeOptions, lists listOptions) (doc report.Document, err error) {
	if err := a.checkCompose(opts); err != nil {
		return doc, err
	}
	l, err := a.load(ctx, nil)
	if err != nil {
		return doc, err
	}
	texts, findings, err := a.texts(ctx, l.Project, lists.files)
	for _, f := range findings {
		a.log(levelOf(f), f.String())
	}
	if err = errors.Join(err, findings.Refuse("nothing was written")); err != nil {
		return doc, err
	}
	env := a.composeEnv(ctx, l)
	src, err := generate.ConvertLists(env, lists.cdns, purge.LegacyList{Host: strings.Join(opts.Hostnames, ""), Query: lists.query}, texts)
	if err != nil {
		return doc, err
	}
	if doc, err = a.compose(ctx, env, opts, src); err != nil {
		return doc, err
	}
	return doc, src.CheckPlaces(env)
}

// beginCompose checks the options, and reads the manifests beside which a command writes a new one.
func (a *app) beginCompose(ctx context.Context, opts generate.PurgeOptions) (env generate.PurgeEnv, err error) {
	if err := a.checkCompose(opts); err != nil {
		return env, err
	}
	l, err := a.loadValid(ctx, nil, "nothing was written")
	if err != nil {
		return env, err
	}
	if a.global.sandbox {
		a.log(slog.LevelInfo, report.Banner)
	}
	return a.composeEnv(ctx, l), nil
}

func (a *app) checkCompose(opts generate.PurgeOptions) error {
	if opts.Dir == generate.ToStdout && a.global.output != "text" {
		return errors.New("--dir - writes manifests to standard output, where -o would write the result: remove one of them")
	}
	return opts.CheckValues()
}

func (a *app) composeEnv(ctx context.Context, l config.LoadedProject) generate.PurgeEnv {
	return generate.PurgeEnv{
		Options: a.config(), LoadedProject: l, Searched: a.searched(),
		Load: func(ctx context.Context, more ...manifest.PathSource) (config.LoadedProject, error) {
			return a.load(ctx, nil, more...)
		},
	}
}

// compose writes manifests of purges.
func (a *app) compose(ctx context.Context, env generate.PurgeEnv, opts generate.PurgeOptions, src generate.PurgeSource) (doc report.Document, err error) {
	result, err := generate.WritePurges(ctx, env, opts, a.running, src)
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
}

func newStatusPurge(a *app) *cobra.Command {
	var all bool
	var only []string
	cmd := a.command("purge [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		l, err := a.loadValid(ctx, paths, "nothing is listed")
		if err != nil {
			return doc, err
		}
		list := generate.ListPurges(ctx, a.composeEnv(ctx, l), paths, only, all)
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

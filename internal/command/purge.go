package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/generate"
	"trueup/internal/manifest"
	"trueup/internal/purge"
	"trueup/internal/report"
)

func newNew(run *Run) *cobra.Command {
	cmd := &cobra.Command{Use: "new"}
	cmd.AddCommand(newNewPurge(run), newNewSnapshot(run))
	return cmd
}

// listOptions say what to make of lists of addresses.
type listOptions struct {
	files, cdns []string
	query       string
}

func newNewPurge(run *Run) *cobra.Command {
	var opts generate.PurgeOptions
	var lists listOptions
	cmd := newCommand(run, "purge [ADDRESS...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		if err := lists.check(opts, args); err != nil {
			return doc, err
		}
		if len(lists.files) > 0 {
			return composeLists(ctx, run, opts, lists)
		}
		env, err := beginCompose(ctx, run, opts)
		if err != nil {
			return doc, err
		}
		src, err := generate.GatherPurgeSource(ctx, env, opts, args, func() io.Reader { return run.stdin("paths") })
		if err != nil {
			return doc, err
		}
		return compose(ctx, run, env, opts, src)
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
		hosts := generate.HostingObjects(run.Known(cmd.Context(), nil))
		return Offers(hosts, func(o *manifest.Object) (string, string) { return o.Host, o.Key().String() }), NoFiles
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
func composeLists(ctx context.Context, run *Run, opts generate.PurgeOptions, lists listOptions) (doc report.Document, err error) {
	if err := checkCompose(run, opts); err != nil {
		return doc, err
	}
	l, err := run.Load(ctx, nil)
	if err != nil {
		return doc, err
	}
	texts, findings, err := run.texts(ctx, l.Project, lists.files)
	for _, f := range findings {
		run.Log(levelOf(f), f.String())
	}
	if err = errors.Join(err, findings.Refuse("nothing was written")); err != nil {
		return doc, err
	}
	env := composeEnv(run, l)
	src, err := generate.ConvertLists(env, lists.cdns, purge.LegacyList{Host: strings.Join(opts.Hostnames, ""), Query: lists.query}, texts)
	if err != nil {
		return doc, err
	}
	if doc, err = compose(ctx, run, env, opts, src); err != nil {
		return doc, err
	}
	return doc, src.CheckPlaces(env)
}

// beginCompose checks the options, and reads the manifests beside which a command writes a new one.
func beginCompose(ctx context.Context, run *Run, opts generate.PurgeOptions) (env generate.PurgeEnv, err error) {
	if err := checkCompose(run, opts); err != nil {
		return env, err
	}
	l, err := run.loadValid(ctx, nil, "nothing was written")
	if err != nil {
		return env, err
	}
	if run.Sandbox {
		run.Log(slog.LevelInfo, report.Banner)
	}
	return composeEnv(run, l), nil
}

func checkCompose(run *Run, opts generate.PurgeOptions) error {
	if opts.Dir == generate.ToStdout && run.Format != "text" {
		return errors.New("--dir - writes manifests to standard output, where -o would write the result: remove one of them")
	}
	return opts.CheckValues()
}

func composeEnv(run *Run, l config.LoadedProject) generate.PurgeEnv {
	return generate.PurgeEnv{
		Options: run.Options, LoadedProject: l, Searched: run.searched(),
		Load: func(ctx context.Context, more ...manifest.PathSource) (config.LoadedProject, error) {
			return run.Load(ctx, nil, more...)
		},
	}
}

// compose writes manifests of purges.
func compose(ctx context.Context, run *Run, env generate.PurgeEnv, opts generate.PurgeOptions, src generate.PurgeSource) (doc report.Document, err error) {
	result, err := generate.WritePurges(ctx, env, opts, run.Name, src)
	if err != nil {
		return doc, err
	}
	if len(result.Manifests) == 0 && run.Format == "text" {
		run.Log(slog.LevelInfo, "nothing to purge, and nothing was written")
	}
	if opts.Dir == generate.ToStdout {
		return sourceText(result.Text), nil
	}
	return report.Document{Data: result, Messages: result.ManifestLines()}, nil
}

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/generate"
	"trueup/internal/purge"
	"trueup/internal/report"
)

func newNew(run *Run) *cobra.Command {
	cmd := &cobra.Command{Use: "new"}
	cmd.AddCommand(newNewPurge(run), newNewSnapshot(run))
	return cmd
}

func newNewPurge(run *Run) *cobra.Command {
	var opts generate.PurgeOptions
	cmd := newCommand(run, "purge [ADDRESS...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		env, err := preparePurgeEnv(ctx, run, opts)
		if err != nil {
			return doc, err
		}
		result, err := generate.WritePurges(ctx, env, opts, run.Name, args)
		if err != nil {
			return doc, err
		}
		if len(result.Manifests) == 0 && run.Format == "text" {
			run.Inform("nothing to purge, and nothing was written")
		}
		if opts.Dir == generate.ToStdout {
			return fileDocument(result.Text), nil
		}
		return report.Document{Data: result, Messages: result.ManifestLines()}, nil
	})
	f := cmd.Flags()
	f.StringArrayVar(&opts.Hostnames, "hostname", nil, "the `HOST` of paths without one (default the only CDN in git); repeatable")
	f.StringVar(&opts.FromGit, "from-git", "", "purge the files that differ in `RANGE`: BASE..HEAD, or BASE...HEAD for what HEAD changed since it branched from BASE")
	f.StringArrayVar(&opts.Maps, "map", nil, "where --from-git finds files and the path that serves them, as `'FROM -> TO'`; FROM starts at the top of the repository; repeatable")
	f.StringVar(&opts.Pages, "pages", purge.IndexPages, "how the site serves `PAGES` of --from-git: index (/a/index.html also as /a/ and /a), clean (/b.html also as /b) or files")
	restrictFlag(f, "pages", purge.IndexPages, purge.CleanPages, purge.FilePages)
	f.StringVar(&opts.Name, "name", "", "start the name with `BASE`, such as a release (default the commit and number of the CI run, or the time)")
	f.StringVar(&opts.Dir, "dir", "", "write to `DIR`, or - for standard output (default the folder with most purges, or purges/)")
	f.BoolVar(&opts.SkipUnplaced, "skip-unplaced", false, "skip what can't be purged as named")
	return cmd
}

// preparePurgeEnv checks the options, and reads the manifests beside which a command writes a new one.
func preparePurgeEnv(ctx context.Context, run *Run, opts generate.PurgeOptions) (env generate.PurgeEnv, err error) {
	if opts.Dir == generate.ToStdout && run.Format != "text" {
		return env, errors.New("--dir - writes manifests to standard output, where -o would write the result: remove one of them")
	}
	if err := opts.CheckValues(); err != nil {
		return env, err
	}
	l, err := run.LoadValid(ctx, nil, "nothing was written")
	if err != nil {
		return env, err
	}
	if run.Sandbox {
		run.Inform("%s", report.Banner)
	}
	return generate.PurgeEnv{Options: run.Options, LoadedProject: l}, nil
}

func newNewSnapshot(run *Run) *cobra.Command {
	var opts generate.PurgeOptions
	cmd := newCommand(run, "snapshot DISK", func(ctx context.Context, args []string) (doc report.Document, err error) {
		env, err := preparePurgeEnv(ctx, run, opts)
		if err != nil {
			return doc, err
		}
		s, err := generate.WriteSnapshot(ctx, env, opts, run.Name, args[0])
		switch {
		case err != nil:
			return doc, err
		case opts.Dir == generate.ToStdout:
			return fileDocument(s.Text), nil
		}
		return report.Document{Data: s, Messages: []string{fmt.Sprintf("%s %s: %s of the disk %s", s.Status, s.File, s.Key, s.Disk)}}, nil
	})
	cmd.Flags().StringVar(&opts.Name, "name", "", "the `NAME` of the snapshot (default the disk and the date)")
	cmd.Flags().StringVar(&opts.Dir, "dir", "", "write to `DIR`, or - for standard output (default the folder with most snapshots, or snapshots/)")
	return cmd
}

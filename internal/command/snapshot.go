package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/generate"
	"trueup/internal/report"
)

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

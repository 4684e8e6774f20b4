package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/compose"
	"trueup/internal/report"
)

func newNewSnapshot(a *app) *cobra.Command {
	var opts compose.Options
	cmd := a.command("snapshot DISK", func(ctx context.Context, args []string) (doc report.Document, err error) {
		env, err := a.beginCompose(ctx, opts)
		if err != nil {
			return doc, err
		}
		s, err := compose.WriteSnapshot(ctx, env, opts, a.running, args[0])
		switch {
		case err != nil:
			return doc, err
		case opts.Dir == compose.ToStdout:
			return sourceText(s.Text), nil
		}
		return report.Document{Data: s, Messages: []string{fmt.Sprintf("%s %s: %s of the disk %s", s.Status, s.File, s.Key, s.Disk)}}, nil
	})
	cmd.Flags().StringVar(&opts.Name, "name", "", "the `NAME` of the snapshot (default the disk and the date)")
	cmd.Flags().StringVar(&opts.Dir, "dir", "", "write to `DIR`, or - for standard output (default the folder with most snapshots, or snapshots/)")
	return cmd
}

package command

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newValidate(run *Run) *cobra.Command {
	return newCommand(run, "validate [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (report.Document, error) {
		l, err := run.Load(ctx, paths)
		if err != nil {
			return report.Document{}, err
		}
		reconcile.WarnOfNothing(l, run.Log)
		if run.Verbose {
			l.AddAdvice()
		}
		return document(l, nil), nil
	})
}

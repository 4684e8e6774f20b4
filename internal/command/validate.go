package command

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/report"
)

func newValidate(run *Run) *cobra.Command {
	return newCommand(run, "validate [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (report.Document, error) {
		l, err := run.LoadProject(ctx, paths)
		if err != nil {
			return report.Document{}, err
		}
		run.WarnIfNoManifests(l)
		if run.Verbose {
			l.AddAdvice()
		}
		return newPlanDocument(l, nil), nil
	})
}

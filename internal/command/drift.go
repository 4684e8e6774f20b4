package command

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newDrift(run *Run) *cobra.Command {
	opts := reconcile.Options{Options: plan.Options{ForDrift: true}, ReadOnly: true, PastErrors: true}
	cmd := newCommand(run, "drift [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (report.Document, error) {
		doc, err := run.withPlan(ctx, opts, paths, func(*reconcile.Session, *report.Document) error { return nil })
		if err != nil || doc.Plan == nil {
			return doc, err
		}
		if doc.Plan = plan.NarrowToDrift(doc.Plan); doc.ExitCode == diag.ExitOK && doc.Plan.HasDifferences() {
			doc.ExitCode = diag.ExitChanges
		}
		return doc, nil
	})
	cmd.Flags().StringArrayVar(&opts.Patterns, "target", nil, "look only at `KIND/NAME`, wildcards allowed; repeatable")
	return cmd
}

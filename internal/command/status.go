package command

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newStatus(run *Run) *cobra.Command {
	opts := reconcile.Options{ReadOnly: true, PastErrors: true}
	return newCommand(run, "status [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		opts.All, opts.EachArea = len(paths) == 0, true
		doc, err = run.withPlan(ctx, opts, paths, func(s *reconcile.Session, doc *report.Document) error {
			*doc = report.StatusDocument(*doc, s.States(doc.Plan), s.Unread)
			return s.Unread.Err()
		})
		doc.Plan = nil // findings say what is wrong
		return doc, err
	})
}

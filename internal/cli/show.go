package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "show FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runShow(a, args[0])
		},
	}
	a.global.registerDiff(cmd)
	return cmd
}

func runShow(a *app, name string) error {
	doc := report.Document{Command: "show"}
	if err := a.checkFormats(); err != nil {
		return err
	}
	p, err := reconcile.ReadPlan(a.full(name))
	if err != nil {
		return a.fail(doc, exit.With(exit.Error, fmt.Errorf("%s: %w", name, err)))
	}
	note := fmt.Sprintf("this plan was created at %s by %s; nothing was read now", p.CreatedAt.UTC().Format(time.RFC3339), p.Tool)
	p.Notes = append([]string{note}, p.Notes...)
	doc.Plan, doc.Sandbox, doc.Objects = p, p.Sandbox, len(p.Items)
	return a.emit(doc)
}

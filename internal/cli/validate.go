package cli

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/reconcile"
	"trueup/internal/report"
)

type validateOptions struct{ strict bool }

func newValidate(a *app) *cobra.Command {
	var opts validateOptions
	cmd := &cobra.Command{
		Use: "validate [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runValidate(cmd.Context(), a, opts, args)
		},
	}
	cmd.Flags().BoolVar(&opts.strict, "strict", false, "treat warnings as errors")
	return cmd
}

func runValidate(ctx context.Context, a *app, opts validateOptions, paths []string) error {
	if err := a.checkFormats(); err != nil {
		return err
	}
	l, err := a.load(ctx, paths, opts.strict)
	if err != nil {
		return a.fail(report.Document{Command: "validate"}, err)
	}
	reconcile.WarnOfNothing(l, a.log)
	return a.emit(document("validate", l, nil))
}

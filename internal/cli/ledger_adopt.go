package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
	"trueup/internal/plan"
)

func newLedgerAdopt(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:  "adopt KIND/NAME [PATH...]",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAdopt(cmd.Context(), a, reason, args[0], args[1:])
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, which the record keeps")
	return cmd
}

func runAdopt(ctx context.Context, a *app, reason, arg string, paths []string) error {
	key, err := keyArg(arg)
	if err != nil {
		return err
	}
	loaded, err := a.load(ctx, paths, false)
	if err != nil {
		return err
	}
	if err := loaded.findings.Refuse("the manifests are invalid, and nothing was recorded"); err != nil {
		return err
	}
	o := loaded.set.Find(key)
	if o == nil {
		return fmt.Errorf("there is no manifest of %s: only objects in git can be adopted", key)
	}
	w, err := a.enter(ctx, loaded.project, loaded.set)
	if err != nil {
		return err
	}
	defer w.close()
	l, err := w.book(ctx)
	if err != nil {
		return err
	}
	planner := plan.NewPlanner(plan.Inputs{Set: loaded.set, Options: plan.Options{Overrides: loaded.project.Overrides}})
	spec := planner.Managed(o)
	err = l.Adopt(ctx, key, ledger.Adoption{
		Spec: spec, Digest: plan.SpecDigest(o.Kind, spec), Reason: reason, By: a.claim().Actor,
	})
	if err != nil {
		return ledgerError(err)
	}
	return a.out.Printf("%s: adopted as in %s\n", key, o.Path)
}

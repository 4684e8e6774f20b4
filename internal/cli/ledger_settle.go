package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/apply"
	"trueup/internal/plan"
	"trueup/internal/report"
)

func newLedgerSettle(a *app) *cobra.Command {
	var opts applyOptions
	cmd := &cobra.Command{
		Use: "settle [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLedgerSettle(cmd.Context(), a, opts, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&opts.targets, "target", nil, "finish only `KIND/NAME`, wildcards allowed; repeatable")
	f.BoolVar(&opts.allowEmptyLive, "allow-empty-live", false, "continue even if nothing that the ledger knows is live")
	f.Float64Var(&opts.writesPerSecond, "rps", 5, "`N` writes per second; loopback has no limit")
	return cmd
}

func runLedgerSettle(ctx context.Context, a *app, opts applyOptions, paths []string) error {
	doc := report.Document{Command: "settle"}
	s, err := a.prepare(ctx, opts.planOptions, paths)
	if err != nil {
		return a.fail(doc, err)
	}
	defer s.close()
	s.describe(&doc)
	if doc.ExitCode != exitOK {
		return a.emit(doc)
	}
	if view := s.inputs.Ledger; view.Problem != "" {
		return a.fail(doc, withCode(exitNeedsPerson, fmt.Errorf("%s: %s", view.Problem, view.Fix)))
	}
	s.plan = s.plan.OpenOnly(s.inputs.Ledger.Records)
	result := s.apply(ctx, opts)
	doc.Plan, doc.Apply, doc.ExitCode = plan.Shown(s.plan), &result, orInterrupted(ctx, exitOfSettle(result))
	return a.emit(doc)
}

// exitOfSettle is the code of an apply that has only begun requests to finish:
// what did not end well is open, or was not kept, and the next run sees it.
func exitOfSettle(res apply.Result) int {
	code := exitOfApply(res)
	if code == exitStale || code == exitNotConverged {
		return exitPartial
	}
	return code
}

package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// liveFlags are those that mean nothing where live is not looked at.
func liveFlags() []string {
	return []string{
		"sandbox", "profile", "out", "drift", "prune", "max-deletes", "max-creates", "take-over", "allow-recreate", "allow-empty-live",
	}
}

// checkOffline refuses flags that --offline could only ignore.
func checkOffline(cmd *cobra.Command) error {
	for _, name := range liveFlags() {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("--offline compares git with git, so --%s would do nothing: remove one of them", name)
		}
	}
	return nil
}

// runOffline shows what git says otherwise than before: no token, no platform and
// no ledger is asked for.
func runOffline(ctx context.Context, a *app, opts planOptions, paths []string) error {
	doc := report.Document{Command: "plan"}
	if err := a.planOffline(ctx, &doc, opts, paths); err != nil {
		return a.fail(doc, err)
	}
	return a.emit(doc)
}

func (a *app) planOffline(ctx context.Context, doc *report.Document, opts planOptions, paths []string) error {
	if err := a.checkFormats(); err != nil {
		return err
	}
	options, err := opts.plan()
	if err != nil {
		return err
	}
	l, err := a.load(ctx, paths, opts.strict)
	if err == nil && a.global.dir != "" && !l.Project.Exists() {
		err = a.noProject()
	}
	if err != nil {
		return err
	}
	a.warnOfNothing(l)
	doc.Findings, doc.Silenced, doc.Objects = l.Findings, l.Set.Silenced, len(l.Set.Objects)
	if l.Findings.HasErrors() {
		doc.ExitCode = exit.Invalid
		return nil
	}
	if err := opts.match(l.Set); err != nil {
		return err
	}
	past := a.history(l, paths).Past(ctx, opts.baseRef, true)
	if past.Set == nil {
		return fmt.Errorf("--offline has nothing to compare with: %s (%s)", past.Blame.Problem, cmp.Or(past.Blame.Fix, "plan compares with live"))
	}
	options.Overrides, options.PartOfTree = l.Project.Overrides, l.Project.Partly(a.dir(), paths)
	doc.Plan = plan.Shown(plan.Offline(plan.Inputs{
		Tool: toolName(), Target: plan.Target{Workspace: l.Project.Workspace}, LedgerStore: a.config().LedgerConfig(l.Project).Store,
		Set: l.Set, Options: options, Project: l.Project.Settings(a.dir()),
	}, past))
	if opts.detailed && doc.Plan.Differs() {
		doc.ExitCode = exit.Changes
	}
	return nil
}

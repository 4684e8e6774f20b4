package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// planOptions are the flags that choose what is planned.
type planOptions struct {
	reconcile.Options
	// more are manifests beside those of git, which a command brings itself.
	more     []manifest.Source
	strict   bool
	detailed bool
	offline  bool
	// out is the file of --out, which only plan has.
	out string
}

func (o *planOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	f.StringArrayVar(&o.Patterns, "target", nil, "plan only `KIND/NAME`, wildcards allowed; repeatable")
	f.StringArrayVar(&o.TakeOver, "take-over", nil, "let git own the lists of `KIND/NAME`, so that apply drops live elements that git lacks; repeatable")
	f.StringArrayVar(&o.AllowRecreate, "allow-recreate", nil, "create `KIND/NAME` again after it was deleted, with other data; repeatable")
	f.BoolVar(&o.AllowEmptyLive, "allow-empty-live", false, "continue even if nothing that the ledger knows is live")
	f.IntVar(&o.MaxCreates, "max-creates", 0, "refuse to create more than `N` objects; 0 allows a few")
	f.BoolVar(&o.Prune, "prune", false, "delete objects that were removed from git, if trueup provably created them (docs/deleting.md)")
	f.IntVar(&o.MaxDeletes, "max-deletes", 1, "delete nothing if there are more than `N` objects to delete")
	f.StringVar(&o.BaseRef, "base-ref", "", "compare with `REF` (docs/causes.md); --prune deletes only what had a manifest there")
	f.StringVar((*string)(&o.Drift), "drift", string(plan.OverwriteDrift), "what to do about drift, as `POLICY`: overwrite restores git's values, fail sends nothing, report leaves drift and sends the rest")
}

// check refuses values that no manifest fits.
func (o *planOptions) check() error {
	if o.Drift == "" {
		return o.Check() // the command has no --drift
	}
	return cmp.Or(oneOf("--drift", string(o.Drift), driftPolicies()), o.Check())
}

func driftPolicies() []string {
	var words []string
	for _, policy := range plan.DriftPolicies() {
		words = append(words, string(policy))
	}
	return words
}

// reconcileEnv returns where the run works.
func (a *app) reconcileEnv(l project.Loaded, paths []string) reconcile.Env {
	return reconcile.Env{
		Options: a.config(), Paths: paths, Open: a.enter, History: a.history(l, paths),
		Report: a.happened, Hurry: a.env.Hurry, Begin: a.beginPhase,
	}
}

// prepare goes from manifests to plan, and begins the document of the command. It has shown its
// error.
func (a *app) prepare(
	ctx context.Context, command string, opts planOptions, paths []string,
) (*reconcile.Session, report.Document, error) {
	doc := report.Document{Command: command}
	l, err := a.loadFor(ctx, opts, paths)
	if err != nil {
		return nil, doc, a.fail(doc, err)
	}
	s, err := reconcile.Prepare(ctx, a.reconcileEnv(l, paths), l, opts.Options)
	if err != nil {
		return nil, doc, a.fail(doc, err)
	}
	return s, document(command, s.Loaded, s.Plan), nil
}

// loadFor checks the options and loads the manifests.
func (a *app) loadFor(ctx context.Context, opts planOptions, paths []string) (project.Loaded, error) {
	if err := cmp.Or(a.checkFormats(), opts.check()); err != nil {
		return project.Loaded{}, err
	}
	return a.load(ctx, paths, opts.strict, opts.more...)
}

// document returns the document of a run. An error among the findings stops the run
// (docs/design.md 0.6).
func document(command string, l project.Loaded, p *plan.Plan) report.Document {
	doc := report.Document{Command: command, Findings: l.Findings, Silenced: l.Set.Silenced, Objects: len(l.Set.Objects)}
	if p != nil {
		doc.Plan = plan.Shown(p)
	}
	if l.Findings.HasErrors() {
		doc.ExitCode = exit.Invalid
	}
	return doc
}

func newPlan(a *app) *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use: "plan [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "out", "drift", "base-ref"); err != nil {
				return err
			}
			if opts.offline {
				if err := checkOffline(cmd); err != nil {
					return err
				}
				return runOffline(cmd.Context(), a, opts, args)
			}
			return runPlan(cmd.Context(), a, opts, args)
		},
	}
	opts.register(cmd)
	a.global.registerDiff(cmd)
	cmd.Flags().StringVar(&opts.out, "out", "", "also save the plan in `FILE`, for apply --expect and show")
	cmd.Flags().BoolVar(&opts.detailed, "detailed-exitcode", false, "exit with 2 if anything differs or is to be sent")
	cmd.Flags().BoolVar(&opts.offline, "offline", false, "compare git with git only, for example in a fork's pull request; needs no token, platform or ledger (docs/causes.md)")
	return cmd
}

func runPlan(ctx context.Context, a *app, opts planOptions, paths []string) error {
	opts.ReadOnly = true
	file, err := a.openPlanFile(opts.out)
	if err != nil {
		return a.fail(report.Document{Command: "plan"}, err)
	}
	s, doc, err := a.prepare(ctx, "plan", opts, paths)
	if err != nil {
		return err
	}
	defer s.Close()
	switch {
	case doc.ExitCode != exit.OK:
	case s.HidesLedger():
		doc.ExitCode = exit.NeedsPerson
	case opts.detailed && doc.Plan.Differs():
		doc.ExitCode = exit.Changes
	}
	a.keep(file, &doc)
	return a.emit(doc)
}

// checkOffline refuses flags that --offline could only ignore.
func checkOffline(cmd *cobra.Command) error {
	for _, name := range []string{
		"sandbox", "profile", "out", "drift", "prune", "max-deletes", "max-creates", "take-over", "allow-recreate", "allow-empty-live",
	} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("--offline compares git with git, so --%s would do nothing: remove one of them", name)
		}
	}
	return nil
}

// runOffline shows what git changed, and asks for no token, platform or ledger.
func runOffline(ctx context.Context, a *app, opts planOptions, paths []string) error {
	doc := report.Document{Command: "plan"}
	l, err := a.loadFor(ctx, opts, paths)
	if err == nil && a.global.dir != "" && !l.Project.Exists() {
		err = a.noProject()
	}
	if err != nil {
		return a.fail(doc, err)
	}
	reconcile.WarnOfNothing(l, a.log)
	if doc = document("plan", l, nil); doc.ExitCode != exit.OK {
		return a.emit(doc)
	}
	p, err := reconcile.Offline(ctx, a.reconcileEnv(l, paths), l, opts.Options, a.config().LedgerConfig(l.Project).Store)
	if err != nil {
		return a.fail(doc, err)
	}
	doc.Plan = plan.Shown(p)
	if opts.detailed && doc.Plan.Differs() {
		doc.ExitCode = exit.Changes
	}
	return a.emit(doc)
}

func newDrift(a *app) *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use: "drift [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDrift(cmd.Context(), a, opts, args)
		},
	}
	a.global.registerDiff(cmd)
	cmd.Flags().BoolVar(&opts.strict, "strict", false, "treat warnings as errors")
	cmd.Flags().StringArrayVar(&opts.Patterns, "target", nil, "look only at `KIND/NAME`, wildcards allowed; repeatable")
	return cmd
}

func runDrift(ctx context.Context, a *app, opts planOptions, paths []string) error {
	opts.ReadOnly = true
	s, doc, err := a.prepare(ctx, "drift", opts, paths)
	if err != nil {
		return err
	}
	defer s.Close()
	if doc.Plan != nil {
		doc.Plan = plan.Drift(doc.Plan)
		if doc.ExitCode == exit.OK && len(doc.Plan.Items) > 0 {
			doc.ExitCode = exit.Changes
		}
	}
	return a.emit(doc)
}

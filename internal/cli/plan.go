package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// planOptions are the flags that choose what is planned.
type planOptions struct {
	// looksOnly is set by commands that change nothing.
	looksOnly bool
	// more are manifests beside those of git, which a command brings itself.
	more           []manifest.Source
	strict         bool
	detailed       bool
	offline        bool
	targets        []string
	takeOver       []string
	allowRecreate  []string
	allowEmptyLive bool
	maxCreates     int
	prune          bool
	maxDeletes     int
	baseRef        string
	drift          string
	// out is the file of --out, which only plan has.
	out string
}

func (o *planOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	f.StringArrayVar(&o.targets, "target", nil, "plan only `KIND/NAME`, wildcards allowed; repeatable")
	f.StringArrayVar(&o.takeOver, "take-over", nil, "let git own the lists of `KIND/NAME`, so that apply drops live elements that git lacks; repeatable")
	f.StringArrayVar(&o.allowRecreate, "allow-recreate", nil, "create `KIND/NAME` again after it was deleted, with other data; repeatable")
	f.BoolVar(&o.allowEmptyLive, "allow-empty-live", false, "continue even if nothing that the ledger knows is live")
	f.IntVar(&o.maxCreates, "max-creates", 0, "refuse to create more than `N` objects; 0 allows a few")
	f.BoolVar(&o.prune, "prune", false, "delete objects that were removed from git, if trueup provably created them (docs/deleting.md)")
	f.IntVar(&o.maxDeletes, "max-deletes", 1, "delete nothing if there are more than `N` objects to delete")
	f.StringVar(&o.baseRef, "base-ref", "", "compare with `REF` (docs/causes.md); --prune deletes only what had a manifest there")
	f.StringVar(&o.drift, "drift", string(plan.OverwriteDrift), "what to do about drift, as `POLICY`: overwrite restores git's values, fail sends nothing, report leaves drift and sends the rest")
}

// driftPolicy reads --drift, which not every command has.
func (o *planOptions) driftPolicy() (plan.DriftPolicy, error) {
	if o.drift == "" {
		return "", nil
	}
	return plan.DriftPolicy(o.drift), oneOf("--drift", o.drift, driftPolicies())
}

func driftPolicies() []string {
	var words []string
	for _, policy := range plan.DriftPolicies() {
		words = append(words, string(policy))
	}
	return words
}

func (o *planOptions) plan() (plan.Options, error) {
	filter, err := targets(o.targets)
	if err != nil {
		return plan.Options{}, err
	}
	takeOver, err := keys("--take-over", o.takeOver)
	if err != nil {
		return plan.Options{}, err
	}
	recreate, err := keys("--allow-recreate", o.allowRecreate)
	if err != nil {
		return plan.Options{}, err
	}
	drift, err := o.driftPolicy()
	if err != nil {
		return plan.Options{}, err
	}
	for flag, n := range map[string]int{"--max-creates": o.maxCreates, "--max-deletes": o.maxDeletes} {
		if n < 0 {
			return plan.Options{}, fmt.Errorf("%s is %d: write 0 or more", flag, n)
		}
	}
	return plan.Options{
		Targets: filter, Patterns: o.targets, Drift: drift, TakeOver: takeOver, AllowRecreate: recreate,
		AllowEmptyLive: o.allowEmptyLive, MaxCreates: o.maxCreates, Prune: o.prune, MaxDeletes: o.maxDeletes,
	}, nil
}

// match refuses a flag that names nothing in git: a slip must not look like
// there being nothing to do.
func (o *planOptions) match(set *manifest.Set) error {
	names := make([]string, len(set.Objects))
	for i, obj := range set.Objects {
		names[i] = obj.Key().String()
	}
	for _, pattern := range o.targets {
		filter, err := targets([]string{pattern})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(set.Objects, func(obj *manifest.Object) bool { return filter(obj.Key()) }) {
			return fmt.Errorf("--target %s matches no manifest%s", pattern, didYouMean(pattern, names))
		}
	}
	for flag, values := range map[string][]string{"--take-over": o.takeOver, "--allow-recreate": o.allowRecreate} {
		for _, value := range values {
			if key, ok := kind.ParseKey(value); !ok || set.Find(key) == nil {
				return fmt.Errorf("%s %s names no manifest%s", flag, value, didYouMean(value, names))
			}
		}
	}
	return nil
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
	doc := report.Document{Command: "plan"}
	opts.looksOnly = true
	file, err := a.openPlanFile(opts.out)
	if err != nil {
		return a.fail(doc, err)
	}
	s, err := a.prepare(ctx, opts, paths)
	if err != nil {
		return a.fail(doc, err)
	}
	defer s.close()
	s.describe(&doc)
	switch {
	case doc.ExitCode != exit.OK:
	case s.hidesLedger():
		doc.ExitCode = exit.NeedsPerson
	case opts.detailed && doc.Plan.Differs():
		doc.ExitCode = exit.Changes
	}
	a.keep(file, &doc)
	return a.emit(doc)
}

// hidesLedger reports whether a plan in CI was made without the ledger that the project
// has: green would say that apply can do what the plan shows.
func (s *session) hidesLedger() bool {
	return s.app.inCI() && s.world.Ledger.Store != "" && s.plan.LedgerProblem != ""
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
	cmd.Flags().StringArrayVar(&opts.targets, "target", nil, "look only at `KIND/NAME`, wildcards allowed; repeatable")
	return cmd
}

func runDrift(ctx context.Context, a *app, opts planOptions, paths []string) error {
	doc := report.Document{Command: "drift"}
	opts.looksOnly = true
	s, err := a.prepare(ctx, opts, paths)
	if err != nil {
		return a.fail(doc, err)
	}
	defer s.close()
	s.describe(&doc)
	if doc.Plan != nil {
		doc.Plan = plan.Drift(doc.Plan)
		if doc.ExitCode == exit.OK && len(doc.Plan.Items) > 0 {
			doc.ExitCode = exit.Changes
		}
	}
	return a.emit(doc)
}

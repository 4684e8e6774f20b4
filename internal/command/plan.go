package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// registerPlanFlags adds the flags that choose what is planned.
func registerPlanFlags(f *pflag.FlagSet, o *reconcile.Options) {
	f.StringArrayVar(&o.Patterns, "target", nil, "plan only `KIND/NAME`, wildcards allowed; repeatable")
	registerAccept(f, o)
	f.BoolVar(&o.Prune, "prune", false, "delete objects that were removed from git, if trueup provably created them")
	f.StringVar(&o.BaseRef, "base-ref", "", "compare with `REF`; --prune deletes only what had a manifest there")
	f.StringVar((*string)(&o.Drift), "drift", string(plan.OverwriteDrift), "what to do about drift, as `POLICY`: overwrite restores git's values, fail sends nothing, report leaves drift and sends the rest")
	policies := diag.MapList(plan.DriftPolicies(), func(policy plan.DriftPolicy) string { return string(policy) })
	restrictFlag(f, "drift", policies...)
}

func registerAccept(f *pflag.FlagSet, o *reconcile.Options) {
	f.StringArrayVar(&o.Accept, "accept", nil, "accept `WHAT` trueup refuses otherwise, as listed above; repeatable")
}

// acceptHelp returns the table of what --accept takes.
func acceptHelp() string {
	text := "--accept takes:\n\n"
	for _, a := range reconcile.Acceptances() {
		text += fmt.Sprintf("  %-20s %s\n", a.Form, a.Meaning)
	}
	return text
}

// withPlan loads the manifests, makes the plan, and calls do with both unless an error among the findings stops the run.
func (run *Run) withPlan(
	ctx context.Context, opts reconcile.Options, args []string, do func(*reconcile.Session, *report.Document) error,
) (doc report.Document, err error) {
	l, err := run.loadForPlan(ctx, &opts, args)
	if err != nil {
		return doc, err
	}
	opts.PastErrors = opts.PastErrors || opts.ReadOnly && len(opts.Patterns) > 0
	opts.Report = run.logApplyEvent
	opts.Whole = len(l.Set.Tests) > 0 // they ask for any hostname
	s, err := reconcile.PrepareSession(ctx, run.Options, l, opts)
	if err != nil {
		return doc, err
	}
	defer s.Close()
	if doc = newPlanDocument(s.Loaded, s.Plan); doc.ExitCode == diag.ExitOK || opts.PastErrors && s.Plan != nil {
		err = do(s, &doc)
	}
	return doc, err
}

// loadForPlan completes the options with the arguments, and loads the manifests. It rejects a saved plan among the paths.
func (run *Run) loadForPlan(ctx context.Context, opts *reconcile.Options, args []string) (config.LoadedProject, error) {
	paths, objects := run.SplitObjects(args)
	opts.Paths, opts.Patterns = paths, slices.Concat(opts.Patterns, objects)
	if err := opts.ParseNames(); err != nil {
		return config.LoadedProject{}, err
	}
	for _, path := range paths {
		if _, err := reconcile.ReadPlan(run.FullPath(path)); err == nil && !manifest.IsYAML(path) {
			name := ledger.ShellQuote(path)
			return config.LoadedProject{}, fmt.Errorf("%s is a saved plan, not a manifest: trueup apply --expect %s applies it if it is still right, and trueup show %s shows it", path, name, name)
		}
	}
	l, err := run.LoadProject(ctx, paths, opts.More...)
	if err == nil && opts.Offline && run.Chdir != "" && !l.Project.Exists() {
		err = run.noProjectError()
	}
	return l, err
}

// newPlanDocument returns the document of a run. An error among the findings stops the run
// (docs/design.md 0.6).
func newPlanDocument(l config.LoadedProject, p *plan.Plan) report.Document {
	doc := report.Document{Findings: l.Findings, Silenced: l.Set.Silenced, Objects: len(l.Set.Objects)}
	if p != nil {
		doc.Plan = plan.Redact(p)
	}
	if l.Findings.HasErrors() {
		doc.ExitCode = diag.ExitInvalid
	}
	return doc
}

func newPlan(run *Run) *cobra.Command {
	var opts reconcile.Options
	var out string
	var detailed, offline bool
	var cmd *cobra.Command
	cmd = newCommand(run, "plan [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		var file *os.File
		if offline {
			doc, err = planOffline(ctx, run, cmd, opts, paths)
		} else if file, err = openPlanFile(run, out); err == nil {
			opts.ReadOnly = true
			doc, err = planLive(ctx, run, opts, paths)
		}
		if err == nil && detailed && doc.ExitCode == diag.ExitOK && doc.Plan.HasDifferences() {
			doc.ExitCode = diag.ExitChanges
		}
		if err == nil && file != nil {
			savePlan(run, file, out, &doc)
		}
		return doc, err
	})
	cmd.Long = acceptHelp()
	f := cmd.Flags()
	registerPlanFlags(f, &opts)
	f.StringVar(&out, "out", "", "also save the plan in `FILE`, for apply --expect and show")
	f.BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if anything differs, is to be sent, or is blocked")
	f.BoolVar(&offline, "offline", false, "compare git with git only, for example in a fork's pull request; needs no token, platform or ledger")
	return cmd
}

func planLive(ctx context.Context, run *Run, opts reconcile.Options, paths []string) (report.Document, error) {
	return run.withPlan(ctx, opts, paths, func(s *reconcile.Session, doc *report.Document) error {
		if s.LacksProjectLedger() {
			doc.ExitCode = diag.ExitNeedsPerson
		}
		if doubt := s.WorkspaceWarning(); doubt != "" {
			doc.ExitCode, doc.Errors = diag.ExitNeedsPerson, append(doc.Errors, doubt)
		}
		if len(s.Loaded.Set.Tests) > 0 {
			runRequestTests(doc, s.Loaded, s.RequestSides()[0])
		}
		return nil
	})
}

// planOffline shows what changed in git. It needs no token, platform or ledger, and rejects flags that have
// no effect offline.
func planOffline(ctx context.Context, run *Run, cmd *cobra.Command, opts reconcile.Options, args []string) (report.Document, error) {
	for _, name := range []string{"sandbox", "profile", "out", "drift", "prune", "accept"} {
		if cmd.Flags().Changed(name) {
			return report.Document{}, fmt.Errorf("--offline compares git with git, so --%s would do nothing: remove one of them", name)
		}
	}
	opts.Offline = true
	return run.withPlan(ctx, opts, args, func(s *reconcile.Session, doc *report.Document) error {
		runRequestTests(doc, s.Loaded, reconcile.GitSide(s.Loaded))
		return nil
	})
}

// openPlanFile empties the file of --out before anything else happens, so that nobody mistakes an earlier
// run's plan for this one's. It returns nil without --out.
func openPlanFile(run *Run, name string) (*os.File, error) {
	switch {
	case name == "":
		return nil, nil
	case name == onStdout:
		return nil, errors.New("--out: - is no file: name one, for apply --expect and show")
	case manifest.IsYAML(name):
		return nil, fmt.Errorf("--out %s: %w", name, errSource)
	}
	for _, r := range run.Reports {
		if _, file, _ := strings.Cut(r, "="); run.FullPath(file) == run.FullPath(name) {
			return nil, fmt.Errorf("both --out and --report %s write that file: name two", r)
		}
	}
	f, err := files.OpenOutput(run.Dir(), name, os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return f, nil
}

// savePlan writes the plan of the document to f, if it has one and no findings are errors, and closes f.
func savePlan(run *Run, f *os.File, name string, doc *report.Document) {
	var err error
	if doc.Plan != nil && !doc.Findings.HasErrors() {
		out := bufio.NewWriter(f)
		err = errors.Join(plan.EncodePlan(out, doc.Plan, run.Now()), out.Flush())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		doc.ExitCode = cmp.Or(doc.ExitCode, diag.ExitError)
		doc.Errors = append(doc.Errors, fmt.Sprintf("--out: %s: %v", name, files.WithoutPath(err)))
	}
}

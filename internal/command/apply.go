package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newApply(run *Run) *cobra.Command {
	var opts reconcile.Options
	var expect string
	var autoApprove string // the class up to which nobody is asked, or empty
	cmd := newCommand(run, "apply [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (report.Document, error) {
		expected, err := reconcile.ReadExpectedPlan(expect, run.FullPath(expect))
		isClass := func(path string) bool { _, err := kind.ParseRiskClass(path); return err == nil }
		if i := slices.IndexFunc(paths, isClass); i >= 0 && autoApprove != "" {
			return report.Document{}, fmt.Errorf("%s could be a class of risk or a path: write --auto-approve=%[1]s, or ./%[1]s", paths[i])
		}
		if err = cmp.Or(err, errorIf(opts.DespiteHold != "" && !run.StdinIsTTY, "--despite-hold is for a person at a terminal: a protected job sets TRUEUP_DESPITE_HOLD")); err != nil {
			return report.Document{}, err
		}
		opts.DespiteHold = strings.TrimSpace(cmp.Or(opts.DespiteHold, run.Getenv("TRUEUP_DESPITE_HOLD")))
		return run.withPlan(ctx, opts, paths, func(s *reconcile.Session, doc *report.Document) error {
			if older := s.WhyOlder(); older != "" {
				doc.Errors = []string{older}
			} else if s.Skipped == nil {
				doc.Errors = expected.DifferencesFrom(doc.Plan)
			}
			switch {
			case len(doc.Errors) > 0:
				doc.ExitCode = diag.ExitStale
				return nil
			case s.Skipped != nil:
				s.BeginRun(ctx)
				what := "commit "
				if s.Skipped.NewestCommit() == "" {
					what = "these files"
				}
				addMessage(doc, "applied already: %s%s", what, s.Skipped)
				run.recordApplyEnd(ctx, s, apply.Result{}, doc)
				return nil
			}
			return applyPlan(ctx, run, s, autoApprove, expected, doc)
		})
	})
	cmd.Long = acceptHelp()
	f := cmd.Flags()
	registerPlanFlags(f, &opts)
	f.StringVar(&expect, "expect", "", "apply only if the plan equals the one in `FILE` (from plan --out), or has this digest (sha256:...)")
	registerApproval(f, &autoApprove)
	f.DurationVar(&opts.Wait, "wait", 0, "wait until created objects are ready and deleted ones gone, each for `TIME` at most, such as 10m")
	f.StringVar(&opts.DespiteHold, "despite-hold", "", "go on although a hold is set, and record why: `TEXT`")
	f.BoolVar(&opts.SkipApplied, "skip-applied", false, "do nothing if the ledger says that these very files were applied and left nothing to do")
	return cmd
}

// registerApproval adds --auto-approve: alone it approves changes of every class.
func registerApproval(f *pflag.FlagSet, class *string) {
	classes := []string{kind.NoRisk.Class()}
	for _, risk := range slices.Backward(kind.Risks()) {
		classes = append(classes, risk.Class())
	}
	f.StringVar(class, "auto-approve", "", "do not ask; with =`CLASS`, send only what is at most of that class of risk: "+strings.Join(classes, ", "))
	f.Lookup("auto-approve").NoOptDefVal = classes[len(classes)-1]
	restrictFlag(f, "auto-approve", classes...)
}

// applyPlan asks, sends what the plan shows, and records it.
func applyPlan(ctx context.Context, run *Run, s *reconcile.Session, autoApprove string, expected reconcile.ExpectedPlan, doc *report.Document) error {
	s.WarnOfUnmerged()
	blocked := s.BlockHeld()
	if autoApprove != "" {
		most, _ := kind.ParseRiskClass(autoApprove) // the flag allows no other word
		blocked = s.Plan.BlockAbove(most) || blocked
	}
	if blocked {
		doc.Plan = plan.Redact(s.Plan)
	}
	asked, err := run.askApproval(*doc, expected, autoApprove != "")
	if err != nil {
		return err
	}
	s.BeginRun(ctx)
	run.sendPlan(ctx, s, doc)
	run.recordApplyEnd(ctx, s, *doc.Apply, doc)
	if asked && run.Format == "text" {
		doc.Plan, doc.Findings = nil, nil // the question showed them
	}
	return nil
}

// recordApplyEnd records how an apply ended, and adds to the document if another one came in between.
func (run *Run) recordApplyEnd(ctx context.Context, s *reconcile.Session, result apply.Result, doc *report.Document) {
	var err error
	if doc.ExitCode, err = s.FinishRun(ctx, result, doc.ExitCode); err != nil {
		doc.Errors = append(doc.Errors, err.Error())
	}
}

// sendPlan sends what the plan shows, and adds the outcome to the document.
func (run *Run) sendPlan(ctx context.Context, s *reconcile.Session, doc *report.Document) {
	run.sending = true
	result, code := s.ApplyPlan(ctx)
	doc.Apply, doc.ExitCode = &result, code
}

// askApproval shows the plan on standard error and asks whether to send it, unless it sends nothing or the user
// approved it. It refuses if there is no terminal.
func (run *Run) askApproval(doc report.Document, expected reconcile.ExpectedPlan, approved bool) (asked bool, err error) {
	which := "Apply"
	if expected.Digest != "" {
		which = "Apply the expected plan"
		if !run.Quiet {
			run.Inform("this is the expected plan, %s", expected.Digest)
		}
	}
	switch {
	case approved || !doc.Plan.SendsAnything():
		return false, nil
	case !run.StdinIsTTY:
		return false, errors.New("there is no terminal to ask on: add --auto-approve")
	}
	doc.Sandbox = run.Sandbox
	opts := run.formatOptions()
	opts.Color, opts.Width, opts.Brief = run.useColor(run.StderrIsTTY), run.Width, !opts.Verbose
	if err := report.Write(run.Stderr, "text", doc, opts); err != nil {
		return false, fmt.Errorf("not applied, because the plan could not be shown: %w", err)
	}
	return true, run.requireYes("not applied: nothing was sent", "\n%s to %s? Type yes: ", which, doc.Plan.DescribeTarget())
}

// logApplyEvent writes to standard error what apply reports: waiting always, the rest with -v.
func (run *Run) logApplyEvent(e apply.Event) {
	switch {
	case e.Phase == apply.PhaseRescue:
		run.writeLostRecord([]byte(e.Message))
	case e.Phase == apply.PhaseStack:
		run.showStack(e.Message)
	case !run.Quiet && (run.Verbose || e.Phase == "wait"):
		run.Inform("%s", report.ProgressLine(e))
	}
}

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/report"
)

type applyOptions struct {
	planOptions
	autoApprove      bool
	acceptNormalised bool
	wait             bool
	waitTimeout      time.Duration
	writesPerSecond  float64
}

func newApply(a *app) *cobra.Command {
	var opts applyOptions
	cmd := &cobra.Command{
		Use:   "apply [PATH...]",
		Short: "Make live match the manifests",
		Long: "Show the plan, ask, and send what it shows. Each object is read again right before it is written, and read back after it.\n" +
			"Exit codes: 0 done, 1 could not run, 3 live was not as the plan said and nothing was sent, 4 manifests are invalid,\n" +
			"5 partly done, 6 a person must decide, 7 the server did not keep what was sent, 8 authentication or authorization,\n" +
			"130 interrupted.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runApply(cmd.Context(), a, opts, args)
		},
	}
	opts.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&opts.autoApprove, "auto-approve", false, "do not ask")
	f.BoolVar(&opts.acceptNormalised, "accept-normalised", false, "send purges although the server did not keep all of what was sent before them")
	f.BoolVar(&opts.wait, "wait", false, "wait until what was made is ready")
	f.DurationVar(&opts.waitTimeout, "wait-timeout", 10*time.Minute, "how long --wait waits for one object")
	f.Float64Var(&opts.writesPerSecond, "rps", 5, "writes a second; loopback has no limit")
	return cmd
}

func runApply(ctx context.Context, a *app, opts applyOptions, paths []string) error {
	doc := report.Document{Command: "apply"}
	s, err := a.prepare(ctx, opts.planOptions, paths)
	if err != nil {
		return a.fail(doc, err)
	}
	defer s.close()
	s.describe(&doc)
	if doc.ExitCode != exitOK {
		return a.emit(doc)
	}
	asked := false
	if doc.Plan.Sends() && !opts.autoApprove {
		if err := a.confirm(doc); err != nil {
			return a.fail(doc, err)
		}
		asked = true
	}
	result := s.apply(ctx, opts)
	doc.Apply, doc.ExitCode = &result, exitOfApply(result)
	if errors.Is(ctx.Err(), context.Canceled) {
		doc.ExitCode = exitInterrupted // whatever else happened (design 0.24)
	}
	if asked && a.global.output == "text" {
		doc.Plan, doc.Findings = nil, nil // the question showed them
	}
	return a.emit(doc)
}

// confirm shows the plan on standard error and asks; without a terminal there
// is nobody to ask.
func (a *app) confirm(doc report.Document) error {
	if !a.env.StdinIsTTY {
		return errors.New("there is no terminal to ask on: add --auto-approve")
	}
	color, err := a.useColor()
	if err != nil {
		return err
	}
	doc.Sandbox = a.global.sandbox
	if err := report.Write(a.env.Stderr, "text", doc, report.Options{Color: color, Width: a.env.Width}); err != nil {
		return err
	}
	_, _ = fmt.Fprint(a.env.Stderr, "\nApply this plan? Only yes is taken as such: ")
	answer, err := bufio.NewReader(a.env.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("not applied: nothing was sent")
	}
	return nil
}

// apply sends what the session's plan shows.
func (s *session) apply(ctx context.Context, opts applyOptions) apply.Result {
	client := s.world.client(opts.writesPerSecond)
	defer client.Close()
	deps := apply.Deps{
		Writer: client,
		Replan: s.replan,
		Spec:   func(key kind.Key) []byte { return s.planner.Managed(s.inputs.Set.Find(key)) },
		Rules:  func(k *kind.Kind) *merge.Rules { return s.planner.Rules(k) },
		Report: s.app.progress(),
		Sleep:  s.app.env.Sleep,
		Options: apply.Options{
			Parallelism:      s.app.global.parallelism,
			AcceptNormalised: opts.acceptNormalised,
			Wait:             opts.wait,
			WaitTimeout:      opts.waitTimeout,
		},
	}
	if s.plan.LedgerProblem == "" {
		deps.Journal = s.ledger
	}
	return apply.Run(ctx, s.plan, deps)
}

// replan plans one object again; a finding against it stops it.
func (s *session) replan(key kind.Key, obj *kind.Object) (plan.Item, error) {
	item, findings := s.planner.Remake(key, obj)
	if findings.HasErrors() {
		return plan.Item{}, errors.New(findings[0].Message)
	}
	return item, nil
}

// progress prints what happens to standard error: waiting always, the rest
// where somebody looks or asked for it.
func (a *app) progress() func(apply.Event) {
	if a.global.quiet {
		return func(apply.Event) {}
	}
	return func(e apply.Event) {
		if e.Phase != "wait" && !a.env.StderrIsTTY && !a.global.verbose {
			return
		}
		a.log(slog.LevelInfo, report.ProgressLine(e))
	}
}

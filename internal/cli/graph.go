package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/graph"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/reconcile"
)

type graphOptions struct {
	form    graph.Options
	targets []string
	plan    string
	live    bool
}

func newGraph(a *app) *cobra.Command {
	var opts graphOptions
	cmd := &cobra.Command{
		Use: "graph [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "plan"); err != nil {
				return err
			}
			return runGraph(cmd.Context(), a, opts, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.form.Format, "format", graph.Formats()[0], "`FORM` of the graph: "+strings.Join(graph.Formats(), ", "))
	f.StringVar(&opts.form.Direction, "direction", graph.Directions()[0], "direction of the arrows: `LR` (left to right) or TB (top to bottom)")
	f.StringArrayVar(&opts.targets, "target", nil, "draw only `KIND/NAME`, wildcards allowed; repeatable")
	f.StringVar(&opts.plan, "plan", "", "mark what the plan in `FILE` changes (plan --out)")
	f.BoolVar(&opts.live, "live", false, "compare with what is live, and mark what differs")
	for name, values := range map[string][]string{"format": graph.Formats(), "direction": graph.Directions()} {
		// The flags are there, and nothing was registered for them.
		_ = cmd.RegisterFlagCompletionFunc(name, completeWords(values...))
	}
	return cmd
}

func (o graphOptions) check(a *app) error {
	if a.global.output != "text" || len(a.global.reports) > 0 {
		return errors.New("-o and --report do not apply to a graph: choose its form with --format")
	}
	if o.plan != "" && o.live {
		return errors.New("use either --plan (a saved plan) or --live (a plan made now)")
	}
	return errors.Join(oneOf("--format", o.form.Format, graph.Formats()), oneOf("--direction", o.form.Direction, graph.Directions()))
}

func runGraph(ctx context.Context, a *app, opts graphOptions, paths []string) error {
	if err := opts.check(a); err != nil {
		return err
	}
	filter, err := reconcile.Filter(opts.targets)
	if err != nil {
		return err
	}
	l, p, err := a.drawn(ctx, opts, paths)
	if err != nil {
		return err
	}
	if err := opts.reconcile().Match(l.Set); err != nil {
		return err
	}
	if l.Findings.HasErrors() {
		a.code = exit.Invalid
		marks := ""
		if p == nil && (opts.live || opts.plan != "") {
			marks = ", and marks nothing"
		}
		a.log(slog.LevelError, "the manifests have errors, so the graph may be wrong"+marks+": trueup validate shows them")
	}
	return a.out.Graph(graph.Make(l.Set, p, l.Project.Overrides, filter), opts.form)
}

// drawn are the manifests that are to be drawn, and the plan that marks them; nil
// for none.
func (a *app) drawn(ctx context.Context, opts graphOptions, paths []string) (project.Loaded, *plan.Plan, error) {
	if opts.live {
		s, _, err := a.prepare(ctx, "graph", planOptions{Options: opts.reconcile()}, paths)
		if err != nil {
			return project.Loaded{}, nil, err
		}
		defer s.Close()
		return s.Loaded, s.Plan, nil
	}
	l, err := a.load(ctx, paths, false)
	if err != nil {
		return l, nil, err
	}
	reconcile.WarnOfNothing(l, a.log)
	if opts.plan == "" {
		return l, nil, nil
	}
	p, err := reconcile.ReadPlan(a.full(opts.plan))
	if err != nil {
		return l, nil, exit.With(exit.Error, fmt.Errorf("--plan %s: %w", opts.plan, err))
	}
	if !p.Of(l.Set) {
		return l, nil, exit.With(exit.Stale, fmt.Errorf("--plan %s was made of other manifests: make a new one with plan --out and the same PATHs", opts.plan))
	}
	return l, p, nil
}

func (o graphOptions) reconcile() reconcile.Options {
	return reconcile.Options{ReadOnly: true, Options: plan.Options{Patterns: o.targets}}
}

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/graph"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

type graphOptions struct {
	form    graph.Options
	targets []string
	plan    string
	live    bool
}

func newGraph(a *app) *cobra.Command {
	var opts graphOptions
	cmd := a.command("graph [PATH...]", func(ctx context.Context, paths []string) (report.Document, error) {
		return a.graph(ctx, opts, paths)
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		return refuse(opts.plan != "" && opts.live, "use either --plan (a saved plan) or --live (a plan made now)")
	}
	f := cmd.Flags()
	f.StringVar(&opts.form.Format, "format", graph.Formats()[0], "`FORM` of the graph: "+strings.Join(graph.Formats(), ", "))
	f.StringVar(&opts.form.Direction, "direction", graph.Directions()[0], "direction of the arrows: `LR` (left to right) or TB (top to bottom)")
	f.StringArrayVar(&opts.targets, "target", nil, "draw only `KIND/NAME`, wildcards allowed; repeatable")
	f.StringVar(&opts.plan, "plan", "", "mark what the plan in `FILE` changes (plan --out)")
	f.BoolVar(&opts.live, "live", false, "compare with what is live, and mark what differs")
	oneOfFlag(f, "format", graph.Formats()...)
	oneOfFlag(f, "direction", graph.Directions()...)
	return cmd
}

func (a *app) graph(ctx context.Context, opts graphOptions, paths []string) (doc report.Document, err error) {
	planned := reconcile.Options{ReadOnly: true, Options: plan.Options{Patterns: opts.targets}}
	filter, err := reconcile.Filter(opts.targets)
	if err != nil {
		return doc, err
	}
	var l project.Loaded
	var p *plan.Plan
	if opts.live {
		s, _, err := a.prepare(ctx, planOptions{Options: planned}, paths)
		if err != nil {
			return doc, err
		}
		defer s.Close()
		l, p = s.Loaded, s.Plan
	} else if l, p, err = a.graphInput(ctx, opts.plan, paths); err != nil {
		return doc, err
	}
	if err := planned.Match(l.Set); err != nil {
		return doc, err
	}
	if l.Findings.HasErrors() {
		doc.ExitCode = exit.Invalid
		marks := ""
		if p == nil && (opts.live || opts.plan != "") {
			marks = ", and marks nothing"
		}
		a.log(slog.LevelError, "the manifests have errors, so the graph may be wrong"+marks+": trueup validate shows them")
	}
	g := graph.Make(l.Set, p, l.Project.Overrides, filter)
	doc.Text = func(out report.Lines, _ report.Options) { out.Graph(g, opts.form) }
	doc.Data = map[string]any{"format": "trueup.graph/v1", "form": opts.form.Format, "text": graph.Write(g, opts.form).String()}
	return doc, nil
}

// graphInput reads the manifests, and the plan in a file if you name one.
func (a *app) graphInput(ctx context.Context, file string, paths []string) (project.Loaded, *plan.Plan, error) {
	l, err := a.load(ctx, paths, false)
	if err != nil {
		return l, nil, err
	}
	reconcile.WarnOfNothing(l, a.log)
	if file == "" {
		return l, nil, nil
	}
	p, err := reconcile.ReadPlan(a.full(file))
	if err != nil {
		return l, nil, exit.With(exit.Error, fmt.Errorf("--plan %s: %w", file, err))
	}
	if !p.Of(l.Set) {
		return l, nil, exit.With(exit.Stale, fmt.Errorf("--plan %s was made of other manifests: make a new one with plan --out and the same PATHs", file))
	}
	return l, p, nil
}

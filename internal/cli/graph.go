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
	filter, err := reconcile.Targets(opts.targets)
	if err != nil {
		return doc, err
	}
	l, err := a.loadFor(ctx, planOptions{Options: planned}, paths)
	if err != nil {
		return doc, err
	}
	var p *plan.Plan
	if opts.live {
		s, err := reconcile.Prepare(ctx, a.reconcileEnv(l, paths), l, planned)
		if err != nil {
			return doc, err
		}
		defer s.Close()
		p = s.Plan
	} else {
		reconcile.WarnOfNothing(l, a.log)
		if p, err = a.savedPlan(opts.plan, l); err != nil {
			return doc, err
		}
	}
	if err := planned.Match(l.Set); err != nil {
		return doc, err
	}
	if l.Findings.HasErrors() {
		doc.ExitCode, doc.Annotations = exit.Invalid, l.Findings
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

// savedPlan reads a plan of the loaded manifests, or returns nil without a file.
func (a *app) savedPlan(file string, l project.Loaded) (*plan.Plan, error) {
	if file == "" {
		return nil, nil
	}
	p, err := reconcile.ReadPlan(a.full(file))
	switch {
	case err != nil:
		return nil, exit.With(exit.Error, fmt.Errorf("--plan %s: %w", file, err))
	case !p.Of(l.Set):
		return nil, exit.With(exit.Stale, fmt.Errorf("--plan %s was made of other manifests: make a new one with plan --out and the same PATHs", file))
	}
	return p, nil
}

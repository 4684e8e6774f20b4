package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/reconcile"
	"trueup/internal/report"
	"trueup/internal/requesttest"
	"trueup/internal/routing"
	"trueup/internal/yamledit"
)

type testOptions struct{ update, coverage bool }

func newTest(run *Run) *cobra.Command {
	var opts testOptions
	cmd := newCommand(run, "test [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (report.Document, error) {
		return runTest(ctx, run, opts, paths)
	})
	f := cmd.Flags()
	f.BoolVar(&opts.update, "update", false, "write what the manifests do into tests that fail, for your review")
	f.BoolVar(&opts.coverage, "coverage", false, "also list the locations and upstreams that no test reaches")
	return cmd
}

func runTest(ctx context.Context, run *Run, opts testOptions, paths []string) (doc report.Document, err error) {
	l, err := loadTests(ctx, run, paths)
	if err != nil {
		return doc, err
	}
	if l.Findings.HasErrors() {
		return newPlanDocument(l, nil), nil
	}
	doc.Objects = len(l.Set.Objects)
	runTests(&doc, l, reconcile.GitSide(l), diag.Error)
	if updates := doc.Tests.ListUpdates(); opts.update && len(updates) > 0 {
		changed, err := updateTests(ctx, run, l.Project, paths, updates)
		if err != nil {
			return doc, err
		}
		opts.update = false
		doc, err = runTest(ctx, run, opts, paths)
		doc.Messages = append(changed, doc.Messages...)
		return doc, err
	}
	if opts.coverage {
		c := requesttest.MeasureCoverage(doc.Tests.Cases, l.Set.Objects)
		doc.Tests.Coverage = c
		addMessage(&doc, "Tests reach %s.", c)
		for _, m := range c.Missing {
			addMessage(&doc, "  %s:%d: no test reaches the %s %s of %s", m.File, m.Line, m.What, m.Name, m.Object)
		}
	}
	return doc, nil
}

// loadTests loads the manifests and tests of PATHs. If those are tests alone, it adds the manifests of the project.
func loadTests(ctx context.Context, run *Run, paths []string) (config.LoadedProject, error) {
	l, err := run.LoadProject(ctx, paths)
	if err != nil || len(paths) == 0 || len(l.Set.Objects) > 0 || len(l.Project.Manifests) == 0 {
		return l, err
	}
	all, err := run.LoadProject(ctx, nil)
	if err == nil {
		all.Set.Tests, all.Findings = l.Set.Tests, append(l.Findings, all.Findings...)
	}
	return all, err
}

// runTests runs the request tests on the CDNs of git, and adds failures to the findings.
func runTests(doc *report.Document, l config.LoadedProject, git routing.Side, severity diag.Severity) {
	doc.Tests = requesttest.Run(l.Set.Tests, git, routing.PrecedencesOf(l.Project.Platform.Precedence))
	doc.Findings = append(doc.Findings, doc.Tests.Findings(severity)...)
	if doc.Findings.HasErrors() {
		doc.ExitCode = diag.ExitInvalid
	}
}

// runRequestTests runs the request tests of a plan, if there are any. What fails stops nothing, unless warnings are errors.
func runRequestTests(doc *report.Document, l config.LoadedProject, git routing.Side) {
	severity := diag.Warning
	if l.Project.Strict {
		severity = diag.Error
	}
	if len(l.Set.Tests) > 0 {
		runTests(doc, l, git, severity)
	}
}

// updateTests writes expectations into files of tests, and says into which. If one can't be edited, it writes none.
func updateTests(ctx context.Context, run *Run, p config.Project, paths []string, updates map[string][]yamledit.Expectation) (changed []string, err error) {
	texts, _, err := run.ReadFileTexts(ctx, p, paths)
	if err != nil {
		return nil, err
	}
	texts = slices.DeleteFunc(texts, func(t manifest.FileText) bool { return updates[t.Path] == nil })
	contents := make([][]byte, len(texts))
	for i, t := range texts {
		if contents[i], err = yamledit.WithExpectations(t.Data, updates[t.Path]); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Path, err)
		}
	}
	for i, t := range texts {
		if err := t.Replace(contents[i]); err != nil {
			return changed, err
		}
		changed = append(changed, fmt.Sprintf("%s: updated %s", t.Path, diag.Plural(len(updates[t.Path]), "test", "tests")))
	}
	return changed, nil
}

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

type validateOptions struct{ strict bool }

func newValidate(a *app) *cobra.Command {
	var opts validateOptions
	cmd := &cobra.Command{
		Use: "validate [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runValidate(cmd.Context(), a, opts, args)
		},
	}
	cmd.Flags().BoolVar(&opts.strict, "strict", false, "treat warnings as errors")
	return cmd
}

func runValidate(ctx context.Context, a *app, opts validateOptions, paths []string) error {
	if err := a.checkFormats(); err != nil {
		return err
	}
	doc := report.Document{Command: "validate"}
	l, err := a.load(ctx, paths, opts.strict)
	if err != nil {
		return a.fail(doc, err)
	}
	a.warnOfNothing(l)
	doc.Findings, doc.Silenced, doc.Objects = l.findings, l.set.Silenced, len(l.set.Objects)
	if l.findings.HasErrors() {
		doc.ExitCode = exit.Invalid
	}
	return a.emit(doc)
}

// loaded is what the files say, before anything is asked of the platform.
type loaded struct {
	project  project
	set      *manifest.Set
	findings diag.List
}

// load reads the project and the manifests, and more of them, and runs every
// offline check.
func (a *app) load(ctx context.Context, paths []string, strict bool, more ...manifest.Source) (loaded, error) {
	p, err := a.findProject()
	if err != nil {
		return loaded{}, err
	}
	return a.loadOf(ctx, p, paths, strict, more...)
}

// loadOf is load for a project that was read, or is to be.
func (a *app) loadOf(ctx context.Context, p project, paths []string, strict bool, more ...manifest.Source) (loaded, error) {
	list, closeAll, err := a.sources(p, paths)
	if err != nil {
		return loaded{}, err
	}
	defer closeAll()
	reading := a.begin("reading manifests")
	defer reading.end()
	opts := a.manifestOptions(p, strict)
	opts.Progress = reading.reached
	set, findings, err := manifest.Load(ctx, append(list, more...), opts)
	if err != nil {
		return loaded{}, err
	}
	findings = append(findings, manifest.Check(set, opts)...)
	findings.Sort()
	if len(set.Objects) == 0 && len(findings) == 0 && len(paths) > 0 {
		return loaded{}, fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	return loaded{project: p, set: set, findings: findings}, nil
}

// warnOfNothing says how to get manifests where there are none: that nothing is
// wrong, or to be done, would be true and of no use.
func (a *app) warnOfNothing(l loaded) {
	switch {
	case len(l.set.Objects) > 0 || len(l.findings) > 0:
	case !l.project.exists():
		a.log(slog.LevelWarn, "there is neither a trueup.yaml nor a manifest here: run trueup init")
	default:
		a.log(slog.LevelWarn, "there is no manifest here: trueup pull writes them from what is live")
	}
}

// manifestOptions say how the project's manifests are read.
func (a *app) manifestOptions(p project, strict bool) manifest.Options {
	return manifest.Options{
		Workspace:          p.Workspace.Name,
		DeprecatedPurgeURL: p.Purge.DeprecatedURL,
		Undocumented:       p.undocumented(),
		Strict:             strict,
		Parallelism:        a.global.parallelism,
	}
}

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/doctor"
	"trueup/internal/exit"
	"trueup/internal/manifest"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newDoctor(run *Run) *cobra.Command {
	var hostname string
	var autoApprove bool
	cmd := newCommand(run, "doctor [--probe-duplicates HOSTNAME]", func(ctx context.Context, _ []string) (report.Document, error) {
		if hostname != "" {
			return runProbe(ctx, run, hostname, autoApprove)
		}
		return runDoctor(ctx, run), nil
	})
	f := cmd.Flags()
	f.StringVar(&hostname, "probe-duplicates", "", "send one harmless request for `HOSTNAME` twice, to see whether the platform rejects the second")
	f.BoolVar(&autoApprove, "auto-approve", false, "do not ask before sending")
	return cmd
}

func runDoctor(ctx context.Context, run *Run) report.Document {
	p, err := run.FindProject()
	in := doctor.Input{
		Options: run.Options, Project: p, ProjectErr: err, Searched: run.searched(), Run: listRunSettings(run), Terminal: describeTerminal(run),
	}
	if p.Exists() {
		var l config.LoadedProject
		l, in.SetErr = run.Load(ctx, nil)
		in.Set, in.Findings = l.Set, l.Findings
	}
	return report.Doctor(doctor.RunChecks(ctx, in))
}

// terminal describes standard output.
func describeTerminal(run *Run) string {
	says, color := "standard output is not a terminal", ", without colour"
	if run.Width > 0 {
		says = fmt.Sprintf("%d columns", run.Width)
	}
	if run.UseColor(run.Width > 0) {
		color = ", in colour"
	}
	if run.inCI() {
		color += ", in CI"
	}
	return says + color
}

// runSettings returns the limits of a run: in JSON all of them, else those that the environment has.
func listRunSettings(run *Run) (list []doctor.EffectiveSetting) {
	for _, s := range []doctor.EffectiveSetting{
		{Name: "request-timeout", Value: run.API.RequestTimeout.String(), Origin: requestTimeoutVar},
		{Name: "timeout", Value: run.timeout.String(), Origin: timeoutVar},
		{Name: "parallelism", Value: fmt.Sprint(run.API.Parallelism), Origin: parallelismVar},
	} {
		if run.Getenv(s.Origin) == "" {
			s.Origin = "default"
		}
		if s.Origin != "default" || run.Format == "json" {
			list = append(list, s)
		}
	}
	return list
}

// probe sends a harmless request as apply would, and once more, to see whether the platform refuses
// duplicates.
func runProbe(ctx context.Context, run *Run, hostname string, autoApprove bool) (doc report.Document, err error) {
	probe, err := reconcile.NewProbe(hostname)
	if err != nil {
		return doc, err
	}
	proven := false
	doc, err = run.withPlan(ctx, reconcile.Options{More: []manifest.PathSource{probe.Source}}, nil, func(s *reconcile.Session, doc *report.Document) (err error) {
		if err := s.NarrowToProbe(probe); err != nil {
			return err
		}
		doc.Plan = s.Plan
		if _, err := run.approve(*doc, reconcile.ExpectedPlan{}, autoApprove); err != nil {
			return err
		}
		if run.send(ctx, s, doc); doc.ExitCode != exit.OK {
			return nil
		}
		proof, err := s.SendProbe(ctx, probe)
		if *doc = (report.Document{}); err != nil {
			return err
		}
		proven = true
		say(doc, "the platform rejects a second request of the same name, %s", proof)
		say(doc, "from now on trueup sends a request that got no answer again under its name, while that is safe")
		return nil
	})
	if proven && run.Format == "json" {
		return runDoctor(ctx, run), nil
	}
	return doc, err
}

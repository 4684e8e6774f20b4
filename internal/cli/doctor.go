package cli

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

func newDoctor(a *app) *cobra.Command {
	var hostname string
	var autoApprove bool
	cmd := a.command("doctor [--probe-duplicates HOSTNAME]", func(ctx context.Context, _ []string) (report.Document, error) {
		if hostname != "" {
			return a.probe(ctx, hostname, autoApprove)
		}
		return a.doctor(ctx), nil
	})
	f := cmd.Flags()
	f.StringVar(&hostname, "probe-duplicates", "", "send one harmless request for `HOSTNAME` twice, to see whether the platform rejects the second")
	f.BoolVar(&autoApprove, "auto-approve", false, "do not ask before sending")
	return cmd
}

func (a *app) doctor(ctx context.Context) report.Document {
	p, err := a.findProject()
	in := doctor.Input{
		Options: a.config(), Project: p, ProjectErr: err, Searched: a.searched(), Run: a.runSettings(), Terminal: a.terminal(),
	}
	if p.Exists() {
		var l config.LoadedProject
		l, in.SetErr = a.load(ctx, nil)
		in.Set, in.Findings = l.Set, l.Findings
	}
	return report.Doctor(doctor.RunChecks(ctx, in))
}

// terminal describes standard output.
func (a *app) terminal() string {
	says, color := "standard output is not a terminal", ", without colour"
	if a.env.Width > 0 {
		says = fmt.Sprintf("%d columns", a.env.Width)
	}
	if a.useColor(a.env.Width > 0) {
		color = ", in colour"
	}
	if a.inCI() {
		color += ", in CI"
	}
	return says + color
}

// runSettings returns the limits of a run: in JSON all of them, else those that the environment has.
func (a *app) runSettings() (list []doctor.EffectiveSetting) {
	for _, s := range []doctor.EffectiveSetting{
		{Name: "request-timeout", Value: a.settings.requestTimeout.String(), Origin: requestTimeoutVar},
		{Name: "timeout", Value: a.settings.timeout.String(), Origin: timeoutVar},
		{Name: "parallelism", Value: fmt.Sprint(a.settings.parallelism), Origin: parallelismVar},
	} {
		if a.env.Getenv(s.Origin) == "" {
			s.Origin = "default"
		}
		if s.Origin != "default" || a.global.output == "json" {
			list = append(list, s)
		}
	}
	return list
}

// probe sends a harmless request as apply would, and once more, to see whether the platform refuses
// duplicates.
func (a *app) probe(ctx context.Context, hostname string, autoApprove bool) (doc report.Document, err error) {
	probe, err := reconcile.NewProbe(hostname)
	if err != nil {
		return doc, err
	}
	proven := false
	doc, err = a.withPlan(ctx, reconcile.Options{More: []manifest.PathSource{probe.Source}}, nil, func(s *reconcile.Session, doc *report.Document) (err error) {
		if err := s.NarrowToProbe(probe); err != nil {
			return err
		}
		doc.Plan = s.Plan
		if _, err := a.approve(*doc, reconcile.ExpectedPlan{}, autoApprove); err != nil {
			return err
		}
		if a.send(ctx, s, doc); doc.ExitCode != exit.OK {
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
	if proven && a.global.output == "json" {
		return a.doctor(ctx), nil
	}
	return doc, err
}

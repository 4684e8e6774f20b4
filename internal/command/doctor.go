package command

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
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
		return doctorResult(config.RunDoctor(ctx, run.Options)), nil
	})
	f := cmd.Flags()
	f.StringVar(&hostname, "probe-duplicates", "", "send one harmless request for `HOSTNAME` twice, to see whether the platform rejects the second")
	f.BoolVar(&autoApprove, "auto-approve", false, "do not ask before sending")
	return cmd
}

// runProbe sends a harmless request as apply would, and once more, to see whether the platform refuses
// duplicates.
func runProbe(ctx context.Context, run *Run, hostname string, autoApprove bool) (doc report.Document, err error) {
	probe, err := reconcile.NewProbePurge(hostname)
	if err != nil {
		return doc, err
	}
	proven := false
	doc, err = run.withPlan(ctx, reconcile.Options{More: []manifest.PathSource{probe.Source}}, nil, func(s *reconcile.Session, doc *report.Document) (err error) {
		if err := s.NarrowToProbe(probe); err != nil {
			return err
		}
		doc.Plan = s.Plan
		if _, err := run.askApproval(*doc, reconcile.ExpectedPlan{}, autoApprove); err != nil {
			return err
		}
		if run.sendPlan(ctx, s, doc); doc.ExitCode != diag.ExitOK {
			return nil
		}
		proof, err := s.SendProbe(ctx, probe)
		if *doc = (report.Document{}); err != nil {
			return err
		}
		proven = true
		addMessage(doc, "the platform rejects a second request of the same name, %s", proof)
		addMessage(doc, "from now on trueup sends a request that got no answer again under its name, while that is safe")
		return nil
	})
	if proven && run.Format == "json" {
		return doctorResult(config.RunDoctor(ctx, run.Options)), nil
	}
	return doc, err
}

// doctorResult returns the document of trueup doctor.
func doctorResult(r config.DoctorReport) report.Document {
	doc := report.Document{ExitCode: r.ExitCode, Data: r, Text: func(out report.LineWriter, opts report.FormatOptions) { writeChecks(out, r, opts) }}
	for _, c := range r.Checks {
		f := diag.Finding{Rule: "run/check", Field: c.Group + "/" + c.Name, Message: c.Group + " " + c.Name + ": " + c.Says, Fix: c.Fix}
		switch c.Status {
		case config.CheckFailed:
			f.Severity = diag.Error
		case config.CheckWarned:
			f.Severity = diag.Warning
		case config.CheckOK, config.CheckSkipped:
			continue
		}
		doc.Annotations = append(doc.Annotations, f)
	}
	return doc
}

// writeChecks writes two tables: settings that somebody chose or has to choose, and checks with what to
// do below each that needs it. -v also shows what follows from other lines.
func writeChecks(out report.LineWriter, r config.DoctorReport, opts report.FormatOptions) {
	var rows [][]string
	for _, s := range r.Settings {
		if s.Value != "" || !s.Optional || opts.Verbose {
			rows = append(rows, []string{s.Name, cmp.Or(s.Value, "none"), s.Origin})
		}
	}
	if len(rows) > 0 {
		out.MarkedTable(rows, opts)
		out.Printf("\n")
	}
	marks := map[config.CheckStatus]string{config.CheckOK: "ok", config.CheckWarned: "warn", config.CheckFailed: "FAIL", config.CheckSkipped: "-"}
	rows = nil
	group := ""
	for _, f := range r.Checks {
		if f.Follows && !opts.Verbose {
			continue
		}
		shown := f.Group
		if shown == group {
			shown = ""
		}
		group = f.Group
		rows = append(rows, []string{marks[f.Status], shown, f.Name, f.Says})
		if f.Fix != "" {
			rows = append(rows, []string{"", "", "", "fix: " + f.Fix})
		}
	}
	out.MarkedTable(rows, opts)
	out.Printf("\n%s\n", doctorTotals(r.Checks))
}

func doctorTotals(checks []config.DoctorCheck) string {
	count := map[config.CheckStatus]int{}
	for _, f := range checks {
		count[f.Status]++
	}
	failed := diag.Plural(count[config.CheckFailed], "check", "checks") + " failed"
	warnings := diag.Plural(count[config.CheckWarned], "warning", "warnings")
	switch {
	case count[config.CheckFailed] > 0 && count[config.CheckWarned] > 0:
		return failed + ", and " + warnings + "."
	case count[config.CheckFailed] > 0:
		return failed + "."
	case count[config.CheckWarned] > 0:
		return "Nothing failed, with " + warnings + "."
	}
	return "Nothing is wrong."
}

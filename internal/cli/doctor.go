package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/doctor"
	"trueup/internal/exit"
	"trueup/internal/project"
	"trueup/internal/report"
)

type doctorOptions struct {
	probe       string
	autoApprove bool
}

func newDoctor(a *app) *cobra.Command {
	var opts doctorOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:  "doctor [--probe-duplicates HOSTNAME]",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				a.global.output = "json"
			}
			if !slices.Contains([]string{"text", "json"}, a.global.output) {
				return fmt.Errorf("-o is %q: doctor writes text or json", a.global.output)
			}
			if opts.probe != "" {
				return runProbe(cmd.Context(), a, opts)
			}
			return runDoctor(cmd.Context(), a)
		},
	}
	cmd.Flags().StringVar(&opts.probe, "probe-duplicates", "", "send one harmless request for `HOSTNAME` twice, to see whether the platform refuses the second")
	cmd.Flags().BoolVar(&opts.autoApprove, "auto-approve", false, "do not ask before sending")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -o json")
	return cmd
}

func runDoctor(ctx context.Context, a *app) error {
	p, err := a.findProject()
	in := doctor.Input{
		Options: a.config(), Project: p, ProjectErr: err, Searched: a.searched(), Flags: a.flagSettings(), Terminal: a.terminal(),
	}
	if p.Exists() {
		var l project.Loaded
		l, in.SetErr = a.load(ctx, nil, false)
		in.Set, in.Findings = l.Set, l.Findings
	}
	r := doctor.Run(ctx, in)
	a.code = r.ExitCode
	if a.global.output == "json" {
		err = a.out.JSON(r)
	} else {
		err = a.showDoctor(r)
	}
	if err != nil {
		return exit.With(cmp.Or(a.code, exit.Error), err)
	}
	return nil
}

// terminal says what standard output is, and what else decides how it is written to.
func (a *app) terminal() string {
	says := "standard output is not a terminal"
	if a.env.Width > 0 {
		says = fmt.Sprintf("%d columns", a.env.Width)
	}
	if a.useColor(a.env.Width > 0) {
		says += ", in colour"
	} else {
		says += ", without colour"
	}
	if a.inCI() {
		says += ", in CI"
	}
	return says
}

// flagSettings returns the limits of a run, which only flags change.
func (a *app) flagSettings() (list []doctor.Setting) {
	for _, name := range []string{"request-timeout", "timeout", "parallelism"} {
		flag := a.root.PersistentFlags().Lookup(name)
		origin := "default"
		if flag.Changed {
			origin = "--" + name
		}
		if flag.Changed || a.global.output == "json" {
			list = append(list, doctor.Setting{Name: name, Value: flag.Value.String(), Origin: origin})
		}
	}
	return list
}

// showDoctor writes two tables: settings that somebody chose or has to choose, and checks with what
// to do below each that needs it. -v also shows what follows from other lines.
func (a *app) showDoctor(r doctor.Report) error {
	opts := report.Options{Color: a.useColor(a.env.Width > 0), Width: a.env.Width}
	var err error
	if rows := settingRows(r.Settings, a.global.verbose, opts.Width); len(rows) > 0 {
		err = errors.Join(a.out.Marked(rows, opts), a.out.Printf("\n"))
	}
	return errors.Join(err, a.out.Marked(checkRows(r.Checks, a.global.verbose), opts), a.out.Printf("\n%s\n", summaryOf(r.Checks)))
}

// settingRows have who chose a setting in a column of its own, or behind the value if the terminal
// has no room for that.
func settingRows(settings []doctor.Setting, all bool, width int) [][]string {
	var rows [][]string
	var widest [3]int
	for _, s := range settings {
		if s.Value == "" && s.Optional && !all {
			continue
		}
		row := []string{s.Name, cmp.Or(s.Value, "none"), s.Origin}
		rows = append(rows, row)
		for i, cell := range row {
			widest[i] = max(widest[i], len(cell))
		}
	}
	if width == 0 || widest[0]+2+widest[1]+2+widest[2] <= width {
		return rows
	}
	for i, row := range rows {
		rows[i] = []string{row[0], row[1] + " (" + row[2] + ")"}
	}
	return rows
}

func checkRows(checks []doctor.Finding, all bool) [][]string {
	marks := map[doctor.Status]string{doctor.OK: "ok", doctor.Warning: "warn", doctor.Failed: "FAIL", doctor.Skipped: "-"}
	var rows [][]string
	group := ""
	for _, f := range checks {
		if f.Follows && !all {
			continue
		}
		shown := f.Group
		if shown == group {
			shown = ""
		}
		group = f.Group
		rows = append(rows, []string{marks[f.Status], shown, f.Check, f.Says})
		if f.Fix != "" {
			rows = append(rows, []string{"", "", "", "fix: " + f.Fix})
		}
	}
	return rows
}

func summaryOf(checks []doctor.Finding) string {
	count := map[doctor.Status]int{}
	for _, f := range checks {
		count[f.Status]++
	}
	failed := diag.Plural(count[doctor.Failed], "check", "checks") + " failed"
	warnings := diag.Plural(count[doctor.Warning], "warning", "warnings")
	switch {
	case count[doctor.Failed] > 0 && count[doctor.Warning] > 0:
		return failed + ", and " + warnings + "."
	case count[doctor.Failed] > 0:
		return failed + "."
	case count[doctor.Warning] > 0:
		return "Nothing failed, with " + warnings + "."
	}
	return "Nothing is wrong."
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

type doctorOptions struct {
	probe       string
	autoApprove bool
	json        bool
}

func newDoctor(a *app) *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:  "doctor [--probe-duplicates HOSTNAME]",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.json {
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
	cmd.Flags().BoolVar(&opts.json, "json", false, "the same as -o json")
	return cmd
}

// diagnosis is what doctor shows (schemas/doctor.schema.json).
type diagnosis struct {
	Format   string `json:"format"`
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	Sandbox  bool   `json:"sandbox"`
	// Settings are the effective ones, Checks what was looked at, each in the
	// order in which it is shown.
	Settings  []shownSetting       `json:"settings"`
	Checks    []finding            `json:"checks"`
	Workspace *kind.Workspace      `json:"workspace,omitempty"`
	Origins   map[kind.Area]string `json:"origins"`
	Ledger    struct {
		Store   string `json:"store,omitempty"`
		ID      string `json:"id,omitempty"`
		Problem string `json:"problem,omitempty"`
		Fix     string `json:"fix,omitempty"`
	} `json:"ledger"`
	// Proofs say where a refusal of duplicates was seen.
	Proofs map[kind.Area]ledger.Proof `json:"proofs"`
}

// finding is how a check ended.
type finding struct {
	// Group is what was looked at: project, compute, delivery, ledger, machine.
	Group  string `json:"group"`
	Check  string `json:"check"`
	Status status `json:"status"`
	Says   string `json:"says"`
	// Fix is what to do about it.
	Fix string `json:"fix,omitempty"`
	// code is the exit code that a failure asks for.
	code int
	// follows says that another check tells why there is nothing to say.
	follows bool
}

// status is how a check ended, in one word.
type status string

const (
	good    status = "ok"
	warned  status = "warn"
	failed  status = "fail"
	skipped status = "skipped"
)

func runDoctor(ctx context.Context, a *app) error {
	d := newDoctoring(ctx, a)
	defer d.close()
	for _, c := range d.checks() {
		f := c.run(ctx)
		f.Group, f.Check = c.group, c.name
		d.found.Checks = append(d.found.Checks, f)
	}
	a.code = orInterrupted(ctx, worst(d.found.Checks))
	d.found.Result, d.found.ExitCode = resultName(a.code), a.code
	var err error
	if a.global.output == "json" {
		err = a.out.JSON(d.found)
	} else {
		err = d.found.write(a)
	}
	if err != nil {
		return withCode(cmp.Or(a.code, exitError), err)
	}
	return nil
}

// worst is the exit code of all checks together, as docs/design.md 0.24 ranks them.
func worst(checks []finding) int {
	for _, code := range []int{exitAuth, exitNeedsPerson, exitError} {
		if slices.ContainsFunc(checks, func(f finding) bool { return f.Status == failed && f.code == code }) {
			return code
		}
	}
	return exitOK
}

// write shows it as two tables: settings that somebody chose or has to choose,
// and checks with what to do below each that needs it. What only follows from
// another line is left out, unless all is asked for.
func (d diagnosis) write(a *app) error {
	opts := report.Options{Color: a.useColor(a.env.Width > 0), Width: a.env.Width}
	if settings := d.settingRows(a.global.verbose, opts.Width); len(settings) > 0 {
		if err := a.out.Marked(settings, opts); err != nil {
			return err
		}
		if err := a.out.Printf("\n"); err != nil {
			return err
		}
	}
	if err := a.out.Marked(d.rows(a.global.verbose), opts); err != nil {
		return err
	}
	return a.out.Printf("\n%s\n", d.summary())
}

// settingRows are the settings that are shown, with who chose each in a column
// of its own, or behind its value where the terminal has no room for that.
func (d diagnosis) settingRows(all bool, width int) [][]string {
	var rows [][]string
	var widest [3]int
	for _, s := range d.Settings {
		if s.Value == "" && s.optional && !all {
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

// rows are the checks that are shown.
func (d diagnosis) rows(all bool) [][]string {
	marks := map[status]string{good: "ok", warned: "warn", failed: "FAIL", skipped: "-"}
	var rows [][]string
	group := ""
	for _, f := range d.Checks {
		if f.follows && !all {
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

func (d diagnosis) summary() string {
	count := map[status]int{}
	for _, f := range d.Checks {
		count[f.Status]++
	}
	switch {
	case count[failed] > 0 && count[warned] > 0:
		return diag.Plural(count[failed], "check", "checks") + " failed, and " + diag.Plural(count[warned], "warning", "warnings") + "."
	case count[failed] > 0:
		return diag.Plural(count[failed], "check", "checks") + " failed."
	case count[warned] > 0:
		return "Nothing failed, with " + diag.Plural(count[warned], "warning", "warnings") + "."
	}
	return "Nothing is wrong."
}

// proofText says what is known of duplicates in an area.
func proofText(area kind.Area, proofs map[kind.Area]ledger.Proof) string {
	if proof, ok := proofs[area]; ok {
		return "refused" + proven(proof)
	}
	if _, ok := probed(area); ok {
		return "unknown; trueup doctor --probe-duplicates HOSTNAME finds out"
	}
	return "unknown, and there is no harmless way to test it"
}

func proven(p ledger.Proof) string {
	text := fmt.Sprintf(", as seen at %s with %s (HTTP %d)", p.At.UTC().Format(time.RFC3339), p.Name, p.HTTP)
	if p.By != "" {
		text += " by " + p.By
	}
	return text
}

// probed is the kind of an area of which one more request does no harm: it
// leaves nothing behind.
func probed(area kind.Area) (*kind.Kind, bool) {
	for _, k := range kind.All() {
		if k.Area == area && k.Policy == kind.Once {
			return k, true
		}
	}
	return nil, false
}

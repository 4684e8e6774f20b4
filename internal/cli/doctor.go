package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/doctor"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/manifest"
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
	in, closeAll := a.examined(ctx)
	defer closeAll()
	r := doctor.Run(ctx, in)
	a.code = exit.OrInterrupted(ctx, exitOfChecks(r.Checks))
	r.Result, r.ExitCode = exit.Name(a.code), a.code
	var err error
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

// exitOfChecks is the exit code of all checks together.
func exitOfChecks(checks []doctor.Finding) int {
	seen := map[int]bool{}
	for _, f := range checks {
		if f.Status != doctor.Failed {
			continue
		}
		code := map[doctor.Class]int{doctor.Other: exit.Error, doctor.Token: exit.Auth, doctor.Person: exit.NeedsPerson}[f.Class]
		if f.Class == doctor.OfErr {
			code = exit.Of(f.Err)
		}
		seen[code] = true
	}
	for _, code := range []int{exit.Auth, exit.NeedsPerson, exit.Error} {
		if seen[code] {
			return code
		}
	}
	return exit.OK
}

// examined prepares a run, and goes on after what is wrong. For a sandbox it reads no setting of the
// real platform.
func (a *app) examined(ctx context.Context) (doctor.Input, func()) {
	in := doctor.Input{
		Sandbox: a.global.sandbox, Searched: a.searched(), Now: a.env.Now, Terminal: a.terminal(),
		Origins: map[kind.Area]string{}, TokenSources: map[kind.Area]string{},
	}
	p, err := a.findProject()
	in.Project, in.ProjectErr = p, err
	if p.Exists() {
		var l project.Loaded
		l, in.SetErr = a.load(ctx, nil, false)
		in.Set, in.Findings = l.Set, l.Findings
	}
	var s config.Settings
	var w *config.Platform
	if in.Sandbox {
		if w, in.SandboxErr = a.config().OpenSandboxPlatform(ctx, p, cmp.Or(in.Set, &manifest.Set{})); in.SandboxErr != nil {
			return in, func() {}
		}
	} else {
		s, in.SettingsErr = a.config().Settings()
		roots, err := s.RootCAs()
		in.SettingsErr = errors.Join(in.SettingsErr, err)
		w, in.AddressErrs = a.config().Platform(s, p)
		w.API.RootCAs, in.PinErr = roots, w.CheckPin()
		for area, token := range s.Tokens {
			in.TokenSources[area] = token.Source()
		}
		in.Overridden, in.HasProxy = s.Overridden(), s.Proxy.Value != ""
		if s.Profile.Name != "" {
			in.Profile = s.Profile.Name + " of " + s.Profile.File
		}
	}
	in.Ledger, in.LedgerErr = w.OpenLedger(ctx)
	in.API, in.Admit, in.Store = w.API, w.Admit, w.Ledger.Store
	maps.Copy(in.Origins, w.Origins)
	if !in.Sandbox {
		in.Settings = a.shownSettings(p, s, w, in)
		return in, w.Close
	}
	for _, area := range kind.Areas() {
		in.Settings = append(in.Settings, doctor.Setting{Name: string(area) + ".url", Value: w.Origins[area], Origin: "--sandbox"})
	}
	in.Settings = append(in.Settings, doctor.Setting{Name: "ledger.store", Value: w.Ledger.Store, Origin: "--sandbox"})
	return in, w.Close
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

// shownSettings are the settings that a run would use, and who chose each.
func (a *app) shownSettings(p project.Project, s config.Settings, w *config.Platform, in doctor.Input) (list []doctor.Setting) {
	add := func(name, value, origin string) *doctor.Setting {
		if value == "" {
			origin = ""
		}
		list = append(list, doctor.Setting{Name: name, Value: value, Origin: cmp.Or(origin, "default")})
		return &list[len(list)-1]
	}
	add("profile", s.Profile.Name, s.ProfileFrom)
	ws := ""
	if p.Exists() {
		ws = fmt.Sprintf("%s (%s)", p.Workspace.Name, p.Workspace.UUID)
	}
	add("workspace", ws, project.File)
	add("workspace.pin", w.Pin, config.WorkspacePin).Optional = true
	for _, area := range kind.Areas() {
		url, token, source := s.URLs[area], s.Tokens[area], ""
		if in.AddressErrs[area] != nil {
			url.Value = "not a usable address"
		}
		if !token.IsZero() {
			source = token.Source()
		}
		add(string(area)+".url", url.Value, url.Origin)
		add(string(area)+".token", source, token.Origin)
	}
	store, origin := w.Ledger.Store, project.File
	if in.LedgerErr != nil {
		store = "not a usable store"
	}
	if w.Ledger.StoreFromEnv {
		origin = "TRUEUP_LEDGER"
	}
	add("ledger.store", store, origin)
	add("caFile", s.CAFile.Value, s.CAFile.Origin).Optional = true
	add("proxy", s.Proxy.Value, s.Proxy.Origin).Optional = true
	for _, name := range []string{"request-timeout", "timeout", "parallelism"} {
		if flag := a.root.PersistentFlags().Lookup(name); flag.Changed || a.global.output == "json" {
			add(name, flag.Value.String(), map[bool]string{true: "--" + name}[flag.Changed])
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

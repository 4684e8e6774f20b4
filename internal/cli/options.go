package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/report"
)

// globalOptions are the flags that mean the same everywhere.
type globalOptions struct {
	dir            string
	profile        string
	sandbox        bool
	sandboxFaults  []string
	output         string
	reports        []string
	color          string
	diff           string
	quiet          bool
	verbose        bool
	parallelism    int
	timeout        time.Duration
	requestTimeout time.Duration
	caFile         string
	ephemeralOK    bool
	logFormat      string
}

func (g *globalOptions) register(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVarP(&g.dir, "chdir", "C", "", "work in `DIR`, the folder of trueup.yaml")
	f.StringVar(&g.profile, "profile", "", "use the addresses and tokens of profile `NAME` in your profiles file")
	f.BoolVar(&g.sandbox, "sandbox", false, "use the embedded platform, kept in .trueup/sandbox, instead of the real one")
	f.StringArrayVar(&g.sandboxFaults, "sandbox-fault", nil, "make requests of this --sandbox run fail as `RULE` says; repeatable (see sandbox fault --help)")
	f.StringVarP(&g.output, "output", "o", "text", "`FORMAT` of the result: "+strings.Join(report.Formats(), ", "))
	f.StringArrayVar(&g.reports, "report", nil, "also write the result as `FORMAT=FILE`, - for standard output; repeatable")
	f.StringVar(&g.color, "color", "auto", "colour: auto, always or never")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "show no progress")
	f.StringVar(&g.logFormat, "log-format", "text", "`FORM` of messages on standard error: text, or json with one message a line")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "show each request, and everything that is otherwise hidden")
	f.IntVar(&g.parallelism, "parallelism", 4, "how many files, requests or objects to work on at once")
	f.DurationVar(&g.timeout, "timeout", 0, "time limit of the whole run; 0 means none")
	f.DurationVar(&g.requestTimeout, "request-timeout", 30*time.Second, "time limit of one request")
	f.StringVar(&g.caFile, "ca-file", "", "PEM `FILE` of certificates to trust in addition to the system's (default TRUEUP_CA_FILE, or the profile's)")
	f.BoolVar(&g.ephemeralOK, "ledger-ephemeral-ok", false, "accept a file: ledger in CI, where a runner's disk is usually lost")
}

func logFormats() []string { return []string{"text", "json"} }

func colors() []string { return []string{"auto", "always", "never"} }

// registerDiff adds the flag of commands that show what differs inside objects.
func (g *globalOptions) registerDiff(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.diff, "diff", report.DiffFields, "how the text format shows what differs in an object, as `FORM`: "+strings.Join(report.Diffs(), ", "))
}

// check refuses values that no command could use.
func (g *globalOptions) check() error {
	if len(g.sandboxFaults) > 0 && !g.sandbox {
		return errors.New("--sandbox-fault needs --sandbox")
	}
	err := errors.Join(oneOf("--log-format", g.logFormat, logFormats()), oneOf("--color", g.color, colors()))
	if g.diff != "" {
		err = errors.Join(err, oneOf("--diff", g.diff, report.Diffs()))
	}
	return err
}

// checkGiven refuses an empty value of optional flags, which is what a script's unset variable gives.
func checkGiven(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		empty := f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.Contains(list.GetSlice(), "")
		}
		if f.Changed && empty {
			return fmt.Errorf("--%s is empty: give it a value, or remove it", name)
		}
	}
	return nil
}

// useColor reports whether to use colour: by flag, then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR
// and TERM, then by whether the output is a terminal.
func (a *app) useColor(terminal bool) bool {
	env := a.env.Getenv
	switch {
	case a.global.color != "auto":
		return a.global.color == "always"
	case env("NO_COLOR") != "":
		return false
	case env("FORCE_COLOR") != "" || env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0":
		return true
	case env("CLICOLOR") == "0" || env("TERM") == "dumb":
		return false
	}
	return terminal
}

func (a *app) checkFormats() error {
	if err := oneOf("-o", a.global.output, report.Formats()); err != nil {
		return err
	}
	for _, r := range a.global.reports {
		format, file, ok := strings.Cut(r, "=")
		if !ok || file == "" {
			return fmt.Errorf("--report is %q: write FORMAT=FILE with a format of %s", r, strings.Join(report.Formats(), ", "))
		}
		if err := oneOf("--report "+r+": the format", format, report.Formats()); err != nil {
			return err
		}
		if mayBeSource(file) {
			return fmt.Errorf("--report %s: %w", r, errSource)
		}
	}
	return nil
}

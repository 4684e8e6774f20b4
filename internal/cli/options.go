package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/diag"
	"trueup/internal/report"
)

// globalOptions are the flags that mean the same everywhere.
type globalOptions struct {
	dir, profile, output    string
	sandbox, quiet, verbose bool
	reports                 []string
}

func (g *globalOptions) register(f *pflag.FlagSet) {
	f.StringVarP(&g.dir, "chdir", "C", "", "work in `DIR`, the folder of trueup.yaml")
	f.StringVar(&g.profile, "profile", "", "use the addresses and tokens of profile `NAME` in your profiles file")
	f.BoolVar(&g.sandbox, "sandbox", false, "use the embedded platform, kept in .trueup/sandbox, instead of the real one")
	f.StringVarP(&g.output, "output", "o", "text", "`FORMAT` of the result: "+strings.Join(report.Formats(), ", "))
	f.StringArrayVar(&g.reports, "report", nil, "also write the result as `FORMAT=FILE`, - for standard output; repeatable")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "show no progress")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "show each request, and everything that is otherwise hidden")
	oneOfFlag(f, "output", report.Formats()...)
}

// useColor reports whether to use colour: by NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR
// and TERM, then by whether the output is a terminal.
func (a *app) useColor(terminal bool) bool {
	env := a.env.Getenv
	switch {
	case env("NO_COLOR") != "":
		return false
	case env("FORCE_COLOR") != "" || env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0":
		return true
	case env("CLICOLOR") == "0" || env("TERM") == "dumb":
		return false
	}
	return terminal
}

// oneOf refuses a value that is not among those known.
func oneOf(flag, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	meant := diag.Nearest(value, known)
	if meant != "" {
		meant = fmt.Sprintf(" (did you mean %s?)", meant)
	}
	last := len(known) - 1
	return fmt.Errorf("%s is %q%s: write %s or %s", flag, value, meant, strings.Join(known[:last], ", "), known[last])
}

// suggestFlag adds to an error of parsing flags which flag was probably meant.
func suggestFlag(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wrong.GetFlag().Value.Type() == "duration" {
		return fmt.Errorf("%w: write a time such as 30s or 10m", err)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	other := map[string]string{"dry-run": "trueup plan shows what apply would send", "yes": "write --auto-approve"}
	if hint := other[unknown.GetSpecifiedName()]; hint != "" {
		return fmt.Errorf("%w of %s: %s", err, cmd.CommandPath(), hint)
	}
	return fmt.Errorf("%w of %s%s", err, cmd.CommandPath(), hint(cmd, "--", unknown.GetSpecifiedName(), known))
}

// wordsOfOthers returns what commands of other tools are written as.
func wordsOfOthers() map[string]string {
	return map[string]string{
		"trueup get": "trueup explain KIND/NAME.spec --live", "trueup list": "trueup status",
		"trueup delete": "trueup apply --prune, after you removed the manifest", "trueup import": "trueup pull",
		"trueup rollback": "trueup pull --before COMMIT, and apply that",
	}
}

// hint says which word of a command was probably meant, or where to find them.
func hint(cmd *cobra.Command, dashes, word string, known []string) string {
	if meant := diag.Nearest(word, known); meant != "" {
		return fmt.Sprintf(": did you mean %s%s?", dashes, meant)
	}
	if first, _, _ := strings.Cut(cmd.Short, " "); dashes == "" && strings.EqualFold(first, word) {
		return fmt.Sprintf(": %s alone does that", cmd.CommandPath())
	}
	return fmt.Sprintf(": %s --help lists them", cmd.CommandPath())
}

// explainArgs makes a command say what to write if its arguments are wrong.
func explainArgs(cmd *cobra.Command) {
	check := cmd.Args
	switch {
	case takesCommand(cmd):
		cmd.Args = onlyCommands
	case check != nil:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w: write %s", err, cmd.UseLine())
			}
			return nil
		}
	}
}

// takesCommand reports whether the arguments of a command are those below it.
func takesCommand(cmd *cobra.Command) bool { return cmd.HasSubCommands() && cmd.Use == cmd.Name() }

// onlyCommands refuses an argument of a command that has others below it.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			known = append(known, below.Name())
		}
	}
	if ours := wordsOfOthers()[cmd.CommandPath()+" "+args[0]]; ours != "" {
		return fmt.Errorf("unknown command %q for %q: write %s", args[0], cmd.CommandPath(), ours)
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint(cmd, "", args[0], known))
}

// settings are what a run reads of the environment instead of flags.
type settings struct {
	parallelism             int
	writesPerSecond         float64 // 0 means the default
	timeout, requestTimeout time.Duration
	logsJSON, diskIsKept    bool
	sandboxFaults           []string
}

// The variables of the settings.
const (
	parallelismVar    = "TRUEUP_PARALLELISM"
	timeoutVar        = "TRUEUP_TIMEOUT"
	requestTimeoutVar = "TRUEUP_REQUEST_TIMEOUT"
)

// readSettings returns the settings, those that are wrong with their defaults.
func readSettings(getenv func(string) string) (s settings, err error) {
	s = settings{parallelism: 4, requestTimeout: 30 * time.Second}
	format, kept := cmp.Or(getenv("TRUEUP_LOG_FORMAT"), "text"), cmp.Or(getenv("TRUEUP_DISK_IS_KEPT"), "false")
	err = errors.Join(
		readVariable(getenv, parallelismVar, "a whole number above 0", &s.parallelism, func(text string) (int, bool) {
			n, err := strconv.Atoi(text)
			return n, err == nil && n > 0
		}),
		readVariable(getenv, "TRUEUP_WRITES_PER_SECOND", "a number above 0", &s.writesPerSecond, func(text string) (float64, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return n, err == nil && n > 0 && n <= math.MaxInt32
		}),
		readVariable(getenv, timeoutVar, timeForm, &s.timeout, parseTime),
		readVariable(getenv, requestTimeoutVar, timeForm, &s.requestTimeout, parseTime),
		oneOf("TRUEUP_LOG_FORMAT", format, []string{"text", "json"}),
		oneOf("TRUEUP_DISK_IS_KEPT", kept, []string{"true", "false"}),
	)
	s.logsJSON, s.diskIsKept = format == "json", kept == "true"
	if rules := getenv("TRUEUP_SANDBOX_FAULTS"); rules != "" {
		s.sandboxFaults = strings.Split(rules, ";")
	}
	return s, err
}

// readVariable sets a value to that of a variable, if it has one.
func readVariable[T any](getenv func(string) string, name, form string, value *T, parse func(string) (T, bool)) error {
	text := getenv(name)
	if text == "" {
		return nil
	}
	parsed, ok := parse(text)
	if !ok {
		return fmt.Errorf("%s is %q: write %s", name, text, form)
	}
	*value = parsed
	return nil
}

const timeForm = "a time above 0, such as 10m"

func parseTime(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

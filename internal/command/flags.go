package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

// checkFlags refuses flags that do nothing in the command, and values that they do not allow.
func checkFlags(cmd *cobra.Command) error {
	var wrong []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		wrong = append(wrong, checkFlag(cmd, f), errorIf(!FlagHasEffect(cmd, f), "--%s does nothing in %s: remove it", f.Name, cmd.CommandPath()))
	})
	return errors.Join(wrong...)
}

// checkFlag refuses a value that the flag does not allow. It also refuses an empty value of -C and of a
// command's own flags, because a script's unset variable is a likely cause.
func checkFlag(cmd *cobra.Command, f *pflag.Flag) error {
	name, isGlobal := "--"+f.Name, cmd.Root().PersistentFlags().Lookup(f.Name) != nil
	if f.Name == "output" {
		name = "-o"
	}
	for _, value := range flagValues(f) {
		switch allowed := f.Annotations[AllowedWords]; {
		case value == "" && f.Name == "chdir":
			return errors.New("-C is empty: name the folder of a project, or remove it")
		case value == "" && !isGlobal:
			return fmt.Errorf("%s is empty: give it a value, or remove it", name)
		case allowed != nil:
			if err := checkOneOf(name, value, allowed); err != nil {
				return err
			}
		}
	}
	return nil
}

// flagValues returns the value of a flag, or those of one that is repeatable.
func flagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// checkReports refuses a report that can't be written.
func (run *Run) checkReports() error {
	known := report.Formats()
	for _, r := range run.Reports {
		format, file, ok := strings.Cut(r, "=")
		if !ok || file == "" {
			return fmt.Errorf("--report is %q: write FORMAT=FILE with a format of %s", r, strings.Join(known, ", "))
		}
		if err := checkOneOf("--report "+r+": the format", format, known); err != nil {
			return err
		}
		if manifest.IsYAML(file) {
			return fmt.Errorf("--report %s: %w", r, errSource)
		}
	}
	return nil
}

// errSource is the error for a result file whose name may be that of a manifest.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")

// AllowedWords is the annotation that has the allowed values of a flag.
const AllowedWords = "trueup_words"

// restrictFlag limits a flag to some words. Completion offers them, and start refuses others.
func restrictFlag(f *pflag.FlagSet, name string, allowed ...string) {
	_ = f.SetAnnotation(name, AllowedWords, allowed) // the flag exists
}

// errorIf returns an error with the formatted text if wrong is true.
func errorIf(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// RegisterFlags adds the flags that mean the same everywhere.
func (run *Run) RegisterFlags(f *pflag.FlagSet) {
	f.StringVarP(&run.Chdir, "chdir", "C", "", "work in `DIR`, the folder of trueup.yaml")
	f.StringVar(&run.Profile, "profile", "", "use the addresses and tokens of profile `NAME` in your profiles file")
	f.BoolVar(&run.Sandbox, "sandbox", false, "use the embedded platform, kept in .trueup/sandbox, instead of the real one")
	f.StringVarP(&run.Format, "output", "o", "text", "`FORMAT` of the result: "+strings.Join(report.Formats(), ", "))
	f.StringArrayVar(&run.Reports, "report", nil, "also write the result as `FORMAT=FILE`, - for standard output; repeatable")
	f.BoolVarP(&run.Quiet, "quiet", "q", false, "show no progress")
	f.BoolVarP(&run.Verbose, "verbose", "v", false, "show each request, and everything that is otherwise hidden")
	restrictFlag(f, "output", report.Formats()...)
}

// checkOneOf refuses a value that is not among those known.
func checkOneOf(flag, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	meant, last := diag.Suggest(value, known, " (did you mean %s?)", ""), len(known)-1
	return fmt.Errorf("%s is %q%s: write %s or %s", flag, value, meant, strings.Join(known[:last], ", "), known[last])
}

// SuggestFlag adds to an error of parsing flags which flag was probably meant.
func SuggestFlag(cmd *cobra.Command, err error) error {
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
	return fmt.Errorf("%w of %s%s", err, cmd.CommandPath(), SuggestWord(cmd, "--", unknown.GetSpecifiedName(), known))
}

// SuggestWord says which word of a command was probably meant, or where to find them.
func SuggestWord(cmd *cobra.Command, dashes, word string, known []string) string {
	other := " --help lists them"
	if first, _, _ := strings.Cut(cmd.Short, " "); dashes == "" && strings.EqualFold(first, word) {
		other = " alone does that"
	}
	return diag.Suggest(word, known, ": did you mean "+dashes+"%s?", ": "+cmd.CommandPath()+other)
}

// argCountCheck returns the check of a command's number of arguments, which says what to write.
func argCountCheck(use string) cobra.PositionalArgs {
	list := Placeholders(use)
	least := slices.IndexFunc(list, func(p Placeholder) bool { return p.Optional })
	if least < 0 {
		least = len(list)
	}
	check := cobra.MaximumNArgs(len(list))
	switch {
	case len(list) == 0:
		check = cobra.NoArgs
	case list[len(list)-1].Repeated:
		check = cobra.MinimumNArgs(least)
	case least == len(list):
		check = cobra.ExactArgs(least)
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w: write %s", err, cmd.UseLine())
		}
		return nil
	}
}

// Placeholder is an argument in a line of usage.
type Placeholder struct {
	Name               string
	Optional, Repeated bool
}

// Placeholders returns the arguments of a line of usage, without its flags.
func Placeholders(use string) (list []Placeholder) {
	for _, word := range strings.Fields(use)[1:] {
		bare, optional := strings.CutPrefix(word, "[")
		if strings.HasPrefix(bare, "-") {
			break
		}
		bare, repeated := strings.CutSuffix(strings.TrimSuffix(bare, "]"), "...")
		bare, _, _ = strings.Cut(bare, "|")
		list = append(list, Placeholder{bare, optional, repeated})
	}
	return list
}

// The reach of a command, and of the global flags: a flag does something in commands that reach as far.
const (
	reachesNothing = iota
	reachesFiles
	reachesNetwork  // such as a code host
	reachesPlatform // or the ledger
)

// FlagHasEffect reports whether a flag does something in a command.
func FlagHasEffect(cmd *cobra.Command, f *pflag.Flag) bool {
	if !cmd.HasParent() || cmd.InheritedFlags().Lookup(f.Name) != f {
		return true
	}
	name := strings.TrimPrefix(cmd.CommandPath(), "trueup ")
	group, _, _ := strings.Cut(name, " ")
	if f.Name == "output" || f.Name == "report" { // text and streams have no formats
		return group != "completion" && !slices.Contains([]string{"help", "sandbox", "ledger export"}, name)
	}
	needed := map[string]int{"sandbox": reachesPlatform, "profile": reachesNetwork, "chdir": reachesFiles}[f.Name]
	reach, isShort := map[string]int{
		"version": reachesNothing, "help": reachesNothing, "completion": reachesNothing,
		"validate": reachesFiles, "fmt": reachesFiles, "show": reachesFiles, "sandbox": reachesFiles, "comment": reachesNetwork,
	}[group]
	return !isShort || needed <= reach
}

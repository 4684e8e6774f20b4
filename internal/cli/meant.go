package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/manifest"
)

// oneOf refuses a value of a flag that is none of a table.
func oneOf(flag, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	meant := manifest.Nearest(value, known)
	if meant != "" {
		meant = fmt.Sprintf(" (did you mean %s?)", meant)
	}
	last := len(known) - 1
	return fmt.Errorf("%s is %q%s: write %s or %s", flag, value, meant, strings.Join(known[:last], ", "), known[last])
}

// meantFlag adds to an error of parsing flags which flag was probably meant.
func meantFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	hint := fmt.Sprintf(": %s --help lists them", cmd.CommandPath())
	if meant := manifest.Nearest(unknown.GetSpecifiedName(), known); meant != "" {
		hint = fmt.Sprintf(": did you mean --%s?", meant)
	}
	return fmt.Errorf("%w of %s%s", err, cmd.CommandPath(), hint)
}

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
	hint := manifest.DidYouMean(args[0], known)
	if hint == "" {
		hint = fmt.Sprintf(": %s --help lists them", cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
}

// explainSlips makes a command, and all below it, say what was probably meant.
func explainSlips(cmd *cobra.Command) {
	switch args := cmd.Args; {
	case args == nil:
	case cmd.HasSubCommands():
		cmd.Args = onlyCommands
	default:
		cmd.Args = func(cmd *cobra.Command, given []string) error {
			if err := args(cmd, given); err != nil {
				return fmt.Errorf("%w: write %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, below := range cmd.Commands() {
		explainSlips(below)
	}
}

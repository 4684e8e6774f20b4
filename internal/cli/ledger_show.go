package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

func newLedgerShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show KIND/NAME",
		Short: "Show the record of one object, and what can be done about it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := keyArg(args[0])
			if err != nil {
				return err
			}
			l, closeAll, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			view, err := l.View(cmd.Context(), []kind.Key{key})
			if err != nil {
				return err
			}
			if view.Problem != "" {
				return withCode(exitNeedsPerson, fmt.Errorf("%s: %s", view.Problem, view.Fix))
			}
			rec, ok := view.Records[key]
			if !ok {
				return fmt.Errorf("the ledger has no record of %s", key)
			}
			if a.global.output == "json" {
				return a.printJSON(readable(rec))
			}
			message, fix := ledger.Explain(rec)
			if fix != "" {
				message += "\nfix: " + fix
			}
			for line := range strings.SplitSeq(message, "\n") {
				if _, err := fmt.Fprintln(a.env.Stdout, report.Clean(line)); err != nil {
					return err
				}
			}
			return a.printJSON(readable(rec))
		},
	}
}

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
)

func newLedgerList(a *app) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:  "ls",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLedgerList(cmd.Context(), a, open) },
	}
	cmd.Flags().BoolVar(&open, "open", false, "list only requests that have no outcome")
	return cmd
}

func runLedgerList(ctx context.Context, a *app, open bool) error {
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	records, err := l.List(ctx)
	if err != nil {
		return ledgerError(err)
	}
	if open {
		records = slices.DeleteFunc(records, func(r ledger.Record) bool { return !r.Open() })
	}
	if a.global.output == "json" {
		return a.out.JSON(append([]ledger.Record{}, records...))
	}
	rows := make([][]string, len(records))
	for i, rec := range records {
		rows[i] = []string{rec.String(), stateOf(rec), shortly(rec)}
	}
	return a.out.Table("", rows)
}

// shortly explains a record without its name and its state, which stand before
// it.
func shortly(rec ledger.Record) string {
	message, _ := ledger.Explain(rec)
	message = strings.TrimPrefix(strings.TrimPrefix(message, rec.String()+" "), "was ")
	return strings.TrimPrefix(message, stateOf(rec))
}

func stateOf(rec ledger.Record) string {
	switch {
	case rec.State != "":
		return string(rec.State)
	case rec.Pending != nil:
		return "pending"
	case rec.Applied != nil:
		return "applied"
	default:
		return "free"
	}
}

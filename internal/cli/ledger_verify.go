package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newLedgerVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "verify",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLedgerVerify(cmd.Context(), a) },
	}
}

func runLedgerVerify(ctx context.Context, a *app) error {
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	found, err := l.Verify(ctx)
	if err != nil {
		return ledgerError(err)
	}
	switch {
	case a.global.output == "json":
		err = a.out.JSON(found)
	case len(found.Damage) == 0:
		err = a.out.Printf("nothing is damaged; records: %d\n", found.Records)
	default:
		for _, what := range found.Damage {
			err = cmp.Or(err, a.out.Printf("%s\n", what))
		}
	}
	if err != nil || len(found.Damage) == 0 {
		return err
	}
	return withCode(exitNeedsPerson, fmt.Errorf("the ledger is damaged in places: %d; records that could be read: %d; keep a copy of it. Then restore the named files; or move the ledger away, and import the newest export with trueup ledger import (docs/ledger.md)",
		len(found.Damage), found.Records))
}

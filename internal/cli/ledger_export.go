package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
)

func newLedgerExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write the whole ledger as JSON Lines, for a copy that import restores",
		Long: "Write the whole ledger as JSON Lines to FILE, or to standard output: a line that says which ledger it is and how many\n" +
			"records there are, then each record as it is stored. There is no secret in it.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, closeAll, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			if len(args) == 0 || args[0] == "-" {
				_, err = l.Export(cmd.Context(), a.env.Stdout)
				return ledgerError(err)
			}
			return a.exportTo(cmd.Context(), l, args[0])
		},
	}
}

// exportTo makes or replaces a file.
func (a *app) exportTo(ctx context.Context, l *ledger.Ledger, name string) error {
	f, err := os.OpenFile(a.path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := l.Export(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return ledgerError(err)
	}
	_, err = fmt.Fprintf(a.env.Stdout, "records exported: %d\n", n)
	return err
}

// path is a file that the user named.
func (a *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.dir(), name)
}

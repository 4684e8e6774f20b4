package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
	"trueup/internal/report"
)

func newLedgerExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "export [FILE]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, closeAll, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			if len(args) == 0 || args[0] == "-" {
				_, err = l.Export(cmd.Context(), report.JSONStream(a.stdout))
				return ledgerError(err)
			}
			return a.exportTo(cmd.Context(), l, args[0])
		},
	}
}

// exportTo makes or replaces a file. An earlier export is replaced only by one
// that is whole: it may be all that is left of a ledger.
func (a *app) exportTo(ctx context.Context, l *ledger.Ledger, name string) error {
	target := a.full(name)
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("export ledger: %s is not a regular file: use - for standard output", name)
	}
	f, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	n, err := l.Export(ctx, report.JSONStream(f))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return ledgerError(errors.Join(err, os.Remove(f.Name())))
	}
	return a.out.Printf("records exported: %d\n", n)
}

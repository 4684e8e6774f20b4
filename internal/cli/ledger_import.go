package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/files"
	"trueup/internal/ledger"
)

func newLedgerImport(a *app) *cobra.Command {
	var leave []string
	cmd := &cobra.Command{
		Use:  "import FILE|FOLDER|-",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLedgerImport(cmd.Context(), a, args[0], leave)
		},
	}
	cmd.Flags().StringArrayVar(&leave, "leave", nil, "leave `KIND/NAME` as it is in the ledger; repeatable")
	return cmd
}

func runLedgerImport(ctx context.Context, a *app, name string, leave []string) error {
	left, err := keys("--leave", leave)
	if err != nil {
		return err
	}
	backup, err := a.readBackup(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	backup.Records = slices.DeleteFunc(backup.Records, func(r ledger.Record) bool { return left[r.Key] })
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	done, err := l.Import(ctx, backup)
	var conflicts *ledger.ConflictsError
	if errors.As(err, &conflicts) {
		return a.showConflicts(conflicts)
	}
	if err != nil {
		return ledgerError(err)
	}
	if done.Restored {
		err = a.out.Printf("the ledger is restored as of %s: it lacks what was sent since, and the next apply may send that again.\nFirst record what was sent since: trueup ledger adopt KIND/NAME, or trueup ledger init --adopt=GLOB\n",
			backup.ExportedAt.UTC().Format(time.RFC3339))
	}
	return cmp.Or(err, a.out.Printf("records added: %d, updated: %d, unchanged: %d\n", done.Added, done.Advanced, done.Left))
}

func (a *app) readBackup(name string) (ledger.Backup, error) {
	if name == "-" {
		return ledger.ReadBackup(files.AtMost(a.stdin("an export or the output of a run"), maxBackup))
	}
	f, err := os.OpenFile(a.full(name), os.O_RDONLY|files.NoWait, 0)
	if err != nil {
		return ledger.Backup{}, files.WithoutPath(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ledger.Backup{}, files.WithoutPath(err)
	}
	if info.IsDir() {
		return ledger.ReadBackupFolder(os.DirFS(a.full(name)))
	}
	return ledger.ReadBackup(files.AtMost(f, maxBackup))
}

// showConflicts names the records of a file that contradict the ledger.
func (a *app) showConflicts(e *ledger.ConflictsError) error {
	for _, c := range e.Conflicts {
		message, fix := c.Explain()
		if err := a.out.Printf("%s: %s\n  fix: %s\n", c.Given, message, fix); err != nil {
			return err
		}
	}
	return withCode(exitNeedsPerson, e)
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

func newLedger(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "ledger",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLedgerInit(a), newLedgerList(a), newLedgerShow(a), newLedgerResolve(a), newLedgerAdopt(a),
		newLedgerSettle(a), newLedgerExport(a), newLedgerImport(a), newLedgerVerify(a))
	return cmd
}

// enterHere opens the world of the project for who needs no manifest.
func (a *app) enterHere(ctx context.Context) (project, *world, error) {
	p, err := a.findProject()
	if err != nil {
		return project{}, nil, err
	}
	w, err := a.enter(ctx, p, &manifest.Set{})
	return p, w, err
}

// openLedger opens the ledger of the project, or of the sandbox.
func (a *app) openLedger(ctx context.Context) (*ledger.Ledger, func(), error) {
	_, w, err := a.enterHere(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err := w.book(ctx)
	if err != nil {
		w.close()
		return nil, nil, err
	}
	return l, w.close, nil
}

// ledgerError gives a ledger that can't be used the code of a person's question.
func ledgerError(err error) error {
	if problem := ledger.Problem(err); problem != nil {
		return withCode(exitNeedsPerson, fmt.Errorf("%w: %s", err, problem.Fix))
	}
	return err
}

func keyArg(arg string) (kind.Key, error) {
	key, ok := kind.ParseKey(arg)
	if !ok {
		return kind.Key{}, fmt.Errorf("%q is not of the form KIND/NAME, such as purge/rel-42", arg)
	}
	return key, nil
}

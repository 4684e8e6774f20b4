package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

func newLedgerInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make the ledger that trueup.yaml names, and prove that its store is safe",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadProject(a.dir())
			if err != nil {
				return err
			}
			w, err := a.enter(cmd.Context(), p, &manifest.Set{})
			if err != nil {
				return err
			}
			defer w.close()
			if w.ledger.Store == "" {
				return errors.New("trueup.yaml names no ledger: write ledger: {store: \"git:refs/trueup/ledger\"} or {store: \"file:PATH\"} into it")
			}
			g, err := ledger.Init(cmd.Context(), w.ledger)
			if err != nil {
				return ledgerError(err)
			}
			text := fmt.Sprintf("ledger %s is ready\n", g.LedgerID)
			if p.Ledger.ID == "" && !a.global.sandbox {
				text += "now write its id into trueup.yaml, so that another ledger is never taken for it:\n\n"
				if strings.Contains(w.ledger.Store, "endpoint=") { // which only the environment may name
					text += fmt.Sprintf("ledger: {id: %s}\n", g.LedgerID)
				} else {
					text += fmt.Sprintf("ledger: {store: %q, id: %s}\n", w.ledger.Store, g.LedgerID)
				}
			}
			_, err = fmt.Fprint(a.env.Stdout, text)
			return err
		},
	}
}

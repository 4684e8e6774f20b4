package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
	"trueup/internal/report"
)

func newLedgerList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List what is recorded",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, closeAll, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			records, err := l.List(cmd.Context())
			if err != nil {
				return ledgerError(err)
			}
			if a.global.output == "json" {
				plain := make([]any, len(records))
				for i, rec := range records {
					plain[i] = readable(rec)
				}
				return a.printJSON(plain)
			}
			w := tabwriter.NewWriter(a.env.Stdout, 0, 0, 2, ' ', 0)
			for _, rec := range records {
				line := report.Clean(rec.String()) + "\t" + stateOf(rec)
				if more := shortly(rec); more != "" {
					line += "\t" + report.Clean(more)
				}
				_, _ = fmt.Fprintln(w, line)
			}
			return w.Flush()
		},
	}
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

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

func newLedgerShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "show KIND/NAME",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLedgerShow(cmd.Context(), a, args[0])
		},
	}
}

func runLedgerShow(ctx context.Context, a *app, arg string) error {
	key, err := keyArg(arg)
	if err != nil {
		return err
	}
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	view, err := l.View(ctx, []kind.Key{key})
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
		return a.out.JSON(rec)
	}
	return writeRecord(a.out, rec)
}

// answers say what each answer to an open question does.
const answers = `  --posted   it was executed: it is done, and never sent again
  --repost   it was not: the next apply sends it
  --abandon  it no longer matters: it is never sent
`

// writeRecord tells of a record for a person.
func writeRecord(out report.Lines, rec ledger.Record) error {
	message, fix := ledger.Explain(rec)
	err := out.Printf("%s\n", message)
	if fix != "" {
		err = cmp.Or(err, out.Printf("fix: %s\n", fix))
	}
	if rec.Open() && !rec.NameTaken() {
		err = cmp.Or(err, out.Text(answers))
	}
	history := make([][]string, len(rec.History))
	for i, s := range rec.History {
		history[i] = []string{fmt.Sprint(s.Seq), s.At.UTC().Format(time.RFC3339), s.Event, s.By, s.Detail}
	}
	err = cmp.Or(err, out.Text("\nHistory:\n"), out.Table("  ", history),
		writeSpec(out, "Spec", rec.Spec), writeSpec(out, "Applied", rec.Applied))
	for _, spec := range rec.Pending {
		err = cmp.Or(err, writeSpec(out, "Written, and not confirmed", spec))
	}
	return err
}

func writeSpec(out report.Lines, title string, spec ledger.JSON) error {
	if spec == nil {
		return nil
	}
	return cmp.Or(out.Printf("\n%s:\n", title), out.JSON(json.RawMessage(spec)))
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

func newLedgerShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show KIND/NAME",
		Short: "Show the record of one object: what is known, what can be done about it, its history and its spec",
		Args:  cobra.ExactArgs(1),
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
		return a.printJSON(readable(rec))
	}
	return writeRecord(a.env.Stdout, rec)
}

// answers say what each answer to an open question does.
const answers = `  --posted   it was executed: it is done, and never sent again
  --repost   it was not: the next apply sends it
  --abandon  it no longer matters: it is never sent
`

// writeRecord tells of a record for a person.
func writeRecord(out io.Writer, rec ledger.Record) error {
	var b strings.Builder
	message, fix := ledger.Explain(rec)
	b.WriteString(report.Clean(message) + "\n")
	if fix != "" {
		b.WriteString("fix: " + report.Clean(fix) + "\n")
	}
	if rec.Open() && !rec.NameTaken() {
		b.WriteString(answers)
	}
	b.WriteString("\nHistory:\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range rec.History {
		_, _ = fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %d\t%s\t%s\t%s\t%s", s.Seq, s.At.UTC().Format(time.RFC3339),
			report.Clean(s.Event), report.Clean(s.By), report.Clean(s.Detail)), "\t "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	writeSpec(&b, "Spec", rec.Spec)
	writeSpec(&b, "Applied", rec.Applied)
	for _, spec := range rec.Pending {
		writeSpec(&b, "Written, and not confirmed", spec)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func writeSpec(b *strings.Builder, title string, spec ledger.GzipJSON) {
	if spec == nil {
		return
	}
	var text bytes.Buffer
	if json.Indent(&text, spec, "", "  ") != nil {
		text.Write(spec) // it was JSON when it was read
	}
	fmt.Fprintf(b, "\n%s:\n%s\n", title, report.CleanJSON(text.Bytes()))
}

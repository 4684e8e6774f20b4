package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newShow(run *Run) *cobra.Command {
	return newCommand(run, "show FILE|DIR", func(_ context.Context, args []string) (doc report.Document, err error) {
		full := run.FullPath(args[0])
		if info, err := os.Stat(full); err == nil && info.IsDir() {
			root, err := os.OpenRoot(full)
			if err == nil {
				doc, err = report.CollectResults(files.OpenFS(root), toolName())
				err = errors.Join(err, root.Close())
			}
			if err != nil {
				return doc, fmt.Errorf("the results below %s: %w", args[0], err)
			}
			return doc, nil
		}
		p, err := reconcile.ReadPlan(full)
		if err != nil {
			return doc, diag.WithExit(diag.ExitError, fmt.Errorf("%s: %w", args[0], err))
		}
		note := fmt.Sprintf("this plan was created at %s by %s; nothing was read now", p.CreatedAt.UTC().Format(time.RFC3339), p.Tool)
		p.Notes = append([]string{note}, p.Notes...)
		return report.Document{Plan: p, Sandbox: p.Sandbox, Objects: len(p.Items)}, nil
	})
}

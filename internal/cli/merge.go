package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trueup/internal/files"
	"trueup/internal/report"
)

func newMergeResults(a *app) *cobra.Command {
	return a.command("merge-results DIR", func(_ context.Context, args []string) (doc report.Document, err error) {
		root, err := os.OpenRoot(a.full(args[0]))
		if err != nil {
			return doc, fmt.Errorf("%s: %w", args[0], files.WithoutPath(err))
		}
		doc, err = report.Collect(files.FS(root), toolName())
		if err = errors.Join(err, root.Close()); err != nil {
			return doc, fmt.Errorf("the results below %s: %w", args[0], err)
		}
		return doc, nil
	})
}

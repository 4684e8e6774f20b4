package command

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/reconcile"
	"trueup/internal/report"
	"trueup/internal/routing"
)

func newRequest(run *Run) *cobra.Command {
	var live bool
	cmd := newCommand(run, "request URL...", func(ctx context.Context, urls []string) (doc report.Document, err error) {
		const refusal = "no URL was looked up"
		l, err := run.LoadValid(ctx, nil, refusal)
		if err != nil {
			return doc, err
		}
		run.WarnIfNoManifests(l)
		sides := []routing.Side{reconcile.GitSide(l)}
		if live {
			s, err := reconcile.PrepareSession(ctx, run.Options, l, reconcile.Options{ReadOnly: true, Whole: true})
			if err != nil {
				return doc, err
			}
			defer s.Close()
			if err := s.Loaded.RefuseInvalid(refusal); err != nil {
				return doc, err
			}
			sides = s.RequestSides()
		}
		result, err := routing.NewLookup(sides, routing.PrecedencesOf(l.Project.Platform.Precedence), diag.DidYouMean).AskAll(urls)
		if err != nil {
			return doc, err
		}
		result.Sandbox = live && run.Sandbox
		return report.RequestDocument(result), nil
	})
	cmd.Flags().BoolVar(&live, "live", false, "also show what live CDNs do, and mark what differs")
	return cmd
}

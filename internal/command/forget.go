package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/report"
)

func newLedgerForget(run *Run) *cobra.Command {
	var reason string
	var yes bool
	cmd := newCommand(run, "forget KIND/NAME...", func(ctx context.Context, args []string) (doc report.Document, err error) {
		keys := make([]kind.Key, len(args))
		for i, arg := range args {
			if keys[i], err = kind.ParseKey(arg); err != nil {
				return doc, err
			}
		}
		l, err := run.loadValid(ctx, nil, "nothing was recorded")
		if err != nil {
			return doc, err
		}
		done, before, err := generate.ForgetObjects(ctx, run.Options, l, keys, strings.TrimSpace(reason), func() error { return confirmForget(run, keys, yes) })
		for _, rec := range before {
			addMessage(&doc, "%s: it was forgotten already, at %s; nothing was recorded", rec.Key, rec.History[len(rec.History)-1].At.UTC().Format(time.RFC3339))
		}
		for _, key := range done {
			addMessage(&doc, "%s: forgotten; nothing was changed on the platform", key)
		}
		return doc, err
	})
	cmd.ValidArgsFunction = CompleteWords() // manifests have only the names that can't be forgotten
	cmd.Flags().StringVar(&reason, "reason", "", "why: the record keeps this `TEXT`")
	cmd.Flags().BoolVar(&yes, "auto-approve", false, "do not ask")
	return cmd
}

func confirmForget(run *Run, keys []kind.Key, yes bool) error {
	names, them := make([]string, len(keys)), "it"
	for i, key := range keys {
		names[i] = key.String()
	}
	switch {
	case yes:
		return nil
	case !run.StdinIsTTY:
		return errors.New("there is no terminal to ask on: add --auto-approve")
	case len(keys) > 1:
		them = "them"
	}
	return run.requireYes("nothing was recorded", "Forget %s? trueup changes nothing on the platform, and no longer mentions %s.\nType yes: ", diag.JoinFirst(names, 5), them)
}

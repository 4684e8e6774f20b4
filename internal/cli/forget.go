package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/adopt"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/report"
)

func newForget(a *app) *cobra.Command {
	var reason string
	var yes bool
	cmd := a.command("forget KIND/NAME...", func(ctx context.Context, args []string) (doc report.Document, err error) {
		keys := make([]kind.Key, len(args))
		for i, arg := range args {
			if keys[i], err = kind.ParseKey(arg); err != nil {
				return doc, err
			}
		}
		l, err := a.loadValid(ctx, nil, "nothing was recorded")
		if err != nil {
			return doc, err
		}
		done, err := adopt.Forget(ctx, a.config(), l, keys, strings.TrimSpace(reason), func() error { return a.confirmForget(keys, yes) })
		for _, key := range done {
			say(&doc, "%s: forgotten; nothing was changed on the platform", key)
		}
		return doc, err
	})
	cmd.ValidArgsFunction = completeWords() // manifests have only the names that can't be forgotten
	cmd.Flags().StringVar(&reason, "reason", "", "why: the record keeps this `TEXT`")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) confirmForget(keys []kind.Key, yes bool) error {
	names, them := make([]string, len(keys)), "it"
	for i, key := range keys {
		names[i] = key.String()
	}
	switch {
	case yes:
		return nil
	case !a.env.StdinIsTTY:
		return errors.New("there is no terminal to ask on: add --yes")
	case len(keys) > 1:
		them = "them"
	}
	return a.wantYes("nothing was recorded", "Forget %s? trueup changes nothing on the platform, and no longer mentions %s.\nType yes: ", diag.First(names, 5), them)
}

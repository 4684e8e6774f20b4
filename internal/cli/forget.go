package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

func newForget(a *app) *cobra.Command {
	var reason string
	var yes bool
	cmd := a.command("forget KIND/NAME...", func(ctx context.Context, args []string) (doc report.Document, err error) {
		keys, err := a.removedKeys(ctx, args)
		if err != nil {
			return doc, err
		}
		p, err := a.findProject()
		if err != nil {
			return doc, err
		}
		err = a.withLedger(ctx, p, &manifest.Set{}, func(_ *config.Platform, l *ledger.Ledger) error {
			return a.forget(ctx, l, keys, strings.TrimSpace(reason), yes, &doc)
		})
		return doc, err
	})
	cmd.ValidArgsFunction = completeWords() // manifests have only the names that can't be forgotten
	cmd.Flags().StringVar(&reason, "reason", "", "why: the record keeps this `TEXT`")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// removedKeys returns the objects that the arguments name. It refuses those that are or may be in git.
func (a *app) removedKeys(ctx context.Context, args []string) ([]kind.Key, error) {
	l, err := a.loadValid(ctx, nil, "nothing was recorded")
	if err != nil {
		return nil, err
	}
	if manifest.Unread(l.Findings) || l.Project.Partly(a.dir(), nil) {
		return nil, errors.New("trueup read only part of the project, so these may be in git. Run it in the folder of trueup.yaml, and fix what validate warns about")
	}
	keys := make([]kind.Key, len(args))
	for i, arg := range args {
		if keys[i], err = keyArg(arg); err != nil {
			return nil, err
		}
		if o := l.Set.Find(keys[i]); o != nil {
			return nil, fmt.Errorf("%s is in git, in %s: remove its manifest first", keys[i], o.Path)
		}
	}
	return keys, nil
}

// forget records that git no longer manages the objects, if the user confirms it.
func (a *app) forget(ctx context.Context, l *ledger.Ledger, keys []kind.Key, reason string, yes bool, doc *report.Document) error {
	view, err := l.View(ctx, keys)
	if err = cmp.Or(err, view.Err()); err != nil {
		return err
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	switch {
	case yes:
	case !a.env.StdinIsTTY:
		return errors.New("there is no terminal to ask on: add --yes")
	default:
		if err := a.wantYes("nothing was recorded", "Forget %s? trueup changes nothing on the platform, and no longer mentions %s.\nType yes: ", diag.First(names, 5), map[bool]string{true: "it", false: "them"}[len(names) == 1]); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if failed := l.Forget(ctx, key, reason); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		say(doc, "%s: forgotten; nothing was changed on the platform", key)
	}
	return err
}

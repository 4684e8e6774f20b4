package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/report"
)

func newLedgerForget(a *app) *cobra.Command {
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
		done, before, err := generate.ForgetObjects(ctx, a.config(), l, keys, strings.TrimSpace(reason), func() error { return a.confirmForget(keys, yes) })
		for _, rec := range before {
			say(&doc, "%s: it was forgotten already, at %s; nothing was recorded", rec.Key, rec.History[len(rec.History)-1].At.UTC().Format(time.RFC3339))
		}
		for _, key := range done {
			say(&doc, "%s: forgotten; nothing was changed on the platform", key)
		}
		if len(done) > 0 && !a.inCI() {
			a.sayUnmerged(ctx, &doc, l, done)
		}
		return doc, err
	})
	cmd.ValidArgsFunction = completeWords() // manifests have only the names that can't be forgotten
	cmd.Flags().StringVar(&reason, "reason", "", "why: the record keeps this `TEXT`")
	cmd.Flags().BoolVar(&yes, "auto-approve", false, "do not ask")
	return cmd
}

// sayUnmerged says which manifests of objects the base still has: apply there manages them again.
func (a *app) sayUnmerged(ctx context.Context, doc *report.Document, l config.LoadedProject, keys []kind.Key) {
	past := a.history(l, nil).ReadPast(ctx, "", true)
	for _, key := range keys {
		if past.Set != nil && past.Set.Find(key) != nil {
			say(doc, "%s: %s still has its manifest, and apply manages it again there: merge its removal", key, past.Blame.Ref)
		}
	}
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
		return errors.New("there is no terminal to ask on: add --auto-approve")
	case len(keys) > 1:
		them = "them"
	}
	return a.wantYes("nothing was recorded", "Forget %s? trueup changes nothing on the platform, and no longer mentions %s.\nType yes: ", diag.First(names, 5), them)
}

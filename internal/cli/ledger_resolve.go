package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

type resolveOptions struct {
	posted, repost, abandon bool
	reason                  string
}

func newLedgerResolve(a *app) *cobra.Command {
	var opts resolveOptions
	cmd := &cobra.Command{
		Use: "resolve [KIND/NAME...] [--posted|--repost|--abandon --reason TEXT]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runResolve(cmd.Context(), a, opts, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.posted, "posted", false, "it was executed")
	f.BoolVar(&opts.repost, "repost", false, "it was not executed: send it")
	f.BoolVar(&opts.abandon, "abandon", false, "it is never to be sent")
	f.StringVar(&opts.reason, "reason", "", "why you know, which the record keeps")
	cmd.MarkFlagsMutuallyExclusive("posted", "repost", "abandon")
	return cmd
}

// answer is what the flags say, and what follows of it; empty where they say nothing.
func (o resolveOptions) answer() (to ledger.Resolution, follows string) {
	switch {
	case o.posted:
		return ledger.ResolvePosted, "it is never sent again"
	case o.repost:
		return ledger.ResolveRepost, "the next apply sends it, if its manifest is in git"
	case o.abandon:
		return ledger.ResolveAbandon, "it is never sent"
	}
	return "", ""
}

// check refuses an answer that is not whole.
func (o resolveOptions) check(names int) error {
	to, _ := o.answer()
	reason := strings.TrimSpace(o.reason) != ""
	switch {
	case to != "" && names == 0:
		return errors.New("name the requests that you answer for, such as purge/rel-42 or 'purge/rel-*'; without an answer, resolve lists them")
	case to == "" && reason:
		return errors.New("say what happened: --posted, --repost or --abandon; without --reason, resolve lists the questions")
	case to != "" && !reason:
		return errors.New("add --reason TEXT to say why you know; the record keeps it")
	}
	return nil
}

func runResolve(ctx context.Context, a *app, opts resolveOptions, args []string) error {
	if err := opts.check(len(args)); err != nil {
		return err
	}
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	view, err := l.View(ctx, nil)
	if err == nil && view.Problem != "" {
		err = withCode(exitNeedsPerson, fmt.Errorf("%s: %s", view.Problem, view.Fix))
	}
	if err != nil {
		return err
	}
	keys, err := openLike(view, args)
	if err != nil {
		return err
	}
	to, follows := opts.answer()
	if to == "" {
		return a.showQuestions(view, keys)
	}
	for _, key := range keys {
		if failed := l.Resolve(ctx, key, to, opts.reason, a.claim().Actor); failed != nil {
			err = errors.Join(err, ledgerError(failed))
			continue
		}
		err = errors.Join(err, a.out.Printf("%s: resolved as %s: %s\n", key, to, follows))
	}
	return err
}

// openLike returns the requests without an outcome that the arguments name or match, all
// without an argument. A plain name may also be of a request that has an outcome, which
// whoever resolves it is told.
func openLike(view ledger.View, args []string) ([]kind.Key, error) {
	var open []kind.Key
	for key, rec := range view.Records {
		if rec.Open() {
			open = append(open, key)
		}
	}
	slices.SortFunc(open, func(a, b kind.Key) int { return cmp.Compare(a.String(), b.String()) })
	if len(args) == 0 {
		return open, nil
	}
	var keys []kind.Key
	for _, arg := range args {
		if !strings.ContainsAny(arg, "*?[") {
			key, err := keyArg(arg)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
			continue
		}
		like, err := targets([]string{arg})
		if err != nil {
			return nil, err
		}
		before := len(keys)
		keys = append(keys, slices.DeleteFunc(slices.Clone(open), func(key kind.Key) bool { return !like(key) })...)
		if len(keys) == before {
			return nil, fmt.Errorf("%q matches no request without an outcome: trueup ledger ls --open lists them", arg)
		}
	}
	slices.SortFunc(keys, func(a, b kind.Key) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(keys), nil
}

// showQuestions lists requests without an outcome, with what a wrong answer costs.
func (a *app) showQuestions(view ledger.View, keys []kind.Key) error {
	if len(keys) == 0 {
		return a.out.Printf("every request has an outcome\n")
	}
	var rows [][]string
	spared := ""
	for _, key := range keys {
		rec := view.Records[key]
		rows = append(rows, ledger.Ask(rec))
		if k, ok := kind.Named(key.Kind); ok && k.RequestOnly() && !view.Terms[k.Area].Proven && !rec.NameTaken() {
			spared = "If the platform refuses duplicates, trueup can send such requests again by itself: run trueup doctor --probe-duplicates HOSTNAME to find out"
		}
	}
	err := a.out.Table("", rows)
	if spared != "" {
		err = cmp.Or(err, a.out.Printf("\n%s\n", spared))
	}
	return cmp.Or(err, a.out.Printf("\nAnswer: trueup ledger resolve KIND/NAME... --posted|--repost|--abandon --reason TEXT\n"))
}

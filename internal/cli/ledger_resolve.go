package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/ledger"
)

type resolveOptions struct {
	posted, repost, abandon bool
	reason                  string
}

func newLedgerResolve(a *app) *cobra.Command {
	var opts resolveOptions
	cmd := &cobra.Command{
		Use:   "resolve KIND/NAME --posted|--repost|--abandon --reason TEXT",
		Short: "Answer what became of a request whose outcome is not known",
		Long: "Answer what became of a request whose outcome is not known.\n" +
			"  --posted   it was executed: it is never sent again\n" +
			"  --repost   it was not executed: the next apply sends it\n" +
			"  --abandon  it is never to be sent",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runResolve(cmd.Context(), a, opts, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.posted, "posted", false, "it was executed")
	f.BoolVar(&opts.repost, "repost", false, "it was not executed: send it")
	f.BoolVar(&opts.abandon, "abandon", false, "it is never to be sent")
	f.StringVar(&opts.reason, "reason", "", "why you know; it is kept in the record")
	cmd.MarkFlagsOneRequired("posted", "repost", "abandon")
	cmd.MarkFlagsMutuallyExclusive("posted", "repost", "abandon")
	return cmd
}

func runResolve(ctx context.Context, a *app, opts resolveOptions, arg string) error {
	key, err := keyArg(arg)
	if err != nil {
		return err
	}
	if strings.TrimSpace(opts.reason) == "" {
		return errors.New("add --reason TEXT: why you know is kept in the record")
	}
	to, follows := ledger.ResolvePosted, "it is never sent again"
	switch {
	case opts.repost:
		to, follows = ledger.ResolveRepost, "the next apply sends it, if its manifest is in git"
	case opts.abandon:
		to, follows = ledger.ResolveAbandon, "it is never sent"
	}
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	if err := l.Resolve(ctx, key, to, opts.reason, a.claim().Actor); err != nil {
		return ledgerError(err)
	}
	return a.out.Printf("%s: resolved as %s: %s\n", key, to, follows)
}

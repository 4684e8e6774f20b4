package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/reconcile"
	"trueup/internal/report"
	"trueup/internal/routing"
)

type requestOptions struct {
	base string
	live bool
}

func newRequest(run *Run) *cobra.Command {
	var opts requestOptions
	cmd := newCommand(run, "request [URL...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		urls, err := readURLs(run, args)
		if err != nil {
			return doc, err
		}
		l, err := run.loadValid(ctx, nil, "no URL was looked up")
		if err != nil {
			return doc, err
		}
		reconcile.WarnIfNoManifests(l, run.Log)
		sides, err := readSides(ctx, run, opts, l)
		if err != nil {
			return doc, err
		}
		result, err := routing.NewLookup(sides, routing.PrecedencesOf(l.Project.Platform.Precedence), diag.DidYouMean).AskAll(urls)
		if err != nil {
			return doc, err
		}
		result.Sandbox = opts.live && run.Sandbox
		return report.RequestDocument(result), nil
	})
	f := cmd.Flags()
	f.BoolVar(&opts.live, "live", false, "also show what live CDNs do, and mark what differs")
	f.StringVar(&opts.base, "base-ref", "", "also show what the manifests of `REF` do, and mark what differs")
	return cmd
}

// readSides reads the CDNs that URLs are looked up in.
func readSides(ctx context.Context, run *Run, opts requestOptions, l config.LoadedProject) ([]routing.Side, error) {
	env := run.ReconcileEnv(l, nil)
	sides, err := reconcile.RoutingSides(ctx, env, l, opts.base)
	if err != nil || !opts.live {
		return sides, err
	}
	s, err := reconcile.PrepareSession(ctx, env, l, reconcile.Options{ReadOnly: true, Whole: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	base := sides[1:]
	for _, b := range base {
		b.SetNote("by its manifest alone, without the fields that only live has")
	}
	return append(s.RequestSides(), base...), s.Loaded.RefuseInvalid("no URL was looked up")
}

// readURLs reads the URLs of arguments, and of standard input.
func readURLs(run *Run, args []string) (urls []routing.URL, err error) {
	var wrong []error
	for _, arg := range args {
		var list []routing.URL
		if arg == onStdout {
			list, err = routing.ReadURLs("standard input", run.stdin("URLs"))
		} else {
			list = make([]routing.URL, 1)
			list[0], err = routing.ParseListedURL(arg, "")
		}
		urls, wrong = append(urls, list...), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil || len(urls) > 0 {
		return urls, err
	}
	return nil, errors.New("there is no URL: write one, such as https://shop.example.com/, or - for a list on standard input")
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/report"
)

func newLedger(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "What has been done, and the questions that only a person can answer",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLedgerInit(a), newLedgerList(a), newLedgerShow(a), newLedgerResolve(a), newLedgerAdopt(a))
	return cmd
}

// openLedger opens the ledger of the project, or of the sandbox.
func (a *app) openLedger(ctx context.Context) (*ledger.Ledger, func(), error) {
	p, err := loadProject(a.dir())
	if err != nil {
		return nil, nil, err
	}
	w, err := a.enter(ctx, p, &manifest.Set{})
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.Open(ctx, w.ledger)
	if err != nil {
		w.close()
		return nil, nil, err
	}
	w.closers = append(w.closers, l.Close)
	return l, w.close, nil
}

// ledgerError gives a ledger that can't be used the code of a person's question.
func ledgerError(err error) error {
	var problem *ledger.ProblemError
	if errors.As(err, &problem) {
		return withCode(exitNeedsPerson, fmt.Errorf("%w: %s", err, problem.Fix))
	}
	return err
}

func newLedgerInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make the ledger that trueup.yaml names, and prove that its store is safe",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadProject(a.dir())
			if err != nil {
				return err
			}
			w, err := a.enter(cmd.Context(), p, &manifest.Set{})
			if err != nil {
				return err
			}
			defer w.close()
			if w.ledger.Store == "" {
				return errors.New("trueup.yaml names no ledger: write ledger: {store: \"git:refs/trueup/ledger\"} or {store: \"file:PATH\"} into it")
			}
			g, err := ledger.Init(cmd.Context(), w.ledger)
			if err != nil {
				return ledgerError(err)
			}
			text := fmt.Sprintf("ledger %s is ready\n", g.LedgerID)
			if p.Ledger.ID == "" && !a.global.sandbox {
				text += "now write its id into trueup.yaml, so that another ledger is never taken for it:\n\n"
				if strings.Contains(w.ledger.Store, "endpoint=") { // which only the environment may name
					text += fmt.Sprintf("ledger: {id: %s}\n", g.LedgerID)
				} else {
					text += fmt.Sprintf("ledger: {store: %q, id: %s}\n", w.ledger.Store, g.LedgerID)
				}
			}
			_, err = fmt.Fprint(a.env.Stdout, text)
			return err
		},
	}
}

func newLedgerList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List what is recorded",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, closeAll, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			records, err := l.List(cmd.Context())
			if err != nil {
				return ledgerError(err)
			}
			if a.global.output == "json" {
				plain := make([]any, len(records))
				for i, rec := range records {
					plain[i] = readable(rec)
				}
				return a.printJSON(plain)
			}
			w := tabwriter.NewWriter(a.env.Stdout, 0, 0, 2, ' ', 0)
			for _, rec := range records {
				line := report.Clean(rec.String()) + "\t" + stateOf(rec)
				if more := shortly(rec); more != "" {
					line += "\t" + report.Clean(more)
				}
				_, _ = fmt.Fprintln(w, line)
			}
			return w.Flush()
		},
	}
}

// shortly explains a record without its name and its state, which stand before
// it.
func shortly(rec ledger.Record) string {
	message, _ := ledger.Explain(rec)
	message = strings.TrimPrefix(strings.TrimPrefix(message, rec.String()+" "), "was ")
	return strings.TrimPrefix(message, stateOf(rec))
}

func stateOf(rec ledger.Record) string {
	switch {
	case rec.State != "":
		return string(rec.State)
	case rec.Pending != nil:
		return "pending"
	case rec.Applied != nil:
		return "applied"
	default:
		return "free"
	}
}

func newLedgerShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show KIND/NAME",
		Short: "Show the record of one object, and what can be done about it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := keyArg(args[0])
			if err != nil {
				return err
			}
			l, closeAll, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			view, err := l.View(cmd.Context(), []kind.Key{key})
			if err != nil {
				return err
			}
			if view.Problem != "" {
				return withCode(exitNeedsPerson, fmt.Errorf("%s: %s", view.Problem, view.Fix))
			}
			rec, ok := view.Records[key]
			if !ok {
				return fmt.Errorf("the ledger has no record of %s", key)
			}
			if a.global.output == "json" {
				return a.printJSON(readable(rec))
			}
			message, fix := ledger.Explain(rec)
			if fix != "" {
				message += "\nfix: " + fix
			}
			for line := range strings.SplitSeq(message, "\n") {
				if _, err := fmt.Fprintln(a.env.Stdout, report.Clean(line)); err != nil {
					return err
				}
			}
			return a.printJSON(readable(rec))
		},
	}
}

// readable is a record whose specs are JSON and not gzipped.
func readable(rec ledger.Record) any {
	type plain ledger.Record
	var pending []json.RawMessage
	for _, p := range rec.Pending {
		pending = append(pending, json.RawMessage(p))
	}
	return struct {
		plain
		Spec    json.RawMessage   `json:"spec,omitempty"`
		Applied json.RawMessage   `json:"applied,omitempty"`
		Pending []json.RawMessage `json:"pending,omitempty"`
	}{plain(rec), json.RawMessage(rec.Spec), json.RawMessage(rec.Applied), pending}
}

func (a *app) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.env.Stdout, report.CleanJSON(b))
	return err
}

func keyArg(arg string) (kind.Key, error) {
	key, ok := kind.ParseKey(arg)
	if !ok {
		return kind.Key{}, fmt.Errorf("%q is not of the form KIND/NAME, such as purge/rel-42", arg)
	}
	return key, nil
}

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
	to := ledger.ResolvePosted
	switch {
	case opts.repost:
		to = ledger.ResolveRepost
	case opts.abandon:
		to = ledger.ResolveAbandon
	}
	l, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	if err := l.Resolve(ctx, key, to, opts.reason, a.claim().Actor); err != nil {
		return ledgerError(err)
	}
	_, err = fmt.Fprintf(a.env.Stdout, "%s: resolved as %s\n", report.Clean(key.String()), to)
	return err
}

func newLedgerAdopt(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "adopt KIND/NAME [PATH...]",
		Short: "Record what was done without trueup: a request as sent, an object's lists as owned by git",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAdopt(cmd.Context(), a, reason, args[0], args[1:])
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept in the record")
	return cmd
}

func runAdopt(ctx context.Context, a *app, reason, arg string, paths []string) error {
	key, err := keyArg(arg)
	if err != nil {
		return err
	}
	loaded, err := a.load(ctx, paths, false)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(loaded.findings, func(f diag.Finding) bool { return f.Severity == diag.Error }); i >= 0 {
		return withCode(exitInvalid, fmt.Errorf("the manifests are invalid, and nothing was recorded: %s", loaded.findings[i]))
	}
	o := loaded.set.Find(key)
	if o == nil {
		return fmt.Errorf("there is no manifest of %s: what is adopted must be in git", key)
	}
	w, err := a.enter(ctx, loaded.project, loaded.set)
	if err != nil {
		return err
	}
	defer w.close()
	l, err := ledger.Open(ctx, w.ledger)
	if err != nil {
		return err
	}
	w.closers = append(w.closers, l.Close)
	planner := plan.NewPlanner(plan.Inputs{Set: loaded.set, Options: plan.Options{Overrides: loaded.project.Overrides}})
	spec := planner.Managed(o)
	err = l.Adopt(ctx, key, ledger.Adoption{
		Spec: spec, Digest: plan.SpecDigest(o.Kind, spec), Reason: reason, By: a.claim().Actor,
	})
	if err != nil {
		return ledgerError(err)
	}
	_, err = fmt.Fprintf(a.env.Stdout, "%s: adopted as %s has it\n", report.Clean(key.String()), report.Clean(o.Path))
	return err
}

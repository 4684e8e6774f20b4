package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/apply"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newLedger(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "ledger",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	verify := &cobra.Command{
		Use:  "verify",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.withLedger(cmd.Context(), a.verify) },
	}
	cmd.AddCommand(newLedgerInit(a), newLedgerList(a), newLedgerShow(a), newLedgerResolve(a), newLedgerAdopt(a),
		newLedgerSettle(a), newLedgerExport(a), newLedgerImport(a), verify)
	return cmd
}

// withLedger opens the ledger of the project, or of the sandbox, for a function.
func (a *app) withLedger(ctx context.Context, do func(context.Context, *ledger.Ledger) error) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	return a.withLedgerOf(ctx, p, &manifest.Set{}, do)
}

func (a *app) withLedgerOf(ctx context.Context, p project.Project, set *manifest.Set, do func(context.Context, *ledger.Ledger) error) error {
	w, err := a.enter(ctx, p, set)
	if err != nil {
		return err
	}
	defer w.Close()
	l, err := w.OpenLedger(ctx)
	if err != nil {
		return err
	}
	return ledgerError(do(ctx, l))
}

// ledgerError adds the fix to a problem of the ledger, which a person must decide about.
func ledgerError(err error) error {
	var coded *exit.CodedError
	if problem := ledger.Problem(err); problem != nil && !errors.As(err, &coded) {
		return exit.With(exit.NeedsPerson, fmt.Errorf("%w: %s", err, problem.Fix))
	}
	return err
}

// viewError is the problem of a view, if it has one.
func viewError(view ledger.View) error {
	if view.Problem == "" {
		return nil
	}
	return exit.With(exit.NeedsPerson, fmt.Errorf("%s: %s", view.Problem, view.Fix))
}

func keyArg(arg string) (kind.Key, error) {
	key, ok := kind.ParseKey(arg)
	if !ok {
		return kind.Key{}, fmt.Errorf("%q is not of the form KIND/NAME, such as purge/rel-42", arg)
	}
	return key, nil
}

func newLedgerList(a *app) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:  "ls",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLedger(cmd.Context(), func(ctx context.Context, l *ledger.Ledger) error { return a.listRecords(ctx, l, open) })
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "list only requests that have no outcome")
	return cmd
}

func (a *app) listRecords(ctx context.Context, l *ledger.Ledger, open bool) error {
	records, err := l.List(ctx)
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(append([]ledger.Record{}, records...), func(r ledger.Record) bool { return open && !r.Open() })
	if a.global.output == "json" {
		return a.out.JSON(records)
	}
	rows := make([][]string, len(records))
	for i, rec := range records {
		// The name and the state are in columns of their own.
		message, _ := ledger.Explain(rec)
		message = strings.TrimPrefix(strings.TrimPrefix(message, rec.String()+" "), "was ")
		rows[i] = []string{rec.String(), stateOf(rec), strings.TrimPrefix(message, stateOf(rec))}
	}
	return a.out.Table("", rows)
}

func stateOf(rec ledger.Record) string {
	switch {
	case rec.State != "":
		return string(rec.State)
	case rec.Pending != nil:
		return "pending"
	case rec.Applied != nil:
		return "applied"
	}
	return "free"
}

func newLedgerShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "show KIND/NAME",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := keyArg(args[0])
			if err != nil {
				return err
			}
			return a.withLedger(cmd.Context(), func(ctx context.Context, l *ledger.Ledger) error { return a.showRecord(ctx, l, key) })
		},
	}
}

func (a *app) showRecord(ctx context.Context, l *ledger.Ledger, key kind.Key) error {
	view, err := l.View(ctx, []kind.Key{key})
	if err = cmp.Or(err, viewError(view)); err != nil {
		return err
	}
	rec, ok := view.Records[key]
	if !ok {
		return fmt.Errorf("the ledger has no record of %s", key)
	}
	if a.global.output == "json" {
		return a.out.JSON(rec)
	}
	message, fix := ledger.Explain(rec)
	a.printf("%s\n", message)
	if fix != "" {
		a.printf("fix: %s\n", fix)
	}
	if rec.Open() && !rec.NameTaken() {
		a.printf("  --posted   it was executed: it is done, and never sent again\n" +
			"  --repost   it was not: the next apply sends it\n" +
			"  --abandon  it no longer matters: it is never sent\n")
	}
	history := make([][]string, len(rec.History))
	for i, s := range rec.History {
		history[i] = []string{fmt.Sprint(s.Seq), s.At.UTC().Format(time.RFC3339), s.Event, s.By, s.Detail}
	}
	a.printf("\nHistory:\n")
	a.table("  ", history)
	err = errors.Join(a.showSpec("Spec", rec.Spec), a.showSpec("Applied", rec.Applied))
	for _, spec := range rec.Pending {
		err = errors.Join(err, a.showSpec("Written, and not confirmed", spec))
	}
	return err
}

func (a *app) showSpec(title string, spec ledger.JSON) error {
	if spec == nil {
		return nil
	}
	a.printf("\n%s:\n", title)
	return a.out.JSON(json.RawMessage(spec))
}

type resolveOptions struct {
	posted, repost, abandon bool
	reason                  string
}

func newLedgerResolve(a *app) *cobra.Command {
	var opts resolveOptions
	cmd := &cobra.Command{
		Use: "resolve [KIND/NAME...] [--posted|--repost|--abandon --reason TEXT]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.check(len(args)); err != nil {
				return err
			}
			return a.withLedger(cmd.Context(), func(ctx context.Context, l *ledger.Ledger) error { return a.resolve(ctx, l, opts, args) })
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

// answer is what the flags say, and what follows of it; empty if they say nothing.
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

// check refuses an incomplete answer.
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

func (a *app) resolve(ctx context.Context, l *ledger.Ledger, opts resolveOptions, args []string) error {
	view, err := l.View(ctx, nil)
	if err = cmp.Or(err, viewError(view)); err != nil {
		return err
	}
	keys, err := openRequests(view, args)
	if err != nil {
		return err
	}
	to, follows := opts.answer()
	if to == "" {
		a.showQuestions(view, keys)
		return nil
	}
	for _, key := range keys {
		if failed := l.Resolve(ctx, key, to, opts.reason, a.config().Claim().Actor); failed != nil {
			err = errors.Join(err, ledgerError(failed))
			continue
		}
		a.printf("%s: resolved as %s: %s\n", key, to, follows)
	}
	return err
}

// openRequests returns the requests without an outcome that the arguments match, or all of them. It
// also returns a request that an argument names exactly, because Resolve says why it can't be resolved.
func openRequests(view ledger.View, args []string) ([]kind.Key, error) {
	byName := func(a, b kind.Key) int { return cmp.Compare(a.String(), b.String()) }
	var open, keys []kind.Key
	for key, rec := range view.Records {
		if rec.Open() {
			open = append(open, key)
		}
	}
	slices.SortFunc(open, byName)
	if len(args) == 0 {
		return open, nil
	}
	for _, arg := range args {
		if !strings.ContainsAny(arg, "*?[") {
			key, err := keyArg(arg)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
			continue
		}
		like, err := reconcile.Filter([]string{arg})
		if err != nil {
			return nil, err
		}
		before := len(keys)
		keys = append(keys, slices.DeleteFunc(slices.Clone(open), func(key kind.Key) bool { return !like(key) })...)
		if len(keys) == before {
			return nil, fmt.Errorf("%q matches no request without an outcome: trueup ledger ls --open lists them", arg)
		}
	}
	slices.SortFunc(keys, byName)
	return slices.Compact(keys), nil
}

// showQuestions lists requests without an outcome, with what a wrong answer costs.
func (a *app) showQuestions(view ledger.View, keys []kind.Key) {
	if len(keys) == 0 {
		a.printf("every request has an outcome\n")
		return
	}
	rows := make([][]string, len(keys))
	canProbe := false
	for i, key := range keys {
		rec := view.Records[key]
		rows[i] = ledger.Ask(rec)
		k, ok := kind.Named(key.Kind)
		canProbe = canProbe || ok && k.RequestOnly() && !view.Terms[k.Area].Proven && !rec.NameTaken()
	}
	a.table("", rows)
	if canProbe {
		a.printf("\nIf the platform refuses duplicates, trueup can send such requests again by itself: run trueup doctor --probe-duplicates HOSTNAME to find out\n")
	}
	a.printf("\nAnswer: trueup ledger resolve KIND/NAME... --posted|--repost|--abandon --reason TEXT\n")
}

func newLedgerAdopt(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:  "adopt KIND/NAME [PATH...]",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAdopt(cmd.Context(), a, reason, args[0], args[1:])
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, which the record keeps")
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
	if err := loaded.Findings.Refuse("the manifests are invalid, and nothing was recorded"); err != nil {
		return err
	}
	o := loaded.Set.Find(key)
	if o == nil {
		return fmt.Errorf("there is no manifest of %s: only objects in git can be adopted", key)
	}
	planner := plan.NewPlanner(plan.Inputs{Set: loaded.Set, Options: plan.Options{Overrides: loaded.Project.Overrides}})
	spec := planner.Managed(o)
	err = a.withLedgerOf(ctx, loaded.Project, loaded.Set, func(ctx context.Context, l *ledger.Ledger) error {
		return l.Adopt(ctx, key, ledger.Adoption{Spec: spec, Digest: plan.SpecDigest(o.Kind, spec), Reason: reason, By: a.config().Claim().Actor})
	})
	if err != nil {
		return err
	}
	return a.out.Printf("%s: adopted as in %s\n", key, o.Path)
}

func newLedgerSettle(a *app) *cobra.Command {
	var opts applyOptions
	cmd := &cobra.Command{
		Use: "settle [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLedgerSettle(cmd.Context(), a, opts, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&opts.Patterns, "target", nil, "finish only `KIND/NAME`, wildcards allowed; repeatable")
	f.BoolVar(&opts.AllowEmptyLive, "allow-empty-live", false, "continue even if nothing that the ledger knows is live")
	f.Float64Var(&opts.WritesPerSecond, "rps", 5, "`N` writes per second; loopback has no limit")
	return cmd
}

func runLedgerSettle(ctx context.Context, a *app, opts applyOptions, paths []string) error {
	s, doc, err := a.prepare(ctx, "settle", opts.planOptions, paths)
	if err != nil {
		return err
	}
	defer s.Close()
	if doc.ExitCode != exit.OK {
		return a.emit(doc)
	}
	if err := viewError(s.View()); err != nil {
		return a.fail(doc, err)
	}
	s.Plan = s.Plan.OpenOnly(s.View().Records)
	a.sending = true
	result := s.Apply(ctx, opts.ApplyOptions)
	doc.Plan, doc.Apply, doc.ExitCode = plan.Shown(s.Plan), &result, exit.OrInterrupted(ctx, exitOfSettle(result))
	return a.emit(doc)
}

// exitOfSettle is the code of an apply that only finishes requests. What was stale or not kept is still
// open, and the next run sees it.
func exitOfSettle(res apply.Result) int {
	code := reconcile.ExitCode(res)
	if code == exit.Stale || code == exit.NotConverged {
		return exit.Partial
	}
	return code
}

func newLedgerExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "export [FILE]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLedger(cmd.Context(), func(ctx context.Context, l *ledger.Ledger) error {
				if len(args) > 0 && args[0] != "-" {
					return a.exportTo(ctx, l, args[0])
				}
				_, err := l.Export(ctx, report.JSONStream(a.stdout))
				return err
			})
		},
	}
}

// exportTo writes a file, and replaces an earlier export only by a complete one: it may be all that is
// left of a ledger.
func (a *app) exportTo(ctx context.Context, l *ledger.Ledger, name string) error {
	target := a.full(name)
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("export ledger: %s is not a regular file: use - for standard output", name)
	}
	f, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	n, err := l.Export(ctx, report.JSONStream(f))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return a.out.Printf("records exported: %d\n", n)
}

func newLedgerImport(a *app) *cobra.Command {
	var leave []string
	cmd := &cobra.Command{
		Use:  "import FILE|FOLDER|-",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLedgerImport(cmd.Context(), a, args[0], leave)
		},
	}
	cmd.Flags().StringArrayVar(&leave, "leave", nil, "leave `KIND/NAME` as it is in the ledger; repeatable")
	return cmd
}

func runLedgerImport(ctx context.Context, a *app, name string, leave []string) error {
	left, err := reconcile.Keys("--leave", leave)
	if err != nil {
		return err
	}
	backup, err := a.readBackup(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	backup.Records = slices.DeleteFunc(backup.Records, func(r ledger.Record) bool { return left[r.Key] })
	return a.withLedger(ctx, func(ctx context.Context, l *ledger.Ledger) error {
		done, err := l.Import(ctx, backup)
		var conflicts *ledger.ConflictsError
		if errors.As(err, &conflicts) {
			for _, c := range conflicts.Conflicts {
				message, fix := c.Explain()
				a.printf("%s: %s\n  fix: %s\n", c.Given, message, fix)
			}
			return exit.With(exit.NeedsPerson, conflicts)
		}
		if err != nil {
			return err
		}
		if done.Restored {
			a.printf("the ledger is restored as of %s: it lacks what was sent since, and the next apply may send that again.\nFirst record what was sent since: trueup ledger adopt KIND/NAME, or trueup ledger init --adopt=GLOB\n",
				backup.ExportedAt.UTC().Format(time.RFC3339))
		}
		return a.out.Printf("records added: %d, updated: %d, unchanged: %d\n", done.Added, done.Advanced, done.Left)
	})
}

func (a *app) readBackup(name string) (ledger.Backup, error) {
	if name == "-" {
		return ledger.ReadBackup(files.AtMost(a.stdin("an export or the output of a run"), maxBackup))
	}
	f, info, err := files.Open(a.full(name))
	if err != nil {
		return ledger.Backup{}, err
	}
	defer func() { _ = f.Close() }()
	if info.IsDir() {
		return ledger.ReadBackupFolder(os.DirFS(a.full(name)))
	}
	return ledger.ReadBackup(files.AtMost(f, maxBackup))
}

func (a *app) verify(ctx context.Context, l *ledger.Ledger) error {
	found, err := l.Verify(ctx)
	if err != nil {
		return err
	}
	switch {
	case a.global.output == "json":
		err = a.out.JSON(found)
	case len(found.Damage) == 0:
		a.printf("nothing is damaged; records: %d\n", found.Records)
	default:
		for _, what := range found.Damage {
			a.printf("%s\n", what)
		}
	}
	if err != nil || len(found.Damage) == 0 {
		return err
	}
	return exit.With(exit.NeedsPerson, fmt.Errorf("the ledger is damaged in places: %d; records that could be read: %d; keep a copy of it. Then restore the named files; or move the ledger away, and import the newest export with trueup ledger import (docs/ledger.md)",
		len(found.Damage), found.Records))
}

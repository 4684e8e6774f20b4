package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newLedger(run *Run) *cobra.Command {
	cmd := &cobra.Command{Use: "ledger"}
	cmd.AddCommand(newLedgerInit(run), newLedgerList(run), newLedgerCommand(run, "show KIND/NAME", showRecord), newLedgerResolve(run),
		newLedgerAdopt(run), newLedgerForget(run), newLedgerSettle(run), newLedgerCommand(run, "export [FILE]", func(ctx context.Context, l *ledger.Ledger, args []string) (report.Document, error) {
			return exportLedger(ctx, run, l, args)
		}), newLedgerImport(run),
		newLedgerCommand(run, "verify", verifyLedger))
	return cmd
}

// newLedgerCommand returns a command on the ledger of the project, or of the sandbox.
func newLedgerCommand(run *Run,
	use string, do func(ctx context.Context, l *ledger.Ledger, args []string) (report.Document, error),
) *cobra.Command {
	return newCommand(run, use, func(ctx context.Context, args []string) (doc report.Document, err error) {
		p, err := run.FindProject()
		if err != nil {
			return doc, err
		}
		err = run.WithLedger(ctx, p, &manifest.Set{}, func(_ *config.Platform, l *ledger.Ledger) error {
			doc, err = do(ctx, l, args)
			return err
		})
		return doc, err
	})
}

func newLedgerList(run *Run) *cobra.Command {
	var open bool
	cmd := newLedgerCommand(run, "ls", func(ctx context.Context, l *ledger.Ledger, _ []string) (report.Document, error) {
		all, err := l.ListRecords(ctx)
		if err != nil {
			return report.Document{}, err
		}
		records, rows := []ledger.Record{}, [][]string{}
		for _, rec := range all {
			if open && !rec.IsOpen() {
				continue
			}
			// The table has the name and the state in other columns.
			message, _ := ledger.ExplainRecord(rec)
			message = strings.TrimPrefix(strings.TrimPrefix(message, rec.String()+" "), "was ")
			records = append(records, rec)
			rows = append(rows, []string{rec.String(), rec.Status(), strings.TrimPrefix(message, rec.Status())})
		}
		return table("trueup.ledger-ls/v1", "records", records, rows), nil
	})
	cmd.Flags().BoolVar(&open, "open", false, "list only requests that have no outcome")
	return cmd
}

func showRecord(ctx context.Context, l *ledger.Ledger, args []string) (doc report.Document, err error) {
	key, err := kind.ParseKey(args[0])
	if err != nil {
		return doc, err
	}
	view, err := l.ReadView(ctx, []kind.Key{key})
	if err = cmp.Or(err, view.ProblemError()); err != nil {
		return doc, err
	}
	rec, ok := view.Records[key]
	if !ok {
		return doc, fmt.Errorf("the ledger has no record of %s", key)
	}
	doc.Data = struct {
		Format string `json:"format"`
		ledger.Record
	}{"trueup.ledger-record/v1", rec}
	doc.Text = func(out report.LineWriter, _ report.FormatOptions) { writeRecord(out, rec) }
	return doc, nil
}

func writeRecord(out report.LineWriter, rec ledger.Record) {
	message, fix := ledger.ExplainRecord(rec)
	out.Printf("%s\n", message)
	if applied := rec.LastApplied(); applied != nil {
		out.Printf("%s\n", applied)
	}
	if fix != "" {
		out.Printf("fix: %s\n", fix)
	}
	if rec.IsOpen() && !rec.NameTaken() {
		for _, r := range resolutions() {
			out.Printf("  --%-8s %s: %s\n", r.word, r.means, r.follows)
		}
	}
	out.Printf("\nHistory:\n")
	out.Table("  ", diag.MapList(rec.History, func(s ledger.LogStep) []string {
		return []string{strconv.Itoa(s.Seq), s.At.UTC().Format(time.RFC3339), s.Event, s.By, s.Detail}
	}))
	spec := func(title string, spec ledger.CanonicalJSON) {
		if spec != nil {
			out.Printf("\n%s:\n", title)
			out.JSON(json.RawMessage(spec))
		}
	}
	spec("Spec", rec.Spec)
	spec("Applied", rec.Applied)
	spec("With what the server did not remove", rec.Owed)
	for _, pending := range rec.Pending {
		spec("Written, and not confirmed", pending)
	}
}

// resolutions are the answers of ledger resolve. The word of each is its flag.
func resolutions() []struct{ word, means, follows string } {
	return []struct{ word, means, follows string }{
		{string(ledger.ResolvePosted), "it was executed", "it is never sent again"},
		{string(ledger.ResolveRepost), "it was not executed", "the next apply sends it, if its manifest is in git"},
		{string(ledger.ResolveAbandon), "it no longer matters", "it is never sent again"},
	}
}

func newLedgerResolve(run *Run) *cobra.Command {
	var reason string
	var chosen [3]bool
	cmd := newLedgerCommand(run, "resolve [KIND/NAME...] [--posted|--repost|--abandon --reason TEXT]",
		func(ctx context.Context, l *ledger.Ledger, args []string) (report.Document, error) {
			return runResolve(ctx, l, slices.Index(chosen[:], true), strings.TrimSpace(reason), args)
		})
	for i, r := range resolutions() {
		cmd.Flags().BoolVar(&chosen[i], r.word, false, r.means)
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why you know: the record keeps this `TEXT`")
	cmd.MarkFlagsMutuallyExclusive("posted", "repost", "abandon")
	return cmd
}

// runResolve records an answer, or lists the questions if it is negative.
func runResolve(ctx context.Context, l *ledger.Ledger, answer int, reason string, args []string) (doc report.Document, err error) {
	if err := cmp.Or(
		errorIf(answer >= 0 && len(args) == 0, "name the requests, such as purge/rel-42 or 'purge/rel-*'; without an answer, resolve lists them"),
		errorIf(answer < 0 && reason != "", "say what happened: --posted, --repost or --abandon; without --reason, resolve lists the questions"),
		errorIf(answer >= 0 && reason == "", "add --reason TEXT to say why you know; the record keeps it"),
	); err != nil {
		return doc, err
	}
	view, records, err := l.ReadQuestions(ctx, args)
	if err != nil {
		return doc, err
	}
	if answer < 0 {
		return listOpenRequests(view, records), nil
	}
	r := resolutions()[answer]
	for _, rec := range records {
		if failed := l.Resolve(ctx, rec.Key, ledger.Resolution(r.word), reason); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		addMessage(&doc, "%s: resolved as %s: %s", rec.Key, r.word, r.follows)
	}
	return doc, err
}

// listOpenRequests lists requests without an outcome, with the cost of a wrong answer, and why others need no answer.
func listOpenRequests(view ledger.View, records []ledger.Record) report.Document {
	var lines []string
	open, rows, awaitsProof := []ledger.Record{}, [][]string{}, false
	for _, rec := range records {
		if !rec.IsOpen() {
			message, _ := ledger.ExplainRecord(rec)
			lines = append(lines, message)
			continue
		}
		open, rows = append(open, rec), append(rows, ledger.DescribeQuestion(rec))
		awaitsProof = awaitsProof || view.AwaitsProof(rec)
	}
	doc := table("trueup.ledger-ls/v1", "records", open, rows)
	if doc.Messages = lines; len(open) == 0 {
		if lines == nil {
			addMessage(&doc, "every request has an outcome")
		}
		return doc
	}
	if awaitsProof {
		addMessage(&doc, "")
		addMessage(&doc, "If the platform refuses duplicates, trueup can send such requests again by itself: run trueup doctor --probe-duplicates HOSTNAME to find out")
	}
	addMessage(&doc, "")
	addMessage(&doc, "Answer: trueup ledger resolve KIND/NAME... --posted|--repost|--abandon --reason TEXT")
	return doc
}

func newLedgerAdopt(run *Run) *cobra.Command {
	var reason string
	cmd := newCommand(run, "adopt KIND/NAME [PATH...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		key, err := kind.ParseKey(args[0])
		if err != nil {
			return doc, err
		}
		l, err := run.LoadValid(ctx, args[1:], "nothing was recorded")
		if err != nil {
			return doc, err
		}
		o, err := generate.RecordAdoption(ctx, run.Options, l, key, reason)
		if err == nil {
			addMessage(&doc, "%s: adopted as in %s", key, o.Path)
		}
		return doc, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why: the record keeps this `TEXT`")
	return cmd
}

func newLedgerSettle(run *Run) *cobra.Command {
	var opts reconcile.Options
	cmd := newCommand(run, "settle [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (report.Document, error) {
		doc, err := run.withPlan(ctx, opts, paths, func(s *reconcile.Session, doc *report.Document) error {
			if err := s.NarrowToUnanswered(); err != nil {
				return err
			}
			if run.sendPlan(ctx, s, doc); doc.ExitCode == diag.ExitStale || doc.ExitCode == diag.ExitNotConverged {
				doc.ExitCode = diag.ExitPartial // it is still open, and the next run sees it
			}
			doc.Plan = plan.Redact(s.Plan)
			return nil
		})
		doc.Command = "settle"
		return doc, err
	})
	f := cmd.Flags()
	f.StringArrayVar(&opts.Patterns, "target", nil, "finish only `KIND/NAME`, wildcards allowed; repeatable")
	registerAccept(f, &opts)
	cmd.Long = acceptHelp()
	return cmd
}

// exportLedger streams records to standard output, or writes a file. It replaces an earlier export only
// with a complete one: that export may be the only copy of a ledger.
func exportLedger(ctx context.Context, run *Run, l *ledger.Ledger, args []string) (doc report.Document, err error) {
	if len(args) == 0 || args[0] == onStdout {
		run.emitted = true
		_, err := l.Export(ctx, report.NewJSONStream(run.stdout))
		return doc, err
	}
	target := run.FullPath(args[0])
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return doc, fmt.Errorf("export ledger: %s is not a regular file: use - for standard output", args[0])
	}
	f, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*")
	if err != nil {
		return doc, err
	}
	n, err := l.Export(ctx, report.NewJSONStream(f))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return doc, errors.Join(err, os.Remove(f.Name()))
	}
	return messageDocument("records exported: %d", n), nil
}

func newLedgerImport(run *Run) *cobra.Command {
	var leave []string
	cmd := newLedgerCommand(run, "import FILE|FOLDER|-", func(ctx context.Context, l *ledger.Ledger, args []string) (doc report.Document, err error) {
		name := args[0]
		left, err := reconcile.ParseKeys("--leave", leave)
		if err != nil {
			return doc, err
		}
		backup, err := readBackup(run, name)
		if err != nil {
			return doc, fmt.Errorf("%s: %w", name, err)
		}
		backup.Records = slices.DeleteFunc(backup.Records, func(r ledger.Record) bool { return left[r.Key] })
		done, err := l.Import(ctx, backup)
		if conflicts, ok := errors.AsType[*ledger.ConflictsError](err); ok {
			for _, c := range conflicts.Conflicts {
				message, fix := c.Explain()
				addMessage(&doc, "%s: %s", c.Given, message)
				addMessage(&doc, "  fix: %s", fix)
			}
			return doc, diag.WithExit(diag.ExitNeedsPerson, conflicts)
		}
		if err != nil {
			return doc, err
		}
		if done.Restored {
			addMessage(&doc, "the ledger is restored as of %s: it lacks later requests, and the next apply may send them again.",
				backup.ExportedAt.UTC().Format(time.RFC3339))
			addMessage(&doc, "First record the requests that were sent since: trueup ledger adopt KIND/NAME, or trueup ledger init --adopt=GLOB")
		}
		addMessage(&doc, "records added: %d, updated: %d, unchanged: %d", done.Added, done.Advanced, done.Left)
		return doc, nil
	})
	cmd.Flags().StringArrayVar(&leave, "leave", nil, "leave `KIND/NAME` as it is in the ledger; repeatable")
	return cmd
}

// maxBackup limits the backup of a ledger, in bytes.
const maxBackup = 1 << 30

func readBackup(run *Run, name string) (ledger.Backup, error) {
	if name == "-" {
		return ledger.ReadBackup(files.LimitReader(run.OpenStdin("an export or the output of a run"), maxBackup))
	}
	f, info, err := files.Open(run.FullPath(name))
	if err != nil {
		return ledger.Backup{}, err
	}
	defer func() { _ = f.Close() }()
	if info.IsDir() {
		return ledger.ReadBackupFolder(os.DirFS(run.FullPath(name)))
	}
	return ledger.ReadBackup(files.LimitReader(f, maxBackup))
}

func verifyLedger(ctx context.Context, l *ledger.Ledger, _ []string) (doc report.Document, err error) {
	found, err := l.Verify(ctx)
	if err != nil {
		return doc, err
	}
	doc.Data = struct {
		Format string `json:"format"`
		ledger.VerifyResult
	}{"trueup.ledger-verify/v1", found}
	if doc.Messages = found.Damage; len(found.Damage) == 0 {
		addMessage(&doc, "nothing is damaged; records: %d", found.Records)
		return doc, nil
	}
	return doc, diag.WithExit(diag.ExitNeedsPerson, fmt.Errorf("damaged places in the ledger: %d; readable records: %d. Copy the ledger first. Then restore the named files; or move the ledger away, and import the newest export with trueup ledger import",
		len(found.Damage), found.Records))
}

const noLedger = "trueup.yaml names no ledger: "

func newLedgerInit(run *Run) *cobra.Command {
	var sent string
	cmd := newCommand(run, "init [--adopt=all|none|GLOB]", func(ctx context.Context, _ []string) (doc report.Document, err error) {
		p, err := run.FindProject()
		if err != nil {
			return doc, err
		}
		w, err := run.Open(ctx, p, &manifest.Set{})
		if err != nil {
			return doc, err
		}
		defer w.Close()
		store := w.Ledger.Store
		if store == "" {
			return doc, errors.New(noLedger + ledger.Create)
		}
		n := prepareLedger(run, p, w, sent)
		if err := createLedger(ctx, run, n, &doc); err != nil {
			return doc, err
		}
		if p.Ledger.ID == "" && !run.Sandbox {
			named := fmt.Sprintf("store: %q, ", store)
			if strings.Contains(store, "endpoint=") {
				named = "" // only the environment may name it
			}
			addMessage(&doc, "now write its id into trueup.yaml, so that trueup never uses another ledger by mistake:")
			addMessage(&doc, "")
			addMessage(&doc, "ledger: {%sid: %s}", named, w.Ledger.ID)
		}
		return doc, n.CheckReady(ctx)
	})
	cmd.Flags().StringVar(&sent, "adopt", "", "which requests in git were sent before: all, none or a `GLOB`")
	return cmd
}

func prepareLedger(run *Run, p config.Project, w *config.Platform, sent string) generate.LedgerSetup {
	return generate.LedgerSetup{
		Platform: w, Sent: sent, AskSent: func(once []*manifest.Object) (string, error) { return askAlreadySent(run, once) },
		Load: func(ctx context.Context) (config.LoadedProject, error) { return run.LoadManifests(ctx, p, nil) },
	}
}

// createLedger creates a ledger, and says so.
func createLedger(ctx context.Context, run *Run, n generate.LedgerSetup, doc *report.Document) error {
	var changed report.Document
	n.Rebind = func(what, from, to string) error {
		addMessage(&changed, "the ledger's %s is now %s; it was %s", what, to, cmp.Or(from, "none"))
		return confirmAddressChange(run, what, from, to)
	}
	adopted, err := n.CreateLedger(ctx)
	if err != nil {
		return err
	}
	state := "is ready"
	if n.CheckReady(ctx) != nil {
		state = "exists, but is not ready"
	}
	addMessage(doc, "ledger %s %s", n.Platform.Ledger.ID, state)
	if store := n.Platform.Ledger.Store; ledger.GitRemote(store) != "" {
		addMessage(doc, "pushed %s to the git remote %s", strings.TrimPrefix(store, "git:"), ledger.GitRemote(store))
	}
	doc.Messages = append(doc.Messages, changed.Messages...)
	if adopted > 0 {
		addMessage(doc, "recorded as sent before, so trueup won't send them again: %d", adopted)
	}
	return nil
}

// confirmAddressChange asks before init replaces an address in the ledger, because trueup sends tokens there.
func confirmAddressChange(run *Run, what, from, to string) error {
	switch {
	case from == "":
		return nil
	case !run.StdinIsTTY:
		return diag.WithExit(diag.ExitNeedsPerson, fmt.Errorf("the %s is %s in the ledger and %s here. Correct it here; or run trueup ledger init at a terminal, which asks before it changes the ledger", what, from, to))
	}
	return run.requireYes("nothing was replaced", "The %s is %s in the ledger, and %s here.\ntrueup will send tokens to %[3]s. Is that the same platform and workspace under a new name?\nType yes to replace the ledger's: ", what, from, to)
}

// askAlreadySent asks which requests were sent before. Without a terminal, the flag must say it.
func askAlreadySent(run *Run, once []*manifest.Object) (string, error) {
	if !run.StdinIsTTY {
		return "", fmt.Errorf("the new ledger does not know which purges in git were sent before (%d, such as %s): add --adopt=all, --adopt=none or --adopt=GLOB", len(once), once[0].Key())
	}
	answer, err := run.ask("Purges in git: %d, such as %s.\nWhich of them were sent before, so that trueup must not send them again?\nall, none, or a pattern of their names: ", len(once), once[0].Key())
	return answer, cmp.Or(err, errorIf(answer == "", "no answer: no ledger was created"))
}

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
		l, err := run.LoadValid(ctx, nil, "nothing was recorded")
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
	cmd.ValidArgsFunction = cobra.FixedCompletions(nil, NoFiles) // manifests have only the names that can't be forgotten
	cmd.Flags().StringVar(&reason, "reason", "", "why: the record keeps this `TEXT`")
	cmd.Flags().BoolVar(&yes, "auto-approve", false, "do not ask")
	return cmd
}

func confirmForget(run *Run, keys []kind.Key, yes bool) error {
	names, them := diag.MapList(keys, kind.Key.String), "it"
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

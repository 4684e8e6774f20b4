package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/generate"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

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
		Load: func(ctx context.Context) (config.LoadedProject, error) { return run.loadManifests(ctx, p, nil) },
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

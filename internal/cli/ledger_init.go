package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newLedgerInit(a *app) *cobra.Command {
	var adopt string
	cmd := a.command("init [--adopt=all|none|GLOB]", func(ctx context.Context, _ []string) (doc report.Document, err error) {
		p, err := a.findProject()
		if err != nil {
			return doc, err
		}
		w, err := a.openPlatform(ctx, p, &manifest.Set{})
		if err != nil {
			return doc, err
		}
		defer w.Close()
		if w.Ledger.Store == "" {
			return doc, errors.New("trueup.yaml names no ledger: write ledger: {store: \"git:refs/trueup/ledger\"} or {store: \"file:PATH\"} into it")
		}
		id, err := a.makeLedger(ctx, p, w, adopt, &doc)
		if err != nil {
			return doc, err
		}
		if p.Ledger.ID == "" && !a.global.sandbox {
			store := fmt.Sprintf("store: %q, ", w.Ledger.Store)
			if strings.Contains(w.Ledger.Store, "endpoint=") {
				store = "" // only the environment may name it
			}
			say(&doc, "now write its id into trueup.yaml, so that trueup never uses another ledger by mistake:")
			say(&doc, "")
			say(&doc, "ledger: {%sid: %s}", store, id)
		}
		return doc, a.notReady(ctx, p, w)
	})
	cmd.Flags().StringVar(&adopt, "adopt", "", "which requests in git were sent before: all, none or a `GLOB`")
	return cmd
}

// makeLedger creates the ledger of a platform, tests that its store is safe, records what was sent
// before, and returns its id.
func (a *app) makeLedger(ctx context.Context, p project.Project, w *config.Platform, adopt string, doc *report.Document) (string, error) {
	chosen, err := a.chooseAdopted(ctx, p, w.Ledger, adopt)
	if err != nil {
		return "", ledgerError(err)
	}
	var changed report.Document
	cfg := w.Ledger
	cfg.Rebind = func(what, from, to string) error {
		say(&changed, "the ledger's %s is now %s; it was %s", what, to, cmp.Or(from, "none"))
		return a.askRebind(what, from, to)
	}
	g, err := ledger.Init(ctx, cfg)
	if err != nil {
		return "", ledgerError(err)
	}
	w.Ledger.ID = g.LedgerID
	adopted, err := a.adoptNew(ctx, w, chosen)
	if err != nil {
		return "", err
	}
	state := "is ready"
	if a.notReady(ctx, p, w) != nil {
		state = "exists, but is not ready"
	}
	say(doc, "ledger %s %s", g.LedgerID, state)
	doc.Messages = append(doc.Messages, changed.Messages...)
	if adopted > 0 {
		say(doc, "recorded as sent before, so trueup won't send them again: %d", adopted)
	}
	return g.LedgerID, nil
}

// adoptNew records that the chosen objects were sent before, and returns how many records are new.
func (a *app) adoptNew(ctx context.Context, w *config.Platform, chosen []*manifest.Object) (int, error) {
	if len(chosen) == 0 {
		return 0, nil
	}
	l, err := w.OpenLedger(ctx)
	if err != nil {
		return 0, err
	}
	all := make(map[kind.Key]ledger.Adoption, len(chosen))
	for _, o := range chosen {
		all[o.Key()] = a.adoption(o, o.Spec, "adopted when the ledger was created")
	}
	return l.AdoptNew(ctx, all)
}

// adoption is the record of an object that was created without trueup.
func (a *app) adoption(o *manifest.Object, spec []byte, reason string) ledger.Adoption {
	return ledger.Adoption{Spec: spec, Digest: plan.SpecDigest(o.Kind, spec), Reason: reason}
}

// notReady returns why a ledger can't be used for the areas of the manifests. Without manifests it checks
// every area that has an address.
func (a *app) notReady(ctx context.Context, p project.Project, w *config.Platform) error {
	origins := w.Ledger.Origins
	needed := slices.DeleteFunc(kind.Areas(), func(area kind.Area) bool { return len(origins) > 0 && origins[area] == "" })
	if loaded, err := a.loadOf(ctx, p, nil, false); err == nil && len(loaded.Set.Objects) > 0 {
		needed = reconcile.Areas(loaded.Set)
	}
	l, err := w.OpenLedger(ctx)
	if err != nil {
		return err
	}
	if _, err = l.Usable(ctx, needed...); err != nil {
		return fmt.Errorf("the ledger is not ready: %w", ledger.WithFix(err))
	}
	return nil
}

// askRebind asks before init replaces an address in the ledger, because trueup sends tokens there.
func (a *app) askRebind(what, from, to string) error {
	switch {
	case from == "":
		return nil
	case !a.env.StdinIsTTY:
		return exit.With(exit.NeedsPerson, fmt.Errorf("the %s is %s in the ledger and %s here. Correct it here; or run trueup ledger init at a terminal, which asks before it changes the ledger", what, from, to))
	}
	return a.wantYes("nothing was replaced", "The %s is %s in the ledger, and %s here.\ntrueup will send tokens to %[3]s. Is that the same platform and workspace under a new name?\nType yes to replace the ledger's: ", what, from, to)
}

// chooseAdopted returns the requests in git that were sent before. It asks until trueup.yaml has the
// ledger's id, because an interrupted init may have created the ledger.
func (a *app) chooseAdopted(ctx context.Context, p project.Project, cfg ledger.Config, adopt string) ([]*manifest.Object, error) {
	if adopt == "none" || adopt == "" && cfg.ID != "" {
		return nil, nil
	}
	loaded, err := a.loadOf(ctx, p, nil, false)
	if errors.Is(err, fs.ErrNotExist) { // there is no manifest yet
		return nil, nil
	}
	if err == nil {
		err = loaded.Findings.Refuse("the manifests are invalid, so trueup can't tell which requests they contain")
	}
	if err != nil {
		return nil, err
	}
	once := slices.DeleteFunc(slices.Clone(loaded.Set.Objects), func(o *manifest.Object) bool { return !o.Kind.RequestOnly() })
	if adopt == "" {
		if once, err = unrecorded(ctx, cfg, once); err != nil || len(once) == 0 {
			return nil, err
		}
		if adopt, err = a.askAdopted(once); err != nil || adopt == "none" {
			return nil, err
		}
	}
	return adoptedOf(once, adopt)
}

// adoptedOf returns the objects whose name or KIND/NAME matches the answer to --adopt, or all.
func adoptedOf(once []*manifest.Object, adopt string) ([]*manifest.Object, error) {
	if adopt == "all" {
		return once, nil
	}
	pattern := adopt
	if !strings.Contains(adopt, "/") {
		pattern = "*/" + adopt
	}
	like, err := kind.Filter(pattern)
	if err != nil {
		return nil, fmt.Errorf("--adopt is %q: write all, none or a pattern such as rel-*", adopt)
	}
	once = slices.DeleteFunc(once, func(o *manifest.Object) bool { return !like(o.Key()) })
	return once, refuse(len(once) == 0, "--adopt is %q, which matches no purge or other request that is sent once", adopt)
}

// unrecorded returns the objects that a ledger has no record of: all, if there is no ledger yet.
func unrecorded(ctx context.Context, cfg ledger.Config, objects []*manifest.Object) ([]*manifest.Object, error) {
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	known, err := l.Look(ctx, kind.KeysOf(objects))
	if errors.Is(err, ledger.ErrNoGenesis) {
		return objects, nil
	}
	return slices.DeleteFunc(objects, func(o *manifest.Object) bool { return known[o.Key()].Seq > 0 }), err
}

// askAdopted asks which requests were sent before. Without a terminal, the flag must say it.
func (a *app) askAdopted(once []*manifest.Object) (string, error) {
	if !a.env.StdinIsTTY {
		return "", fmt.Errorf("the new ledger does not know which purges and snapshots in git were sent before (%d, such as %s): add --adopt=all, --adopt=none or --adopt=GLOB", len(once), once[0].Key())
	}
	answer, err := a.ask("Requests in git that are sent once: %d, such as %s.\nWhich of them were sent before, so that trueup must not send them again?\nall, none, or a pattern of their names: ", len(once), once[0].Key())
	return answer, cmp.Or(err, refuse(answer == "", "no answer: no ledger was created"))
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
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
)

func newLedgerInit(a *app) *cobra.Command {
	var adopt string
	cmd := &cobra.Command{
		Use:  "init [--adopt=all|none|GLOB]",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLedgerInit(cmd.Context(), a, adopt) },
	}
	cmd.Flags().StringVar(&adopt, "adopt", "", "which requests in git were sent before: all, none or a `GLOB`")
	return cmd
}

func runLedgerInit(ctx context.Context, a *app, adopt string) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	w, err := a.enter(ctx, p, &manifest.Set{})
	if err != nil {
		return err
	}
	defer w.Close()
	if w.Ledger.Store == "" {
		return errors.New("trueup.yaml names no ledger: write ledger: {store: \"git:refs/trueup/ledger\"} or {store: \"file:PATH\"} into it")
	}
	id, err := a.makeLedger(ctx, p, w, adopt)
	if err != nil {
		return err
	}
	notReady := a.notReady(ctx, p, w.Ledger, id)
	if p.Ledger.ID != "" || a.global.sandbox {
		return notReady
	}
	store := fmt.Sprintf("store: %q, ", w.Ledger.Store)
	if strings.Contains(w.Ledger.Store, "endpoint=") {
		store = "" // only the environment may name it
	}
	a.printf("now write its id into trueup.yaml, so that trueup never uses another ledger by mistake:\n\nledger: {%sid: %s}\n", store, id)
	return notReady
}

// makeLedger creates the ledger of a world, tests that its store is safe, records what was sent before,
// and returns its id.
func (a *app) makeLedger(ctx context.Context, p project.Project, w *config.Platform, adopt string) (string, error) {
	chosen, err := a.chooseAdopted(ctx, p, w, adopt)
	if err != nil {
		return "", ledgerError(err)
	}
	cfg, changed := w.Ledger, ""
	cfg.Rebind = func(what, from, to string) error {
		changed += fmt.Sprintf("the ledger's %s is now %s; it was %s\n", what, to, cmp.Or(from, "none"))
		return a.askRebind(what, from, to)
	}
	g, err := ledger.Init(ctx, cfg)
	if err != nil {
		return "", ledgerError(err)
	}
	adopted, err := a.adoptNew(ctx, w, g.LedgerID, chosen)
	if err != nil {
		return "", err
	}
	state := "is ready"
	if a.notReady(ctx, p, w.Ledger, g.LedgerID) != nil {
		state = "is there, but not ready"
	}
	a.printf("ledger %s %s\n%s", g.LedgerID, state, changed)
	if adopted > 0 {
		a.printf("recorded as sent before, so trueup won't send them again: %d\n", adopted)
	}
	return g.LedgerID, nil
}

// notReady says why a ledger can't be used for the areas of the manifests. Without manifests it must be
// bound to an address of some area.
func (a *app) notReady(ctx context.Context, p project.Project, cfg ledger.Config, id string) error {
	cfg.ID = id
	needed := slices.DeleteFunc(kind.Areas(), func(area kind.Area) bool { return len(cfg.Origins) > 0 && cfg.Origins[area] == "" })
	if loaded, err := a.loadOf(ctx, p, nil, false); err == nil && len(loaded.Set.Objects) > 0 {
		needed = reconcile.Areas(loaded.Set)
	}
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return err
	}
	_, err = l.Usable(ctx, needed...)
	if p := ledger.Problem(err); p != nil {
		err = fmt.Errorf("%w: %s", err, p.Fix)
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return fmt.Errorf("the ledger is not ready: %w", err)
	}
	return nil
}

// askRebind asks a person before what a ledger is bound to is replaced: tokens go
// there.
func (a *app) askRebind(what, from, to string) error {
	if from == "" {
		return nil
	}
	if !a.env.StdinIsTTY {
		return exit.With(exit.NeedsPerson, fmt.Errorf("the %s is %s in the ledger and %s here: correct it here; or run trueup ledger init at a terminal, which asks before it changes the ledger", what, from, to))
	}
	answer, err := a.ask("The %s is %s in the ledger, and %s here.\ntrueup will send tokens to %[3]s. Is that the same platform and workspace under a new name?\nType yes to replace the ledger's: ", what, from, to)
	if err == nil && answer != "yes" {
		err = errors.New("nothing was replaced")
	}
	return err
}

// chooseAdopted returns the requests of git that were sent before, as the flag
// says, or a person. That is asked until trueup.yaml names the ledger: one that
// is there may be of an init that was cut short.
func (a *app) chooseAdopted(ctx context.Context, p project.Project, w *config.Platform, adopt string) ([]*manifest.Object, error) {
	if adopt == "none" || adopt == "" && w.Ledger.ID != "" {
		return nil, nil
	}
	once, err := a.sentOnce(ctx, p)
	if err == nil && adopt == "" {
		once, err = unrecorded(ctx, w.Ledger, once)
	}
	if err != nil {
		return nil, err
	}
	if adopt == "" && len(once) > 0 {
		if adopt, err = a.askAdopted(once); err != nil {
			return nil, err
		}
	}
	if adopt == "" || adopt == "none" {
		return nil, nil
	}
	return likeGlob(once, adopt)
}

// unrecorded are the objects of which a ledger has no record; all, where there is
// none yet.
func unrecorded(ctx context.Context, cfg ledger.Config, objects []*manifest.Object) ([]*manifest.Object, error) {
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	if exists, err := l.Exists(ctx); err != nil || !exists {
		return objects, err
	}
	keys := make([]kind.Key, len(objects))
	for i, o := range objects {
		keys[i] = o.Key()
	}
	known, err := l.Look(ctx, keys)
	return slices.DeleteFunc(objects, func(o *manifest.Object) bool { return known[o.Key()].Seq > 0 }), err
}

// sentOnce reads the manifests of requests that are sent once. A project without
// any manifest yet has none.
func (a *app) sentOnce(ctx context.Context, p project.Project) ([]*manifest.Object, error) {
	loaded, err := a.loadOf(ctx, p, nil, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := loaded.Findings.Refuse("the manifests are invalid, so trueup can't tell which requests they contain"); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(loaded.Set.Objects), func(o *manifest.Object) bool { return !o.Kind.RequestOnly() }), nil
}

// askAdopted asks which requests were sent before; elsewhere than on a terminal
// the flag must say it.
func (a *app) askAdopted(once []*manifest.Object) (string, error) {
	if !a.env.StdinIsTTY {
		return "", fmt.Errorf("git has requests that are sent once (%d, such as %s), and the new ledger does not know which were sent before: add --adopt=all, --adopt=none or --adopt=GLOB", len(once), once[0].Key())
	}
	answer, err := a.ask("Requests in git that are sent once: %d, such as %s.\nWhich of them were sent before, so that trueup must not send them again?\nall, none, or a pattern of their names: ", len(once), once[0].Key())
	if err != nil {
		return "", err
	}
	if answer == "" {
		return "", errors.New("no answer: no ledger was created")
	}
	return answer, nil
}

// likeGlob returns the objects that all, or a pattern of names or of KIND/NAME,
// means. One that means none is a slip.
func likeGlob(objects []*manifest.Object, glob string) ([]*manifest.Object, error) {
	if glob == "all" {
		return objects, nil
	}
	pattern := glob
	if !strings.Contains(glob, "/") {
		pattern = "*/" + glob
	}
	if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") != 1 {
		return nil, fmt.Errorf("--adopt is %q: write all, none or a pattern such as rel-*", glob)
	}
	like, err := reconcile.Filter([]string{pattern})
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(objects), func(o *manifest.Object) bool { return !like(o.Key()) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--adopt is %q, which matches no purge or other request that is sent once", glob)
	}
	return chosen, nil
}

// adoptNew records of what was chosen that it was sent before.
func (a *app) adoptNew(ctx context.Context, w *config.Platform, id string, chosen []*manifest.Object) (int, error) {
	if len(chosen) == 0 {
		return 0, nil
	}
	w.Ledger.ID = id
	l, err := ledger.Open(ctx, w.Ledger)
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }() // what it wrote is durable already
	all := make(map[kind.Key]ledger.Adoption, len(chosen))
	for _, o := range chosen {
		all[o.Key()] = ledger.Adoption{
			Spec: o.Spec, Digest: plan.SpecDigest(o.Kind, o.Spec),
			Reason: "adopted when the ledger was created", By: a.config().Claim().Actor,
		}
	}
	return l.AdoptNew(ctx, all)
}

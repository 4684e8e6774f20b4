package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// LedgerSetup makes the ledger of a platform, or completes one that exists.
type LedgerSetup struct {
	Platform *config.Platform
	Load     func(context.Context) (config.LoadedProject, error) // reads the manifests of the project
	// Sent says which requests in git were sent before: all, none, or a pattern of names or of KIND/NAME. AskSent
	// answers that if it is empty and the ledger may be new. Rebind is that of ledger.Config.
	Sent    string
	AskSent func(once []*manifest.Object) (string, error)
	Rebind  func(what, from, to string) error
}

// CreateLedger makes the ledger, after it proved that the store is safe, and sets the ledger's id in Platform. It records the
// requests that were sent before, and returns how many it recorded.
func (n LedgerSetup) CreateLedger(ctx context.Context) (adopted int, err error) {
	sent, err := n.objectsSentBefore(ctx)
	if err == nil && len(sent) > 0 {
		sent, err = unrecordedObjects(ctx, n.Platform.Ledger, sent)
	}
	if err != nil {
		return 0, config.ExplainLedgerError(err)
	}
	cfg := n.Platform.Ledger
	cfg.Rebind = n.Rebind
	g, err := ledger.CreateLedger(ctx, cfg)
	if err != nil {
		return 0, config.ExplainLedgerError(err)
	}
	n.Platform.Ledger.ID = g.LedgerID
	all := map[kind.Key]ledger.Adoption{}
	for _, o := range sent {
		all[o.Key()] = newAdoption(o.Kind, o.Spec, "adopted when the ledger was created")
	}
	l, err := n.Platform.OpenLedger(ctx)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return len(all), l.AdoptAll(ctx, all)
}

// CheckReady returns why the ledger can't be used for the areas of the manifests, or nil. Without manifests, it checks every
// area that has an address.
func (n LedgerSetup) CheckReady(ctx context.Context) error {
	origins := n.Platform.Ledger.Origins
	areas := slices.DeleteFunc(kind.Areas(), func(area kind.Area) bool { return len(origins) > 0 && origins[area] == "" })
	if loaded, err := n.Load(ctx); err == nil && len(loaded.Set.Objects) > 0 {
		areas = loaded.Set.Areas()
	}
	l, err := n.Platform.OpenLedger(ctx)
	if err != nil {
		return err
	}
	if _, err = l.ReadUsable(ctx, areas...); err != nil {
		return fmt.Errorf("the ledger is not ready: %w", ledger.WithFix(err))
	}
	return nil
}

// objectsSentBefore returns the requests in git that were sent before. It asks until trueup.yaml has the ledger's id, because
// an earlier run may have created the ledger and stopped.
func (n LedgerSetup) objectsSentBefore(ctx context.Context) ([]*manifest.Object, error) {
	cfg := n.Platform.Ledger
	if n.Sent == "none" || n.Sent == "" && cfg.ID != "" {
		return nil, nil
	}
	loaded, err := n.Load(ctx)
	if errors.Is(err, fs.ErrNotExist) { // there is no manifest yet
		return nil, nil
	}
	if err = cmp.Or(err, loaded.Findings.ErrorIfInvalid("the manifests are invalid, so trueup can't tell which requests they contain")); err != nil {
		return nil, err
	}
	once := slices.DeleteFunc(slices.Clone(loaded.Set.Objects), func(o *manifest.Object) bool { return !o.Kind.IsRequestOnly() })
	if n.Sent == "" {
		if once, err = unrecordedObjects(ctx, cfg, once); err != nil || len(once) == 0 {
			return nil, err
		}
		if n.Sent, err = n.AskSent(once); err != nil || n.Sent == "none" {
			return nil, err
		}
	}
	return n.namedObjects(once)
}

// namedObjects returns the objects that Sent names.
func (n LedgerSetup) namedObjects(once []*manifest.Object) ([]*manifest.Object, error) {
	if n.Sent == "all" {
		return once, nil
	}
	pattern := n.Sent
	if !strings.Contains(pattern, "/") {
		pattern = "*/" + pattern
	}
	like, err := kind.ParseFilter(pattern)
	if err != nil {
		return nil, fmt.Errorf("--adopt is %q: write all, none or a pattern such as rel-*", n.Sent)
	}
	once = slices.DeleteFunc(once, func(o *manifest.Object) bool { return !like(o.Key()) })
	if len(once) == 0 {
		err = fmt.Errorf("--adopt is %q, which matches no purge in git", n.Sent)
	}
	return once, err
}

// unrecordedObjects returns the objects that a ledger has no record of: all, if there is no ledger yet.
func unrecordedObjects(ctx context.Context, cfg ledger.Config, objects []*manifest.Object) ([]*manifest.Object, error) {
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	known, err := l.ReadRecords(ctx, kind.KeysOf(objects))
	if errors.Is(err, ledger.ErrNoGenesis) {
		return objects, nil
	}
	return slices.DeleteFunc(objects, func(o *manifest.Object) bool { return known[o.Key()].Seq > 0 }), err
}

func newAdoption(k *kind.Kind, spec []byte, reason string) ledger.Adoption {
	return ledger.Adoption{Spec: spec, Digest: plan.SpecDigest(k, spec), Reason: reason}
}

// RecordAdoption records that git owns an object, or that its request was executed, as the manifest says. It returns the manifest.
func RecordAdoption(ctx context.Context, cfg config.Options, l config.LoadedProject, key kind.Key, reason string) (*manifest.Object, error) {
	o := l.Set.Find(key)
	if o == nil {
		return nil, fmt.Errorf("there is no manifest of %s: only objects in git can be adopted", key)
	}
	spec := plan.NewPlanner(plan.Inputs{Set: l.Set, Project: l.Project.ProjectSettings}).ManagedSpec(o)
	return o, cfg.WithLedger(ctx, l.Project, l.Set, func(_ *config.Platform, l *ledger.Ledger) error {
		return l.Adopt(ctx, key, newAdoption(o.Kind, spec, reason))
	})
}

// ForgetObjects records, if confirm returns nil, that git no longer manages objects that were removed from it. It returns those
// that it recorded, also with an error, and the records of those that were forgotten before.
func ForgetObjects(
	ctx context.Context, cfg config.Options, l config.LoadedProject, keys []kind.Key, reason string, confirm func() error,
) (done []kind.Key, before []ledger.Record, err error) {
	if manifest.HasUnread(l.Findings) || l.Project.ReadsPartly(cfg.Dir(), nil) {
		return nil, nil, errors.New("trueup read only part of the project, so these may be in git. Run it in the folder of trueup.yaml, and fix what validate warns about")
	}
	for _, key := range keys {
		if o := l.Set.Find(key); o != nil {
			return nil, nil, fmt.Errorf("%s is in git, in %s: remove its manifest first", key, o.Path)
		}
	}
	err = cfg.WithLedger(ctx, l.Project, &manifest.Set{}, func(_ *config.Platform, l *ledger.Ledger) error {
		view, err := l.ReadView(ctx, keys)
		if err = cmp.Or(err, view.ProblemError()); err == nil {
			err = confirm()
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			if rec := view.Records[key]; rec.IsForgotten() {
				before = append(before, rec)
				continue
			}
			failed := l.Forget(ctx, key, reason)
			if err = errors.Join(err, failed); failed == nil {
				done = append(done, key)
			}
		}
		return err
	})
	return done, before, err
}

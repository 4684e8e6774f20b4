package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/history"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/live"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/report"
)

// session is one run from manifests to plan; it holds what apply needs to go
// on. Without a plan the findings stopped it.
type session struct {
	app *app
	// looksOnly says that the run can change nothing.
	looksOnly bool
	world     *config.Platform
	ledger    *ledger.Ledger
	inputs    plan.Inputs
	planner   *plan.Planner
	plan      *plan.Plan
	loaded    project.Loaded
	findings  diag.List
	silenced  diag.List
	objects   int
	// base reads what git had before, as baseRef or else CI and the remote tell.
	base    *history.Reader
	baseRef string
	// warnedOfSkew keeps what is said of the clocks to once a run.
	warnedOfSkew sync.Once
}

func (s *session) close() {
	if s.world != nil {
		s.world.Close()
	}
}

// prepare goes from manifests to plan: the data's one way.
func (a *app) prepare(ctx context.Context, opts planOptions, paths []string) (*session, error) {
	if err := a.checkFormats(); err != nil {
		return nil, err
	}
	planOpts, err := opts.plan()
	if err != nil {
		return nil, err
	}
	l, err := a.load(ctx, paths, opts.strict, opts.more...)
	if err != nil {
		return nil, err
	}
	s := &session{app: a, loaded: l, looksOnly: opts.looksOnly, findings: l.Findings, silenced: l.Set.Silenced, objects: len(l.Set.Objects)}
	if l.Findings.HasErrors() {
		return s, nil
	}
	if err := opts.match(l.Set); err != nil {
		return nil, err
	}
	if err := l.Project.AllowOverrides(a.env.Getenv("TRUEUP_ALLOW_OVERRIDES")); err != nil {
		return nil, err
	}
	if s.world, err = a.enter(ctx, l.Project, l.Set); err != nil {
		return nil, err
	}
	a.warnOfNothing(l)
	planOpts.Overrides = l.Project.Overrides
	planOpts.PartOfTree = l.Project.Partly(a.dir(), paths)
	planOpts.Unread = manifest.Unread(l.Findings)
	planOpts.ShowUnmanaged = a.global.verbose
	s.base, s.baseRef = a.history(l, paths), opts.baseRef
	if opts.prune {
		s.inputs.Base = s.base.Base(ctx, s.baseRef)
	}
	if err := s.compare(ctx, l, planOpts); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// compare reads ledger and platform and makes the plan.
func (s *session) compare(ctx context.Context, l project.Loaded, opts plan.Options) error {
	reader := api.NewReader(s.world.API)
	defer reader.Close()
	s.inputs.Set, s.inputs.Options = l.Set, opts
	s.inputs.Project = l.Project.Settings(s.app.dir())
	if err := s.readLedger(ctx); err != nil {
		return err
	}
	if err := s.readLive(ctx, reader); err != nil {
		return err
	}
	comparing := s.app.begin("comparing")
	defer comparing.end()
	if err := s.addLeft(ctx); err != nil {
		return err
	}
	server, _ := reader.ServerTime()
	s.inputs.At = ledger.Observed(server, s.world.API.Now())
	s.inputs.Tool, s.inputs.Sandbox = toolName(), s.app.global.sandbox
	s.inputs.Target = plan.Target{Origins: s.world.Origins, Workspace: s.world.Workspace}
	s.inputs.LedgerStore = s.world.Ledger.Store
	s.planner = plan.NewPlanner(s.inputs)
	var wrong diag.List
	s.plan, wrong = s.planner.Make()
	s.findings = append(s.findings, wrong...)
	s.planner.Explain(s.plan, s.base.Past(ctx, s.baseRef, s.plan.AsksGit() || l.Set.HasSilences()))
	return nil
}

// readLedger reads what the ledger knows of the objects in git, and of those that
// left it.
func (s *session) readLedger(ctx context.Context) (err error) {
	reading := s.app.begin("reading the ledger")
	defer reading.end()
	s.world.Ledger.Held = s.inputs.Set.Spec
	if s.ledger, err = s.world.OpenLedger(ctx); err != nil {
		return err
	}
	known := make([]kind.Key, len(s.inputs.Set.Objects))
	for i, o := range s.inputs.Set.Objects {
		known[i] = o.Key()
	}
	known = append(known, history.Removed(s.inputs.Base, s.inputs.Set)...)
	view, err := s.ledger.View(ctx, known)
	if err != nil && s.looksOnly && !errors.Is(err, ledger.ErrStore) {
		// Who may not read the ledger, as a fork's pull request, still sees the rest.
		view, err = ledger.Unreadable(err), nil
	}
	if s.inputs.Ledger = view; err != nil {
		return err
	}
	if err = s.admit(ctx); err != nil && !s.looksOnly {
		err = exit.With(exit.NeedsPerson, err)
	}
	return err
}

// admit refuses to go on where a token would go elsewhere than the ledger was made
// for, and to send anything without the ledger that the environment names.
func (s *session) admit(ctx context.Context) error {
	if err := s.world.Admit(ctx, areasOf(s.inputs.Set)...); err != nil {
		return err
	}
	if view := s.inputs.Ledger; view.Problem != "" && s.world.Ledger.StoreFromEnv && !s.looksOnly {
		return fmt.Errorf("trueup sends nothing without the ledger that TRUEUP_LEDGER names: %s: %s", view.Problem, view.Fix)
	}
	return nil
}

// areasOf are the areas that manifests are of.
func areasOf(set *manifest.Set) []kind.Area {
	return slices.DeleteFunc(kind.Areas(), func(area kind.Area) bool {
		return !slices.ContainsFunc(set.Objects, func(o *manifest.Object) bool { return o.Kind.Area == area })
	})
}

// readLive reads what the manifests name.
func (s *session) readLive(ctx context.Context, reader live.Reader) (err error) {
	reading := s.app.begin("reading what is live")
	defer reading.end()
	wanted := 0
	for _, o := range s.inputs.Set.Objects {
		if o.Kind.Can(kind.List) {
			wanted++
		}
	}
	opts := live.Options{
		Workspace: s.world.Workspace, Parallelism: s.app.global.parallelism, Names: remoteNames(s.inputs.Ledger),
		Progress: func(done int) { reading.reached(done, wanted) },
	}
	if s.inputs.Options.Prune {
		opts.Also = s.world.Deletable()
	}
	s.inputs.Live, err = live.Fetch(ctx, reader, s.inputs.Set, opts)
	return err
}

// remoteNames are the objects that the server calls by another name than git.
func remoteNames(v ledger.View) map[kind.Key]string {
	names := map[kind.Key]string{}
	for key, rec := range v.Records {
		if rec.RemoteName != "" && rec.RemoteName != key.Name {
			names[key] = rec.RemoteName
		}
	}
	return names
}

// addLeft looks up what the ledger says of live objects that git does not name:
// direct keys again, never a scan (docs/design.md 0.26).
func (s *session) addLeft(ctx context.Context) error {
	if s.inputs.Ledger.Problem != "" || len(s.inputs.Live.Unmanaged) == 0 {
		return nil
	}
	left := make([]kind.Key, len(s.inputs.Live.Unmanaged))
	for i, obj := range s.inputs.Live.Unmanaged {
		left[i] = obj.Key()
	}
	return s.ledger.Add(ctx, &s.inputs.Ledger, left)
}

// describe fills in the document. Any error among the findings stops the run
// (docs/design.md 0.6).
func (s *session) describe(doc *report.Document) {
	doc.Findings, doc.Silenced, doc.Objects = s.findings, s.silenced, s.objects
	if s.plan != nil {
		doc.Plan = plan.Shown(s.plan)
	}
	if s.findings.HasErrors() {
		doc.ExitCode = exit.Invalid
	}
}

package cli

import (
	"context"
	"sync"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/live"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// session is one run from manifests to plan; it holds what apply needs to go
// on. Without a plan the findings stopped it.
type session struct {
	app *app
	// looksOnly says that the run can change nothing.
	looksOnly bool
	world     *world
	ledger    *ledger.Ledger
	inputs    plan.Inputs
	planner   *plan.Planner
	plan      *plan.Plan
	findings  diag.List
	silenced  diag.List
	objects   int
	// base reads what git had before, as baseRef or else CI and the remote tell.
	base    *baseReader
	baseRef string
	// warnedOfSkew keeps what is said of the clocks to once a run.
	warnedOfSkew sync.Once
}

func (s *session) close() {
	if s.world != nil {
		s.world.close()
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
	s := &session{app: a, looksOnly: opts.looksOnly, findings: l.findings, silenced: l.set.Silenced, objects: len(l.set.Objects)}
	if l.findings.HasErrors() {
		return s, nil
	}
	if err := opts.match(l.set); err != nil {
		return nil, err
	}
	if s.world, err = a.enter(ctx, l.project, l.set); err != nil {
		return nil, err
	}
	planOpts.Overrides = l.project.Overrides
	planOpts.PartOfTree = l.project.partly(a.dir(), paths)
	planOpts.Unread = manifest.Unread(l.findings)
	planOpts.ShowUnmanaged = a.global.verbose
	s.base, s.baseRef = a.base(l, paths), opts.baseRef
	if opts.prune {
		s.inputs.Base = s.base.proofs(ctx, s.baseRef)
	}
	if err := s.compare(ctx, l, planOpts); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// compare reads ledger and platform and makes the plan.
func (s *session) compare(ctx context.Context, l loaded, opts plan.Options) error {
	reader := api.NewReader(s.world.api)
	s.world.closers = append(s.world.closers, func() error { reader.Close(); return nil })
	var err error
	if s.ledger, err = ledger.Open(ctx, s.world.ledger); err != nil {
		return err
	}
	s.world.closers = append(s.world.closers, s.ledger.Close)
	known := make([]kind.Key, len(l.set.Objects))
	for i, o := range l.set.Objects {
		known[i] = o.Key()
	}
	known = append(known, left(s.inputs.Base, l.set)...)
	view, err := s.ledger.View(ctx, known)
	if err != nil && s.looksOnly {
		// Who may not read the ledger, as a fork's pull request, still sees the rest.
		view, err = ledger.Unreadable(err), nil
	}
	if err != nil {
		return err
	}
	fetching := live.Options{Workspace: s.world.workspace, Parallelism: s.app.global.parallelism, Names: remoteNames(view)}
	if opts.Prune {
		fetching.Also = s.world.deletable()
	}
	state, err := live.Fetch(ctx, reader, l.set, fetching)
	if err != nil {
		return err
	}
	if err := s.addLeft(ctx, &view, state); err != nil {
		return err
	}
	server, _ := reader.ServerTime()
	at := ledger.Observed(server, s.world.api.Now())
	s.inputs = plan.Inputs{
		Tool: toolName(), Sandbox: s.app.global.sandbox,
		Target: plan.Target{Origins: s.world.origins, Workspace: s.world.workspace},
		Set:    l.set, Live: state, Ledger: view, At: at, Options: opts, Base: s.inputs.Base,
	}
	s.planner = plan.NewPlanner(s.inputs)
	var wrong diag.List
	s.plan, wrong = s.planner.Make()
	s.findings = append(s.findings, wrong...)
	if s.plan.AsksGit() {
		s.planner.Explain(s.plan, s.base.past(ctx, s.baseRef))
	}
	return nil
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
// direct keys again, never a scan (design 0.26).
func (s *session) addLeft(ctx context.Context, view *ledger.View, state live.State) error {
	if view.Problem != "" || len(state.Unmanaged) == 0 {
		return nil
	}
	left := make([]kind.Key, len(state.Unmanaged))
	for i, obj := range state.Unmanaged {
		left[i] = obj.Key()
	}
	return s.ledger.Add(ctx, view, left)
}

// describe fills in the document. Any error among the findings stops the run
// (design 0.6).
func (s *session) describe(doc *report.Document) {
	doc.Findings, doc.Silenced, doc.Objects = s.findings, s.silenced, s.objects
	if s.plan != nil {
		doc.Plan = plan.Shown(s.plan)
	}
	if s.findings.HasErrors() {
		doc.ExitCode = exitInvalid
	}
}

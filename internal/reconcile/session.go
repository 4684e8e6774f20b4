// Package reconcile compares a project's manifests with the platform, and applies the plan. It reads from git what
// was there before: removed manifests, and the commits that name who made a change. It parses no flags, asks no
// questions and no remote, and writes no output.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// Session is a run from manifests to plan and apply.
type Session struct {
	Loaded   config.LoadedProject // has the manifests, and all findings
	Platform *config.Platform
	Ledger   *ledger.Ledger
	Plan     *plan.Plan  // nil if findings stopped the run
	Unread   kind.Unread // the areas that are not in the plan, with Options.EachArea
	// Skipped is the apply that left nothing to do of this very tree, with Options.SkipApplied. There is no plan then.
	Skipped *ledger.ApplyHead

	env          config.Options
	history      *CommitReader
	options      Options
	inputs       plan.Inputs
	planner      *plan.Planner
	order        CommitOrder
	warnedOfSkew sync.Once // limits the warning that clocks differ
}

// PrepareSession makes the plan. If findings are errors, the session has none.
func PrepareSession(ctx context.Context, env config.Options, l config.LoadedProject, o Options) (*Session, error) {
	s := &Session{env: env, Loaded: l, options: o, history: NewCommitReader(env, l, o.Paths)}
	var broken []string
	if l.Findings.HasErrors() {
		if l.Set, broken = o.leaveOutBroken(l); broken == nil {
			return s, nil
		}
		s.Loaded.Set = l.Set
	}
	var err error
	if s.inputs, err = o.planInputs(env, l); err != nil {
		return nil, err
	}
	if o.Offline {
		return s, s.planOffline(ctx)
	}
	if err = l.Project.CheckAllowedOverrides(env.Getenv("TRUEUP_ALLOW_OVERRIDES")); err != nil {
		return nil, err
	}
	if s.Platform, err = env.Open(ctx, l.Project, l.Set); err != nil {
		return nil, err
	}
	if len(o.Paths) == 0 {
		env.WarnIfNoManifests(l)
	}
	options := &s.inputs.Options
	options.PartOfTree = options.PartOfTree || broken != nil
	options.Unread, options.ShowUnmanaged = manifest.HasUnread(l.Findings), env.Verbose
	s.inputs.Target = plan.Destination{Origins: s.Platform.Ledger.Origins, Workspace: s.Platform.Workspace}
	s.inputs.LedgerStore = s.Platform.Ledger.Store
	if o.Prune {
		s.inputs.Base = NewCommitReader(env, l, o.Paths).ReadBase(ctx, o.BaseRef)
	}
	if err := s.readAndPlan(ctx); err != nil {
		s.Close()
		return nil, err
	}
	for _, file := range broken {
		s.Plan.Notes = append(s.Plan.Notes, file+" has errors, so the plan leaves it out")
	}
	return s, nil
}

// planInputs returns what a plan is made of, without what only the platform has.
func (o Options) planInputs(env config.Options, l config.LoadedProject) (plan.Inputs, error) {
	options := o.Options
	options.PartOfTree = l.Project.ReadsPartly(env.Dir(), o.Paths)
	return plan.Inputs{
		Tool: env.Tool, Sandbox: env.Sandbox, Set: l.Set, Options: options, Project: l.Project.PlanSettings(env.Dir()), ReadOnly: o.ReadOnly,
	}, o.CheckMatches(l.Set)
}

// Close closes the platform and the ledger.
func (s *Session) Close() {
	if s.Platform != nil {
		s.Platform.Close()
	}
}

// States returns the state of each object of the plan.
func (s *Session) States(p *plan.Plan) []plan.ObjectState {
	return plan.ObjectStates(p, s.Loaded.Set, s.Unread, s.inputs.Ledger.Records)
}

// NarrowToUnanswered reduces the plan to the requests without an outcome.
func (s *Session) NarrowToUnanswered() error {
	s.Plan = s.Plan.NarrowToUnanswered(s.inputs.Ledger.Records)
	return config.ExplainLedgerError(s.inputs.Ledger.ProblemError())
}

// LacksProjectLedger reports whether a plan in CI was made without the project's ledger: a green job would promise
// that apply can do what the plan shows.
func (s *Session) LacksProjectLedger() bool {
	return s.env.InCI() && s.Platform.Ledger.Store != "" && s.Plan.LedgerProblem != ""
}

// WorkspaceWarning returns what to do before a plan in CI may be green whose workspace may not exist, "" if it is confirmed.
func (s *Session) WorkspaceWarning() string {
	if !s.env.InCI() || s.Platform.Pin.Workspace != "" || !s.planner.IsWorkspaceUnproven() {
		return ""
	}
	fix := "set " + config.WorkspacePin + " to confirm its UUID (for the shipped workflows, TRUEUP_READ_WORKSPACE or the input workspace)"
	if s.Platform.Pin.Origin == config.ProjectsPin {
		fix = "confirm its UUID in the file that " + config.ProjectsPin + " names"
	}
	return fmt.Sprintf("nothing shows that workspace %s exists: %s", s.Platform.Workspace.UUID, fix)
}

// WarnOfUnmerged says that a run outside CI is about to send what the branch that is applied on merge does not have.
func (s *Session) WarnOfUnmerged() {
	b := s.Plan.Blame
	isUnmerged := func(it plan.Item) bool {
		return it.TakesEffect() && (it.By == plan.ByThisChange ||
			slices.ContainsFunc(it.Changes, func(c plan.Change) bool { return c.By == plan.ByThisChange }))
	}
	if b == nil || s.options.BaseRef != "" || s.env.InCI() || !slices.ContainsFunc(s.Plan.Items, isUnmerged) {
		return
	}
	s.env.Warn("%s does not have all of this, so the next apply of it undoes the rest: merge it soon", b.Ref)
}

// large is how many manifests are planned without the specs of live objects that are no longer needed.
const large = 1000

func (s *Session) readAndPlan(ctx context.Context) error {
	if err := s.readLedger(ctx); err != nil {
		return err
	}
	if s.isApplied(ctx) {
		return nil
	}
	reader := api.NewReader(s.Platform.API)
	defer reader.Close()
	if err := s.readLive(ctx, reader); err != nil {
		return err
	}
	_, end := s.env.Begin("comparing")
	defer end()
	if view := &s.inputs.Ledger; view.Problem == "" && len(s.inputs.Live.Unmanaged) > 0 {
		// By key and never by a scan (docs/design.md 0.26).
		if err := s.Ledger.AddToView(ctx, view, kind.KeysOf(s.inputs.Live.Unmanaged)); err != nil {
			return err
		}
	}
	s.inputs.At = ledger.NewInstant(reader.ServerTime(), s.Platform.API.Now())
	s.makePlan(ctx)
	return nil
}

// makePlan makes the plan, and explains it by what git had before.
func (s *Session) makePlan(ctx context.Context) {
	past, isLarge := plan.BaseState{}, len(s.inputs.Set.Objects) > large
	if isLarge {
		past = s.history.ReadPast(ctx, s.options.BaseRef, false)
		s.inputs.Release = !s.options.Whole && !past.ChangesOverrides(s.inputs)
	}
	s.planner = plan.NewPlanner(s.inputs)
	made, findings := s.planner.MakePlan()
	s.Plan, s.Loaded.Findings = made, append(s.Loaded.Findings, findings...)
	if asks := made.NeedsGitHistory() || s.Loaded.Set.HasSilences(); !isLarge || asks && past.Blame.Base != "" {
		past = s.history.ReadPast(ctx, s.options.BaseRef, asks)
	}
	s.planner.ExplainPlan(made, past)
	if keys := made.ObjectsWithoutCommit(); len(keys) > 0 {
		s.planner.AddCommits(made, s.history.ReadTrails(ctx, keys))
	}
	s.order = s.compareCommit(ctx)
	s.Plan.Commit, s.Plan.OrderNote, s.Plan.Older = s.order.Commit, s.orderNote(), s.order.IsOlder()
	if _, unread := s.areas(); len(unread) > 0 {
		s.Plan.Notes = append(s.Plan.Notes, fmt.Sprintf("trueup has no address or token for the %s area, so it does not show what left git there", unread[0]))
	}
	if s.Plan.OrderNote != "" {
		s.Plan.Notes = append(s.Plan.Notes, s.Plan.OrderNote)
	}
}

func (s *Session) readLedger(ctx context.Context) (err error) {
	_, end := s.env.Begin("reading the ledger")
	defer end()
	if s.Ledger, err = s.Platform.OpenLedger(ctx); err != nil {
		return err
	}
	known := append(kind.KeysOf(s.inputs.Set.Objects), RemovedKeys(s.inputs.Base, s.inputs.Set)...)
	view, err := s.Ledger.ReadView(ctx, known)
	if err != nil && s.options.ReadOnly && !errors.Is(err, ledger.ErrStore) {
		// A fork's pull request may not read the ledger, and still sees the rest.
		view, err = ledger.UnreadableView(err), nil
	}
	if s.env.InCI() && s.options.ReadOnly {
		view.Unseen, view.NotKept = false, nil // runners of plans keep no seen cache: this is for apply to say
	}
	if s.inputs.Ledger = view; err != nil {
		return err
	}
	if err = s.checkPlatform(ctx); err != nil && !s.options.ReadOnly {
		err = diag.WithExit(diag.ExitNeedsPerson, err)
	}
	return err
}

// checkPlatform rejects a platform that the ledger was not made for, which must not get the tokens. It also rejects an
// apply that could not record what it sends in the project's ledger.
func (s *Session) checkPlatform(ctx context.Context) error {
	read, _ := s.areas()
	if err := s.Platform.AdmitAreas(ctx, read...); err != nil {
		return err
	}
	if view := s.inputs.Ledger; view.Problem != "" && s.Platform.Ledger.Store != "" && !s.options.ReadOnly {
		return fmt.Errorf("trueup sends nothing that it can't record: %s: %s", view.Problem, view.Fix)
	}
	return nil
}

func (s *Session) readLive(ctx context.Context, reader api.ObjectReader) (err error) {
	progress, end := s.env.Begin("reading what is live")
	defer end()
	wanted := 0
	for _, o := range s.inputs.Set.Objects {
		if o.Kind.Documents(kind.List) {
			wanted++
		}
	}
	opts := api.FetchOptions{
		Parallelism: s.env.API.Parallelism, Names: s.inputs.Ledger.RemoteNames(), Whole: s.options.Whole,
		Progress: func(done int) { progress(done, wanted) }, Doubt: plan.NeedsReread(s.inputs, s.Platform.API.Now()),
	}
	opts.Also = slices.DeleteFunc(slices.Clone(kind.AllKinds()), s.isUnneeded)
	if !s.options.EachArea {
		s.inputs.Live, err = api.FetchState(ctx, reader, s.inputs.Set, opts)
		return err
	}
	s.inputs.Live, s.Unread = api.FetchAreas(ctx, reader, s.inputs.Set, opts)
	if targets := s.inputs.Options.Targets; len(s.Unread) > 0 {
		s.inputs.Options.Targets = func(key kind.Key) bool {
			k, _ := kind.FindKind(key.Kind)
			return s.Unread[k.Area] == nil && (targets == nil || targets(key))
		}
	}
	return context.Cause(ctx)
}

// isUnneeded reports whether the list of a kind is of no use where git has nothing of it. Objects may have left git:
// those of the areas that were applied to, and with --prune of the kinds that can be deleted.
func (s *Session) isUnneeded(k *kind.Kind) bool {
	read, _ := s.areas()
	mayHaveLeft := k.Documents(kind.List) && (s.options.All || slices.Contains(read, k.Area)) || k.Documents(kind.Delete) && s.inputs.Options.Prune
	return !mayHaveLeft || !s.canRead(k.Area)
}

// areas returns the areas of manifests, and those that were applied to before: objects may be live there that left git.
// unread are those that trueup has no address or token for.
func (s *Session) areas() (read, unread []kind.Area) {
	read = s.inputs.Set.Areas()
	if head := s.inputs.Ledger.Head; head != nil {
		for _, area := range head.Areas {
			switch {
			case slices.Contains(read, area):
			case s.canRead(area):
				read = append(read, area)
			default:
				unread = append(unread, area)
			}
		}
	}
	return read, unread
}

func (s *Session) canRead(area kind.Area) bool {
	e := s.Platform.API.Endpoints[area]
	return e.Base != nil && (!e.Token.IsZero() || e.Ask != nil)
}

// planOffline makes the plan of what git changed since the base.
func (s *Session) planOffline(ctx context.Context) error {
	s.env.WarnIfNoManifests(s.Loaded)
	past := s.history.ReadPast(ctx, s.options.BaseRef, true)
	if past.Set == nil {
		return fmt.Errorf("--offline has nothing to compare with: %s (%s)", past.Blame.Problem, cmp.Or(past.Blame.Fix, "plan compares with live"))
	}
	p := s.Loaded.Project
	s.inputs.Target, s.inputs.LedgerStore = plan.Destination{Workspace: p.Workspace}, s.env.LedgerConfig(p).Store
	s.Plan = plan.MakeOffline(s.inputs, past)
	return nil
}

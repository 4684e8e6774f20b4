package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/report"
)

type applyOptions struct {
	planOptions
	expect           string
	autoApprove      bool
	acceptNormalised bool
	wait             bool
	waitTimeout      time.Duration
	writesPerSecond  float64
}

func newApply(a *app) *cobra.Command {
	var opts applyOptions
	cmd := &cobra.Command{
		Use: "apply [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "expect", "drift", "base-ref"); err != nil {
				return err
			}
			return runApply(cmd.Context(), a, opts, args)
		},
	}
	opts.register(cmd)
	a.global.registerDiff(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.expect, "expect", "", "apply only if the plan equals the one in `FILE` (from plan --out), or has this digest (sha256:...)")
	f.BoolVar(&opts.autoApprove, "auto-approve", false, "do not ask")
	f.BoolVar(&opts.acceptNormalised, "accept-normalised", false, "send purges even if the server did not keep the changes before them")
	f.BoolVar(&opts.wait, "wait", false, "wait until created objects are ready")
	f.DurationVar(&opts.waitTimeout, "wait-timeout", 10*time.Minute, "how long --wait waits for each object")
	f.Float64Var(&opts.writesPerSecond, "rps", 5, "`N` writes per second; loopback has no limit")
	return cmd
}

func runApply(ctx context.Context, a *app, opts applyOptions, paths []string) error {
	doc := report.Document{Command: "apply"}
	expected, err := a.expectation(opts.expect)
	if err != nil {
		return a.fail(doc, err)
	}
	s, err := a.prepare(ctx, opts.planOptions, paths)
	if err != nil {
		return a.fail(doc, err)
	}
	defer s.close()
	s.describe(&doc)
	if doc.ExitCode != exit.OK {
		return a.emit(doc)
	}
	if doc.Errors = expected.against(doc.Plan); len(doc.Errors) > 0 {
		doc.ExitCode = exit.Stale
		return a.emit(doc)
	}
	a.asExpected(expected)
	asked := doc.Plan.Sends() && !opts.autoApprove
	if asked {
		if err := a.confirm(doc, expected); err != nil {
			return a.fail(doc, err)
		}
	}
	result := s.apply(ctx, opts)
	doc.Apply, doc.ExitCode = &result, exit.OrInterrupted(ctx, exitOfApply(result))
	if doc.ExitCode == exit.OK {
		s.finish(ctx)
	}
	if asked && a.global.output == "text" {
		doc.Plan, doc.Findings = nil, nil // the question showed them
	}
	return a.emit(doc)
}

// finish records which requests git has, where the whole project was applied: one of
// them that has no record later on was lost.
func (s *session) finish(ctx context.Context) {
	options := s.inputs.Options
	if options.Targets != nil || options.PartOfTree || s.plan.LedgerProblem != "" {
		return
	}
	keys := make([]kind.Key, len(s.inputs.Set.Objects))
	for i, o := range s.inputs.Set.Objects {
		keys[i] = o.Key()
	}
	if err := s.ledger.Finish(ctx, s.inputs.Ledger, keys); err != nil {
		s.app.log(slog.LevelWarn, err.Error())
	}
}

// confirm shows the plan on standard error and asks; without a terminal there
// is nobody to ask.
func (a *app) confirm(doc report.Document, expected expectation) error {
	if !a.env.StdinIsTTY {
		return errors.New("there is no terminal to ask on: add --auto-approve")
	}
	doc.Sandbox = a.global.sandbox
	opts := report.Options{Color: a.useColor(a.env.StderrIsTTY), Width: a.env.Width, Diff: a.global.diff}
	if err := report.Write(a.env.Stderr, "text", doc, opts); err != nil {
		return fmt.Errorf("not applied, because the plan could not be shown: %w", err)
	}
	which := "Apply"
	if expected.set() {
		which = "Apply the expected plan"
	}
	answer, err := a.ask("\n%s to %s? Type yes: ", which, destination(doc.Plan))
	if err != nil {
		return fmt.Errorf("not applied: %w", err)
	}
	if answer != "yes" {
		return errors.New("not applied: nothing was sent")
	}
	return nil
}

// destination names the workspace and the addresses that a plan's requests go to.
func destination(p *plan.Plan) string {
	text := fmt.Sprintf("workspace %s (%s)", p.Target.Workspace.Name, p.Target.Workspace.UUID)
	if p.Sandbox {
		return text + " of the sandbox"
	}
	var origins []string
	for _, it := range p.Items {
		k, ok := kind.Named(it.Kind)
		if !ok || it.Request == nil {
			continue
		}
		if origin := p.Target.Origins[k.Area]; !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	return text + " at " + strings.Join(origins, " and ")
}

// apply sends what the session's plan shows.
func (s *session) apply(ctx context.Context, opts applyOptions) apply.Result {
	client := s.world.Client(opts.writesPerSecond)
	defer client.Close()
	s.app.sending = true
	defer s.app.explainInterruption(ctx)()
	applying := s.app.begin("applying")
	defer applying.end()
	deps := apply.Deps{
		Writer:   client,
		Clock:    s.clock(client),
		Replan:   s.replan,
		Spec:     func(key kind.Key) []byte { return s.planner.Managed(s.inputs.Set.Find(key)) },
		Rules:    func(k *kind.Kind) *merge.Rules { return s.planner.Rules(k) },
		Report:   s.app.happened,
		Progress: applying.reached,
		Hurry:    s.app.env.Hurry,
		Sleep:    s.app.env.Sleep,
		Now:      s.app.env.Now,
		Options: apply.Options{
			Parallelism:      s.app.global.parallelism,
			AcceptNormalised: opts.acceptNormalised,
			Wait:             opts.wait,
			WaitTimeout:      opts.waitTimeout,
			Batch:            s.ledger.Batch(),
			WaitOthers:       s.world.WaitOthers,
		},
	}
	if s.plan.LedgerProblem == "" {
		deps.Journal = s.ledger
	}
	result := apply.Run(ctx, s.plan, deps)
	for i := range result.Outcomes {
		if o := &result.Outcomes[i]; o.Field != "" {
			o.Line, o.Column = s.inputs.Set.Find(o.Key).Place(o.Field)
		}
	}
	return result
}

// explainInterruption tells who interrupts a run that sends why it does not end
// at once. The returned function ends that.
func (a *app) explainInterruption(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			a.log(slog.LevelWarn, "interrupted: trueup starts nothing new and waits for requests in flight; interrupt again to stop waiting")
		}
	})
}

// maxSkew is how far the platform's clock and this machine's may be apart
// before somebody is told (docs/design.md A6).
const maxSkew = 5 * time.Minute

// clock asks for an object of the area to learn what time it is: one that is
// live, or else one that there is none of, whose absence is answered with a time
// as well.
func (s *session) clock(client *api.Client) func(context.Context, *kind.Kind) (ledger.Instant, error) {
	dials := sync.OnceValue(s.dials)
	return func(ctx context.Context, k *kind.Kind) (ledger.Instant, error) {
		on := dials()[k.Area]
		read, err := client.Clock(ctx, on.kind, on.name)
		if err != nil {
			return ledger.Instant{}, err
		}
		if skew := read.Server.Sub(read.Wall).Abs(); !read.Server.IsZero() && skew > maxSkew {
			s.warnedOfSkew.Do(func() {
				s.app.log(slog.LevelWarn, fmt.Sprintf("the platform's clock and this machine's clock differ by %s", skew.Round(time.Second)))
			})
		}
		return ledger.Observed(read.Server, read.Wall), nil
	}
}

// dial is an object that a look at the clock asks for.
type dial struct {
	kind *kind.Kind
	name string
}

// dials finds one of each area: of the first kind that has a live object, the
// first in git.
func (s *session) dials() map[kind.Area]dial {
	live, none := map[*kind.Kind]string{}, "trueup-clock"
	for _, o := range s.inputs.Set.Objects {
		if _, found := live[o.Kind]; found {
			continue
		}
		if _, there := s.inputs.Live.Objects[o.Key()]; there {
			live[o.Kind] = o.Name
		}
	}
	found := map[kind.Area]dial{}
	for _, k := range kind.All() {
		before, seen := found[k.Area]
		if !k.Can(kind.Get) || seen && before.name != none {
			continue
		}
		found[k.Area] = dial{kind: k, name: cmp.Or(live[k], none)}
	}
	return found
}

// replan plans one object again; a finding against it stops it.
func (s *session) replan(key kind.Key, obj *kind.Object) (plan.Item, error) {
	item, findings := s.planner.Remake(key, obj)
	if findings.HasErrors() {
		return plan.Item{}, errors.New(findings[0].Message)
	}
	return item, nil
}

// happened writes to standard error what apply tells: waiting always, the rest
// for who asked for it.
func (a *app) happened(e apply.Event) {
	switch {
	case e.Phase == apply.PhaseRescue:
		a.rescue([]byte(e.Message))
	case e.Phase == apply.PhaseStack:
		a.showStack(e.Message)
	case !a.global.quiet && (a.global.verbose || e.Phase == "wait"):
		a.log(slog.LevelInfo, report.ProgressLine(e))
	}
}

// exitOfApply picks the code of an apply; if several things happened, the one
// that a person must know first (docs/design.md 0.24). Stale objects alone end with
// exit.Stale only if nothing was sent at all.
func exitOfApply(res apply.Result) int {
	seen := map[apply.Verdict]bool{}
	sent := false
	for _, o := range res.Outcomes {
		seen[o.Verdict] = true
		sent = sent || o.Sent
	}
	switch {
	case seen[apply.Interrupted]:
		return exit.Interrupted
	case seen[apply.Auth]:
		return exit.Auth
	case seen[apply.NeedsPerson]:
		return exit.NeedsPerson
	case seen[apply.NotConverged]:
		return exit.NotConverged
	case seen[apply.Stale] && !sent:
		return exit.Stale
	case seen[apply.Partial] || seen[apply.Stale]:
		return exit.Partial
	default:
		return exit.OK
	}
}

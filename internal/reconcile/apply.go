package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// ApplyPlan applies the plan, and returns the exit code.
func (s *Session) ApplyPlan(ctx context.Context) (apply.Result, int) {
	client := api.NewClient(s.Platform.API)
	defer client.Close()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			s.env.Warn("interrupted: trueup starts nothing new and waits for requests in flight; interrupt again to stop waiting")
		}
	})()
	progress, end := s.env.Begin("applying")
	defer end()
	deps := apply.Deps{
		Writer: client,
		Clock:  s.ClockReader(client),
		Replan: func(key kind.Key, obj *kind.LiveObject) (plan.Item, error) {
			item, findings := s.planner.ReplanItem(key, obj)
			if findings.HasErrors() {
				return plan.Item{}, errors.New(findings[0].Message)
			}
			return item, nil
		},
		Spec:     s.managedSpec,
		Rules:    func(k *kind.Kind) *merge.Rules { return s.planner.RulesOf(k) },
		Report:   s.options.Report,
		Progress: progress,
		Hurry:    s.env.Hurry,
		Sleep:    s.env.Sleep,
		Now:      s.env.Now,
		Options: apply.SendOptions{
			Parallelism:      s.env.API.Parallelism,
			AcceptNormalised: s.options.accepts(normalised),
			Wait:             s.options.Wait,
			Batch:            s.Ledger.BatchSize(),
		},
	}
	if s.Plan.LedgerProblem == "" {
		deps.Journal = s.Ledger
	}
	result := apply.Run(ctx, s.Plan, deps)
	for i := range result.Outcomes {
		if o := &result.Outcomes[i]; o.Field != "" {
			o.Line, o.Column = s.inputs.Set.Find(o.Key).Position(o.Field)
		}
	}
	return result, diag.OrInterrupted(ctx, ExitCode(result))
}

// maxSkew is how far the platform's clock and this machine's may differ without a warning (docs/design.md A6).
const maxSkew = 5 * time.Minute

// ClockReader returns a function that reads the platform's time from an answer of the kind's area.
func (s *Session) ClockReader(client *api.Client) func(context.Context, *kind.Kind) (ledger.Instant, error) {
	sources := sync.OnceValue(s.timeSources)
	return func(ctx context.Context, k *kind.Kind) (ledger.Instant, error) {
		source := sources()[k.Area]
		of, _ := kind.FindKind(source.Kind)
		read, err := client.ReadClock(ctx, of, source.Name)
		if err != nil {
			return ledger.Instant{}, err
		}
		if skew := read.Server.Sub(read.Wall).Abs(); !read.Server.IsZero() && skew > maxSkew {
			s.warnedOfSkew.Do(func() {
				s.env.Warn("the platform's clock and this machine's clock differ by %s", skew.Round(time.Second))
			})
		}
		return ledger.NewInstant(read.Server, read.Wall), nil
	}
}

// timeSources returns an object of each area to read the time from, the first in git that is live. Without
// one it is an object that does not exist, because a 404 has the time, too.
func (s *Session) timeSources() map[kind.Area]kind.Key {
	found := map[kind.Area]kind.Key{}
	for _, o := range s.inputs.Set.Objects {
		_, live := s.inputs.Live.Objects[o.Key()]
		if _, seen := found[o.Kind.Area]; live && !seen && o.Kind.Documents(kind.Get) {
			found[o.Kind.Area] = o.Key()
		}
	}
	for _, k := range kind.AllKinds() {
		if _, seen := found[k.Area]; !seen && k.Documents(kind.Get) {
			found[k.Area] = kind.Key{Kind: k.Name, Name: "trueup-clock"}
		}
	}
	return found
}

// ExitCode returns the exit code of an apply; of several outcomes the most urgent for a person counts
// (docs/design.md 0.24). Stale objects give diag.ExitStale only if nothing was sent.
func ExitCode(res apply.Result) int {
	code, sent := diag.ExitOK, false
	for _, o := range res.Outcomes {
		code = diag.WorstExit(code, max(diag.ParseExit(string(o.Verdict)), diag.ExitOK))
		sent = sent || o.Sent
	}
	if code == diag.ExitStale && sent {
		return diag.ExitPartial
	}
	return code
}

// PurgeProbe is a harmless purge, whose path does not exist. Session.SendProbe sends it again.
type PurgeProbe struct {
	kind   *kind.Kind
	key    kind.Key
	Source manifest.PathSource
}

// NewProbePurge returns a probe for a hostname.
func NewProbePurge(hostname string) (PurgeProbe, error) {
	k, name := kind.RequestKind(), "trueup-probe-"+uuid.NewString()[:8]
	text, err := json.Marshal(map[string]any{
		"apiVersion": k.APIVersion, "kind": k.Name, "metadata": map[string]any{"name": name},
		"spec": map[string]any{"hostname": hostname, "paths": []string{"/.well-known/" + name}},
	})
	return PurgeProbe{k, kind.Key{Kind: k.Name, Name: name}, manifest.PathSource{Data: text, Display: "--probe-duplicates"}}, err
}

// NarrowToProbe reduces the plan to the probe.
func (s *Session) NarrowToProbe(p PurgeProbe) error {
	s.Plan = s.Plan.NarrowToObject(p.key)
	return config.ExplainLedgerError(s.inputs.Ledger.ProblemError())
}

// SendProbe sends a probe again, which the platform has accepted (docs/design.md 0.7). It records that the platform
// refused the duplicate. Any other answer is an error. An accepted duplicate ends what was proven before.
func (s *Session) SendProbe(ctx context.Context, p PurgeProbe) (proof ledger.DuplicateProof, err error) {
	client := api.NewClient(s.Platform.API)
	defer client.Close()
	records, err := s.Ledger.ReadRecords(ctx, []kind.Key{p.key})
	if err != nil {
		return proof, config.ExplainLedgerError(err)
	}
	if err := client.WaitForRateLimit(ctx, p.kind); err != nil {
		return proof, err
	}
	now, err := s.ClockReader(client)(ctx, p.kind)
	if err != nil {
		return proof, fmt.Errorf("the platform's time: %w", err)
	}
	if first := records[p.key].FirstClaimAt; first == nil || !s.inputs.Ledger.Terms[p.kind.Area].MaySend(*first, now) {
		return proof, fmt.Errorf("nothing was proven: %s was sent only once, because this run was paused for too long", p.key)
	}
	_, err = client.Create(ctx, p.kind, s.Plan.Items[0].Request.Body)
	refused := api.AsError(err)
	switch {
	case err == nil:
		err = fmt.Errorf("the platform accepted %s a second time, so it may execute duplicates: trueup asks a person about each request that gets no answer", p.key)
		return proof, errors.Join(err, config.ExplainLedgerError(s.Ledger.RecordProof(ctx, p.kind.Area, proof)))
	case refused.Class != api.Taken:
		return proof, fmt.Errorf("the second %s was not refused as a duplicate; if this answer means a duplicate, describe it in purge.duplicate of trueup.yaml: %w", p.key, err)
	}
	proof = ledger.DuplicateProof{At: now.Now.UTC(), Name: p.key.Name, HTTP: refused.Status, By: s.env.NewClaim().Actor}
	return proof, config.ExplainLedgerError(s.Ledger.RecordProof(ctx, p.kind.Area, proof))
}

// compareCommit compares what is checked out with what the ledger says was applied. It asks no remote and no platform.
func (s *Session) compareCommit(ctx context.Context) CommitOrder {
	return s.history.CompareWithApplied(ctx, s.inputs.Ledger.Head, !s.options.ReadOnly)
}

// orderNote says that the commit is older than the one that was applied, or that nothing shows whether it is. It is
// empty if the commit is newer, or the same.
func (s *Session) orderNote() string {
	applied := s.inputs.Ledger.Head
	switch {
	case applied.NewestCommit() == "", s.order.Unclear != "" && s.inputs.Set.HasOnlyRequests():
		return ""
	case s.order.Unclear != "":
		return fmt.Sprintf("trueup can't tell whether this is older than commit %s: %s", applied, s.order.Unclear)
	case s.order.Dirty:
		return fmt.Sprintf("the files differ from those of commit %.12s: the ledger records that", s.order.Commit)
	case s.order.IsOlder() && s.options.accepts(olderCommit):
		return fmt.Sprintf("this commit, %.12s, is older than commit %s", s.order.Commit, applied)
	case applied.OlderCommit && s.order.Commit != applied.NewestCommit():
		return fmt.Sprintf("the last apply went back on purpose, with --accept older-commit, and this commit, %.12s, is newer than commit %s", s.order.Commit, applied)
	case s.options.ReadOnly:
		return s.WhyOlder()
	}
	return "" // it is newer, or the error of apply
}

// WhyOlder returns why apply sends nothing of a commit that is older than the one that was applied, or "".
func (s *Session) WhyOlder() string {
	if !s.order.IsOlder() || s.options.accepts(olderCommit) {
		return ""
	}
	return fmt.Sprintf("this commit, %.12s, is older than commit %s, so apply sends nothing. "+
		"To go back, revert the newer commits in git; or run apply --accept older-commit, which the ledger records", s.order.Commit, s.inputs.Ledger.Head)
}

// BlockHeld blocks what holds keep from being sent, unless the user goes on despite them. It reports whether there is any.
func (s *Session) BlockHeld() bool {
	goesOn := s.options.DespiteHold != "" && s.inputs.Ledger.Problem == "" // what can't be recorded is no reason
	return !goesOn && s.Plan.BlockHeld(s.inputs.Ledger.Holds, s.inputs.At.Early)
}

// BeginRun lets the ledger record the commit before the first request. From then on, no run of an older commit sends any.
func (s *Session) BeginRun(ctx context.Context) {
	if s.inputs.Ledger.Problem != "" {
		return
	}
	applied := cmp.Or(s.inputs.Ledger.Head, &ledger.ApplyHead{})
	head := ledger.ApplyHead{Claim: s.env.NewClaim(), OlderCommit: s.order.IsOlder(), Areas: s.inputs.Set.Areas()}
	if len(ledger.ActiveHolds(s.inputs.Ledger.Holds, s.inputs.At.Early)) > 0 {
		head.DespiteHold = s.options.DespiteHold
	}
	head.Dirty = s.order.Dirty
	switch head.Commit = s.order.Commit; {
	case head.Commit == "", s.order.Ancestor && s.order.Dirty:
		head.After, head.Ancestors = applied.NewestCommit(), applied.Ancestors // what is older stays older
	case head.Commit == applied.NewestCommit():
		head.Ancestors = applied.Ancestors
	default:
		head.Ancestors = s.order.AddOlder(s.history.Ancestors(ctx), applied)
	}
	var one sync.Mutex
	s.Ledger.BeginRun(s.inputs.Ledger.Head, head, s.inputs.At, func(ctx context.Context, recorded *ledger.ApplyHead) ([]string, bool) {
		one.Lock()
		defer one.Unlock()
		order := s.history.CompareWithApplied(ctx, recorded, true)
		return order.AddOlder(s.history.Ancestors(ctx), recorded), s.options.accepts(olderCommit) || !order.IsOlder()
	})
}

// FinishRun records the commit if no request did, and what an apply of the whole project left: the keys of all requests
// in git, so that one that has no record later was lost, and the tree if nothing is left to do. It returns the exit code
// of the apply, and an error if another run wrote meanwhile.
func (s *Session) FinishRun(ctx context.Context, result apply.Result, code int) (int, error) {
	if s.inputs.Ledger.Problem != "" || code == diag.ExitInterrupted {
		return code, nil
	}
	disturbed, err := s.Ledger.FinishRun(ctx, s.inputs.Ledger, s.runEnd(code))
	if _, superseded := errors.AsType[*ledger.SupersededError](err); len(disturbed) > 0 || superseded {
		if err == nil {
			err = fmt.Errorf("a run of another commit wrote %s meanwhile: run apply again", disturbed[0])
		}
		result.Outcomes = append(slices.Clip(result.Outcomes), apply.ItemOutcome{Verdict: apply.Stale})
		return diag.WorstExit(code, ExitCode(result)), err
	}
	if err != nil {
		s.env.Warn("record the apply: %s", err)
	}
	return code, nil
}

// runEnd is how an apply ended that has the exit code.
func (s *Session) runEnd(code int) ledger.ApplyEnd {
	options := s.inputs.Options
	e := ledger.ApplyEnd{Keys: kind.KeysOf(s.inputs.Set.Objects), Spec: s.managedSpec, Whole: code == diag.ExitOK && options.Targets == nil && !options.PartOfTree}
	if _, unread := s.areas(); e.Whole && len(unread) == 0 && (s.Skipped != nil || s.Plan.LeavesNothing()) {
		e.Tree = new(s.treeDigest())
	}
	return e
}

// treeDigest is the digest of everything that an apply depends on, except what is live and recorded.
func (s *Session) treeDigest() canon.Sum {
	return plan.InputsDigest(s.inputs, s.Platform.Profile.Name, s.Platform.Profile, s.Loaded.Project.Text)
}

// isApplied reports whether the ledger says that all of this very tree was applied and left nothing to do, and the user
// wants no plan then.
func (s *Session) isApplied(ctx context.Context) bool {
	applied := s.inputs.Ledger.Head
	if !s.options.SkipApplied || s.inputs.Ledger.Problem != "" || applied == nil || applied.Tree == nil || *applied.Tree != s.treeDigest() {
		return false
	}
	s.planner = plan.NewPlanner(s.inputs)
	if !s.inputs.Ledger.IsComplete(kind.KeysOf(s.inputs.Set.Objects), s.managedSpec) {
		return false
	}
	s.Skipped, s.order = applied, s.compareCommit(ctx)
	return true
}

func (s *Session) managedSpec(key kind.Key) []byte {
	return s.planner.ManagedSpec(s.inputs.Set.Find(key))
}

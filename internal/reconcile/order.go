package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// compareCommit compares what is checked out with what the ledger says was applied. It asks no remote and no platform.
func (s *Session) compareCommit(ctx context.Context) CommitOrder {
	return s.env.History.Order(ctx, appliedBy(s.inputs.Ledger.Head), !s.options.ReadOnly)
}

func appliedBy(h *ledger.Head) AppliedCommit {
	if h == nil {
		return AppliedCommit{}
	}
	return AppliedCommit{Commit: h.NewestCommit(), Ancestors: h.Ancestors}
}

// orderNote says that the commit is older than the one that was applied, or that nothing shows whether it is. It is
// empty if the commit is newer, or the same.
func (s *Session) orderNote() string {
	applied := s.inputs.Ledger.Head
	switch {
	case applied.NewestCommit() == "":
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

// isHeld reports whether a hold is in force.
func (s *Session) isHeld() bool {
	return len(ledger.ActiveHolds(s.inputs.Ledger.Holds, s.inputs.At.Early)) > 0
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
	applied := appliedBy(s.inputs.Ledger.Head)
	head := ledger.Head{Claim: s.env.NewClaim(), OlderCommit: s.order.IsOlder(), Areas: s.inputs.Set.Areas()}
	if s.isHeld() {
		head.DespiteHold = s.options.DespiteHold
	}
	head.Dirty = s.order.Dirty
	switch head.Commit = s.order.Commit; {
	case head.Commit == "", s.order.Ancestor && s.order.Dirty:
		head.After, head.Ancestors = applied.Commit, applied.Ancestors // what is older stays older
	case head.Commit == applied.Commit:
		head.Ancestors = applied.Ancestors
	default:
		head.Ancestors = s.order.AddOlder(s.env.History.Ancestors(ctx), applied)
	}
	var one sync.Mutex
	s.Ledger.BeginRun(s.inputs.Ledger.Head, head, s.inputs.At, func(ctx context.Context, recorded *ledger.Head) ([]string, bool) {
		one.Lock()
		defer one.Unlock()
		order := s.env.History.Order(ctx, appliedBy(recorded), true)
		return order.AddOlder(s.env.History.Ancestors(ctx), appliedBy(recorded)), s.options.accepts(olderCommit) || !order.IsOlder()
	})
}

// FinishRun records the commit if no request did, and what an apply of the whole project left: the keys of all requests
// in git, so that one that has no record later was lost, and the tree if nothing is left to do. It returns the exit code
// of the apply, and an error if another run wrote meanwhile.
func (s *Session) FinishRun(ctx context.Context, result apply.Result, code int) (int, error) {
	if s.inputs.Ledger.Problem != "" || code == exit.Interrupted {
		return code, nil
	}
	disturbed, err := s.Ledger.FinishRun(ctx, s.inputs.Ledger, s.ending(code))
	if _, superseded := errors.AsType[*ledger.SupersededError](err); len(disturbed) > 0 || superseded {
		if err == nil {
			err = fmt.Errorf("a run of another commit wrote %s meanwhile: run apply again", disturbed[0])
		}
		return exit.Worst(code, ExitCode(resultOf(apply.Stale, result))), err
	}
	if err != nil {
		s.env.Log(slog.LevelWarn, "record the apply: "+err.Error())
	}
	return code, nil
}

// ending is how an apply ended that has the exit code.
func (s *Session) ending(code int) ledger.End {
	options := s.inputs.Options
	e := ledger.End{Keys: kind.KeysOf(s.inputs.Set.Objects), Spec: s.managedSpec, Whole: code == exit.OK && options.Targets == nil && !options.PartOfTree}
	if _, unread := s.areas(); e.Whole && len(unread) == 0 && (s.Skipped != nil || s.Plan.LeavesNothing()) {
		e.Tree = new(s.treeDigest())
	}
	return e
}

// treeDigest is the digest of everything that an apply depends on, except what is live and recorded.
func (s *Session) treeDigest() canon.Sum {
	return plan.TreeDigest(s.inputs, s.Platform.Profile.Name, s.Platform.Profile, s.Loaded.Project.Text)
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

// resultOf adds an outcome to those of a result.
func resultOf(v apply.Verdict, r apply.Result) apply.Result {
	return apply.Result{Outcomes: append(r.Outcomes[:len(r.Outcomes):len(r.Outcomes)], apply.ItemOutcome{Verdict: v})}
}

package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/config"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// ApplyPlan applies the plan, and returns the exit code.
func (s *Session) ApplyPlan(ctx context.Context) (apply.Result, int) {
	client := s.Platform.NewClient()
	defer client.Close()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			s.env.Log(slog.LevelWarn, "interrupted: trueup starts nothing new and waits for requests in flight; interrupt again to stop waiting")
		}
	})()
	progress, end := s.env.Begin("applying")
	defer end()
	deps := apply.Deps{
		Writer: client,
		Clock:  s.ClockReader(client),
		Replan: func(key kind.Key, obj *kind.LiveObject) (plan.Item, error) {
			item, findings := s.planner.RemakeItem(key, obj)
			if findings.HasErrors() {
				return plan.Item{}, errors.New(findings[0].Message)
			}
			return item, nil
		},
		Spec:     s.managedSpec,
		Rules:    func(k *kind.Kind) *merge.Rules { return s.planner.RulesOf(k) },
		Report:   s.env.Report,
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
			o.Line, o.Column = s.inputs.Set.Find(o.Key).Place(o.Field)
		}
	}
	code := ExitCode(result)
	if s.settles && (code == exit.Stale || code == exit.NotConverged) {
		code = exit.Partial // it is still open, and the next run sees it
	}
	return result, exit.OrInterrupted(ctx, code)
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
				s.env.Log(slog.LevelWarn, fmt.Sprintf("the platform's clock and this machine's clock differ by %s", skew.Round(time.Second)))
			})
		}
		return ledger.ObserveTimes(read.Server, read.Wall), nil
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
// (docs/design.md 0.24). Stale objects give exit.Stale only if nothing was sent.
func ExitCode(res apply.Result) int {
	seen := map[apply.Verdict]bool{}
	sent := false
	for _, o := range res.Outcomes {
		seen[o.Verdict] = true
		sent = sent || o.Sent
	}
	for _, verdict := range []apply.Verdict{apply.Interrupted, apply.Auth, apply.NeedsPerson, apply.NotConverged, apply.Stale, apply.Partial} {
		switch {
		case seen[verdict] && verdict == apply.Stale && sent:
			return exit.Partial
		case seen[verdict]:
			return exit.Parse(string(verdict))
		}
	}
	return exit.OK
}

// Probe is a harmless purge, whose path does not exist. Session.SendProbe sends it again.
type Probe struct {
	kind   *kind.Kind
	key    kind.Key
	Source manifest.PathSource
}

// NewProbe returns a probe for a hostname.
func NewProbe(hostname string) (Probe, error) {
	k, name := kind.OfRequests(), "trueup-probe-"+uuid.NewString()[:8]
	text, err := json.Marshal(map[string]any{
		"apiVersion": k.APIVersion, "kind": k.Name, "metadata": map[string]any{"name": name},
		"spec": map[string]any{"hostname": hostname, "paths": []string{"/.well-known/" + name}},
	})
	return Probe{k, kind.Key{Kind: k.Name, Name: name}, manifest.PathSource{Data: text, Display: "--probe-duplicates"}}, err
}

// NarrowToProbe reduces the plan to the probe.
func (s *Session) NarrowToProbe(p Probe) error {
	s.Plan = s.Plan.OnlyObject(p.key)
	return config.LedgerError(s.inputs.Ledger.ProblemError())
}

// SendProbe sends a probe again, which the platform has accepted (docs/design.md 0.7). It records that the platform
// refused the duplicate. Any other answer is an error. An accepted duplicate ends what was proven before.
func (s *Session) SendProbe(ctx context.Context, p Probe) (proof ledger.Proof, err error) {
	client := s.Platform.NewClient()
	defer client.Close()
	records, err := s.Ledger.ReadRecords(ctx, []kind.Key{p.key})
	if err != nil {
		return proof, config.LedgerError(err)
	}
	if err := client.WaitForTurn(ctx, p.kind); err != nil {
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
	refused := api.AnswerOf(err)
	switch {
	case err == nil:
		err = fmt.Errorf("the platform accepted %s a second time, so it may execute duplicates: trueup asks a person about each request that gets no answer", p.key)
		return proof, errors.Join(err, config.LedgerError(s.Ledger.RecordProof(ctx, p.kind.Area, proof)))
	case refused.Class != api.Taken:
		return proof, fmt.Errorf("the second %s was not refused as a duplicate; if this answer means a duplicate, describe it in purge.duplicate of trueup.yaml: %w", p.key, err)
	}
	proof = ledger.Proof{At: now.Now.UTC(), Name: p.key.Name, HTTP: refused.Status, By: s.env.NewClaim().Actor}
	return proof, config.LedgerError(s.Ledger.RecordProof(ctx, p.kind.Area, proof))
}

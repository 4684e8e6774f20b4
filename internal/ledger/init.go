package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"trueup/internal/blob"
	"trueup/internal/kind"
)

// CreateLedger creates the ledger that cfg names, after it proved that compare-and-swap works, and returns the genesis; write
// its id into trueup.yaml. In an existing ledger, CreateLedger adds addresses that are missing, and replaces others if
// Config.Rebind agrees. If trueup.yaml has an id and that ledger is missing, CreateLedger returns an error: a new ledger would
// forget what was sent.
func CreateLedger(ctx context.Context, cfg Config) (Genesis, error) {
	l, err := Open(ctx, cfg)
	if err != nil {
		return Genesis{}, err
	}
	defer func() { _ = l.Close() }()
	g, err := l.createGenesis(ctx)
	if err != nil {
		err = fmt.Errorf("init ledger: %w", err)
	}
	return g, err
}

func (l *Ledger) createGenesis(ctx context.Context) (Genesis, error) {
	if p := l.refusedProblem(); p != nil {
		return Genesis{}, p
	}
	g, err := l.readGenesis(ctx)
	if log, ok := l.store.(*logStore); ok && errors.Is(err, blob.ErrOutdated) {
		if err := log.blobs.Prepare(ctx); err != nil {
			return Genesis{}, err
		}
		g, err = l.readGenesis(ctx)
	}
	if errors.Is(err, ErrNoGenesis) && l.cfg.ID == "" && !blob.LacksRemote(err) {
		if err := l.store.ProveConditions(ctx); err != nil {
			return Genesis{}, err
		}
		g = Genesis{
			Schema: Schema, Seq: 1, LedgerID: l.cfg.NewID(), CreatedAt: l.cfg.Now().UTC(),
			Origins: l.cfg.Origins, Workspace: l.cfg.Workspace.UUID, WorkspaceName: l.cfg.Workspace.Name,
		}
		err = l.store.WriteGenesis(ctx, 0, g)
		if !errors.Is(err, ErrConflict) {
			return g, err
		}
		// Another run created it first.
		g, err = l.store.ReadGenesis(ctx)
	}
	if errors.Is(err, ErrNoGenesis) {
		err = l.missingProblem(err)
	}
	if err != nil {
		return Genesis{}, err
	}
	return l.rebindGenesis(ctx, g)
}

// rebindGenesis writes the configured name and addresses into the genesis.
func (l *Ledger) rebindGenesis(ctx context.Context, g Genesis) (Genesis, error) {
	if p := l.otherLedgerProblem(g); p != nil {
		return g, p
	}
	if g.Workspace != l.cfg.Workspace.UUID {
		return g, l.otherWorkspaceProblem(g)
	}
	bound := g
	bound.WorkspaceName, bound.Origins = l.cfg.Workspace.Name, map[kind.Area]string{}
	maps.Copy(bound.Origins, g.Origins)
	err := l.confirmReplace("name of the workspace", g.WorkspaceName, bound.WorkspaceName, l.otherWorkspaceProblem(g))
	for _, area := range kind.Areas() {
		if to := l.cfg.Origins[area]; to != "" && err == nil {
			bound.Origins[area] = to
			err = l.confirmReplace(fmt.Sprintf("address of the %s area", area), g.Origins[area], to, l.otherOriginProblem(g, area))
		}
	}
	if err != nil || bound.WorkspaceName == g.WorkspaceName && maps.Equal(bound.Origins, g.Origins) {
		return g, err
	}
	bound.Seq++
	return bound, l.store.WriteGenesis(ctx, g.Seq, bound)
}

func (l *Ledger) confirmReplace(what, from, to string, refused *ProblemError) error {
	switch {
	case from == to, l.cfg.Rebind == nil && from == "":
		return nil
	case l.cfg.Rebind == nil:
		return refused
	}
	return l.cfg.Rebind(what, from, to)
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"trueup/internal/kind"
)

// Init creates the ledger that cfg names, after it proved that compare-and-swap works, and returns the genesis; write
// its id into trueup.yaml. In an existing ledger, Init adds addresses that are missing, and replaces others if
// Config.Rebind agrees. If trueup.yaml has an id and that ledger is missing, Init returns an error: a new ledger would
// forget what was sent.
func Init(ctx context.Context, cfg Config) (Genesis, error) {
	l, err := Open(ctx, cfg)
	if err != nil {
		return Genesis{}, err
	}
	defer func() { _ = l.Close() }()
	g, err := l.init(ctx)
	if err != nil {
		return Genesis{}, fmt.Errorf("init ledger: %w", err)
	}
	return g, nil
}

func (l *Ledger) init(ctx context.Context) (Genesis, error) {
	if p := l.refusedHere(); p != nil {
		return Genesis{}, p
	}
	g, err := l.store.ReadGenesis(ctx)
	if errors.Is(err, ErrNoGenesis) && l.cfg.ID == "" {
		if err := l.store.Prove(ctx); err != nil {
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
		return Genesis{}, l.missing()
	}
	if err != nil {
		return Genesis{}, err
	}
	bound, err := l.rebound(g)
	if err != nil || bound.WorkspaceName == g.WorkspaceName && maps.Equal(bound.Origins, g.Origins) {
		return g, err
	}
	bound.Seq++
	return bound, l.store.WriteGenesis(ctx, g.Seq, bound)
}

// rebound returns the genesis with the configured name and addresses.
func (l *Ledger) rebound(g Genesis) (Genesis, error) {
	if p := l.otherLedger(g); p != nil {
		return g, p
	}
	if g.Workspace != l.cfg.Workspace.UUID {
		return g, l.otherWorkspace(g)
	}
	bound := g
	var err error
	bound.WorkspaceName, err = l.rebind("name of the workspace", g.WorkspaceName, l.cfg.Workspace.Name, l.otherWorkspace(g))
	if err != nil {
		return g, err
	}
	bound.Origins = map[kind.Area]string{}
	maps.Copy(bound.Origins, g.Origins)
	for _, area := range kind.Areas() {
		to := l.cfg.Origins[area]
		if to == "" {
			continue
		}
		what := fmt.Sprintf("address of the %s area", area)
		if bound.Origins[area], err = l.rebind(what, g.Origins[area], to, l.otherOrigin(g, area)); err != nil {
			return g, err
		}
	}
	return bound, nil
}

// rebind returns to, if it may replace from.
func (l *Ledger) rebind(what, from, to string, refused *ProblemError) (string, error) {
	switch {
	case from == to, l.cfg.Rebind == nil && from == "":
		return to, nil
	case l.cfg.Rebind == nil:
		return "", refused
	}
	return to, l.cfg.Rebind(what, from, to)
}

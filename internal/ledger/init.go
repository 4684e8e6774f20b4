package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"trueup/internal/kind"
)

// Init makes the ledger that cfg names and returns its genesis, whose id
// belongs into trueup.yaml. It proves first that the store's compare-and-swap
// holds. Where the ledger exists it stays, and the configured addresses of areas
// that it does not know are bound to it; those of others are replaced if
// Config.Rebind agrees. A ledger whose id is in trueup.yaml but
// which is not there is not made again: that would forget what was sent.
func Init(ctx context.Context, cfg Config) (Genesis, error) {
	l, err := Open(ctx, cfg)
	if err != nil {
		return Genesis{}, err
	}
	defer func() { _ = l.Close() }()
	if p := l.refusedHere(); p != nil {
		return Genesis{}, fmt.Errorf("init ledger: %w", p)
	}
	g, err := l.store.ReadGenesis(ctx)
	if errors.Is(err, ErrNoGenesis) && l.cfg.ID == "" {
		if err := prove(ctx, l.store, l.cfg.NewID); err != nil {
			return Genesis{}, err
		}
		g, err = l.create(ctx)
		if !errors.Is(err, ErrConflict) {
			return g, err
		}
		// Somebody else was first.
		g, err = l.store.ReadGenesis(ctx)
	}
	if errors.Is(err, ErrNoGenesis) {
		return Genesis{}, fmt.Errorf("init ledger: %w", l.missing())
	}
	if err != nil {
		return Genesis{}, fmt.Errorf("init ledger: %w", err)
	}
	return l.bind(ctx, g)
}

func (l *Ledger) create(ctx context.Context) (Genesis, error) {
	g := Genesis{
		Schema: Schema, Seq: 1, LedgerID: l.cfg.NewID(), CreatedAt: l.cfg.Now().UTC(),
		Origins: l.cfg.Origins, Workspace: l.cfg.Workspace.UUID, WorkspaceName: l.cfg.Workspace.Name,
	}
	if err := l.store.WriteGenesis(ctx, 0, g); err != nil {
		return Genesis{}, fmt.Errorf("init ledger: %w", err)
	}
	return g, nil
}

// bind adds the addresses of areas, and the name of the workspace, that the genesis
// lacks, and replaces others if Config.Rebind agrees.
func (l *Ledger) bind(ctx context.Context, g Genesis) (Genesis, error) {
	bound, err := l.rebound(g)
	if err != nil {
		return Genesis{}, fmt.Errorf("init ledger: %w", err)
	}
	if bound.WorkspaceName == g.WorkspaceName && maps.Equal(bound.Origins, g.Origins) {
		return g, nil
	}
	bound.Seq++
	if err := l.store.WriteGenesis(ctx, g.Seq, bound); err != nil {
		return Genesis{}, fmt.Errorf("init ledger: %w", err)
	}
	return bound, nil
}

// rebound is what a genesis is to be.
func (l *Ledger) rebound(g Genesis) (Genesis, error) {
	if p := l.otherLedger(g); p != nil {
		return g, p
	}
	if g.Workspace != l.cfg.Workspace.UUID {
		return g, l.otherWorkspace(g)
	}
	bound := g
	var err error
	if bound.WorkspaceName, err = l.rebind("name of the workspace", g.WorkspaceName, l.cfg.Workspace.Name, l.otherWorkspace(g)); err != nil {
		return g, err
	}
	bound.Origins = map[kind.Area]string{}
	maps.Copy(bound.Origins, g.Origins)
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
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

// rebind returns what something that a ledger is bound to is to be; refused is said
// where nobody may agree.
func (l *Ledger) rebind(what, from, to string, refused *ProblemError) (string, error) {
	switch {
	case from == to, l.cfg.Rebind == nil && from == "":
		return to, nil
	case l.cfg.Rebind == nil:
		return "", refused
	}
	return to, l.cfg.Rebind(what, from, to)
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"

	"trueup/internal/kind"
)

// Verified is the result of Verify.
type Verified struct {
	Records int      `json:"records"`          // how many are readable
	Damage  []string `json:"damage,omitempty"` // a message for each damaged record or file
}

func (v *Verified) damaged(format string, args ...any) {
	v.Damage = append(v.Damage, fmt.Sprintf(format, args...))
}

// Verify reads the whole ledger and lists all damage: files that are unreadable or misplaced, records that no
// transition makes, an index that disagrees with its records, and records that this machine saw and the ledger lacks.
func (l *Ledger) Verify(ctx context.Context) (v Verified, err error) {
	l.refresh()
	if log, ok := l.store.(*logStore); ok {
		wrong, err := log.inspect(ctx)
		if err != nil {
			return Verified{}, fmt.Errorf("verify ledger: %w", err)
		}
		for _, err := range wrong {
			v.damaged("%v", err)
		}
	}
	if _, err := l.usable(ctx); err != nil {
		if errors.Is(err, ErrDamaged) && v.Damage != nil {
			return v, nil // nothing can be read that has no copy
		}
		return Verified{}, err
	}
	workspace := l.cfg.Workspace.UUID
	err = l.store.All(ctx, func(rec Record, err error) error {
		if err != nil {
			v.damaged("%v", err)
			return ctx.Err()
		}
		v.Records++
		if err := rec.sound(); err != nil {
			v.damaged("record of %s: %v", rec.Key, err)
		}
		if rec.Workspace != workspace {
			v.damaged("record of %s: it belongs to workspace %s, and the ledger to %s", rec.Key, rec.Workspace, workspace)
		}
		return ctx.Err()
	})
	if err != nil {
		return Verified{}, fmt.Errorf("verify ledger: %w", err)
	}
	l.verifySeen(ctx, &v)
	return v, nil
}

// verifySeen adds what this machine saw and the ledger lacks.
func (l *Ledger) verifySeen(ctx context.Context, v *Verified) {
	seen, _ := ReadBackupFolder(os.DirFS(string(l.seenCache())))
	for _, rec := range seen.Records {
		if rec.Workspace != l.cfg.Workspace.UUID {
			continue
		}
		_, err := l.readChecked(ctx, []kind.Key{rec.Key})
		if back, ok := errors.AsType[*ProblemError](err); ok {
			v.damaged("record of %s: %s: %s", rec.Key, back.Problem, back.Fix)
		}
	}
}

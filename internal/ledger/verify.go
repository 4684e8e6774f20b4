package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Verified is what Verify found.
type Verified struct {
	// Records counts those that could be read.
	Records int `json:"records"`
	// Damage says of each record, or file, that is not as it was written what
	// is wrong with it.
	Damage []string `json:"damage,omitempty"`
}

// Verify reads everything and names all that is damaged: what can't be read or
// lies where it does not belong, what no transition leads to, an open request
// that runs would not see, and what this machine has seen and is gone.
func (l *Ledger) Verify(ctx context.Context) (Verified, error) {
	l.refresh()
	v := verifier{ledger: l, since: l.cfg.Now().Add(-lately)}
	if s, ok := l.store.(*logStore); ok {
		wrong, err := s.inspect(ctx)
		if err != nil {
			return Verified{}, fmt.Errorf("verify ledger: %w", err)
		}
		for _, err := range wrong {
			v.damaged("%v", err)
		}
	}
	if _, err := l.usable(ctx, nil); errors.Is(err, ErrDamaged) && v.Damage != nil {
		return v.Verified, nil // nothing can be read that has no copy
	} else if err != nil {
		return Verified{}, err
	}
	if err := v.listRecent(ctx); err != nil {
		return Verified{}, err
	}
	err := l.store.All(ctx, func(rec Record, err error) error { v.record(rec, err); return ctx.Err() })
	if err != nil {
		return Verified{}, fmt.Errorf("verify ledger: %w", err)
	}
	v.unseen(ctx)
	return v.Verified, nil
}

// verifier collects what a ledger holds and what is wrong with it.
type verifier struct {
	Verified
	ledger *Ledger
	// since is from when on runs look for what was claimed or accepted, recent
	// what the store's index says of it; nil where that can't be read.
	since  time.Time
	recent map[Key]bool
}

func (v *verifier) damaged(format string, args ...any) {
	v.Damage = append(v.Damage, fmt.Sprintf(format, args...))
}

func (v *verifier) listRecent(ctx context.Context) error {
	keys, err := v.ledger.store.Recent(ctx, v.ledger.cfg.Workspace.UUID, v.since)
	if Problem(err) != nil {
		v.damaged("the index of recent and open requests: %v", err)
		return nil
	}
	v.recent = map[Key]bool{}
	for _, key := range keys {
		v.recent[key] = true
	}
	return err
}

// record judges one record.
func (v *verifier) record(rec Record, err error) {
	if err != nil {
		v.damaged("%v", err)
		return
	}
	v.Records++
	key := rec.key()
	if err := rec.sound(); err != nil {
		v.damaged("record of %s: %v", rec.Key, err)
	}
	switch own := v.ledger.cfg.Workspace.UUID; {
	case rec.Workspace != own:
		v.damaged("record of %s: it belongs to workspace %s, and the ledger to %s", rec.Key, rec.Workspace, own)
	case v.recent != nil && v.wanted(rec) && !v.recent[key]:
		v.damaged("record of %s: it is %s, but the index of recent and open requests lacks it", rec.Key, rec.State)
	}
}

// wanted reports whether all runs look for a record, whatever they have in git.
func (v *verifier) wanted(rec Record) bool {
	late := func(t *time.Time) bool { return t != nil && !t.Before(v.since) }
	return rec.Open() || rec.State == Posted && (late(rec.ClaimedAt) || late(rec.AcceptedAt))
}

// unseen names what this machine has seen of the ledger and is not there.
func (v *verifier) unseen(ctx context.Context) {
	folder := v.ledger.seenRecords()
	if folder == "" {
		return
	}
	seen, err := ReadBackupFolder(os.DirFS(string(folder)))
	if err != nil {
		return // nothing that can be relied on was kept
	}
	for _, rec := range seen.Records {
		key := rec.key()
		if key.Workspace != v.ledger.cfg.Workspace.UUID {
			continue // it is named already
		}
		var back *ProblemError
		if _, err := v.ledger.readChecked(ctx, []Key{key}); errors.As(err, &back) {
			v.damaged("record of %s: %s: %s", key.Key, back.Problem, back.Fix)
		}
	}
}

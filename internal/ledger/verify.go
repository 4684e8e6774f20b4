package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// VerifyResult is the result of Verify.
type VerifyResult struct {
	Records int      `json:"records"`          // how many are readable
	Damage  []string `json:"damage,omitempty"` // a message for each damaged record or file
}

func (v *VerifyResult) addDamage(format string, args ...any) {
	v.Damage = append(v.Damage, fmt.Sprintf(format, args...))
}

// Verify reads the whole ledger and lists all damage: files that are unreadable or misplaced, records that no
// transition makes, an index that disagrees with its records, and records that this machine saw and the ledger lacks.
func (l *Ledger) Verify(ctx context.Context) (v VerifyResult, err error) {
	l.forgetState()
	if log, ok := l.store.(*logStore); ok {
		wrong, err := log.inspectPieces(ctx)
		if err != nil {
			return VerifyResult{}, fmt.Errorf("verify ledger: %w", err)
		}
		for _, err := range wrong {
			v.addDamage("%v", err)
		}
	}
	if _, err := l.readUsable(ctx); err != nil {
		if errors.Is(err, ErrDamaged) && v.Damage != nil {
			return v, nil // nothing can be read that has no copy
		}
		return VerifyResult{}, err
	}
	workspace := l.cfg.Workspace.UUID
	err = l.store.EachRecord(ctx, func(rec Record, err error) error {
		if err != nil {
			v.addDamage("%v", err)
			return ctx.Err()
		}
		v.Records++
		if err := rec.checkTransitions(); err != nil {
			v.addDamage("record of %s: %v", rec.Key, err)
		}
		if rec.Workspace != workspace {
			v.addDamage("record of %s: it belongs to workspace %s, and the ledger to %s", rec.Key, rec.Workspace, workspace)
		}
		return ctx.Err()
	})
	if err != nil {
		return VerifyResult{}, fmt.Errorf("verify ledger: %w", err)
	}
	l.verifySeenCache(ctx, &v)
	return v, nil
}

// verifySeenCache adds what this machine saw and the ledger lacks.
func (l *Ledger) verifySeenCache(ctx context.Context, v *VerifyResult) {
	seen, _ := ReadBackupFolder(os.DirFS(string(l.seenCache())))
	for _, rec := range seen.Records {
		if rec.Workspace != l.cfg.Workspace.UUID {
			continue
		}
		_, err := l.readUnlessRolledBack(ctx, []kind.Key{rec.Key})
		if back, ok := errors.AsType[*ProblemError](err); ok {
			v.addDamage("record of %s: %s: %s", rec.Key, back.Problem, back.Fix)
		}
	}
}

// inspectPieces reads every piece and returns all damage.
func (s *logStore) inspectPieces(ctx context.Context) ([]error, error) {
	names, err := s.blobs.List(ctx, logDir, 0)
	if err != nil {
		return nil, err
	}
	found, pieces := make([]error, len(names)), make([]segment, len(names))
	err = diag.TryInParallel(ctx, atOnce, len(names), func(ctx context.Context, i int) error {
		at, err := parseEntryRange(names[i])
		if err == nil {
			pieces[i], err = s.getPiece(ctx, at)
		}
		if err == nil {
			err = pieces[i].inspectRecords()
		}
		pieces[i].entryRange, pieces[i].lines = at, nil
		if found[i] = err; !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			return err
		}
		return nil
	})
	return append(slices.DeleteFunc(found, func(err error) bool { return err == nil }), s.findGaps(pieces)...), err
}

// inspectRecords returns an error if a record is damaged or its index line is wrong.
func (p segment) inspectRecords() error {
	for _, l := range p.lines {
		rec, err := l.decodeRecord()
		if err != nil {
			return err
		}
		want := rec.indexLine(l.At)
		if want.rec = rec; !reflect.DeepEqual(want, l) {
			return fmt.Errorf("%w: the index of entry %d does not agree with the record of %s", ErrDamaged, p.Entry, rec.Key)
		}
	}
	return nil
}

// findGaps returns an error wherever a piece does not follow another one.
func (s *logStore) findGaps(pieces []segment) (wrong []error) {
	ids := map[int]string{}
	for _, p := range pieces {
		for entry, id := range map[int]string{p.Entry: p.ID, p.entryBefore(): p.After} {
			if was := cmp.Or(ids[entry], id); id != "" && was != id {
				wrong = append(wrong, fmt.Errorf("%w: what follows entry %d belongs to another log", ErrDamaged, entry))
			}
			ids[entry] = cmp.Or(ids[entry], id)
		}
	}
	slices.SortFunc(pieces, func(a, b segment) int { return cmp.Compare(a.entryBefore(), b.entryBefore()) })
	covered := 0
	for _, p := range pieces {
		if first := p.entryBefore(); first > covered {
			wrong = append(wrong, fmt.Errorf("%w: %s is missing, the first of %d missing entries", ErrDamaged,
				s.blobs.Location(entryRange{covered + 1, 1}.fileName(s.packed)), first-covered))
		}
		covered = max(covered, p.Entry)
	}
	return wrong
}

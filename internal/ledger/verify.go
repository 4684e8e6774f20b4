package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// VerifyResult is the result of Verify.
type VerifyResult struct {
	Records int      `json:"records"`          // how many are readable
	Damage  []string `json:"damage,omitempty"` // a message for each damaged record or file
}

func (v *VerifyResult) addDamage(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(v.Damage, text) {
		v.Damage = append(v.Damage, text)
	}
}

// Verify reads the whole ledger and lists all damage: files that are unreadable or misplaced, records that no
// transition makes, an index that disagrees with its records, and records that this machine saw and the ledger lacks.
func (l *Ledger) Verify(ctx context.Context) (v VerifyResult, err error) {
	l.forgetState()
	if log, ok := l.store.(*logStore); ok {
		wrong, err := log.inspectSegments(ctx)
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

// inspectSegments reads every file of the log, and every block, and returns all damage.
func (s *logStore) inspectSegments(ctx context.Context) ([]error, error) {
	names, err := s.blobs.List(ctx, logDir, 0)
	if err != nil {
		return nil, err
	}
	found, segments := make([]error, len(names)), make([]segment, len(names))
	var mu sync.Mutex
	newest := map[kind.Key]indexLine{} // what the newest file has of each record
	err = diag.TryInParallel(ctx, atOnce, len(names), func(ctx context.Context, i int) error {
		entry, err := entryOfFile(names[i])
		if err == nil {
			segments[i], err = s.readSegment(ctx, entry)
		}
		if err == nil {
			err = segments[i].inspectRecords()
		}
		mu.Lock()
		defer mu.Unlock()
		for _, l := range segments[i].lines {
			if entry > newest[l.Key].At {
				newest[l.Key] = indexLine{At: entry, Seq: l.Seq}
			}
		}
		if segments[i].lines = nil; err != nil {
			segments[i] = segment{Entry: entry, Entries: 1}
		}
		if found[i] = err; !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.findDamage(ctx, segments, found, newest)
}

// findDamage returns all damage of segments, of which found has what reading them found, and of the blocks.
func (s *logStore) findDamage(ctx context.Context, segments []segment, found []error, newest map[kind.Key]indexLine) (wrong []error, err error) {
	var lost []error
	begin := 0 // a fold may remove entries before it meanwhile
	err = s.withState(ctx, func() (err error) {
		begin = s.state.folded.Begin.Entry
		lost, err = s.inspectFolded(ctx, newest)
		return err
	})
	for i, err := range found {
		if err != nil && (segments[i].Entry >= begin || !errors.Is(err, errMissing)) {
			wrong = append(wrong, err)
		}
	}
	wrong = append(wrong, s.findGaps(segments, begin)...)
	if len(wrong) == 0 && errors.Is(err, ErrDamaged) {
		wrong = []error{err}
	}
	if len(wrong) > 0 {
		return wrong, nil
	}
	return lost, err
}

// inspectFolded returns damage of the blocks, and records that files since the begin of the log have and a fold lost:
// older files may be of runs that slept.
func (s *logStore) inspectFolded(ctx context.Context, newest map[kind.Key]indexLine) (wrong []error, err error) {
	sum, have := uint64(0), map[kind.Key]int{}
	for _, b := range s.state.folded.Blocks {
		folded, err := s.readBlock(ctx, b)
		if err != nil {
			return nil, err
		}
		sum += sumOf(folded)
		for _, r := range folded {
			have[r.Key] = r.Seq
		}
	}
	if sum != s.state.folded.Sum || len(have) != s.state.folded.Records {
		return nil, fmt.Errorf("%w: a fold lost records: %d were folded, and the blocks have %d", ErrDamaged, s.state.folded.Records, len(have))
	}
	for key, last := range newest {
		if l := s.state.lines[key]; last.At >= s.state.folded.Begin.Entry && have[key] < last.Seq && (l == nil || l.Seq < last.Seq) {
			wrong = append(wrong, fmt.Errorf("%w: a fold lost the record of %s", ErrDamaged, key))
		}
	}
	return wrong, nil
}

// inspectRecords returns an error if a record is damaged or its index line is wrong.
func (p segment) inspectRecords() error {
	for _, l := range p.lines {
		rec, err := l.decodeRecord()
		if err != nil {
			return err
		}
		want := rec.newIndexLine(l.At)
		if want.rec = &rec; !reflect.DeepEqual(want, l) {
			return fmt.Errorf("%w: the index of entry %d does not agree with the record of %s", ErrDamaged, p.Entry, rec.Key)
		}
	}
	return nil
}

// findGaps returns an error wherever a segment, after the begin of the log, does not follow another one.
func (s *logStore) findGaps(segments []segment, begin int) (wrong []error) {
	segments = slices.DeleteFunc(segments, func(p segment) bool { return p.Entry < begin })
	ids := map[int]string{}
	for _, p := range segments {
		for entry, id := range map[int]string{p.Entry: p.ID, p.entryBefore(): p.After} {
			if was := cmp.Or(ids[entry], id); id != "" && was != id {
				wrong = append(wrong, fmt.Errorf("%w: what follows entry %d belongs to another log", ErrDamaged, entry))
			}
			ids[entry] = cmp.Or(ids[entry], id)
		}
	}
	slices.SortFunc(segments, func(a, b segment) int { return cmp.Compare(a.entryBefore(), b.entryBefore()) })
	covered := max(0, begin-1)
	for _, p := range segments {
		if first := p.entryBefore(); first > covered {
			wrong = append(wrong, fmt.Errorf("%w: %s is missing, the first of %d missing entries", ErrDamaged,
				s.blobs.Location(entryFile(covered+1)), first-covered))
		}
		covered = max(covered, p.Entry)
	}
	return wrong
}

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// ImportCounts counts the records of an import.
type ImportCounts struct {
	Restored bool // the ledger was missing and trueup created it again
	// Added had no record, Advanced an earlier one of the same history, Left the same or a later one.
	Added, Advanced, Left int
}

// ImportConflict is a record whose history differs from that of the stored one.
type ImportConflict struct{ Given, Stored Record }

// Explain returns what differs, and what to do. The caller must clean both for printing.
func (c ImportConflict) Explain() (message, fix string) {
	given, _ := ExplainRecord(c.Given)
	stored, fix := ExplainRecord(c.Stored)
	if fix == "" {
		fix = "to keep the ledger's record and import the rest, add --leave " + ShellQuote(c.Given.String())
	}
	return fmt.Sprintf("the ledger has step %d: %s; the file has step %d of another history: %s",
		c.Stored.Seq, stored, c.Given.Seq, given), fix
}

// ConflictsError means that records contradict the ledger. Nothing was written.
type ConflictsError struct{ Conflicts []ImportConflict }

func (e *ConflictsError) Error() string {
	return fmt.Sprintf("nothing was imported, because records contradict the ledger: %d", len(e.Conflicts))
}

// Import adds missing records, and replaces earlier ones of the same history. If any history differs, it writes nothing
// and returns a *ConflictsError. You can repeat an import after any other error. If the ledger in trueup.yaml is
// missing, an export restores it.
func (l *Ledger) Import(ctx context.Context, b Backup) (done ImportCounts, err error) {
	if err := l.checkBackup(b); err != nil {
		return ImportCounts{}, err
	}
	if done.Restored, err = l.beginRestore(ctx, b); err != nil {
		return ImportCounts{}, err
	}
	changes, err := l.compareBackup(ctx, b, &done)
	if err != nil {
		return ImportCounts{}, err
	}
	if err := cmp.Or(l.store.PutAll(ctx, changes)...); err != nil {
		return ImportCounts{}, fmt.Errorf("import: %w; records that were written stay, and the same import continues from there", err)
	}
	if done.Restored {
		l.forgetState()
		have, err := l.store.ReadGenesis(ctx)
		if err == nil {
			g := *b.Genesis
			g.Seq = have.Seq + 1
			err = l.store.WriteGenesis(ctx, have.Seq, g)
		}
		if err != nil {
			return ImportCounts{}, fmt.Errorf("restore ledger: %w", err)
		}
	}
	return done, nil
}

// checkBackup rejects a backup of another ledger, or of another workspace.
func (l *Ledger) checkBackup(b Backup) error {
	if p := l.refusedProblem(); p != nil {
		return p
	}
	if g := b.Genesis; g != nil {
		p := l.foreignProblem(*g)
		if l.cfg.ID == "" {
			p = unexpectedLedgerProblem(*g)
		} else if g.LedgerID != l.cfg.ID {
			p = newProblem("import an export of this project's ledger", "the export is of ledger %s, and trueup.yaml names %s", g.LedgerID, l.cfg.ID)
		}
		if p != nil {
			return p
		}
	}
	seen := map[kind.Key]bool{}
	for _, rec := range b.Records {
		if rec.Workspace != l.cfg.Workspace.UUID {
			return newProblem("import records of this project's workspace",
				"the record of %s belongs to workspace %s, and trueup.yaml names %s", rec.Key, rec.Workspace, l.cfg.Workspace.UUID)
		}
		if seen[rec.Key] && b.Genesis != nil {
			return fmt.Errorf("the export has two records of %s", rec.Key)
		}
		seen[rec.Key] = true
	}
	return nil
}

// restoring ends the id of a ledger until its restore is complete. Runs reject it, because requests would look as if
// they had never been sent.
const restoring = "-restoring"

// beginRestore creates a missing ledger, and reports whether a restore is in progress.
func (l *Ledger) beginRestore(ctx context.Context, b Backup) (bool, error) {
	l.forgetState()
	g, err := l.store.ReadGenesis(ctx)
	if err == nil && b.Genesis != nil && g.LedgerID == b.Genesis.LedgerID+restoring {
		return true, nil
	}
	if !errors.Is(err, ErrNoGenesis) || b.Genesis == nil {
		_, err = l.readUsable(ctx)
		return false, err
	}
	if err := l.store.ProveConditions(ctx); err != nil {
		return false, err
	}
	mark := *b.Genesis
	mark.Seq, mark.LedgerID = 1, mark.LedgerID+restoring
	if err := l.store.WriteGenesis(ctx, 0, mark); err != nil {
		return false, fmt.Errorf("restore ledger: %w", err)
	}
	return true, nil
}

// compareBackup returns the changes that an import makes, and counts them.
func (l *Ledger) compareBackup(ctx context.Context, b Backup, done *ImportCounts) (changes []RecordChange, err error) {
	records, err := latestRecords(b.Records)
	if err != nil {
		return nil, err
	}
	keys := diag.MapList(records, func(rec Record) kind.Key { return rec.Key })
	have, err := l.store.Read(ctx, keys)
	if err != nil {
		return nil, err
	}
	var conflicts []ImportConflict
	for _, rec := range records {
		stored, ok := have[rec.Key]
		switch {
		case !ok:
			done.Added++
			changes = append(changes, RecordChange{Rec: rec})
		case stored.isLaterThan(rec), stored.lacksSteps(rec), stored.Folded && rec.IsOpen():
			done.Left++
		case rec.isLaterThan(stored), (rec.Folded || !isSendOnce(rec.Key)) && rec.lacksSteps(stored):
			// Folds, and objects that converge, keep few steps, so a gap between the histories is no conflict.
			done.Advanced++
			changes = append(changes, RecordChange{Rec: rec, ExpectSeq: stored.Seq})
		case rec.State == Posted && stored.State == Posted && rec.hasSameFirstClaim(stored):
			done.Left++ // the same request was executed
		default:
			conflicts = append(conflicts, ImportConflict{Given: rec, Stored: stored})
		}
	}
	if conflicts != nil {
		return nil, &ConflictsError{Conflicts: conflicts}
	}
	return changes, nil
}

// latestRecords returns the last record of each object. A log may have records of several runs.
func latestRecords(records []Record) ([]Record, error) {
	var out []Record
	at := map[kind.Key]int{}
	for _, rec := range records {
		i, seen := at[rec.Key]
		switch {
		case !seen:
			at[rec.Key] = len(out)
			out = append(out, rec)
		case out[i].isLaterThan(rec):
		case rec.isLaterThan(out[i]):
			out[i] = rec
		default:
			return nil, fmt.Errorf("two records of %s contradict each other: import only the right one", rec.Key)
		}
	}
	return out, nil
}

// AdoptAll calls Adopt concurrently. After an error, what it recorded before stays.
func (l *Ledger) AdoptAll(ctx context.Context, all map[kind.Key]Adoption) error {
	keys := slices.Collect(maps.Keys(all))
	return diag.TryInParallel(ctx, atOnce, len(keys), func(ctx context.Context, i int) error {
		return l.Adopt(ctx, keys[i], all[keys[i]])
	})
}

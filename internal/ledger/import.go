package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"trueup/internal/kind"
)

// Imported counts what an import did with the records of a backup.
type Imported struct {
	// Restored says that the ledger was missing and has been made again.
	Restored bool
	// Added had no record, Advanced an earlier one of the same history; Left had
	// the same or a later one.
	Added, Advanced, Left int
}

// ImportConflict is a record of a backup that is neither an earlier nor a later
// one of what is stored: both went on from a common past, or have none.
type ImportConflict struct{ Given, Stored Record }

// Explain says what differs, and what to do. As in Explain of a record, there
// are texts from outside in it.
func (c ImportConflict) Explain() (message, fix string) {
	given, _ := Explain(c.Given)
	stored, fix := Explain(c.Stored)
	if fix == "" {
		fix = "to keep the ledger's record and import the rest, add --leave " + ShellWord(c.Given.String())
	}
	return fmt.Sprintf("the ledger has step %d: %s; the file has step %d of another history: %s",
		c.Stored.Seq, stored, c.Given.Seq, given), fix
}

// ConflictsError says that records of a backup contradict the ledger. Nothing
// was written.
type ConflictsError struct{ Conflicts []ImportConflict }

func (e *ConflictsError) Error() string {
	return fmt.Sprintf("nothing was imported, because records contradict the ledger: %d", len(e.Conflicts))
}

// Exists reports whether there is a ledger in the store, whosesoever it is.
func (l *Ledger) Exists(ctx context.Context) (bool, error) {
	if p := l.refusedHere(); p != nil {
		return false, p
	}
	l.refresh()
	_, err := l.store.ReadGenesis(ctx)
	if errors.Is(err, ErrNoGenesis) {
		return false, nil
	}
	return err == nil, err
}

// Import writes what a backup knows and the ledger does not: records that are
// absent, and later ones of the same history. It gives a *ConflictsError, and
// writes nothing, if any record is of another history; what it wrote before
// another error stays, and the same import goes on from there. Where the ledger
// that trueup.yaml names is missing, an export of it makes it again.
func (l *Ledger) Import(ctx context.Context, b Backup) (Imported, error) {
	if err := l.accepts(b); err != nil {
		return Imported{}, err
	}
	restored, err := l.beginRestore(ctx, b)
	if err != nil {
		return Imported{}, err
	}
	jobs, done, err := l.compareBackup(ctx, b)
	if err != nil {
		return Imported{}, err
	}
	if err := cmp.Or(putAll(ctx, l.store, jobs)...); err != nil {
		return Imported{}, fmt.Errorf("import: %w; records that were written stay, and the same import continues from there", err)
	}
	if restored {
		if err := l.endRestore(ctx, *b.Genesis); err != nil {
			return Imported{}, err
		}
	}
	done.Restored = restored
	return done, nil
}

// accepts refuses a backup of another ledger, or of another workspace.
func (l *Ledger) accepts(b Backup) error {
	if p := l.refusedHere(); p != nil {
		return p
	}
	if b.Genesis != nil {
		if l.cfg.ID == "" {
			return notExpected(*b.Genesis)
		}
		if b.Genesis.LedgerID != l.cfg.ID {
			return &ProblemError{
				Problem: fmt.Sprintf("the export is of ledger %s, and trueup.yaml names %s", b.Genesis.LedgerID, l.cfg.ID),
				Fix:     "import an export of this project's ledger",
			}
		}
		if p := l.foreign(*b.Genesis); p != nil {
			return p
		}
	}
	seen := map[kind.Key]bool{}
	for _, rec := range b.Records {
		if rec.Workspace != l.cfg.Workspace.UUID {
			return &ProblemError{
				Problem: fmt.Sprintf("the record of %s belongs to workspace %s, and trueup.yaml names %s", rec.Key, rec.Workspace, l.cfg.Workspace.UUID),
				Fix:     "import records of this project's workspace",
			}
		}
		if seen[rec.Key] && b.Genesis != nil {
			return fmt.Errorf("the export has two records of %s", rec.Key)
		}
		seen[rec.Key] = true
	}
	return nil
}

// restoring marks the id of a ledger whose restore is under way. Until it has
// ended nobody takes it for the ledger: the records that are still missing would
// look as if their requests had never been sent.
const restoring = "-restoring"

// beginRestore makes room for a ledger that is missing, and tells whether a
// restore is under way.
func (l *Ledger) beginRestore(ctx context.Context, b Backup) (bool, error) {
	l.refresh()
	g, err := l.store.ReadGenesis(ctx)
	if err == nil && b.Genesis != nil && g.LedgerID == b.Genesis.LedgerID+restoring {
		return true, nil
	}
	if !errors.Is(err, ErrNoGenesis) || b.Genesis == nil {
		_, err = l.usable(ctx)
		return false, err
	}
	if err := l.store.Prove(ctx); err != nil {
		return false, err
	}
	mark := *b.Genesis
	mark.Seq, mark.LedgerID = 1, mark.LedgerID+restoring
	if err := l.store.WriteGenesis(ctx, 0, mark); err != nil {
		return false, fmt.Errorf("restore ledger: %w", err)
	}
	return true, nil
}

// endRestore makes the ledger the one that it was.
func (l *Ledger) endRestore(ctx context.Context, g Genesis) error {
	l.refresh()
	have, err := l.store.ReadGenesis(ctx)
	if err == nil {
		g.Seq = have.Seq + 1
		err = l.store.WriteGenesis(ctx, have.Seq, g)
	}
	if err != nil {
		return fmt.Errorf("restore ledger: %w", err)
	}
	return nil
}

// compareBackup holds each record of a backup against the store's.
func (l *Ledger) compareBackup(ctx context.Context, b Backup) ([]change, Imported, error) {
	keys := make([]kind.Key, len(b.Records))
	for i, rec := range b.Records {
		keys[i] = rec.Key
	}
	have, err := l.store.Read(ctx, keys)
	if err != nil {
		return nil, Imported{}, err
	}
	var done Imported
	var jobs []change
	var conflicts []ImportConflict
	records, err := latest(b.Records)
	if err != nil {
		return nil, Imported{}, err
	}
	for _, rec := range records {
		stored, ok := have[rec.Key]
		switch {
		case !ok:
			done.Added++
			jobs = append(jobs, change{rec: rec})
		case stored.follows(rec) || stored.forgot(rec):
			done.Left++
		case rec.later(stored):
			done.Advanced++
			jobs = append(jobs, change{rec: rec, expectSeq: stored.Seq})
		case stored.ends(rec):
			done.Left++
		default:
			conflicts = append(conflicts, ImportConflict{Given: rec, Stored: stored})
		}
	}
	if conflicts != nil {
		return nil, Imported{}, &ConflictsError{Conflicts: conflicts}
	}
	return jobs, done, nil
}

// later reports whether a record of a backup may replace the stored one: that is one of its
// own past. Of an object that converges few steps are kept; its record may be so old that
// they do not reach back to it.
func (r Record) later(stored Record) bool {
	return r.follows(stored) || !sentOnce(r.Key) && r.forgot(stored)
}

// ends reports whether both records say of one intent that it was executed.
func (r Record) ends(o Record) bool { return r.State == Posted && o.State == Posted && r.sameIntent(o) }

// latest leaves out the records of which a later one is there: a log may hold
// what several runs could not store.
func latest(records []Record) ([]Record, error) {
	var out []Record
	at := map[kind.Key]int{}
	for _, rec := range records {
		i, seen := at[rec.Key]
		switch {
		case !seen:
			at[rec.Key] = len(out)
			out = append(out, rec)
		case out[i].follows(rec):
		case rec.follows(out[i]):
			out[i] = rec
		default:
			return nil, fmt.Errorf("two records of %s contradict each other: import only the right one", rec.Key)
		}
	}
	return out, nil
}

// AdoptNew records of each key that has no record that it was done without us,
// and returns how many those were.
func (l *Ledger) AdoptNew(ctx context.Context, all map[kind.Key]Adoption) (int, error) {
	keys := make([]kind.Key, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	known, err := l.Look(ctx, keys)
	if err != nil {
		return 0, err
	}
	todo := map[kind.Key]Adoption{}
	for key, a := range all {
		if known[key].Seq == 0 {
			todo[key] = a
		}
	}
	return len(todo), l.AdoptAll(ctx, todo)
}

// AdoptAll is Adopt of many, several at once: a store that is far away takes them
// together. What was recorded before an error stays.
func (l *Ledger) AdoptAll(ctx context.Context, all map[kind.Key]Adoption) error {
	keys := slices.Collect(maps.Keys(all))
	return eachParallel(ctx, len(keys), func(ctx context.Context, i int) error {
		return l.Adopt(ctx, keys[i], all[keys[i]])
	})
}
